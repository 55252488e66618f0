//! Streamable HTTP: one message per POST, one answer per response.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use toolrail_core::Principal;

use super::LARGEST_MESSAGE;
use crate::headers::Claims;
use crate::peer::{Peer, Session};
use crate::reply::{Answer, Code, Fault, Pieces};
use crate::server::Server;

/// How long a client may take to send its message.
const READ_DEADLINE: Duration = Duration::from_secs(30);

/// Answers one HTTP request.
pub(super) async fn handle(State(server): State<Arc<Server>>, request: Request<Body>) -> Response {
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
    match server.answer(&bytes, &peer).await {
        Some(answer) => respond(answer),
        None => empty(StatusCode::ACCEPTED),
    }
}

async fn read(body: Body) -> Result<Bytes, Fault> {
    let limited = Limited::new(body, LARGEST_MESSAGE).collect();
    match tokio::time::timeout(READ_DEADLINE, limited).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the message is larger than {} MiB", LARGEST_MESSAGE / 1024 / 1024);
            Err(Fault::new(Code::InvalidRequest, message).with_status(413))
        }
        Ok(Err(_)) => Err(Fault::new(Code::InvalidRequest, "the message did not arrive whole")),
        Err(_) => {
            Err(Fault::new(Code::InvalidRequest, "the message took too long to arrive").with_status(408))
        }
    }
}

fn respond(answer: Answer) -> Response {
    let mut response = Response::new(Body::new(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Streams and sessions are not offered yet: the standard's answer to that is 405.
fn wrong_method() -> Response {
    let mut response = respond(Answer {
        status: 405,
        body: Pieces::one(
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"send JSON-RPC messages with POST\"}}".to_vec(),
        ),
    });
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
