//! Databases of other systems are read as they are and stay as they are.

use serde_json::{Value, json};
use sqlx::{Connection, Executor};
use toolrail_store::{Foreign, ForeignError, ForeignForm, ForeignLimits, StoreUrl, read_foreign};

const DOCUMENT: &str = r#"{"type":"http","http":{"url":"http://127.0.0.1:9/x"},"description":"查询天气"}"#;

async fn read(url: &str) -> Result<Foreign, ForeignError> {
    within(url, ForeignLimits::default()).await
}

async fn within(url: &str, limits: ForeignLimits) -> Result<Foreign, ForeignError> {
    read_foreign(&url.parse::<StoreUrl>().unwrap(), limits, &|_| {}).await
}

fn told(foreign: &Foreign) -> Vec<(&str, bool, Option<&str>, &Value)> {
    let tools = foreign.tools.iter();
    tools.map(|tool| (tool.name.as_str(), tool.enabled, tool.tenant.as_deref(), &tool.document)).collect()
}

async fn sqlite(file: &std::path::Path, sql: &str) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    connection.execute(sqlx::AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

/// The small table of mcp-lite, as its program makes it, in MySQL or MariaDB (R104).
#[tokio::test]
async fn the_small_table_is_read_from_mysql() {
    let Ok(server) = std::env::var("TOOLRAIL_TEST_MYSQL") else {
        unreachable!("run the tests with `cargo xtask test`")
    };
    let name = format!("foreign_{}", std::process::id());
    let mut admin = sqlx::MySqlConnection::connect(&server).await.unwrap();
    admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    let sql = format!(
        "USE {name};
         CREATE TABLE mcp_tool (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200) NOT NULL UNIQUE,
           enabled TINYINT(1) NOT NULL DEFAULT 1, config_json JSON NOT NULL,
           updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
         INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('b', 0, '{{}}'), ('a', 1, '{DOCUMENT}');"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    let foreign = read(url.as_str()).await;
    let tables = sqlx::query("SHOW TABLES").fetch_all(&mut admin).await.unwrap().len();
    admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name}"))).await.unwrap();
    let foreign = foreign.unwrap();
    assert_eq!((foreign.form, tables), (ForeignForm::McpTool, 1));
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    assert_eq!(told(&foreign), [("a", true, None, &document), ("b", false, None, &json!({}))]);
}

/// The full table of mcp-lite (R109), in PostgreSQL.
#[tokio::test]
async fn the_full_table_is_read_from_postgresql() {
    let Ok(server) = std::env::var("TOOLRAIL_TEST_POSTGRES") else {
        unreachable!("run the tests with `cargo xtask test`")
    };
    let name = format!("foreign_{}", std::process::id());
    let mut admin = sqlx::PgConnection::connect(&server).await.unwrap();
    admin.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    let mut connection = sqlx::PgConnection::connect(url.as_str()).await.unwrap();
    let sql = "CREATE TABLE mcp_tool (id BIGSERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, description TEXT,
                 enabled BOOLEAN NOT NULL DEFAULT true, input_schema JSONB NOT NULL,
                 transport TEXT NOT NULL CHECK (transport IN ('http','grpc','graphql')), http_spec JSONB, auth_spec JSONB,
                 response_mapping JSONB, policy JSONB, tenant_id TEXT, version BIGINT NOT NULL DEFAULT 1,
                 updated_at TIMESTAMPTZ NOT NULL DEFAULT now(), updated_by TEXT);
               INSERT INTO mcp_tool (name, description, input_schema, transport, http_spec, tenant_id)
                 VALUES ('w', 'd', '{\"type\":\"object\"}', 'http', '{\"url\":\"http://x\",\"queryTpl\":{\"q\":1}}', 'acme');
               INSERT INTO mcp_tool (name, enabled, input_schema, transport) VALUES ('off', false, '{}', 'grpc');";
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    let foreign = read(url.as_str()).await;
    connection.close().await.unwrap();
    admin.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE {name}"))).await.unwrap();
    let foreign = foreign.unwrap();
    assert_eq!(foreign.form, ForeignForm::FullMcpTool);
    let off = json!({"name": "off", "transport": "grpc", "input_schema": {}});
    let on = json!({
        "name": "w", "description": "d", "transport": "http", "input_schema": {"type": "object"},
        "http_spec": {"url": "http://x", "queryTpl": {"q": 1}},
    });
    assert_eq!(told(&foreign), [("off", false, None, &off), ("w", true, Some("acme"), &on)]);
}

