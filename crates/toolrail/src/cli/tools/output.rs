//! `toolrail tools call --output FILE`: the result of a call as a file, in the bytes that it is of.

use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::call::{blocks_of, data_of, text_of};
use crate::print;

/// Writes the result. Where it has several files in it, the second is written beside the first, as `NAME-2.EXTENSION`, and so on.
pub(super) fn write(file: &Path, result: &Value) -> anyhow::Result<()> {
    for (index, bytes) in parts(result)?.into_iter().enumerate() {
        let place = numbered(file, index);
        std::fs::write(&place, &bytes).with_context(|| format!("{} cannot be written", place.display()))?;
        print::note(format!("{} written to {}", print::counted(bytes.len(), "byte"), place.display()));
    }
    Ok(())
}

/// What is written: every file in the result, or all of it as text.
fn parts(result: &Value) -> anyhow::Result<Vec<Vec<u8>>> {
    let blocks = blocks_of(result).unwrap_or_default();
    let files: Vec<&str> = blocks.iter().filter_map(data_of).map(|(data, _)| data).collect();
    if !files.is_empty() {
        let decoded = files.into_iter().map(|data| STANDARD.decode(data));
        return decoded.collect::<Result<_, _>>().context("the result is not in base64, as it should be");
    }
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let text = match result {
        Value::String(text) => text.clone(),
        _ if !texts.is_empty() => texts.join("\n"),
        other => serde_json::to_string_pretty(other)? + "\n",
    };
    Ok(vec![text.into_bytes()])
}

fn numbered(file: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = match file.extension() {
        Some(extension) => format!("{stem}-{}.{}", index + 1, extension.to_string_lossy()),
        None => format!("{stem}-{}", index + 1),
    };
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_written_as_what_it_is() {
        for (result, parts_of_it) in [
            (json!("text"), vec!["text"]),
            (json!({"a": 1}), vec!["{\n  \"a\": 1\n}\n"]),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                vec!["a\nb"],
            ),
            (
                json!({"content": [
                    {"type": "image", "mimeType": "image/png", "data": "YQ=="},
                    {"type": "text", "text": "said beside it"},
                    {"type": "resource", "resource": {"uri": "x:", "blob": "Yg=="}},
                ]}),
                vec!["a", "b"],
            ),
        ] {
            let expected: Vec<Vec<u8>> =
                parts_of_it.into_iter().map(|part| part.as_bytes().to_vec()).collect();
            assert_eq!(parts(&result).unwrap(), expected, "{result}");
        }
        assert_eq!(numbered(Path::new("d/a.png"), 1), Path::new("d/a-2.png"));
    }
}
