//! PostgreSQL: tables that another program made and goes on writing, with no right on anything of ours.

use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use toolrail_core::{HistoryQuery, Row, Store, StoreError, VersionKind};
use toolrail_store::{StoreUrl, open};

use crate::behaviour::{Subject, by, of, purge, put};
use crate::postgres::{Database, connect, database, execute};

const LITE: &str = "CREATE TABLE mcp_tool (id BIGSERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, \
    enabled BOOLEAN NOT NULL DEFAULT TRUE, config_json JSONB NOT NULL, updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW()); \
    CREATE INDEX idx_mcp_tool_updated_at ON mcp_tool(updated_at);";

const FULL: &str = "CREATE TABLE mcp_tool (id BIGSERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT, \
    enabled BOOLEAN NOT NULL DEFAULT TRUE, input_schema JSONB NOT NULL, \
    transport TEXT NOT NULL CHECK (transport IN ('http', 'grpc', 'graphql')), http_spec JSONB, auth_spec JSONB, \
    response_mapping JSONB, policy JSONB, tenant_id TEXT, version BIGINT NOT NULL DEFAULT 0, \
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(), updated_by TEXT); \
    CREATE TABLE mcp_config_version (id SMALLINT PRIMARY KEY DEFAULT 1, version BIGINT NOT NULL);";

/// As the documents have it: it counts for each row, and does not say what was deleted.
const FULL_TRIGGER: &str = "CREATE OR REPLACE FUNCTION mcp_tool_notify() RETURNS trigger AS $$ BEGIN \
    NEW.version := COALESCE(OLD.version, 0) + 1; NEW.updated_at := NOW(); \
    PERFORM pg_notify('mcp_tool_changed', NEW.name); RETURN NEW; END; $$ LANGUAGE plpgsql; \
    DROP TRIGGER IF EXISTS trg_mcp_tool_notify ON mcp_tool; \
    CREATE TRIGGER trg_mcp_tool_notify BEFORE INSERT OR UPDATE OR DELETE ON mcp_tool \
    FOR EACH ROW EXECUTE FUNCTION mcp_tool_notify();";

/// The other program: it may write the table and nothing else.
async fn program(database: &Database) -> PgConnection {
    let user = database.user("").await;
    database
        .run(&format!(
            "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON mcp_tool TO {user}; \
             GRANT USAGE ON SEQUENCE mcp_tool_id_seq TO {user}"
        ))
        .await;
    connect(&database.url_of(&user)).await
}

async fn row(store: &dyn Store, name: &str) -> Row {
    store.find(None, name).await.unwrap().unwrap()
}

async fn document(store: &dyn Store, name: &str) -> Value {
    serde_json::from_str(&row(store, name).await.config_json).unwrap()
}

