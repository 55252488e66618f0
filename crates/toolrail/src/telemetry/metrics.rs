//! Counters for `/metrics`: one recorder for the whole process, which any crate reaches through the `metrics` facade.

use std::time::Duration;

use metrics::{Unit, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio_util::task::AbortOnDropHandle;

use super::process;
use crate::identity;

/// From a millisecond to ten seconds: how long a change takes until it is live.
const PROPAGATION: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// From a hundredth of a millisecond to a second: how long a search takes.
const SEARCH: [f64; 11] = [0.00001, 0.000_03, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// How often what was observed is put into its buckets.
const UPKEEP: Duration = Duration::from_secs(5);

/// The counters of this process.
pub(crate) struct Metrics {
    handle: PrometheusHandle,
    _upkeep: AbortOnDropHandle<()>,
}

impl Metrics {
    /// Begins to count; to be called before anything is counted. Nothing if the program around this library has a recorder
    /// of its own, which then gets the counts.
    pub(crate) fn start() -> Option<Self> {
        let [propagation, search] = ["toolrail_propagation_seconds", "toolrail_search_seconds"]
            .map(|name| Matcher::Full(name.to_owned()));
        let built = PrometheusBuilder::new()
            .set_buckets_for_metric(propagation, &PROPAGATION)
            .and_then(|built| built.set_buckets_for_metric(search, &SEARCH));
        let handle = match built.and_then(PrometheusBuilder::install_recorder) {
            Ok(handle) => handle,
            Err(error) => {
                tracing::warn!(%error, "nothing is shown at /metrics: somebody else counts in this process");
                return None;
            }
        };
        describe();
        gauge!("toolrail_build_info", "version" => identity::version()).set(1.0);
        gauge!("process_start_time_seconds").set(process::started_at());
        let kept = handle.clone();
        let upkeep = tokio::spawn(async move {
            let mut clock = tokio::time::interval(UPKEEP);
            loop {
                clock.tick().await;
                kept.run_upkeep();
            }
        });
        Some(Self { handle, _upkeep: AbortOnDropHandle::new(upkeep) })
    }

    /// Renders the page whenever it is asked for.
    pub(crate) fn page(&self) -> impl Fn() -> String + Send + Sync + 'static + use<> {
        let handle = self.handle.clone();
        move || {
            process::measure();
            in_order(&handle.render())
        }
    }
}

/// The families by name, so that two pages can be compared; a blank line ends each.
fn in_order(page: &str) -> String {
    let mut families: Vec<&str> = page.split_inclusive("\n\n").collect();
    // `# HELP name …`, or `# TYPE name …` where nobody described it.
    families.sort_by_key(|family| family.split(' ').nth(2));
    families.concat()
}

/// Whoever counts something else says what that is.
fn describe() {
    describe_gauge!("toolrail_build_info", "Always 1; the version of this gateway is a label");
    let text = "When this process started, in seconds since 1970";
    describe_gauge!("process_start_time_seconds", Unit::Seconds, text);
    describe_gauge!("process_resident_memory_bytes", Unit::Bytes, "Memory in use");
    describe_gauge!("process_open_fds", "Open file descriptors");
    let text = "Bytes of requests, answers and what waits for slow clients";
    describe_gauge!("toolrail_inflight_bytes", Unit::Bytes, text);
    describe_gauge!("toolrail_inflight_limit_bytes", Unit::Bytes, "The most of them there may be");
    let text = "Requests and answers refused because too many bytes were in flight";
    describe_counter!("toolrail_inflight_refused_total", text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_in_order_of_their_names() {
        let (a, b) =
            ("# TYPE a gauge\na 1\n\n", "# HELP b Second\n# TYPE b counter\nb{x=\"1\"} 1\nb{x=\"2\"} 1\n\n");
        assert_eq!(in_order(&format!("{b}{a}")), format!("{a}{b}"));
        assert_eq!(in_order(""), "");
    }
}
