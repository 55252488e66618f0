//! Whether a file is half-written: it has become the beginning of what it was, and lost definitions by that. An editor that
//! is saving, or a disk that is full, leaves such files; so does somebody who deletes the end of a list.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use super::Draft;

/// How long a file that ends between two definitions is taken for half-written, if nobody goes on writing.
pub(super) const HOLD: Duration = Duration::from_secs(2);

/// What is to be thought of the new content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftVerdict {
    /// It is what somebody wrote.
    Whole,
    /// It ends between two definitions: the others were deleted, or are not written yet.
    EndsBetween,
    /// It ends inside a definition.
    EndsInside,
}

/// Compares what a file has with what it had.
pub(super) fn judge(before: &[Draft], now: &[Draft]) -> DraftVerdict {
    let names: HashSet<String> = now.iter().filter_map(name_of).collect();
    let is_lost = |draft: &Draft| name_of(draft).is_some_and(|name| !names.contains(&name));
    if !before.iter().any(is_lost) {
        return DraftVerdict::Whole;
    }
    let (now, before) = (values(now), values(before));
    if now.iter().zip(&before).all(|(now, before)| now == before) && now.len() < before.len() {
        DraftVerdict::EndsBetween
    } else if is_beginning_of_list(&now, &before) || !now.iter().any(Value::is_object) {
        DraftVerdict::EndsInside
    } else {
        DraftVerdict::Whole
    }
}

fn values(drafts: &[Draft]) -> Vec<Value> {
    drafts.iter().map(|draft| serde_json::from_str(&draft.text).unwrap_or_default()).collect()
}

fn name_of(draft: &Draft) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    let inside = || serde_json::from_str::<Named>(&draft.text).ok().map(|named| named.name);
    draft.name.clone().or_else(inside)
}

/// Whether YAML that was cut off somewhere would read as this.
fn is_beginning(now: &Value, before: &Value) -> bool {
    match (now, before) {
        _ if now == before => true,
        // So reads what is not there yet, and the beginning of many a word: `n`, `on`, `y`.
        (Value::Null | Value::Bool(_), _) => true,
        (Value::String(now), Value::String(before)) => before.starts_with(now),
        // Cut off inside a key, or a word that means something.
        (Value::String(now), Value::Object(before)) => {
            before.keys().next().is_some_and(|key| key.starts_with(now))
        }
        (Value::String(now), other) => other.to_string().starts_with(now),
        (Value::Object(now), Value::Object(before)) => {
            let mut pairs = now.iter().zip(before).rev();
            let last = pairs.next();
            now.len() <= before.len()
                && last.is_none_or(|((key, now), (old, before))| key == old && is_beginning(now, before))
                && pairs.all(|(now, before)| now == before)
        }
        (Value::Array(now), Value::Array(before)) => is_beginning_of_list(now, before),
        (Value::Number(_), other) => other.to_string().starts_with(&now.to_string()),
        _ => false,
    }
}

fn is_beginning_of_list(now: &[Value], before: &[Value]) -> bool {
    let Some((last, rest)) = now.split_last() else { return true };
    now.len() <= before.len()
        && rest.iter().zip(before).all(|(now, before)| now == before)
        && is_beginning(last, &before[rest.len()])
}

#[cfg(test)]
mod tests {
    use super::super::files::draft_of;
    use super::super::read_yaml;
    use super::{Draft, DraftVerdict, judge};

    const LIST: &str = "- name: one\n  type: echo\n  echo: {}\n- name: two\n  type: echo\n  echo: {}\n";

    fn drafts(text: &str) -> Option<Vec<Draft>> {
        let roots = read_yaml(text).ok()?;
        let items = roots.into_iter().flat_map(|root| match root {
            serde_json::Value::Array(items) => items,
            other => vec![other],
        });
        Some(items.map(|value| draft_of(value, "f.yaml".into())).collect())
    }

    #[test]
    fn wherever_a_file_is_cut_it_is_not_taken_for_whole_once_a_name_is_lost() {
        for text in [LIST, "name: echo\ndescription: d\ntype: echo\necho: {}\n"] {
            let before = drafts(text).unwrap();
            for end in 1..text.len() {
                let Some(now) = drafts(&text[..end]) else { continue };
                let names = |drafts: &[Draft]| drafts.iter().filter_map(super::name_of).collect::<Vec<_>>();
                let verdict = judge(&before, &now);
                if names(&now) == names(&before) {
                    assert_eq!(verdict, DraftVerdict::Whole, "{:?}", &text[..end]);
                } else {
                    assert_ne!(verdict, DraftVerdict::Whole, "{:?}", &text[..end]);
                }
            }
        }
    }

    #[test]
    fn what_somebody_changed_is_whole() {
        let before = drafts(LIST).unwrap();
        for text in [
            "- name: two\n  type: echo\n  echo: {}\n",
            "- name: one\n  type: echo\n  echo: {}\n- name: three\n  type: echo\n  echo: {}\n",
            "name: other\ntype: echo\necho: {}\n",
        ] {
            assert_eq!(judge(&before, &drafts(text).unwrap()), DraftVerdict::Whole, "{text}");
        }
        let shorter = drafts("- name: one\n  type: echo\n  echo: {}\n").unwrap();
        assert_eq!(judge(&before, &shorter), DraftVerdict::EndsBetween);
    }
}
