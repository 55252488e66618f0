//! SQLite: the behaviour suite, and what only a file that several processes share can get wrong.

mod memory;
mod migrating;
mod reconciling;
mod replacing;
mod unique;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;
use toolrail_core::{
    AuditCheck, AuditStore as _, DefinitionStore as _, HistoryStore as _, Store, StoreError, async_trait,
};
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
async fn a_table_that_we_could_not_add_to_is_refused() {
    let table = "CREATE TABLE mcp_tool (id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL, config_json TEXT NOT NULL";
    let folder = folder().await;
    folder.run(&format!("{table}, owner TEXT NOT NULL)")).await;
    let error = open_sqlite(folder.0.path()).await.unwrap_err();
    assert!(error.to_string().contains("demands values of owner"), "{error}");
    let allowed =
        format!("DROP TABLE mcp_tool; {table} CHECK (length(name) < 3), owner TEXT NOT NULL DEFAULT '')");
    folder.run(&allowed).await;
    let store = open_sqlite(folder.0.path()).await.unwrap();
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    let error = store.write(&[put("long", "{}")], &by("ann")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused { reason, .. } if reason.contains("length")), "{error}");
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
