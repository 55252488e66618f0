//! PostgreSQL: `config_json` for whoever writes plain SQL, and the text as it was written for whoever reads it here (C40);
//! what the channel of the documents tells (C37).

use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::timeout;
use toolrail_core::{HistoryQuery, RecordWritten, Store};

use crate::behaviour::{Subject, by, of, put, put_record};
use crate::postgres::{Database, database};

const WRITTEN: &str = r#"{"z":1,  "a":{"y":1.50,"b":"\u00e9"},"z":2}"#;

async fn text(store: &dyn Store, name: &str) -> String {
    store.find(None, name).await.unwrap().unwrap().config_json
}

#[tokio::test]
async fn operators_of_jsonb_work_and_the_text_stays_as_it_was_written() {
    let database = database().await;
    let store = database.open().await;
    store.write(&[put("a", WRITTEN), put("nul", r#"{"x":"\u0000"}"#)], &by("ann")).await.unwrap();
    assert_eq!(text(&*store, "a").await, WRITTEN);
    assert_eq!(text(&*store, "nul").await, r#"{"x":"\u0000"}"#);
    let value = "SELECT config_json #>> '{a,y}' FROM mcp_tool WHERE config_json @> '{\"z\": 2}' AND config_json ? 'a'";
    assert_eq!(database.value(value).await, "1.50");
    database.run("UPDATE mcp_tool SET enabled = FALSE WHERE name = 'a'").await;
    assert_eq!(text(&*store, "a").await, WRITTEN, "switching changes no definition");
    database.run("UPDATE mcp_tool SET config_json = config_json || '{\"new\": true}' WHERE name = 'a'").await;
    assert_eq!(text(&*store, "a").await, r#"{"a": {"b": "é", "y": 1.50}, "z": 2, "new": true}"#);
    store.write(&[put("a", WRITTEN)], &by("ann")).await.unwrap();
    assert_eq!(text(&*store, "a").await, WRITTEN);
    let newest = store.history(&HistoryQuery { most: 1, ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(newest[0].config_json, WRITTEN);
}

/// What the writers of the documents do, beside tenants who use the same names (C40).
#[tokio::test]
async fn on_conflict_of_a_name_finds_the_shared_definition() {
    let database = database().await;
    let store = database.open().await;
    let upsert = |name: &str, config: &str| {
        format!(
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('{name}', TRUE, '{config}') \
             ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, config_json = excluded.config_json"
        )
    };
    let tenants = [of("acme", put("a", "1")), of("zeta", put("a", "2")), of("acme", put("b", "3"))];
    store.write(&tenants, &by("ann")).await.unwrap();
    for config in ["4", "5"] {
        database.run(&upsert("a", config)).await;
        database.run(&upsert("b", config)).await;
        database.run(&upsert("c", config)).await;
        for name in ["a", "b", "c"] {
            assert_eq!(text(&*store, name).await, config);
        }
    }
    for (tenant, name, config) in [("acme", "a", "1"), ("zeta", "a", "2"), ("acme", "b", "3")] {
        let row = store.find(Some(tenant), name).await.unwrap().unwrap();
        assert_eq!(row.config_json, config, "{tenant} {name}");
    }
    assert_eq!((store.count().await.unwrap(), store.reconcile().await.unwrap()), (6, 0));
    let ours = "INSERT INTO mcp_tool (name, config_json, tenant_id) VALUES ('d', '1', 'acme') \
        ON CONFLICT (name) DO UPDATE SET config_json = '2'";
    database.run(&format!("{ours}; {ours}")).await;
    assert_eq!(store.find(Some("acme"), "d").await.unwrap().unwrap().config_json, "2");
}

/// The tables of the version before, with its triggers.
async fn of_version_two() -> Database {
    let database = database().await;
    database.run(include_str!("fixtures/postgres_2.sql")).await;
    database
        .run(
            r#"INSERT INTO mcp_tool (name, enabled, config_json, tenant_id) VALUES
               ('a', TRUE, '{"z":1,  "a":{"y":1.50,"b":"\u00e9"},"z":2}', NULL), ('a', FALSE, '5', 'acme'),
               ('nul', TRUE, '{"x":"\u0000"}', NULL); UPDATE mcp_tool SET enabled = TRUE WHERE tenant_id = 'acme'"#,
        )
        .await;
    database
}

#[tokio::test]
async fn tables_of_the_version_before_lose_nothing() {
    let database = of_version_two().await;
    let rows = "SELECT string_agg(concat_ws('|', id, name, enabled, config_json, version, updated_at, tenant_id), E'\n' ORDER BY id) FROM mcp_tool";
    let history =
        "SELECT string_agg(concat_ws('|', h.*), E'\n' ORDER BY revision) FROM mcp_tool_history AS h";
    let rows_of_text = rows.replace("config_json", "mcp_tool_document(mcp_tool)");
    let before = (database.value(rows).await, database.value(history).await);
    let store = database.open().await;
    assert_eq!((database.value(&rows_of_text).await, database.value(history).await), before);
    assert_eq!(store.reconcile().await.unwrap(), 0, "every row is as its version says");
    assert_eq!((text(&*store, "a").await.as_str(), store.revision().await.unwrap()), (WRITTEN, 4));
    let kind = "SELECT data_type FROM information_schema.columns WHERE table_name = 'mcp_tool' AND column_name = 'config_json'";
    assert_eq!(database.value(kind).await, "jsonb");
    assert_eq!(store.write(&[put("b", WRITTEN)], &by("ann")).await.unwrap(), 5);
    assert_eq!(store.write_record(&put_record("key", "a", "1")).await.unwrap(), RecordWritten::Done(1));
}

#[tokio::test]
async fn a_column_that_a_view_of_another_program_needs_stays_as_it_is() {
    let database = of_version_two().await;
    database.run("CREATE VIEW seen AS SELECT name, config_json FROM mcp_tool").await;
    let store = database.open().await;
    assert_eq!((text(&*store, "a").await.as_str(), store.reconcile().await.unwrap()), (WRITTEN, 0));
    store.write(&[put("b", WRITTEN)], &by("ann")).await.unwrap();
    assert_eq!(text(&*store, "b").await, WRITTEN);
}

/// R116, C37.
#[tokio::test]
async fn the_channel_of_the_documents_tells_names() {
    let database = database().await;
    let store = database.open().await;
    let mut listener = PgListener::connect(database.url().as_str()).await.unwrap();
    listener.listen("mcp_tool_changed").await.unwrap();
    store.write(&[put("a", "{}"), of("acme", put("b", "{}"))], &by("ann")).await.unwrap();
    database.run("UPDATE mcp_tool SET name = 'c' WHERE name = 'a'").await;
    database.run("DELETE FROM mcp_tool WHERE name = 'c'").await;
    database.run("INSERT INTO mcp_tool (name, config_json) VALUES (repeat('名', 9000), '{}')").await;
    database.run("TRUNCATE mcp_tool").await;
    let long = "名".repeat(1_900);
    for expected in ["a", "b", "a", "c", "c", long.as_str(), ""] {
        let heard = timeout(Duration::from_secs(10), listener.recv()).await.unwrap().unwrap();
        assert_eq!(heard.payload(), expected);
    }
}
