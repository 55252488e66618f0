//! Definitions as the text of a file: stable, so that a change to a definition is a small difference in the file, and true,
//! so that reading the file gives the definition back.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value, json};
use toolrail_registry::read_yaml;

/// The longest name of a file, without its extension; file systems take 255 bytes, and a process's id may be added.
const LONGEST_STEM: usize = 200;
/// How much of a longer one is kept, for people.
const KEPT_OF_STEM: usize = 100;

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    Yaml,
    Json,
}

impl Format {
    /// How the names of its files end.
    pub(super) const fn extension(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }

    /// The format of a file of that name, if the name says one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The text of a file with that in it.
    pub(super) fn text(self, value: &Value) -> anyhow::Result<String> {
        let json = || serde_json::to_string_pretty(value).map(|text| text + "\n").context("not JSON");
        match self {
            Self::Json => json(),
            Self::Yaml => match yaml(value).filter(|text| reads_back(text, value)) {
                Some(text) => Ok(text),
                // Every JSON text is YAML too.
                None => json(),
            },
        }
    }
}

fn yaml(value: &Value) -> Option<String> {
    // Folded lines would be another text with every edit.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 1_000_000 };
    serde_saphyr::to_string_with_options(value, options).ok()
}

/// Whether that is what the text says, numbers and the order of members included: equal values may be written differently.
fn reads_back(text: &str, value: &Value) -> bool {
    let written = |value: &Value| serde_json::to_vec(value).ok();
    read_yaml(text).is_ok_and(|read| matches!(&read[..], [one] if written(one) == written(value)))
}

/// A definition of the store as a file has it: bare, with its switch inside if it is off; under `configJson` where somebody
/// else owns it, or where it is no object.
pub(super) fn as_written(tool: &Value) -> Value {
    let off = tool["enabled"] == false;
    match (&tool["configJson"], &tool["tenant"]) {
        (Value::Object(document), Value::Null) if !looks_wrapped(document) => {
            let mut members = document.clone();
            if !members.contains_key("name") {
                members.shift_insert(0, "name".into(), tool["name"].clone());
            }
            members.shift_remove("enabled");
            if off {
                members.insert("enabled".into(), false.into());
            }
            Value::Object(members)
        }
        (document, tenant) => {
            let mut members = Map::from_iter([("name".to_owned(), tool["name"].clone())]);
            if !tenant.is_null() {
                members.insert("tenant".into(), tenant.clone());
            }
            if off {
                members.insert("enabled".into(), false.into());
            }
            members.insert("configJson".into(), document.clone());
            Value::Object(members)
        }
    }
}

/// Such a document would be read as a wrapper around another.
fn looks_wrapped(document: &Map<String, Value>) -> bool {
    ["configJson", "config_json"].iter().any(|field| document.contains_key(*field))
        || (document.get("tools").is_some_and(Value::is_array))
}

/// All of them in one file.
pub(super) fn list(tools: &[Value]) -> Value {
    json!({"tools": tools.iter().map(as_written).collect::<Vec<_>>()})
}

/// What a file that `export` wrote is called: the name, with everything that a file system may not like written out.
pub(super) fn file_stem(name: &str) -> String {
    let written = |(index, byte): (usize, u8)| {
        let plain = byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || (byte == b'.' && index > 0);
        if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let stem: String = name.bytes().enumerate().map(written).collect();
    if !stem.is_empty() && stem.len() <= LONGEST_STEM {
        return stem;
    }
    let hash = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    let hash = hash.as_ref().iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    });
    // No other name is written so: behind a % stand digits.
    format!("{}%-{hash}", stem.get(..KEPT_OF_STEM).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolrail_registry::read_documents;

    use super::*;

    fn read(format: Format, text: &str) -> Value {
        let path = Path::new(if format == Format::Yaml { "a.yaml" } else { "a.json" });
        let mut documents = read_documents(path, text).unwrap();
        let only = documents.pop().filter(|document| documents.is_empty() && document.pointer.is_empty());
        only.unwrap().value
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = prop::sample::select(vec![
            "yes",
            "no",
            "null",
            "~",
            "1",
            "1.0",
            "0x10",
            "1e3",
            "2026-01-02",
            "- a",
            "a: b",
            "# c",
            "{{args.x}}",
            "",
            " ",
            "line\nline\n",
            "\n\nx\n",
            "tab\t",
            "天气",
            "'\"",
            "<<",
            "!tag",
            "&a",
            "*a",
            "%x",
            "@x",
            "|",
            ">",
            "true",
            "\u{0}",
            "\u{7f}",
            "\u{feff}",
            "\u{2028}",
            "trailing \n  x",
            "\r\n",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            prop::num::f64::NORMAL.prop_map(Value::from),
            words.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_back(inner in any_json()) {
            let value = json!({"name": "a", "http": inner});
            for format in [Format::Yaml, Format::Json] {
                let text = format.text(&value).unwrap();
                prop_assert_eq!(read(format, &text).to_string(), value.to_string(), "{}", text);
            }
        }
    }

    #[test]
    fn yaml_is_written_as_people_would() {
        let value = json!({
            "name": "weather.current", "description": "First line.\nSecond line.", "type": "http",
            "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "http": {"url": "https://x/{{args.city}}", "query": {"q": "{{args.city}}"}, "timeoutMs": 3000},
            "tags": [], "enabled": false,
        });
        insta::assert_snapshot!(Format::Yaml.text(&value).unwrap(), @r#"
        name: weather.current
        description: |-
          First line.
          Second line.
        type: http
        inputSchema:
          type: object
          properties:
            city:
              type: string
          required:
          - city
        http:
          url: https://x/{{args.city}}
          query:
            q: "{{args.city}}"
          timeoutMs: 3000
        tags: []
        enabled: false
        "#);
    }

    #[test]
    fn a_definition_is_written_bare_unless_that_would_change_it() {
        let bare =
            as_written(&json!({"name": "a", "enabled": true, "configJson": {"name": "a", "http": {}}}));
        assert_eq!(bare, json!({"name": "a", "http": {}}));
        let off =
            as_written(&json!({"name": "a", "enabled": false, "configJson": {"http": {}, "enabled": true}}));
        assert_eq!(off.to_string(), r#"{"name":"a","http":{},"enabled":false}"#);
        let owned =
            as_written(&json!({"name": "a", "tenant": "t", "enabled": true, "configJson": {"name": "a"}}));
        assert_eq!(owned, json!({"name": "a", "tenant": "t", "configJson": {"name": "a"}}));
        let broken = as_written(&json!({"name": "a", "enabled": true, "configJson": "{nonsense"}));
        assert_eq!(broken, json!({"name": "a", "configJson": "{nonsense"}));
    }

    #[test]
    fn no_name_leads_out_of_the_folder_or_hides_a_file() {
        for (name, stem) in
            [("a.b-c_D", "a.b-c_D"), (".hidden", "%2Ehidden"), ("../x", "%2E.%2Fx"), ("天", "%E5%A4%A9")]
        {
            assert_eq!(file_stem(name), stem);
        }
        assert_eq!(file_stem(""), "%-e3b0c44298fc1c14");
        let (one, other) = (file_stem(&"天".repeat(200)), file_stem(&"天".repeat(201)));
        assert!(one.len() < 200 && one != other, "{one}");
    }
}