/// RegistryTools' own table (R74).
#[tokio::test]
async fn the_catalogue_of_registry_tools_is_read_without_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.db");
    let sql = r#"CREATE TABLE tools (name TEXT PRIMARY KEY, description TEXT NOT NULL, mcp_server TEXT,
                   defer_loading INTEGER DEFAULT 1, tags TEXT, category TEXT, use_frequency INTEGER DEFAULT 0,
                   last_used TEXT, temperature TEXT DEFAULT 'cold', input_schema TEXT, output_schema TEXT);
                 CREATE TABLE api_keys (key_id TEXT, api_key TEXT);
                 INSERT INTO tools (name, description, tags, use_frequency) VALUES ('a.b', 'd', '["x"]', 4);"#;
    sqlite(&file, sql).await;
    let before = std::fs::read(&file).unwrap();
    let foreign = read(&format!("sqlite:{}", file.display())).await.unwrap();
    assert_eq!(foreign.form, ForeignForm::RegistryTools);
    let document =
        json!({"name": "a.b", "description": "d", "defer_loading": true, "tags": ["x"], "use_frequency": 4});
    assert_eq!(told(&foreign), [("a.b", true, None, &document)]);
    assert!(foreign.left_alone[0].contains("api_keys"), "{:?}", foreign.left_alone);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_database_without_tools_is_told_and_none_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    let url = format!("sqlite:{}", file.display());
    let missing = read(&url).await.unwrap_err().to_string();
    assert!(missing.contains("cannot be read") && !file.exists(), "{missing}");
    sqlite(&file, "CREATE TABLE notes (text TEXT)").await;
    let nothing = read(&url).await.unwrap_err().to_string();
    assert!(nothing.contains("has no table mcp_tool"), "{nothing}");
    let refused = read("mysql://root:geheim@127.0.0.1:1/x").await.unwrap_err().to_string();
    assert!(refused.contains("mysql://127.0.0.1:1/x") && !refused.contains("geheim"), "{refused}");
}

/// What never ends is ended, in the database too: otherwise its thread would keep the process from ending.
#[tokio::test]
async fn a_view_without_an_end_is_broken_off_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endless.db");
    let endless = "CREATE VIEW mcp_tool AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
                   SELECT 't' || x AS name, 1 AS enabled, '{}' AS config_json FROM n";
    sqlite(&file, endless).await;
    let limits = ForeignLimits { time: std::time::Duration::from_millis(300), ..ForeignLimits::default() };
    let late = within(&format!("sqlite:{}", file.display()), limits).await.unwrap_err().to_string();
    assert!(late.contains("did not end within 0.3 seconds"), "{late}");
}

#[tokio::test]
async fn more_rows_or_bytes_than_are_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.db");
    let large = "CREATE TABLE mcp_tool (name TEXT, config_json TEXT); \
                 INSERT INTO mcp_tool VALUES ('a', '{}'), ('b', '{}'), ('c', '{}')";
    sqlite(&file, large).await;
    let url = format!("sqlite:{}", file.display());
    let limits = ForeignLimits { rows: 3, ..ForeignLimits::default() };
    assert_eq!(within(&url, limits).await.unwrap().tools.len(), 3);
    for (limits, told) in [
        (ForeignLimits { rows: 2, ..limits }, "more than 2 tools"),
        (ForeignLimits { bytes: 8, ..limits }, "more than 0 MiB of tools"),
    ] {
        let refused = within(&url, limits).await.unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
}

/// No row comes out of it, so that no limit on rows would end it.
#[tokio::test]
async fn a_view_that_gives_no_row_is_broken_off_too_and_soon() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("silent.db");
    let silent = "CREATE VIEW mcp_tool AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) \
                  SELECT x AS id, 1 AS enabled, 'n' || x AS name, '{}' AS config_json FROM c WHERE x < 0";
    sqlite(&file, silent).await;
    let began = std::time::Instant::now();
    let late = read(&format!("sqlite:{}", file.display())).await.unwrap_err().to_string();
    assert!(late.contains("may have no end"), "{late}");
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_cell_that_is_larger_than_all_may_be_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cell.db");
    let cell = "CREATE VIEW mcp_tool AS SELECT 'a' AS name, hex(zeroblob(9000000)) AS config_json";
    sqlite(&file, cell).await;
    let refused = read(&format!("sqlite:{}", file.display())).await.unwrap_err().to_string();
    assert!(refused.contains("a value of more than 16 MiB in mcp_tool"), "{refused}");
}
