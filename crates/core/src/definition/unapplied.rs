//! What a definition may say although nothing applies it yet: policies and ways to authenticate, under our names
//! and those of resilience4j. Their form is checked, so that a fault is told now and not when they take effect; then they are
//! taken out, with a warning, and the definition is served.

use serde_json::{Map, Value, json};

use crate::difference::step;
use crate::{AnyKind, Problems};

/// The fields of `policy` that nothing applies yet.
const OF_POLICY: &[&str] = &["retry", "circuitBreaker", "rateLimit", "concurrency", "quota", "cache"];

/// Where such fields may stand.
pub(super) fn places(kinds: &[std::sync::Arc<dyn AnyKind>]) -> Vec<(String, &'static [&'static str])> {
    let of_kinds = kinds.iter().map(|kind| (kind.name().to_owned(), kind.unapplied()));
    of_kinds.chain([("policy".to_owned(), OF_POLICY)]).filter(|(_, fields)| !fields.is_empty()).collect()
}

/// Adds the fields to the schema of a definition.
pub(super) fn extend(schema: &mut Value, places: &[(String, &'static [&'static str])]) {
    for (place, fields) in places {
        let properties = schema.pointer_mut(&format!("/properties/{place}/properties"));
        if let Some(properties) = properties.and_then(Value::as_object_mut) {
            properties.extend(fields.iter().map(|field| ((*field).to_owned(), form_of(field))));
        }
    }
}

/// Takes the fields out of a document, each with a warning.
pub(super) fn take_out(
    members: &mut Map<String, Value>,
    places: &[(String, &'static [&'static str])],
    problems: &mut Problems,
) {
    for (place, fields) in places {
        let Some(Value::Object(block)) = members.get_mut(place) else { continue };
        for field in *fields {
            if block.shift_remove(*field).is_some_and(|value| !value.is_null()) {
                let message = format!(
                    "{field:?} is understood but not applied yet: calls go on as if it were not there"
                );
                problems.warning(step(&format!("/{place}"), field), message);
            }
        }
    }
}

/// The form of one field.
fn form_of(field: &str) -> Value {
    match field {
        "retry" => number_or(&[
            ("maxAttempts", count()),
            ("backoffMs", whole()),
            ("multiplier", number()),
            ("maxBackoffMs", whole()),
            ("on", list()),
            ("waitDuration", duration()),
            ("enableExponentialBackoff", flag()),
            ("exponentialBackoffMultiplier", number()),
            ("exponentialMaxWaitDuration", duration()),
            ("retryExceptions", list()),
            ("ignoreExceptions", list()),
        ]),
        "circuitBreaker" => object(&[
            ("failureRate", number()),
            ("slowRate", number()),
            ("slowMs", whole()),
            ("minCalls", count()),
            ("windowMs", whole()),
            ("openMs", whole()),
            ("halfOpenCalls", count()),
            ("failureRateThreshold", number()),
            ("slowCallRateThreshold", number()),
            ("slowCallDurationThreshold", duration()),
            ("minimumNumberOfCalls", count()),
            ("slidingWindowSize", count()),
            ("slidingWindowType", json!({"type": "string"})),
            ("waitDurationInOpenState", duration()),
            ("permittedNumberOfCallsInHalfOpenState", count()),
            ("automaticTransitionFromOpenToHalfOpenEnabled", flag()),
        ]),
        "rateLimit" => number_or(&[
            ("limit", count()),
            ("periodMs", whole()),
            ("burst", count()),
            ("limitForPeriod", count()),
            ("limitRefreshPeriod", duration()),
            ("timeoutDuration", duration()),
        ]),
        "concurrency" => json!({"type": ["integer", "object"], "minimum": 1}),
        "cache" => json!({"type": ["boolean", "integer", "object"]}),
        _ => json!({"type": ["integer", "object"]}),
    }
}

fn object(fields: &[(&str, Value)]) -> Value {
    let fields = fields.iter().map(|(name, form)| ((*name).to_owned(), form.clone()));
    let properties: Map<String, Value> = fields.collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// The same, or a number that says the first of them.
fn number_or(fields: &[(&str, Value)]) -> Value {
    let mut form = object(fields);
    form["type"] = json!(["object", "integer"]);
    form
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 1})
}

fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn number() -> Value {
    json!({"type": "number", "minimum": 0})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

fn list() -> Value {
    json!({"type": "array", "items": {"type": ["string", "integer"]}})
}

/// Milliseconds, or a text such as `500ms` or `PT10S`.
fn duration() -> Value {
    json!({"type": ["integer", "number", "string"]})
}
