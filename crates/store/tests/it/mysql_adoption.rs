//! MySQL and MariaDB: tables that another program made and goes on writing to.

use toolrail_core::{HistoryQuery, RecordWritten, Row, Store, StoreError, ToolKey, VersionKind};
use toolrail_store::StoreUrl;

use crate::behaviour::{audited, by, put, put_record};
use crate::mysql::{Database, database, run, server};

/// The small table of mcp-lite (R104).
const LITE: &str = "CREATE TABLE IF NOT EXISTS mcp_tool (
  id BIGINT PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(200) UNIQUE NOT NULL,
  enabled TINYINT(1) NOT NULL DEFAULT 1,
  config_json JSON NOT NULL,
  updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
);
CREATE INDEX idx_mcp_tool_updated_at ON mcp_tool(updated_at)";

const ROWS: &str = "SET time_zone = '+00:00'; INSERT INTO mcp_tool (name, enabled, config_json, updated_at) VALUES \
    ('echo', 1, '{\"b\":1,\"a\":2}', '2024-05-06 07:08:09'), ('user.get', 0, '{}', '2024-05-07 00:00:00')";

fn told(rows: &[Row]) -> Vec<(&str, bool, &str, i64)> {
    rows.iter().map(|row| (row.name.as_str(), row.enabled, row.updated_at.as_str(), row.version)).collect()
}

async fn names_since(store: &dyn Store, since: i64) -> (Vec<String>, Vec<String>) {
    let changes = store.changes_since(since).await.unwrap();
    let removed = changes.removed.into_iter().map(|key| key.name).collect();
    (changes.rows.into_iter().map(|row| row.name).collect(), removed)
}

/// R104, R107: nothing is lost, nothing is changed, each row has a number of its own.
#[tokio::test]
async fn the_documented_table_is_adopted_without_loss() {
    for change in [
        "",
        "ALTER TABLE mcp_tool ENGINE = MyISAM",
        "ALTER TABLE mcp_tool ROW_FORMAT = COMPACT",
        "ALTER TABLE mcp_tool CONVERT TO CHARACTER SET latin1",
        "ALTER TABLE mcp_tool CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
        "ALTER TABLE mcp_tool ADD COLUMN version INT, ADD COLUMN note TEXT; UPDATE mcp_tool SET version = 7, updated_at = updated_at",
        "CREATE TABLE mcp_config_version (id SMALLINT PRIMARY KEY, version BIGINT NOT NULL) ENGINE = MyISAM",
    ] {
        let database = database().await;
        database.run(&format!("{LITE}; {ROWS}; {change}")).await;
        let store = database.store().await;
        let changes = store.changes_since(0).await.unwrap();
        let first = changes.rows[0].version;
        assert_eq!(
            told(&changes.rows),
            [
                ("echo", true, "2024-05-06T07:08:09.000Z", first),
                ("user.get", false, "2024-05-07T00:00:00.000Z", first + 1)
            ],
            "{change}"
        );
        assert!(!change.contains("version = 7") || first == 8, "the revision goes on from what was there");
        assert_eq!((changes.revision, store.count().await.unwrap()), (first + 1, 2), "{change}");
        let versions = store.history(&HistoryQuery { most: 10, ..HistoryQuery::default() }).await.unwrap();
        assert!(versions.iter().all(|version| version.kind == VersionKind::Created && version.who.is_none()));
        assert_eq!(store.state_at(changes.revision).await.unwrap().len(), 2, "{change}");

        let found = serde_json::from_str::<serde_json::Value>(&changes.rows[0].config_json).unwrap();
        assert_eq!(found, serde_json::json!({"a": 2, "b": 1}));
        store.write(&[put("ECHO", "{}"), put("new", "{}")], &by("ann")).await.unwrap();
        let names: Vec<_> = store.changes_since(changes.revision).await.unwrap().rows;
        assert_eq!(names.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["ECHO", "new"]);
        // Opened again, it is left as it is.
        assert_eq!(database.store().await.revision().await.unwrap(), changes.revision + 2);
    }
}

