//! Streamable HTTP: one message per POST, one answer per response.

use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use toolrail_core::Principal;

use super::LARGEST_MESSAGE;
use crate::headers::Claims;
use crate::peer::{Peer, Session};
use crate::reply::{Answer, Code, Fault, Pieces};
use crate::server::Server;

/// How long a client may take to send its message.
const READ_DEADLINE: Duration = Duration::from_secs(30);

impl Server {
    /// Answers one HTTP request to the MCP endpoint.
    pub async fn answer_http<B: Body<Data = Bytes>>(&self, request: Request<B>) -> Response<Pieces> {
        if request.method() != Method::POST {
            return wrong_method();
        }
        let (parts, body) = request.into_parts();
        let bytes = match read(body).await {
            Ok(bytes) => bytes,
            Err(fault) => return respond(Answer::write(None, Err(fault))),
        };
        let peer = Peer {
            claims: Some(Claims::of(&parts.headers)),
            session: &Session::default(),
            principal: &Principal::Anonymous,
        };
        match self.answer(&bytes, &peer).await {
            Some(answer) => respond(answer),
            None => empty(StatusCode::ACCEPTED),
        }
    }
}

async fn read<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, Fault> {
    tokio::time::timeout(READ_DEADLINE, collect(body)).await.unwrap_or_else(|_| {
        Err(Fault::new(Code::InvalidRequest, "the message took too long to arrive").with_status(408))
    })
}

/// The whole body; one that came in one piece, as nearly all do, is not copied.
async fn collect<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, Fault> {
    let mut body = pin!(body);
    let mut whole = Bytes::new();
    let mut joined: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Fault::new(Code::InvalidRequest, "the message did not arrive whole"))?;
        let Ok(data) = frame.into_data() else { continue };
        let so_far = joined.as_ref().map_or(whole.len(), BytesMut::len);
        if so_far + data.len() > LARGEST_MESSAGE {
            let message = format!("the message is larger than {} MiB", LARGEST_MESSAGE / 1024 / 1024);
            return Err(Fault::new(Code::InvalidRequest, message).with_status(413));
        }
        match &mut joined {
            Some(joined) => joined.extend_from_slice(&data),
            None if whole.is_empty() => whole = data,
            None => {
                let mut first = BytesMut::with_capacity((so_far + data.len()) * 2);
                first.extend_from_slice(&whole);
                first.extend_from_slice(&data);
                joined = Some(first);
            }
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(joined.map_or(whole, BytesMut::freeze))
}

fn respond(answer: Answer) -> Response<Pieces> {
    let mut response = Response::new(answer.body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Streams and sessions are not offered yet: the standard's answer to that is 405.
fn wrong_method() -> Response<Pieces> {
    let mut response = respond(Answer {
        status: 405,
        body: Pieces::one(
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"send JSON-RPC messages with POST\"}}".to_vec(),
        ),
    });
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

fn empty(status: StatusCode) -> Response<Pieces> {
    let mut response = Response::new(Pieces::default());
    *response.status_mut() = status;
    response
}
