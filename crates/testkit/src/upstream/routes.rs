//! What the upstream answers, path by path.

use std::time::Duration;

use anyhow::{Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Canned, Received};

const MAX_BYTES: usize = 64 * 1024 * 1024;

/// One pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// No samples.
const WAV: &[u8] = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\0\0\0\0";

const PDF: &[u8] = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n%%EOF\n";

/// | path | answer |
/// |---|---|
/// | `/echo`, `/echo/…` | the request as JSON: method, path, query, headers, body, bodyBase64 |
/// | `/status/{code}` | that status with a small JSON body |
/// | `/bytes/{n}` | n bytes of `application/octet-stream` |
/// | `/json/{n}` | about n bytes of JSON |
/// | `/slow/{ms}` | `{"sleptMs":ms}` after that time |
/// | `/image`, `/audio`, `/pdf`, `/text` | a small one of these |
/// | `/redirect/{n}` | n redirects, then `{"redirected":true}` |
/// | `/drop` | no answer; the connection is cut |
pub(super) async fn answer(request: &Received) -> Result<Canned> {
    let mut parts = request.path.splitn(3, '/').skip(1);
    let (route, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let number = rest.parse::<usize>().ok();
    Ok(match (route, number) {
        ("echo", _) => Canned::json(200, &echo(request)),
        ("status", Some(code @ 200..=599)) => Canned::json(
            u16::try_from(code)?,
            &json!({ "status": code, "message": format!("answered {code}") }),
        ),
        ("bytes", Some(count @ 0..=MAX_BYTES)) => {
            Canned::new(200, "application/octet-stream", pattern(count))
        }
        ("json", Some(size @ 0..=MAX_BYTES)) => Canned::new(200, "application/json", json_of_size(size)),
        ("slow", Some(milliseconds)) => {
            tokio::time::sleep(Duration::from_millis(u64::try_from(milliseconds)?)).await;
            Canned::json(200, &json!({ "sleptMs": milliseconds }))
        }
        ("image", _) => Canned::new(200, "image/png", PNG),
        ("audio", _) => Canned::new(200, "audio/wav", WAV),
        ("pdf", _) => Canned::new(200, "application/pdf", PDF),
        ("text", _) => Canned::new(200, "text/plain; charset=utf-8", "plain text, 纯文本\n"),
        ("redirect", Some(0)) => Canned::json(200, &json!({ "redirected": true })),
        ("redirect", Some(left)) => {
            Canned::new(302, "text/plain", "").with_header("location", &format!("/redirect/{}", left - 1))
        }
        ("drop", _) => bail!("asked to drop the connection"),
        _ => Canned::json(404, &json!({ "error": format!("nothing at {}", request.path) })),
    })
}

fn echo(request: &Received) -> Value {
    let mut headers = Map::new();
    for name in request.headers.keys() {
        let values = request.headers.get_all(name).iter();
        let values: Vec<String> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into()).collect();
        headers.insert(name.to_string(), values.join(", ").into());
    }
    json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": headers,
        "body": std::str::from_utf8(&request.body).ok(),
        "bodyBase64": STANDARD.encode(&request.body),
    })
}

fn pattern(count: usize) -> Bytes {
    (0..=255).cycle().take(count).collect()
}

fn json_of_size(size: usize) -> String {
    let mut text = String::from(r#"{"items":["#);
    let mut id = 0;
    loop {
        let item = format!(r#"{{"id":{id},"name":"item \"{id}\"","note":"two\nlines, 两行"}}"#);
        if text.len() + item.len() + 3 > size {
            break;
        }
        if id > 0 {
            text.push(',');
        }
        text.push_str(&item);
        id += 1;
    }
    text + "]}"
}