/// R104, R107, C9.
#[tokio::test]
async fn a_lite_table_is_adopted_without_loss_and_its_program_goes_on() {
    let database = database().await;
    database.run(LITE).await;
    database
        .run(
            "ALTER TABLE mcp_tool ADD COLUMN note TEXT; \
             INSERT INTO mcp_tool (name, enabled, config_json, updated_at, note) VALUES \
             ('echo', TRUE, '{\"b\": 1, \"a\": 2}', '2024-05-06 07:08:09Z', 'kept'), \
             ('Echo', FALSE, '5', 'infinity', NULL), ('echo_2', TRUE, '{}', NOW(), NULL)",
        )
        .await;
    let mut program = program(&database).await;
    let store = database.open().await;
    let changes = store.changes_since(0).await.unwrap();
    let found: Vec<(&str, bool, i64)> =
        changes.rows.iter().map(|row| (row.name.as_str(), row.enabled, row.version)).collect();
    assert_eq!(found, [("echo", true, 1), ("Echo_2_", false, 2), ("echo_2", true, 3)]);
    assert_eq!((changes.revision, changes.rows[1].config_json.as_str()), (3, "5"));
    assert_eq!(changes.rows[0].updated_at, "2024-05-06T07:08:09.000Z");
    assert_eq!(database.value("SELECT note FROM mcp_tool WHERE name = 'echo'").await, "kept");
    assert!(matches!(store.state_at(2).await.unwrap_err(), StoreError::Forgotten { oldest: 3, .. }));
    assert_eq!(store.state_at(3).await.unwrap().len(), 3);

    let upsert = "INSERT INTO mcp_tool (name, config_json) VALUES ('echo', '{\"a\": 3}'), ('new', '{}') \
        ON CONFLICT (name) DO UPDATE SET config_json = excluded.config_json";
    execute(&mut program, upsert).await.unwrap();
    let changes = store.changes_since(3).await.unwrap();
    assert_eq!(changes.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["echo", "new"]);
    execute(&mut program, "DELETE FROM mcp_tool WHERE name = 'new'").await.unwrap();
    let removed = store.changes_since(changes.revision).await.unwrap().removed;
    assert_eq!(removed.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["new"]);
    execute(&mut program, "DELETE FROM mcp_tool_history").await.unwrap_err();
    let newest = store.history(&HistoryQuery { most: 1, ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(newest[0].who.as_deref(), Some(format!("{}_user", database.name).as_str()));
}

#[tokio::test]
async fn a_revision_of_another_type_is_gone_on_from() {
    for kind in ["INT", "SMALLINT", "NUMERIC", "TEXT"] {
        let database = database().await;
        let counter =
            format!("CREATE TABLE mcp_config_version (id INT PRIMARY KEY, version {kind} NOT NULL)");
        database.run(&format!("{LITE} {counter}; INSERT INTO mcp_config_version VALUES (1, '57')")).await;
        let store = database.open().await;
        assert_eq!(store.revision().await.unwrap(), 57, "{kind}");
        assert_eq!(store.write(&[put("a", "{}")], &by("ann")).await.unwrap(), 58, "{kind}");
    }
}

/// C40: the program's UNIQUE (name) is what its ON CONFLICT needs, and tenants are not in its way.
#[tokio::test]
async fn tenants_may_use_a_name_of_a_table_that_allows_each_once() {
    let database = database().await;
    database.run(LITE).await;
    let store = database.open().await;
    store.write(&[put("echo", "{}")], &by("ann")).await.unwrap();
    let index = "SELECT count(*) FROM pg_constraint WHERE conname = 'mcp_tool_name_key'";
    assert_eq!(database.value(index).await, "1");
    store.write(&[of("acme", put("echo", "{}"))], &by("ann")).await.unwrap();
    assert_eq!((database.value(index).await.as_str(), store.count().await.unwrap()), ("1", 2));
    database.run("INSERT INTO mcp_tool (name, config_json) VALUES ('echo', '5') ON CONFLICT (name) DO UPDATE SET config_json = excluded.config_json").await;
    assert_eq!(row(&*store, "echo").await.config_json, "5");
}

/// R105, R109, R115, C13, C16.
#[tokio::test]
async fn a_full_table_is_adopted_without_loss_and_its_program_goes_on() {
    let database = database().await;
    database.run(FULL).await;
    database.run(FULL_TRIGGER).await;
    database
        .run(
            "INSERT INTO mcp_config_version VALUES (1, 57); \
             INSERT INTO mcp_tool (name, description, input_schema, transport, http_spec, auth_spec, updated_by) VALUES \
             ('weather', 'the weather', '{\"type\": \"object\"}', 'http', \
             '{\"method\": \"GET\", \"url\": \"http://w\", \"queryTpl\": {\"q\": \"x\"}}', '{\"type\": \"none\"}', 'ops'), \
             ('calls', NULL, '{}', 'grpc', NULL, NULL, NULL)",
        )
        .await;
    let mut program = program(&database).await;
    let store = database.open().await;
    let changes = store.changes_since(0).await.unwrap();
    let versions: Vec<i64> = changes.rows.iter().map(|row| row.version).collect();
    assert_eq!((versions, changes.revision), (vec![58, 59], 59));
    assert_eq!(row(&*store, "weather").await.updated_by.as_deref(), Some("ops"));
    assert_eq!(
        document(&*store, "weather").await,
        json!({
            "name": "weather", "description": "the weather", "transport": "http",
            "inputSchema": {"type": "object"}, "auth_spec": {"type": "none"},
            "http_spec": {"method": "GET", "url": "http://w", "queryTpl": {"q": "x"}},
        })
    );
    assert_eq!(
        document(&*store, "calls").await,
        json!({"name": "calls", "transport": "grpc", "inputSchema": {}})
    );

    execute(
        &mut program,
        "UPDATE mcp_tool SET http_spec = '{\"url\": \"http://v\"}', version = version + 1 WHERE name = 'weather'; \
         INSERT INTO mcp_tool (name, input_schema, transport, http_spec) VALUES ('users', '{}', 'feign', '{\"path\": \"/\"}'); \
         INSERT INTO mcp_tool (name, config_json) VALUES ('lite', '{\"type\": \"http\", \"http\": {\"body\": 1}}'); \
         DELETE FROM mcp_tool WHERE name = 'calls'",
    )
    .await
    .unwrap();
    let changes = store.changes_since(59).await.unwrap();
    let names: Vec<&str> = changes.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names, changes.removed.len(), changes.revision), (vec!["weather", "users", "lite"], 1, 63));
    assert_eq!(document(&*store, "weather").await["http_spec"], json!({"url": "http://v"}));
    assert_eq!(document(&*store, "users").await["feign_spec"], json!({"path": "/"}));
    let spec = "SELECT http_spec->'bodyTpl' FROM mcp_tool WHERE name = 'lite'";
    assert_eq!(database.value(spec).await, "1");
}

