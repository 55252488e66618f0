//! The other spellings of a definition that mean the same: the split columns of the full table (`http_spec` with
//! `queryTpl` and `bodyTpl`, `auth_spec`, `response_mapping`, `transport`), `approval` among the policies, and snake case for our
//! own names.

use serde_json::{Map, Value};

use crate::difference::step;

const TOP: &[(&str, &str)] = &[
    ("transport", "type"),
    ("http_spec", "http"),
    ("feign_spec", "feign"),
    ("auth_spec", "auth"),
    ("response_mapping", "responseMapping"),
    ("input_schema", "inputSchema"),
    ("output_schema", "outputSchema"),
    ("defer_loading", "deferLoading"),
];
const BLOCKS: &[&str] = &["http", "feign"];
const BLOCK: &[(&str, &str)] = &[("queryTpl", "query"), ("bodyTpl", "body")];
const MAPPING: &[(&str, &str)] = &[("expression", "path"), ("jsonPath", "path"), ("tpl", "template")];

/// Which places of the one form the user spelled otherwise: from our pointer to theirs.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    renamed: Vec<(String, String)>,
    /// Places that were written twice, in both spellings.
    pub(super) twice: Vec<(String, String)>,
}

impl Spelling {
    /// Our pointer as the user would write it.
    pub(super) fn as_written(&self, pointer: &str) -> String {
        let best = self
            .renamed
            .iter()
            .filter(|(ours, _)| {
                pointer
                    .strip_prefix(ours.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .max_by_key(|(ours, _)| ours.len());
        match best {
            Some((ours, theirs)) => format!("{theirs}{}", &pointer[ours.len()..]),
            None => pointer.to_owned(),
        }
    }

    fn rename(&mut self, object: &mut Map<String, Value>, base: &str, names: &[(&str, &str)]) {
        for (theirs, ours) in names {
            if !object.contains_key(*theirs) {
                continue;
            }
            if object.contains_key(*ours) {
                self.twice.push((format!("{base}/{theirs}"), (*ours).to_owned()));
                object.shift_remove(*theirs);
                continue;
            }
            let written_base = self.as_written(base);
            self.renamed.push((format!("{base}/{ours}"), format!("{written_base}/{theirs}")));
            *object = std::mem::take(object)
                .into_iter()
                .map(|(key, value)| if key == *theirs { ((*ours).to_owned(), value) } else { (key, value) })
                .collect();
        }
    }
}

/// Rewrites `document` into the one form.
pub(super) fn unite(document: &mut Map<String, Value>) -> Spelling {
    let mut spelling = Spelling::default();
    spelling.rename(document, "", TOP);
    for block in BLOCKS {
        if let Some(Value::Object(settings)) = document.get_mut(*block) {
            spelling.rename(settings, &format!("/{block}"), BLOCK);
        }
    }
    if let Some(Value::Object(mapping)) = document.get_mut("responseMapping") {
        spelling.rename(mapping, "/responseMapping", MAPPING);
        if let Some(Value::String(kind)) = mapping.get_mut("type")
            && kind.eq_ignore_ascii_case("jsonPath")
        {
            "jsonPath".clone_into(kind);
        }
    }
    if let Some(Value::Object(auth)) = document.get_mut("auth") {
        lift_config(auth, &mut spelling);
    }
    lift_approval(document, &mut spelling);
    spelling
}

/// `policy: {approval: …}` means the same as `approval: …`.
fn lift_approval(document: &mut Map<String, Value>, spelling: &mut Spelling) {
    const FIELD: &str = "approval";
    let Some(Value::Object(policy)) = document.get_mut("policy") else {
        return;
    };
    let Some(approval) = policy.shift_remove(FIELD) else {
        return;
    };
    let theirs = format!("/policy/{FIELD}");
    if document.contains_key(FIELD) {
        spelling.twice.push((theirs, FIELD.to_owned()));
        return;
    }
    spelling.renamed.push((format!("/{FIELD}"), theirs));
    document.insert(FIELD.to_owned(), approval);
}

/// `{type, config: {…}}` means the same as `{type, …}`.
pub(super) fn lift_config(auth: &mut Map<String, Value>, spelling: &mut Spelling) {
    let Some(Value::Object(config)) = auth.get("config") else {
        return;
    };
    let base = spelling.as_written("/auth");
    for (key, value) in config.clone() {
        if auth.contains_key(&key) {
            spelling.twice.push((step(&format!("{base}/config"), &key), key));
            continue;
        }
        spelling.renamed.push((step("/auth", &key), step(&format!("{base}/config"), &key)));
        auth.insert(key, value);
    }
    auth.shift_remove("config");
}