#[tokio::test]
async fn of_names_that_differ_only_in_case_the_oldest_keeps_it() {
    let database = database().await;
    database
        .run(&LITE.replace("VARCHAR(200)", "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))
        .await;
    database.run("INSERT INTO mcp_tool (name, config_json) VALUES ('echo', '1'), ('Echo', '2'), ('é', '3'), ('É', '4')").await;
    let rows = database.store().await.changes_since(0).await.unwrap().rows;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["echo", "Echo_2", "é", "É"]);
}

#[tokio::test]
async fn a_table_of_another_shape_is_left_alone() {
    let database = database().await;
    database.run("CREATE TABLE mcp_tool (id INT PRIMARY KEY AUTO_INCREMENT, title TEXT)").await;
    let error = toolrail_store::open(&StoreUrl::Mysql(database.url())).await.err().unwrap();
    assert!(error.to_string().contains("no column name"), "{error}");
    database.run("INSERT INTO mcp_tool (title) VALUES ('still works')").await;
}

/// It would be refused at every registration; what is to be run is told, and is enough.
#[tokio::test]
async fn a_table_that_we_could_not_add_to_is_refused_until_what_is_told_is_run() {
    for (change, told) in [
        ("ADD COLUMN owner VARCHAR(20) NOT NULL", "ALTER COLUMN `owner` SET DEFAULT ''"),
        ("MODIFY COLUMN id BIGINT NOT NULL", "`id` bigint(20) NOT NULL AUTO_INCREMENT"),
        ("MODIFY COLUMN id CHAR(36) NOT NULL", "`id` char(36) NOT NULL DEFAULT (UUID())"),
        (
            "ADD COLUMN tenant_id VARCHAR(9) NOT NULL DEFAULT '', ADD COLUMN cost INT NOT NULL",
            "`cost` SET DEFAULT 0",
        ),
    ] {
        let database = database().await;
        database.run(&format!("{LITE}; ALTER TABLE mcp_tool {change}")).await;
        let error = toolrail_store::open(&StoreUrl::Mysql(database.url())).await.err().unwrap().to_string();
        assert!(error.contains(&told.replace("(20)", "")) || error.contains(told), "{error}");
        // Nothing was made.
        database.run("CREATE TABLE mcp_config_version (id INT); DROP TABLE mcp_config_version").await;
        database.run(error.split_once("run: ").unwrap().1).await;
        let store = database.store().await;
        store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    }
}

#[tokio::test]
async fn any_letters_may_be_written_to_a_table_of_another_character_set() {
    let database = database().await;
    database.run(&format!("{LITE}; {ROWS}")).await;
    database.run("ALTER TABLE mcp_tool MODIFY COLUMN config_json TEXT NOT NULL").await;
    database.run("ALTER TABLE mcp_tool CONVERT TO CHARACTER SET latin1").await;
    database.run("INSERT INTO mcp_tool (name, config_json) VALUES ('é', '\"ü\"')").await;
    let store = database.store().await;
    assert_eq!(store.find(None, "é").await.unwrap().unwrap().config_json, "\"ü\"");
    store.write(&[put("天气", "\"天气\"")], &by("安")).await.unwrap();
    assert_eq!(store.find(None, "天气").await.unwrap().unwrap().config_json, "\"天气\"");
}

#[tokio::test]
async fn what_a_rule_of_the_table_forbids_is_refused_with_the_rule() {
    let database = database().await;
    database
        .run(&format!("{LITE}; ALTER TABLE mcp_tool ADD CONSTRAINT short CHECK (length(name) < 3)"))
        .await;
    let store = database.store().await;
    let error = store.write(&[put("long", "{}")], &by("ann")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused { reason, .. } if reason.contains("short")), "{error}");
    let error = store.write(&[put("a", "no JSON")], &by("ann")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused { .. }), "{error}");
    assert_eq!(store.write(&[put("a", "{}")], &by("ann")).await.unwrap(), 1);
}

