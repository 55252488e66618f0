//! Files that a caller gives: `data:` URIs, MCP content blocks, and links to hosts that the definition lists.

use bytes::Bytes;
use http::Uri;
use serde_json::{Map, Value};

use super::body::decode_base64;

/// What a part holds.
#[derive(Debug)]
pub(super) enum Data {
    Bytes(Bytes),
    /// To be fetched.
    Link(Uri),
}

/// What a resource turned out to be.
#[derive(Debug)]
pub(super) struct FileContent {
    /// The bytes, or where they are.
    pub(super) data: Data,
    /// Its media type, if it says one.
    pub(super) mime: Option<String>,
    /// Its name, if it has one.
    pub(super) name: Option<String>,
}

impl FileContent {
    /// An MCP content block: a resource link, an embedded resource, a picture or a sound.
    pub(super) fn of_block(block: &Map<String, Value>, hosts: &[String]) -> Result<FileContent, String> {
        let text =
            |from: &Map<String, Value>, key: &str| from.get(key).and_then(Value::as_str).map(str::to_owned);
        let decode = |base64: Option<String>| {
            let bytes =
                base64.as_deref().and_then(decode_base64).ok_or("has data that is not base64; encode it")?;
            Ok::<_, String>(Data::Bytes(bytes))
        };
        match block.get("type").and_then(Value::as_str) {
        Some("resource_link") => {
            let uri = text(block, "uri").ok_or("is a resource link without uri; add it")?;
            let linked = Self::of_uri(&uri, hosts)?;
            Ok(FileContent {
                data: linked.data,
                mime: text(block, "mimeType").or(linked.mime),
                name: text(block, "name").or(linked.name),
            })
        }
        Some("resource") => {
            let inner = block
                .get("resource")
                .and_then(Value::as_object)
                .ok_or("is a resource without content; add it")?;
            let data = match text(inner, "text") {
                Some(text) => Data::Bytes(Bytes::from(text)),
                None => decode(text(inner, "blob"))?,
            };
            let name = text(inner, "uri").as_deref().and_then(last_segment);
            Ok(FileContent { data, mime: text(inner, "mimeType"), name })
        }
        Some("image" | "audio") => {
            Ok(FileContent { data: decode(text(block, "data"))?, mime: text(block, "mimeType"), name: None })
        }
        _ => Err(
            "is not a resource; give a data: URI, a link, or a resource_link, resource, image or audio block"
                .into(),
        ),
    }
    }

    pub(super) fn of_uri(uri: &str, hosts: &[String]) -> Result<FileContent, String> {
        if let Some(rest) = uri.strip_prefix("data:") {
            return of_data_uri(rest);
        }
        let parsed = url::Url::parse(uri).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = parsed else {
            return Err("is neither a data: URI nor an http or https link; give one of them".into());
        };
        let host = url.host_str().unwrap_or_default();
        let with_port = url.port().map(|port| format!("{host}:{port}"));
        if !hosts.iter().any(|listed| listed == host || Some(listed) == with_port.as_ref()) {
            return Err(format!(
                "links to {host}, which this tool may not fetch from; give the file as a data: URI, or list the host under hosts in the definition"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("is a link with a user name or password; remove them".into());
        }
        let uri = url[..url::Position::AfterQuery]
            .parse()
            .map_err(|_| "is a link that is not valid; correct it".to_owned())?;
        Ok(FileContent { data: Data::Link(uri), mime: None, name: last_segment(url.path()) })
    }
}

/// What follows `data:`, as in `image/png;base64,iVBO…` (RFC 2397).
fn of_data_uri(rest: &str) -> Result<FileContent, String> {
    let (meta, data) =
        rest.split_once(',').ok_or("is a data: URI without a comma; write data:type;base64,…")?;
    let (mime, is_base64) = match meta.strip_suffix(";base64") {
        Some(mime) => (mime, true),
        None => (meta, false),
    };
    let bytes = if is_base64 {
        decode_base64(data).ok_or("is a data: URI whose data is not base64; encode it")?
    } else {
        Bytes::from(percent_encoding::percent_decode_str(data).collect::<Vec<u8>>())
    };
    if !mime.chars().all(|c| c.is_ascii_graphic()) {
        return Err("is a data: URI with a type that is not valid; correct it".into());
    }
    let mime = if mime.is_empty() { "text/plain" } else { mime };
    Ok(FileContent { data: Data::Bytes(bytes), mime: Some(mime.to_owned()), name: None })
}

fn last_segment(path: &str) -> Option<String> {
    let last = path.rsplit('/').next()?;
    let decoded = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
    (!decoded.is_empty()).then(|| decoded.into_owned())
}
