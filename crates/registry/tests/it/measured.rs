//! What the registry counts for whoever watches a gateway.

use std::sync::Arc;

use toolrail_core::{Mute, Principal};
use toolrail_registry::StoreSource;

use crate::rows::{Rows, of, put, switch};
use crate::search::wanted;
use crate::support::{registry, tool};

/// R132: refreshes, failures, propagation, tools by source and state, problems.
#[tokio::test(flavor = "multi_thread")]
async fn refreshes_tools_and_problems_are_measured() {
    let measured = metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder().unwrap();
    let value = |name: &str| {
        let page = measured.render();
        let line =
            page.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')));
        line.map(str::to_owned)
    };
    let is = |name: &str, expected: &str| assert_eq!(value(name).as_deref(), Some(expected), "{name}");
    let rows = Arc::new(Rows::default());
    let text = |name: &str| tool(name, "d").to_string();
    rows.commit(&[put("a", &text("a")), put("b", &text("b")), switch("b", false), put("broken", "{")]);
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry.refresh().await;
    is(r#"toolrail_tools{source="store",state="live"}"#, "1");
    is(r#"toolrail_tools{source="store",state="disabled"}"#, "1");
    is(r#"toolrail_tools{source="store",state="broken"}"#, "1");
    is(r#"toolrail_problems{severity="error"}"#, "1");
    is(r#"toolrail_refresh_count{source="store"}"#, "1");
    is("toolrail_last_refresh_version", "4");
    is("toolrail_definitions_compiled_total", "3");
    is("toolrail_store_up", "1");
    assert_eq!(value("toolrail_propagation_seconds_count"), None, "the start is no change");

    rows.commit(&[of("acme", put("c", &text("c"))), put("broken", &text("broken"))]);
    registry.refresh().await;
    registry.refresh().await;
    is(r#"toolrail_tools{source="store",state="live"}"#, "3");
    is(r#"toolrail_problems{severity="error"}"#, "0");
    is(r#"toolrail_refresh_count{source="store"}"#, "2");
    is("toolrail_definitions_compiled_total", "5");
    is("toolrail_propagation_seconds_count", "1");
    let snapshot = registry.snapshot();
    snapshot.find("a").unwrap().call(None, &Principal::Anonymous, &Mute).await.unwrap();
    let wrong = serde_json::value::RawValue::from_string("[]".to_owned()).unwrap();
    snapshot.find("a").unwrap().call(Some(&wrong), &Principal::Anonymous, &Mute).await.unwrap_err();
    registry.finder().search(&snapshot, &wanted("a")).await.unwrap();
    let kind = &snapshot.find("a").unwrap().kind;
    for (outcome, count) in [("ok", "1"), ("INVALID_ARGUMENTS", "1")] {
        is(&format!(r#"toolrail_tool_calls_total{{kind="{kind}",outcome="{outcome}"}}"#), count);
    }
    is(r#"toolrail_searches_total{method="bm25"}"#, "1");
    is(r#"toolrail_search_seconds_count{method="bm25"}"#, "1");

    rows.set_down(true);
    registry.refresh().await;
    is("toolrail_store_up", "0");
    is(r#"toolrail_refresh_failures{source="store"}"#, "1");
}
