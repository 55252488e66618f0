//! `approval`: a call waits until a person has said yes to it. A word, or an object that says more.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Problems;

/// Where it stands.
const PLACE: &str = "/approval";
/// How long a decision is waited for, if nothing is said.
const USUAL_SECONDS: u64 = 5 * 60;
/// The longest that one may be waited for.
const MOST_SECONDS: u64 = 24 * 60 * 60;
/// The longest that a call may be kept waiting by `waitSecs`.
const MOST_WAIT: u64 = 60 * 60;
/// The most patterns of people, and the most characters of one.
const MOST_PATTERNS: usize = 32;
const LONGEST_PATTERN: usize = 128;
/// The most characters of what is said to people.
const LONGEST_MESSAGE: usize = 500;

/// That a person must approve of each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// How long a decision is waited for, and how long it is good once it was made.
    pub within: Duration,
    /// How long a call is kept waiting for it before its client is told to call again, if the definition says so.
    pub wait: Option<Duration>,
    /// Patterns of the names and groups of those who decide; if there are none, the client's own user may, too.
    pub by: Vec<String>,
    /// What they are told beside the request.
    pub message: Option<String>,
}

/// The form of the field: what has several types has better words here than a choice of schemas would.
pub(super) fn form() -> Value {
    json!({
        "description": "`required`: a person must approve of each call before it is carried out. An object says more.",
        "type": ["string", "boolean", "object", "null"],
        "properties": {
            "required": {"type": "boolean", "description": "Whether a person must approve; true when left out."},
            "timeoutSecs": {
                "type": "integer", "minimum": 1, "maximum": MOST_SECONDS,
                "description": "How many seconds a decision is waited for; 300 when left out."
            },
            "waitSecs": {
                "type": "integer", "minimum": 0, "maximum": MOST_WAIT,
                "description": "How many seconds a call is kept waiting for the decision before it is answered with APPROVAL_PENDING; when left out, as long as that may take for clients that hear of progress, and 55 for others."
            },
            "by": {
                "type": "array", "items": {"type": "string"},
                "description": "Patterns of the names and groups of those who decide, such as `finance-*`. When left out, whoever may change definitions, and the user of a client that can ask him."
            },
            "message": {"type": "string", "description": "What those who decide are told beside the request."}
        },
        "additionalProperties": false
    })
}

/// What was written; nothing if no approval is needed, or it is wrong.
pub(super) fn approval_of(written: &Value, problems: &mut Problems) -> Option<Approval> {
    match written {
        Value::Bool(true) => Some(usual()),
        Value::String(word) if word == "required" => Some(usual()),
        Value::String(word) => {
            if word != "none" {
                problems.error(PLACE, format!("{word:?} is not one of required, none"));
            }
            None
        }
        Value::Object(_) => of_object(written, problems),
        // Numbers and lists were told where the form was checked.
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn usual() -> Approval {
    Approval { within: Duration::from_secs(USUAL_SECONDS), wait: None, by: Vec::new(), message: None }
}

fn of_object(written: &Value, problems: &mut Problems) -> Option<Approval> {
    let seconds = written.get("timeoutSecs").and_then(Value::as_u64).unwrap_or(USUAL_SECONDS);
    let wait = written.get("waitSecs").and_then(Value::as_u64);
    let message = written.get("message").and_then(Value::as_str);
    if message.is_some_and(|message| message.chars().nth(LONGEST_MESSAGE).is_some()) {
        let wrong = format!("is longer than {LONGEST_MESSAGE} characters; shorten it");
        problems.error(format!("{PLACE}/message"), wrong);
    }
    let by = written.get("by").and_then(Value::as_array).map(Vec::as_slice);
    check_people(by, problems);
    let by = by.unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let is_required = written.get("required").and_then(Value::as_bool).unwrap_or(true);
    is_required.then(|| Approval {
        within: Duration::from_secs(seconds.clamp(1, MOST_SECONDS)),
        wait: wait.map(|seconds| Duration::from_secs(seconds.min(MOST_WAIT))),
        by,
        message: message.map(str::to_owned),
    })
}

fn check_people(by: Option<&[Value]>, problems: &mut Problems) {
    let Some(by) = by else { return };
    let place = format!("{PLACE}/by");
    if by.is_empty() {
        problems.error(&*place, "names nobody, so nobody could approve; name somebody, or leave it out");
    }
    if by.len() > MOST_PATTERNS {
        problems.error(&*place, format!("has {} patterns; keep {MOST_PATTERNS} at most", by.len()));
    }
    for (at, pattern) in by.iter().enumerate().take(MOST_PATTERNS) {
        let length = pattern.as_str().map_or(1, |pattern| pattern.trim().chars().count());
        if length == 0 || length > LONGEST_PATTERN {
            problems.error(format!("{place}/{at}"), format!("must have 1 to {LONGEST_PATTERN} characters"));
        }
    }
}
