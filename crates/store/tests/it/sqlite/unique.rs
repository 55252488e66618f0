//! Tables of other programs in which names are unique: they stay so until a tenant needs a name that another has.

use toolrail_core::{Action, Change, DefinitionStore as _, Expected, Store};

use super::folder;
use crate::behaviour::{Subject, by, put};

fn of(tenant: &str, name: &str) -> Change {
    let action = Action::Put { enabled: true, config_json: "{}".into() };
    Change { tenant: Some(tenant.into()), name: name.into(), expected: Expected::Anything, action }
}

const UPSERT: &str = "INSERT INTO mcp_tool (name, config_json) VALUES ('a', '[1]') \
    ON CONFLICT (name) DO UPDATE SET config_json = excluded.config_json";

const TABLES: &[&str] = &[
    "CREATE TABLE mcp_tool (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, config_json TEXT NOT NULL, \
     note TEXT DEFAULT 'x, UNIQUE', size AS (length(config_json)), CHECK (length(name) < 200))",
    "CREATE TABLE mcp_tool (id BIGINT PRIMARY KEY, name VARCHAR(200), config_json JSON, note TEXT DEFAULT 'x, UNIQUE', \
     CONSTRAINT one UNIQUE (name))",
    "CREATE TABLE \"mcp_tool\" (\"id\" INTEGER PRIMARY KEY, \"name\" TEXT, config_json, note TEXT DEFAULT 'x, UNIQUE'); \
     CREATE UNIQUE INDEX one ON mcp_tool (name)",
];

#[tokio::test]
async fn an_adopted_table_keeps_its_unique_names_until_a_tenant_needs_one() {
    for table in TABLES {
        let folder = folder().await;
        folder.run(table).await;
        folder
            .run(
                "INSERT INTO mcp_tool (id, name, config_json) VALUES (1, 'a', '{}'), (2, 'b', '{}'); \
                 CREATE INDEX by_note ON mcp_tool (note); CREATE TABLE seen (name TEXT); CREATE TABLE log (tool INTEGER \
                 REFERENCES mcp_tool (id) ON DELETE CASCADE); INSERT INTO log VALUES (1), (2); \
                 CREATE VIEW names AS SELECT name FROM mcp_tool; \
                 CREATE TRIGGER note AFTER INSERT ON mcp_tool BEGIN INSERT INTO seen VALUES (NEW.name); END",
            )
            .await;
        let store = folder.store().await;
        folder.run(UPSERT).await;
        store.write(&[put("c", "{}"), of("acme", "d")], &by("ann")).await.unwrap();
        folder.run(UPSERT).await;

        let before = store.revision().await.unwrap();
        store.write(&[of("acme", "a"), of("umbrella", "A")], &by("ann")).await.unwrap();
        assert_eq!(store.revision().await.unwrap(), before + 2, "{table}");
        assert_eq!(store.count().await.unwrap(), 6);
        folder.sql(UPSERT).await.unwrap_err();
        folder.run("UPDATE mcp_tool SET config_json = '[2]' WHERE name = 'a' AND tenant_id IS NULL").await;
        assert_eq!(store.find(None, "a").await.unwrap().unwrap().config_json, "[2]");

        // All that others had there is still there.
        for held in [
            "SELECT note FROM mcp_tool INDEXED BY by_note WHERE note = 'x, UNIQUE' AND name = 'b'",
            "SELECT 1 FROM names WHERE name = 'b'",
            "SELECT 1 FROM seen WHERE name = 'A'",
            "SELECT 1 FROM log WHERE tool = 2 AND (SELECT count(*) FROM log) = 2",
            "SELECT 1 WHERE (SELECT quick_check FROM pragma_quick_check) = 'ok'",
            "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pragma_foreign_key_check)",
        ] {
            let rows = sqlx::query(held).fetch_all(&mut folder.connection().await).await.unwrap();
            assert_eq!(rows.len(), 1, "{held}: {table}");
        }
        store.close().await;
        let store = folder.store().await;
        assert_eq!(store.write(&[of("umbrella", "b")], &by("ann")).await.unwrap(), before + 4);
    }
}
