//! SQLite: the behaviour suite, and what only a file that several processes share can get wrong.

mod memory;
mod migrating;
mod unique;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;
use toolrail_core::{AuditCheck, HistoryQuery, Store, StoreError, ToolKey, VersionKind, async_trait};
use toolrail_store::{SqliteStore, open_sqlite};

use crate::behaviour::{Subject, by, put, suite};

pub(crate) struct Folder(TempDir);

pub(crate) async fn folder() -> Folder {
    Folder(tempfile::tempdir().unwrap())
}

#[async_trait]
impl Subject for Folder {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store().await)
    }

    async fn sql(&self, statements: &str) -> Result<(), String> {
        let mut connection = self.connection().await;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements))
            .execute(&mut *transaction)
            .await
            .map_err(|error| error.to_string())?;
        transaction.commit().await.map_err(|error| error.to_string())
    }
}

impl Folder {
    fn file(&self) -> PathBuf {
        self.0.path().join("toolrail.db")
    }

    async fn store(&self) -> SqliteStore {
        open_sqlite(self.0.path()).await.unwrap()
    }

    /// A connection of another program: no WAL asked for, none of our settings.
    async fn connection(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.file()).create_if_missing(true);
        options.connect().await.unwrap()
    }

    async fn run(&self, sql: &str) {
        let mut connection = self.connection().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

suite!(folder);

#[tokio::test]
async fn the_folder_is_created_and_the_file_is_durable() {
    let parent = tempfile::tempdir().unwrap();
    let store = open_sqlite(&parent.path().join("a/b")).await.unwrap();
    let file = store.file().unwrap();
    assert!(file.ends_with("a/b/toolrail.db") && file.exists());
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.unwrap();
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await.unwrap();
    assert_eq!(mode, "wal");
    store.close().await;
    store.revision().await.unwrap_err();
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_refused_with_what_to_do() {
    let folder = folder().await;
    folder.store().await.close().await;
    folder.run("PRAGMA user_version = 99").await;
    let error = open_sqlite(folder.0.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("run the newer program"), "{error}");
}

#[tokio::test]
async fn what_is_no_database_and_what_is_no_folder_are_refused() {
    let folder = folder().await;
    std::fs::write(folder.file(), "this is not a database, but long enough to be asked".repeat(50)).unwrap();
    let error = open_sqlite(folder.0.path()).await.unwrap_err();
    assert!(error.to_string().contains("toolrail.db is unavailable: "), "{error}");
    open_sqlite(&folder.file()).await.unwrap_err();
}

/// The ways of writing that skip some triggers: each must be seen all the same.
#[tokio::test]
async fn replacing_statements_are_seen() {
    const CASES: &[(&str, &[&str], &[&str])] = &[
        ("REPLACE INTO mcp_tool (name, enabled, config_json) VALUES ('a', 1, 'new')", &["a"], &[]),
        ("INSERT OR REPLACE INTO mcp_tool (name, enabled, config_json) VALUES ('A', 1, 'new')", &["A"], &[]),
        ("INSERT OR REPLACE INTO mcp_tool (id, name, config_json) VALUES (1, 'z', 'new')", &["z"], &["a"]),
        ("INSERT OR REPLACE INTO mcp_tool (id, name, config_json) VALUES (1, 'B', 'new')", &["B"], &["a"]),
        ("INSERT OR IGNORE INTO mcp_tool (id, name, config_json) VALUES (1, 'z', 'new')", &[], &[]),
        (
            "INSERT INTO mcp_tool (name, config_json) VALUES ('a', 'new') \
             ON CONFLICT (coalesce(tenant_id, ''), lower(name)) DO UPDATE SET config_json = excluded.config_json",
            &["a"],
            &[],
        ),
        (
            "INSERT INTO mcp_tool (id, name, config_json) VALUES (1, 'a', 'new') \
             ON CONFLICT (id) DO UPDATE SET name = 'z', config_json = excluded.config_json",
            &["z"],
            &["a"],
        ),
        ("UPDATE OR REPLACE mcp_tool SET name = 'b', config_json = 'new' WHERE name = 'a'", &["b"], &["a"]),
        ("UPDATE OR REPLACE mcp_tool SET id = 2, config_json = 'new' WHERE id = 1", &["a"], &["b"]),
        (
            "PRAGMA recursive_triggers = 1; REPLACE INTO mcp_tool (name, config_json) VALUES ('a', 'new')",
            &["a"],
            &[],
        ),
        (
            "DELETE FROM mcp_tool WHERE name = 'a'; REPLACE INTO mcp_tool (name, config_json) VALUES ('a', 'new')",
            &["a"],
            &[],
        ),
    ];
    for (sql, changed, removed) in CASES {
        let folder = folder().await;
        let store = folder.store().await;
        let before =
            store.write(&[put("a", "old"), put("b", "old"), put("c", "old")], &by("ann")).await.unwrap();
        // An older tombstone of a name must not hide its return, nor a later removal.
        folder
            .run("DELETE FROM mcp_tool WHERE name = 'c'; INSERT INTO mcp_tool_tombstone VALUES ('', 'z', 1)")
            .await;
        let seen = store.revision().await.unwrap();
        assert_eq!(seen, before + 1);
        folder.run(sql).await;
        let changes = store.changes_since(seen).await.unwrap();
        let found: Vec<(&str, &str)> =
            changes.rows.iter().map(|row| (row.name.as_str(), row.config_json.as_str())).collect();
        let expected: Vec<(&str, &str)> = changed.iter().map(|name| (*name, "new")).collect();
        assert_eq!(
            (found, changes.removed),
            (expected, removed.iter().map(|name| ToolKey { tenant: None, name: (*name).into() }).collect()),
            "{sql}"
        );
        check_history(&store, sql).await;
    }
}

/// What history says of now is what stands in the table, and no two versions have one number.
async fn check_history(store: &SqliteStore, sql: &str) {
    let rows = store.changes_since(0).await.unwrap().rows;
    let mut there: Vec<(String, String, i64)> =
        rows.into_iter().map(|row| (row.name, row.config_json, row.version)).collect();
    there.sort_unstable();
    let state = store.state_at(i64::MAX).await.unwrap();
    let mut told: Vec<(String, String, i64)> =
        state.into_iter().map(|version| (version.name, version.config_json, version.revision)).collect();
    told.sort_unstable();
    assert_eq!(told, there, "{sql}");
    let versions = store.history(&HistoryQuery { most: 100, ..HistoryQuery::default() }).await.unwrap();
    assert!(versions.is_sorted_by(|newer, older| newer.revision > older.revision), "{sql}: {versions:?}");
    let mut last: std::collections::BTreeMap<String, VersionKind> = std::collections::BTreeMap::new();
    for version in versions.iter().rev() {
        let before = last.insert(version.name.to_lowercase(), version.kind);
        let new = matches!(before, None | Some(VersionKind::Removed));
        assert_eq!(new, version.kind == VersionKind::Created, "{sql}: {versions:?}");
    }
}

/// Versions are ours to give: readers go by them.
#[tokio::test]
async fn a_version_that_another_program_makes_up_is_put_right() {
    let folder = folder().await;
    let store = folder.store().await;
    store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    for sql in [
        "UPDATE mcp_tool SET version = 999",
        "UPDATE mcp_tool SET version = 0 WHERE name = 'b'",
        "UPDATE mcp_tool SET version = NULL WHERE name = 'b'",
        "UPDATE mcp_tool SET version = 1 WHERE name = 'b'",
        "PRAGMA recursive_triggers = 1; UPDATE mcp_tool SET version = 2 WHERE name = 'a'",
    ] {
        drop(folder.sql(sql).await);
        let rows = store.changes_since(0).await.unwrap().rows;
        assert_eq!(rows.iter().map(|row| row.version).collect::<Vec<_>>(), [1, 2, 3], "{sql}");
    }
    folder.run("UPDATE mcp_tool SET enabled = 0, version = version + 1 WHERE name = 'c'").await;
    folder.run("UPDATE mcp_tool SET enabled = 0, version = version + 1 WHERE name = 'a'").await;
    let versions: Vec<i64> =
        store.changes_since(0).await.unwrap().rows.iter().map(|row| row.version).collect();
    assert_eq!(versions, [2, 4, 5]);
    check_history(&store, "version + 1").await;
}

/// R118: the database itself refuses; whoever takes that away is found out.
#[tokio::test]
async fn tampering_with_the_audit_record_shows() {
    for (sql, broken) in [
        ("UPDATE mcp_tool_audit SET who = 'eve' WHERE number = 2", Some(2)),
        ("UPDATE mcp_tool_audit SET at = CAST(at AS BLOB), changes = NULL WHERE number = 2", None),
        ("DELETE FROM mcp_tool_audit WHERE number = 1", Some(1)),
        ("DELETE FROM mcp_tool_audit WHERE number = 3", Some(3)),
        ("DELETE FROM toolrail_meta WHERE name = 'audit_head'", Some(3)),
        (
            "INSERT INTO mcp_tool_audit SELECT 4, at, who, address, via, action, tenant, name, 4, changes, hash, hash \
          FROM mcp_tool_audit WHERE number = 3",
            Some(4),
        ),
    ] {
        let folder = folder().await;
        let store = folder.store().await;
        store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
        if sql.contains("mcp_tool_audit") && !sql.starts_with("INSERT") {
            assert!(folder.sql(sql).await.unwrap_err().contains("never"), "{sql}");
            folder
                .run("DROP TRIGGER trg_mcp_tool_audit_changing; DROP TRIGGER trg_mcp_tool_audit_removing")
                .await;
        }
        let done = folder.sql(sql).await;
        assert_eq!(done.is_ok(), broken.is_some(), "{sql}");
        let mut check = AuditCheck::default();
        let entries = store.audit(0, 10).await.unwrap();
        let head = store.audit_head().await.unwrap();
        let result =
            entries.iter().try_for_each(|entry| check.take(entry)).and_then(|()| check.finish(head.as_ref()));
        assert_eq!(result.err().map(|error| error.number), broken, "{sql}");
        // Nobody is kept from working by that.
        if !sql.starts_with("INSERT") {
            store.write(&[put("d", "1")], &by("ann")).await.unwrap();
        }
    }
}

/// What a dynamically typed database lets others write.
#[tokio::test]
async fn oddly_typed_values_are_read() {
    let folder = folder().await;
    let store = folder.store().await;
    folder
        .run(
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES \
             ('word', 'true', x'7b7d'), ('off', 'False', '{}'), ('many', 7, x'ff'), (12, 0, 34); \
             UPDATE mcp_tool SET tenant_id = 7 WHERE name = 'off'",
        )
        .await;
    let rows = store.changes_since(0).await.unwrap().rows;
    let found: Vec<(&str, bool, &str)> =
        rows.iter().map(|row| (row.name.as_str(), row.enabled, row.config_json.as_str())).collect();
    assert_eq!(
        found,
        [("word", true, "{}"), ("many", true, "\u{fffd}"), ("12", false, "34"), ("off", false, "{}")]
    );
    assert_eq!(rows[3].tenant.as_deref(), Some("7"));
    let state: Vec<(String, bool, String)> = store
        .state_at(100)
        .await
        .unwrap()
        .into_iter()
        .map(|version| (version.name, version.enabled, version.config_json))
        .collect();
    assert_eq!(state[1], ("many".into(), true, "\u{fffd}".into()));
}

/// R104, R107: the documents' form of the table, as another program made it.
#[tokio::test]
async fn an_existing_table_is_adopted_without_loss() {
    for table in [
        "CREATE TABLE mcp_tool (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, enabled INTEGER NOT NULL \
         DEFAULT 1, config_json TEXT NOT NULL, updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, note TEXT)",
        "CREATE TABLE mcp_tool (id BIGINT PRIMARY KEY, name VARCHAR(200), enabled TINYINT(1), config_json JSON, \
         updated_at DATETIME, note TEXT, version INT)",
    ] {
        let folder = folder().await;
        folder.run(table).await;
        folder
            .run(
                "INSERT INTO mcp_tool (id, name, enabled, config_json, updated_at, note) VALUES \
                 (1, 'echo', 1, '{\"a\":1}', '2024-05-06 07:08:09', 'kept'), (2, 'Echo', 0, '{}', 1715000000000, NULL)",
            )
            .await;
        let store = folder.store().await;
        let changes = store.changes_since(0).await.unwrap();
        let found: Vec<(&str, bool, &str, i64)> = changes
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.enabled, row.updated_at.as_str(), row.version))
            .collect();
        assert_eq!(
            found,
            [("echo", true, "2024-05-06T07:08:09.000Z", 2), ("Echo_2", false, "2024-05-06T12:53:20.000Z", 3)]
        );
        assert_eq!((changes.revision, changes.rows[0].config_json.as_str()), (3, "{\"a\":1}"));

        folder.run("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('new', 1, '{}')").await;
        let changes = store.changes_since(3).await.unwrap();
        assert_eq!(changes.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["new"]);
        let note: String = sqlx::query_scalar("SELECT note FROM mcp_tool WHERE name = 'echo'")
            .fetch_one(&mut folder.connection().await)
            .await
            .unwrap();
        assert_eq!(note, "kept");
    }
}

