//! The store as a source: precedence, registrations, rows of other programs, use counts.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_registry::{BatchMode, Registration, SourceId, StoreSource, Which, WriteError, Written};

use crate::rows::{Rows, put};
use crate::support::{author, call, files, names, registry, tool};

pub(crate) fn registration(document: Value) -> Registration {
    Registration::from_request(document, "").unwrap()
}

/// R117: the store wins over files, even with a tool that is switched off.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_wins_over_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), tool("a", "from the file").to_string()).unwrap();
    let rows = Arc::new(Rows::default());
    let mut sources = files(folder.path());
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    let registry = registry(rows, sources, 10);
    registry.refresh().await;
    assert_eq!(registry.snapshot().entry("a").unwrap().source, SourceId::Files);
    let refused = registry.changes().set_enabled(&Which::shared("a"), false, &author()).await.unwrap_err();
    assert!(matches!(refused, WriteError::Elsewhere { .. }), "{refused}");

    registry
        .changes()
        .register(vec![registration(tool("a", "from the store"))], BatchMode::AllOrNothing, &author())
        .await
        .unwrap();
    assert_eq!(registry.snapshot().find("a").unwrap().description.as_deref(), Some("from the store"));
    registry.changes().set_enabled(&Which::shared("a"), false, &author()).await.unwrap();
    assert!(registry.snapshot().find("a").is_none());
}

/// R126: a store that fails leaves the last good snapshot in place; it catches up afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_leaves_the_last_good_snapshot() {
    let rows = Arc::new(Rows::default());
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry
        .changes()
        .register(vec![registration(tool("a", "d"))], BatchMode::AllOrNothing, &author())
        .await
        .unwrap();
    rows.set_down(true);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    assert!(registry.snapshot().sources[0].failure.as_ref().unwrap().contains("it is down"));
    rows.set_down(false);
    registry.refresh().await;
    assert_eq!(registry.snapshot().sources[0].failure, None);
}

/// R27: a batch is written whole or each on its own, with a result for each.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_written_whole_or_each_on_its_own() {
    let rows = Arc::new(Rows::default());
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows))], 10);
    let batch = || {
        let bodies = [tool("a", "d"), json!({"name": "b", "type": "nope"}), tool("A", "again")];
        bodies.into_iter().map(registration).collect::<Vec<_>>()
    };
    let (results, _) =
        registry.changes().register(batch(), BatchMode::AllOrNothing, &author()).await.unwrap();
    let written: Vec<_> = results.iter().map(|result| result.written).collect();
    assert_eq!(written, [Written::HeldBack, Written::Refused, Written::Refused]);
    assert_eq!(names(&registry), [""; 0]);
    let (results, _) =
        registry.changes().register(batch(), BatchMode::EachOnItsOwn, &author()).await.unwrap();
    assert_eq!(results[0].written, Written::Created);
    assert_eq!(names(&registry), ["a"]);
    let (results, _) = registry
        .changes()
        .register(vec![registration(tool("A", "d"))], BatchMode::EachOnItsOwn, &author())
        .await
        .unwrap();
    assert_eq!(results[0].written, Written::Refused, "another spelling of an existing name");
}

/// R82, R83: the wrapped and the bare form.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_wrapped_or_bare() {
    let rows = Arc::new(Rows::default());
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows))], 10);
    let mut nameless = tool("a", "d");
    nameless.as_object_mut().unwrap().remove("name");
    let wrapped = registration(json!({"name": "w", "enabled": false, "configJson": nameless}));
    let text = registration(json!({"name": "t", "configJson": tool("t", "d").to_string()}));
    let off = registration({
        let mut off = tool("off", "d");
        off["enabled"] = false.into();
        off
    });
    let (results, _) = registry
        .changes()
        .register(vec![wrapped, text, off], BatchMode::AllOrNothing, &author())
        .await
        .unwrap();
    assert!(results.iter().all(|result| result.written == Written::Created), "{results:?}");
    assert_eq!(names(&registry), ["t"]);
    registry.changes().set_enabled(&Which::shared("off"), true, &author()).await.unwrap();
    registry.changes().set_enabled(&Which::shared("W"), true, &author()).await.unwrap();
    assert_eq!(names(&registry), ["off", "t", "w"]);
    let mismatch = registration(json!({"name": "x", "configJson": tool("y", "d")}));
    let (results, _) =
        registry.changes().register(vec![mismatch], BatchMode::AllOrNothing, &author()).await.unwrap();
    assert_eq!(results[0].problems[0].pointer, "/configJson/name");
    assert!(Registration::from_request(json!({"configJson": {}, "colour": 1}), "").is_err());
}

/// R107: rows of other programs: broken JSON, another name inside, its own word on `enabled`.
#[tokio::test(flavor = "multi_thread")]
async fn odd_rows_become_problems_and_the_rest_go_live() {
    let rows = Arc::new(Rows::default());
    let mut off = tool("off", "d");
    off["enabled"] = false.into();
    let changes = [
        put("broken", "{"),
        put("other", &tool("name", "d").to_string()),
        put("off", &off.to_string()),
        put("good", &tool("good", "d").to_string()),
    ];
    rows.commit(&changes);
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows))], 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["good"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("broken").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("other").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("off").unwrap().state(), "disabled");
    registry.changes().set_enabled(&Which::shared("off"), true, &author()).await.unwrap();
    assert_eq!(names(&registry), ["good", "off"]);
}

/// R75: every call counts, also while the store is away or the definition is being replaced.
#[tokio::test(flavor = "multi_thread")]
async fn uses_are_counted_and_none_is_lost() {
    let rows = Arc::new(Rows::default());
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let put = async |text| {
        let batch = vec![registration(tool("a", text))];
        registry.changes().register(batch, BatchMode::AllOrNothing, &author()).await.unwrap();
    };
    put("one").await;
    call(&registry, "a", "{}").await.unwrap();
    rows.set_down(true);
    registry.usage().record_uses().await;
    rows.set_down(false);
    put("two").await;
    call(&registry, "a", "{}").await.unwrap();
    registry.usage().record_uses().await;
    registry.usage().record_uses().await;
    assert_eq!(rows.uses(), [(None, "a".to_owned(), 2)]);
}
