//! The service behind the benchmark: fixed JSON answers, made once, small, large or late.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::process::announce_and_accept;

/// Stands in every answer, so that a measured call can be told from an error.
pub(super) const MARKER: &str = "bench-marker-7f3a";

pub(super) const SMALL_BYTES: usize = 200;
pub(super) const LARGE_BYTES: usize = 64 * 1024;

const LATE: Duration = Duration::from_millis(50);

/// Serves until stdin closes.
pub(crate) fn serve() -> Result<()> {
    let small = Bytes::from(small_answer());
    let large = Bytes::from(large_answer());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(announce_and_accept(move |stream| {
        let (small, large) = (small.clone(), large.clone());
        async move {
            let service = service_fn(move |request| answer(request, small.clone(), large.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            // A connection that breaks is the load generator's to notice and count.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        }
    }))
}

async fn answer(
    request: Request<Incoming>,
    small: Bytes,
    large: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = match request.uri().path() {
        "/small" => small,
        "/large" => large,
        "/slow50" => {
            tokio::time::sleep(LATE).await;
            small
        }
        _ => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        }
    };
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

fn small_answer() -> String {
    let mut json = format!(r#"{{"marker":"{MARKER}","city":"Berlin","temperature":21.5,"wind":{{"speed":4,"#);
    json.push_str(r#""from":"west"},"summary":""#);
    pad(json, SMALL_BYTES, "\"}")
}

/// Records as a real service lists them: short strings, numbers, some text that is not ASCII.
fn large_answer() -> String {
    let mut json = format!(r#"{{"marker":"{MARKER}","items":["#);
    for id in 0.. {
        let mut record = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            record,
            r#"{{"id":{id},"name":"Station {id}","city":"{}","note":"said \"fine\", then left","lat":{}.{:04},"#,
            ["Berlin", "北京", "São Paulo", "Reykjavik"][id % 4],
            id % 90,
            (id * 7919) % 10_000,
        );
        let _ = write!(record, r#""open":{},"tags":["a{}","b"],"parent":null}},"#, id % 3 == 0, id % 17);
        if json.len() + record.len() + 64 > LARGE_BYTES {
            break;
        }
        json.push_str(&record);
    }
    json.push_str(r#"{}],"summary":""#);
    pad(json, LARGE_BYTES, "\"}")
}

fn pad(mut json: String, length: usize, end: &str) -> String {
    let missing = length.saturating_sub(json.len() + end.len());
    json.extend(std::iter::repeat_n('x', missing));
    json.push_str(end);
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_objects_of_the_promised_size_with_the_marker() {
        for (json, size) in [(small_answer(), SMALL_BYTES), (large_answer(), LARGE_BYTES)] {
            assert_eq!(json.len(), size);
            let value: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value["marker"], MARKER);
        }
    }
}