#[tokio::test]
async fn in_a_full_table_what_was_written_last_speaks() {
    let database = database().await;
    database.run(FULL).await;
    let store = database.open().await;
    let definition = r#"{"name":"a","description":"one","type":"feign","inputSchema":{"type":"object","x":1},"feign":{"baseUrl":"http://b","query":{"q":1}},"auth":{"type":"none"},"responseMapping":{"type":"passthrough"},"policy":{"timeoutMs":5},"tags":["t"]}"#;
    store
        .write(
            &[put("a", definition), put("odd", "5"), put("nul", r#"{"description":"\u0000"}"#)],
            &by("ann"),
        )
        .await
        .unwrap();
    assert_eq!(row(&*store, "a").await.config_json, definition, "kept as it was written");
    let columns = "SELECT concat_ws('|', description, transport, input_schema, http_spec, auth_spec, response_mapping, policy) \
        FROM mcp_tool WHERE name = 'a'";
    assert_eq!(
        database.value(columns).await,
        r#"one|feign|{"x": 1, "type": "object"}|{"baseUrl": "http://b", "queryTpl": {"q": 1}}|{"type": "none"}|{"type": "passthrough"}|{"timeoutMs": 5}"#
    );
    let other = "SELECT concat_ws('|', transport, input_schema) FROM mcp_tool WHERE name = ";
    assert_eq!(database.value(&format!("{other}'odd'")).await, r#"http|{"type": "object"}"#);
    assert_eq!(database.value(&format!("{other}'nul'")).await, r#"http|{"type": "object"}"#);
    assert_eq!(row(&*store, "odd").await.config_json, "5");

    database.run("UPDATE mcp_tool SET enabled = FALSE WHERE name = 'a'").await;
    assert_eq!(row(&*store, "a").await.config_json, definition, "switching changes no definition");
    database.run("UPDATE mcp_tool SET description = 'two' WHERE name = 'a'").await;
    assert_eq!(
        document(&*store, "a").await,
        json!({
            "name": "a", "description": "two", "transport": "feign", "inputSchema": {"x": 1, "type": "object"},
            "feign_spec": {"baseUrl": "http://b", "queryTpl": {"q": 1}}, "auth_spec": {"type": "none"},
            "response_mapping": {"type": "passthrough"}, "policy": {"timeoutMs": 5}, "tags": ["t"],
        })
    );
    store.write(&[put("a", definition)], &by("ann")).await.unwrap();
    let description = "SELECT description FROM mcp_tool WHERE name = 'a'";
    assert_eq!(database.value(description).await, "one");
    let audit = store.audit(0, 100).await.unwrap();
    assert!(audit[3].changes.contains(r#""before":"two","after":"one""#), "{}", audit[3].changes);
    let history = store.history(&HistoryQuery { most: 2, ..HistoryQuery::default() }).await.unwrap();
    assert!(history[1].config_json.contains("\"two\""), "{}", history[1].config_json);
    assert_eq!(history[1].kind, VersionKind::Updated);
}

/// C37.
#[tokio::test]
async fn a_trigger_of_the_documents_does_no_harm_and_stays() {
    let database = database().await;
    database.run(FULL).await;
    let store = database.open().await;
    store.write(&[put("a", "{}"), put("b", "{}")], &by("ann")).await.unwrap();
    database.run(FULL_TRIGGER).await;
    let revision = store.write(&[put("a", r#"{"x":1}"#)], &by("ann")).await.unwrap();
    assert_eq!((revision, row(&*store, "a").await.version), (3, 3), "ours have the last word");
    assert_eq!(store.write(&[purge("a")], &by("ann")).await.unwrap(), 4);
    database.run("UPDATE mcp_tool SET description = 'new'").await;
    assert_eq!((store.revision().await.unwrap(), row(&*store, "b").await.version), (5, 5));
    database.open().await;
    let left = "SELECT count(*) FROM pg_trigger WHERE tgname = 'trg_mcp_tool_notify'";
    assert_eq!(database.value(left).await, "1");
    assert_eq!(store.reconcile().await.unwrap(), 0);

    let keep = "CREATE FUNCTION keep() RETURNS trigger AS $$ BEGIN RETURN NULL; END $$ LANGUAGE plpgsql; \
        CREATE TRIGGER keep BEFORE DELETE ON mcp_tool FOR EACH ROW EXECUTE FUNCTION keep()";
    database.run(keep).await;
    let error = store.write(&[purge("b")], &by("ann")).await.unwrap_err().to_string();
    assert!(error.contains("trigger of another program"), "{error}");
}

#[tokio::test]
async fn a_table_of_another_shape_is_left_alone() {
    for (table, told) in [
        ("CREATE TABLE mcp_tool (id INT PRIMARY KEY, title TEXT)", "no column name"),
        ("CREATE VIEW mcp_tool AS SELECT 1 AS id, 'x' AS name, '{}' AS config_json", "no ordinary table"),
        (
            "CREATE TABLE mcp_tool (id INT, name TEXT, config_json JSON, enabled INT)",
            "the type int4, not bool",
        ),
    ] {
        let database = database().await;
        database.run(table).await;
        let error = database.try_open().await.err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
        assert_eq!(database.value("SELECT to_regclass('mcp_config_version')").await, "NULL");
    }
}

/// It would be refused at every registration; what is to be run is told, and is enough.
#[tokio::test]
async fn a_table_that_we_could_not_add_to_is_refused_until_what_is_told_is_run() {
    for (change, told) in [
        ("ADD COLUMN owner VARCHAR(20) NOT NULL", r#"ALTER COLUMN "owner" SET DEFAULT ''"#),
        ("ALTER COLUMN id DROP DEFAULT", r#"ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY"#),
        ("DROP COLUMN id, ADD COLUMN id CHAR(36) PRIMARY KEY", r#""id" SET DEFAULT gen_random_uuid()::text"#),
        (
            "ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '', ADD COLUMN cost INT NOT NULL",
            r#""cost" SET DEFAULT 0"#,
        ),
    ] {
        let database = database().await;
        database.run(&format!("{LITE} ALTER TABLE mcp_tool {change}")).await;
        let error = database.try_open().await.err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
        assert_eq!(database.value("SELECT to_regclass('mcp_config_version')").await, "NULL");
        database.run(error.split_once("run: ").unwrap().1).await;
        let store = database.open().await;
        store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_rule_of_the_table_forbids_is_refused_with_the_rule() {
    let database = database().await;
    database.run(LITE).await;
    database.run("ALTER TABLE mcp_tool ADD CONSTRAINT short CHECK (length(name) < 3)").await;
    let store = database.open().await;
    let error = store.write(&[put("long", "{}")], &by("ann")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused { reason, .. } if reason.contains("short")), "{error}");
    assert_eq!(store.write(&[put("a", "{}")], &by("ann")).await.unwrap(), 1);
}

/// Where the connection's search path leads, and as whom it may.
#[tokio::test]
async fn the_schema_of_the_connection_is_used() {
    let database = database().await;
    let user = database.user("").await;
    database.run(&format!("CREATE SCHEMA \"Tools\" AUTHORIZATION {user}; {LITE}")).await;
    let mut url = database.url_of(&user);
    url.set_query(Some("options[search_path]=\"Tools\""));
    let store = open(&StoreUrl::Postgres(url)).await.unwrap();
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    assert_eq!(database.value("SELECT count(*) FROM \"Tools\".mcp_tool").await, "1");
    assert_eq!(database.value("SELECT count(*) FROM public.mcp_tool").await, "0");
    // Whatever search path the writer has.
    database.run("INSERT INTO \"Tools\".mcp_tool (name, config_json) VALUES ('b', '{}')").await;
    assert_eq!(store.revision().await.unwrap(), 2);

    let error = open(&StoreUrl::Postgres(database.url_of(&user))).await.err().unwrap().to_string();
    let owner = database.value("SELECT current_user").await;
    assert!(
        error.contains(&format!("GRANT CREATE ON SCHEMA public TO {user}; GRANT {owner} TO {user}")),
        "{error}"
    );
    assert!(!error.contains("at line") && !error.contains("hush"), "{error}");
}