/// R105, R116: the other program, as a user with rights on that one table, goes on with its own statements.
#[tokio::test]
async fn another_user_goes_on_writing_with_its_own_statements() {
    let database = database().await;
    database.run(&format!("{LITE}; {ROWS}")).await;
    let url = other_user(&database).await;
    let store = database.store().await;
    let mut seen = store.revision().await.unwrap();
    for (sql, changed, gone) in [
        ("UPDATE mcp_tool SET enabled=0, config_json='{}' WHERE name='echo'", vec!["echo"], vec![]),
        ("UPDATE mcp_tool SET enabled=0, config_json='{}' WHERE name='echo'", vec!["echo"], vec![]),
        ("INSERT INTO mcp_tool(name,enabled,config_json) VALUES('new',1,'{}')", vec!["new"], vec![]),
        (
            "INSERT INTO mcp_tool(name,enabled,config_json) VALUES('New',1,'[]') ON DUPLICATE KEY UPDATE config_json=VALUES(config_json)",
            vec!["new"],
            vec![],
        ),
        ("REPLACE INTO mcp_tool(name,enabled,config_json) VALUES('NEW',1,'{}')", vec!["NEW"], vec![]),
        (
            "REPLACE INTO mcp_tool(id,name,enabled,config_json) VALUES(1,'other',1,'{}')",
            vec!["other"],
            vec!["echo"],
        ),
        ("INSERT IGNORE INTO mcp_tool(name,enabled,config_json) VALUES('new',1,'{}')", vec![], vec![]),
        ("DELETE FROM mcp_tool WHERE name='new'", vec![], vec!["new"]),
    ] {
        run(&url, sql).await.unwrap();
        let (rows, removed) = names_since(&*store, seen).await;
        assert_eq!((rows, removed), (owned(&changed), owned(&gone)), "{sql}");
        seen = store.revision().await.unwrap();
    }
    let newest = store.history(&HistoryQuery { most: 1, ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(newest[0].who.as_deref(), Some(&*database.name), "the user of the database");
    run(&url, "SELECT id, name, enabled, config_json FROM mcp_tool WHERE updated_at > '2020-01-01'")
        .await
        .unwrap();
    run(&url, "UPDATE mcp_config_version SET version = 0").await.unwrap_err();
    run(&server(), &format!("DROP USER '{0}'@'%'; DROP USER '{0}'@'127.0.0.1'", database.name))
        .await
        .unwrap();
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A user of the database's name that may only use the one table.
async fn other_user(database: &Database) -> url::Url {
    let name = &database.name;
    for host in ["%", "127.0.0.1"] {
        let sql = format!(
            "CREATE USER '{name}'@'{host}' IDENTIFIED BY 'vanpass'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.mcp_tool TO '{name}'@'{host}'"
        );
        run(&server(), &sql).await.unwrap();
    }
    let mut url = database.url();
    url.set_username(name).unwrap();
    url.set_password(Some("vanpass")).unwrap();
    url
}

/// What `REPLACE` does in the middle of a statement is put in order.
#[tokio::test]
async fn a_replaced_row_is_an_updated_definition() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    database.run("REPLACE INTO mcp_tool (name, config_json) VALUES ('a', '2'), ('b', '1')").await;
    let of = Some(ToolKey { tenant: None, name: "a".into() });
    let versions = store.history(&HistoryQuery { of, before: None, most: 10 }).await.unwrap();
    let kinds: Vec<_> = versions.iter().map(|version| (version.kind, version.config_json.as_str())).collect();
    assert_eq!(kinds, [(VersionKind::Updated, "2"), (VersionKind::Created, "1")]);
    let state = store.state_at(store.revision().await.unwrap()).await.unwrap();
    assert_eq!(state.len(), 2);
}

/// The table's own unique names stay until two tenants want the same.
#[tokio::test]
async fn unique_names_are_given_up_when_a_tenant_needs_one() {
    let database = database().await;
    database.run(&format!("{LITE}; {ROWS}")).await;
    let store = database.store().await;
    let mut own = put("echo", "{}");
    own.tenant = Some("acme".into());
    store.write(&[own], &by("ann")).await.unwrap();
    assert!(store.find(Some("acme"), "echo").await.unwrap().is_some());
    assert!(store.find(None, "echo").await.unwrap().is_some());
    database
        .run("INSERT INTO mcp_tool (name, config_json) VALUES ('Echo', '[]') ON DUPLICATE KEY UPDATE config_json = VALUES(config_json)")
        .await;
    assert_eq!(store.find(None, "echo").await.unwrap().unwrap().config_json, "[]");
    assert_eq!(store.find(Some("acme"), "echo").await.unwrap().unwrap().config_json, "{}");
}

/// TRUNCATE fires no trigger.
#[tokio::test]
async fn truncating_is_seen_with_and_without_new_rows() {
    for then in ["", "INSERT INTO mcp_tool (name, config_json) VALUES ('B', '2'), ('d', '2')"] {
        let database = database().await;
        let (store, other) = (database.store().await, database.store().await);
        let before = store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
        database.run(&format!("TRUNCATE TABLE mcp_tool; {then}")).await;
        if then.is_empty() {
            assert_eq!(store.revision().await.unwrap(), before + 3);
            assert_eq!(names_since(&*store, before).await, (vec![], owned(&["a", "b", "c"])));
        } else {
            assert_eq!(names_since(&*store, before).await, (owned(&["B", "d"]), owned(&["a", "c"])));
        }
        let state = other.state_at(other.revision().await.unwrap()).await.unwrap();
        assert_eq!(state.len() as u64, other.count().await.unwrap());
        let revision = other.write(&[put("a", "2")], &by("ann")).await.unwrap();
        assert_eq!(names_since(&*store, revision - 1).await, (owned(&["a"]), vec![]));
    }
}

/// As after a backup without triggers was played back.
#[tokio::test]
async fn missing_triggers_are_made_again_and_nothing_is_missed() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "1"), put("b", "1")], &by("ann")).await.unwrap();
    database
        .run(
            "DROP TRIGGER toolrail_inserting; DROP TRIGGER toolrail_inserted; DROP TRIGGER toolrail_deleted; \
             INSERT INTO mcp_tool (name, config_json) VALUES ('c', '1'); DELETE FROM mcp_tool WHERE name = 'b'",
        )
        .await;
    let store = database.store().await;
    assert_eq!(names_since(&*store, 2).await, (owned(&["c"]), owned(&["b"])));
    assert_eq!(store.state_at(store.revision().await.unwrap()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused_with_what_to_do() {
    let database = database().await;
    database.store().await.close().await;
    database.run("UPDATE toolrail_schema SET version = 99").await;
    let error = toolrail_store::open(&StoreUrl::Mysql(database.url())).await.err().unwrap();
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn a_database_from_before_there_were_records_is_migrated() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    store.close().await;
    database
        .run(
            "DROP TABLE toolrail_record; DELETE FROM toolrail_meta WHERE name = 'record_number'; \
             ALTER TABLE mcp_tool_audit MODIFY COLUMN action VARCHAR(20) NOT NULL; \
             UPDATE toolrail_schema SET version = 3",
        )
        .await;
    let store = database.store().await;
    let long = audited("ann", "some_kind_of_record.some_kind_of_act", put_record("key", "a", "1"));
    assert_eq!(store.write_record(&long).await.unwrap(), RecordWritten::Done(1));
    assert_eq!((store.revision().await.unwrap(), store.audit(0, 9).await.unwrap().len()), (1, 2));
}
