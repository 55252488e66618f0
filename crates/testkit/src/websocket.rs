//! A WebSocket client that speaks JSON texts.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// An open connection.
#[derive(Debug)]
pub struct WebSocket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    // Messages that came while the answer to another request was awaited.
    early: VecDeque<Value>,
    next_id: u64,
}

impl WebSocket {
    /// Connects to `url` (`http://` or `ws://`), with these headers besides the usual ones.
    pub async fn connect(url: &str, headers: &[(&str, &str)]) -> Result<Self> {
        let url = url.replacen("http://", "ws://", 1);
        let mut request = url.as_str().into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(name.parse::<HeaderName>()?, value.parse::<HeaderValue>()?);
        }
        let connecting = tokio::time::timeout(ANSWER_WITHIN, connect_async(request)).await;
        let (stream, _) = connecting
            .with_context(|| format!("{url}: no answer within {ANSWER_WITHIN:?}"))?
            .with_context(|| url.clone())?;
        Ok(Self { stream, early: VecDeque::new(), next_id: 1 })
    }

    /// Sends one text as it is.
    pub async fn send_text(&mut self, text: &str) -> Result<()> {
        Ok(self.stream.send(Message::text(text)).await?)
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) -> Result<()> {
        self.send_text(&message.to_string()).await
    }

    /// The next message, in the order they came; fails when the server closes.
    pub async fn receive(&mut self) -> Result<Value> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.read().await,
        }
    }

    /// Sends a request and returns the answer to it; whatever else comes meanwhile is kept for `receive`.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        loop {
            let message = self.read().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
            self.early.push_back(message);
        }
    }

    /// Closes the connection in an orderly way.
    pub async fn close(mut self) -> Result<()> {
        Ok(self.stream.close(None).await?)
    }

    /// Closes with that code and returns the code of the server's answer, once the connection has ended in order.
    pub async fn close_with(mut self, code: u16) -> Result<Option<u16>> {
        let frame = CloseFrame { code: code.into(), reason: Utf8Bytes::default() };
        self.stream.close(Some(frame)).await?;
        self.closed().await
    }

    /// Waits until the server closes and the connection has ended in order; returns the server's code.
    pub async fn closed(mut self) -> Result<Option<u16>> {
        let ended = async {
            let mut code = None;
            while let Some(message) = self.stream.next().await {
                if let Message::Close(frame) = message? {
                    code = frame.map(|frame| frame.code.into());
                }
            }
            Ok(code)
        };
        tokio::time::timeout(ANSWER_WITHIN, ended).await.context("the connection does not end")?
    }

    async fn read(&mut self) -> Result<Value> {
        loop {
            let next = tokio::time::timeout(ANSWER_WITHIN, self.stream.next()).await;
            let message = next.with_context(|| format!("no message within {ANSWER_WITHIN:?}"))?;
            match message.context("the connection has ended")?? {
                Message::Text(text) => {
                    return serde_json::from_str(&text).with_context(|| format!("not JSON: {text}"));
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                Message::Binary(bytes) => bail!("{} bytes of binary instead of a text", bytes.len()),
                Message::Close(frame) => bail!("the server closed: {frame:?}"),
            }
        }
    }
}
