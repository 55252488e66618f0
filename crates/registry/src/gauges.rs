//! What the registry counts, for whoever watches a gateway. Setting these costs the same however many definitions
//! there are.

use std::time::{Duration, Instant};

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use toolrail_core::{Outcome, Revision, Severity};
use toolrail_search::Method;

use crate::source_id::SourceId;

const REFRESHES: &str = "toolrail_refresh_count";
const VERSION: &str = "toolrail_last_refresh_version";
const LATENCY: &str = "toolrail_last_refresh_latency";
const FAILURES: &str = "toolrail_refresh_failures";
const PROPAGATION: &str = "toolrail_propagation_seconds";
const TOOLS: &str = "toolrail_tools";
const PROBLEMS: &str = "toolrail_problems";
const STORE_UP: &str = "toolrail_store_up";
const COMPILED: &str = "toolrail_definitions_compiled_total";
const CALLS: &str = "toolrail_tool_calls_total";
const SEARCHES: &str = "toolrail_searches_total";
const SEARCH_TIME: &str = "toolrail_search_seconds";

/// Says what each is, to whoever records them.
pub(crate) fn describe() {
    describe_counter!(REFRESHES, "Times that changed definitions were taken over from a source");
    describe_gauge!(VERSION, "The revision of the store that is served");
    describe_gauge!(LATENCY, "Seconds that the last change took from its reading to its publication");
    describe_counter!(FAILURES, "Times that a source could not be read");
    describe_histogram!(PROPAGATION, "Seconds from the commit of a change to its publication here");
    describe_gauge!(TOOLS, "Definitions and offered tools by source and state");
    describe_gauge!(PROBLEMS, "Problems of definitions and sources by severity");
    describe_gauge!(STORE_UP, "1 while the store can be read, 0 otherwise");
    describe_counter!(COMPILED, "Definitions that were compiled, because they are new or changed");
    describe_counter!(
        CALLS,
        "Calls of tools by kind and outcome: ok, error, cancelled, or the code of a failure"
    );
    describe_counter!(SEARCHES, "Searches for tools by method");
    describe_histogram!(SEARCH_TIME, "Seconds that a search for tools took, by method");
}

/// A call under way; counted once, also if it is given up. Its labels are bounded: never the name of the tool.
pub(crate) struct MeasuredCall<'t> {
    kind: &'t str,
    outcome: &'static str,
}

impl<'t> MeasuredCall<'t> {
    /// A call of a tool of that kind begins.
    pub(crate) fn begin(kind: &'t str) -> Self {
        Self { kind, outcome: "cancelled" }
    }

    /// It came to its end.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        self.outcome = match outcome {
            Ok(result) if result.is_error => "error",
            Ok(_) => "ok",
            Err(error) => error.code.word(),
        };
    }
}

impl Drop for MeasuredCall<'_> {
    fn drop(&mut self) {
        counter!(CALLS, "kind" => self.kind.to_owned(), "outcome" => self.outcome).increment(1);
    }
}

/// Somebody has looked for tools.
pub(crate) fn searched(method: Method, began: Instant) {
    counter!(SEARCHES, "method" => method.word()).increment(1);
    histogram!(SEARCH_TIME, "method" => method.word()).record(began.elapsed().as_secs_f64());
}

pub(crate) fn definition_compiled() {
    counter!(COMPILED).increment(1);
}

/// A source was read, or not.
pub(crate) fn source_read(source: SourceId, good: bool) {
    if source == SourceId::Store {
        gauge!(STORE_UP).set(if good { 1.0 } else { 0.0 });
    }
    if !good {
        counter!(FAILURES, "source" => source.word()).increment(1);
    }
}

/// Changed definitions were published, so long after the reading began.
pub(crate) fn refreshed(source: SourceId, took: Duration) {
    counter!(REFRESHES, "source" => source.word()).increment(1);
    gauge!(LATENCY, "source" => source.word()).set(took.as_secs_f64());
}

/// A change was published, so long after it was made.
pub(crate) fn propagated(age: Duration) {
    histogram!(PROPAGATION).record(age.as_secs_f64());
}

/// That revision of the store is served now.
pub(crate) fn serves(revision: Revision) {
    gauge!(VERSION).set(number(revision));
}

/// So many definitions and offered tools of that source are in that state.
pub(crate) fn tools(source: SourceId, state: &'static str, count: usize) {
    gauge!(TOOLS, "source" => source.word(), "state" => state).set(number_of(count));
}

/// There are so many problems of that severity.
pub(crate) fn problems(severity: Severity, count: usize) {
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    gauge!(PROBLEMS, "severity" => word).set(number_of(count));
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, which no revision reaches")]
fn number(revision: Revision) -> f64 {
    revision as f64
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, which no count reaches")]
fn number_of(count: usize) -> f64 {
    count as f64
}