#[tokio::test]
async fn a_table_of_another_shape_is_left_alone() {
    let folder = folder().await;
    folder.run("CREATE TABLE mcp_tool (id INTEGER PRIMARY KEY, title TEXT)").await;
    let error = open_sqlite(folder.0.path()).await.unwrap_err();
    assert!(error.to_string().contains("no column name"), "{error}");
    folder.run("INSERT INTO mcp_tool (title) VALUES ('still works')").await;
}

#[tokio::test]
async fn processes_that_start_and_write_at_once_lose_nothing() {
    let folder = folder().await;
    let mut children: Vec<Child> = (0..4).map(|number| writer(folder.0.path(), number, "40")).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let changes = folder.store().await.changes_since(0).await.unwrap();
    assert_eq!((changes.rows.len(), changes.revision), (160, 160));
}

/// R108: what was acknowledged outlives a killed process.
#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_writer_is_killed() {
    let folder = folder().await;
    let mut child = writer(folder.0.path(), 1, "1000000");
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = Vec::new();
    let mut told = stdout
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("wrote ").map(str::to_owned));
    acknowledged.extend(told.by_ref().take(100));
    child.kill().unwrap();
    acknowledged.extend(told);
    child.wait().unwrap();
    assert!(acknowledged.len() >= 100);
    let store = folder.store().await;
    for name in &acknowledged {
        assert!(store.find(None, name).await.unwrap().is_some(), "{name} was acknowledged and is gone");
    }
    let changes = store.changes_since(0).await.unwrap();
    assert_eq!(i64::try_from(changes.rows.len()).unwrap(), changes.revision);
}

/// Runs `writer_process` below in a process of its own.
fn writer(folder: &Path, number: u32, count: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::writer_process", "--nocapture"])
        .env("STORE_TEST_WRITER", format!("{number} {count} {}", folder.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test by itself: the body of the processes that the two tests above start.
#[tokio::test]
async fn writer_process() {
    let Ok(task) = std::env::var("STORE_TEST_WRITER") else { return };
    let [number, count, folder] = task.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let store = open_sqlite(Path::new(folder)).await.unwrap();
    for round in 0..count.parse().unwrap() {
        let name = format!("p{number}.{round}");
        store.write(&[put(&name, "{}")], &by(number)).await.unwrap();
        println!("wrote {name}");
    }
}
