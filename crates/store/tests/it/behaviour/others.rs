//! The part of the behaviour suite that is about other programs, which write the table by plain SQL.

use super::{Subject, by, key, names, of, put, removed, row, row_of};

/// C15.
pub(crate) async fn an_update_that_changes_nothing_is_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject.sql("UPDATE mcp_tool SET config_json = config_json").await.unwrap();
    assert_eq!(names(&store.changes_since(before).await.unwrap()), ["a"]);
}

pub(crate) async fn a_rollback_leaves_the_revision(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject
        .sql("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('b', TRUE, '{}'); DELETE FROM mcp_tool; SELECT no_such_column FROM mcp_tool")
        .await
        .unwrap_err();
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(names(&store.changes_since(0).await.unwrap()), ["a"]);
}

/// R104, R105, R107, R116: another program knows only name, enabled and config_json.
pub(crate) async fn plain_inserts_updates_and_deletes_are_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = 0;
    let steps: [(&str, &[&str], &[&str]); 5] = [
        (
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('a', TRUE, '{}'), ('b', FALSE, '{}')",
            &["a", "b"],
            &[],
        ),
        ("INSERT INTO mcp_tool (name, config_json) VALUES ('c', '{}')", &["c"], &[]),
        ("UPDATE mcp_tool SET enabled = TRUE WHERE name = 'b'", &["b"], &[]),
        ("UPDATE mcp_tool SET config_json = '[]', version = version + 1 WHERE name = 'a'", &["a"], &[]),
        ("DELETE FROM mcp_tool", &[], &["a", "b", "c"]),
    ];
    for (sql, changed, gone) in steps {
        subject.sql(sql).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!(names(&changes), changed, "{sql}");
        assert_eq!(removed(&changes), gone, "{sql}");
        assert!(
            changes.rows.iter().all(|row| row.version > seen && row.version <= changes.revision),
            "{sql}"
        );
        assert!(changes.revision > seen, "{sql}");
        seen = changes.revision;
    }
}

pub(crate) async fn a_rename_is_a_removal_and_a_row(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("old", "1")], &by("ann")).await.unwrap();
    for (from, to, gone) in [("old", "new", vec!["old"]), ("new", "New", vec![]), ("New", "old", vec!["new"])]
    {
        subject.sql(&format!("UPDATE mcp_tool SET name = '{to}' WHERE name = '{from}'")).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!((names(&changes), removed(&changes)), (vec![to], gone));
        seen = changes.revision;
    }
}

pub(crate) async fn a_move_to_another_tenant_is_a_removal_and_a_row(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    for (sql, tenant, left) in [
        ("UPDATE mcp_tool SET tenant_id = 'acme'", Some("acme"), None),
        ("UPDATE mcp_tool SET tenant_id = 'umbrella'", Some("umbrella"), Some("acme")),
        ("UPDATE mcp_tool SET tenant_id = NULL", None, Some("umbrella")),
    ] {
        subject.sql(sql).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        let tenants: Vec<_> = changes.rows.iter().map(|row| row.tenant.as_deref()).collect();
        assert_eq!((tenants, changes.removed), (vec![tenant], vec![key(left, "a")]), "{sql}");
        seen = changes.revision;
    }
}

/// R104: another program knows nothing of tenants, or leaves them empty.
pub(crate) async fn a_row_written_without_a_tenant_is_shared(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[of("acme", put("a", "0"))], &by("ann")).await.unwrap();
    subject
        .sql(
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('a', TRUE, '1'); \
             INSERT INTO mcp_tool (name, enabled, config_json, tenant_id) VALUES ('b', TRUE, '2', NULL); \
             INSERT INTO mcp_tool (name, enabled, config_json, tenant_id) VALUES ('c', TRUE, '3', '')",
        )
        .await
        .unwrap();
    for (name, config) in [("a", "1"), ("b", "2"), ("c", "3")] {
        let row = row(&*store, name).await;
        assert_eq!((row.tenant, row.config_json.as_str()), (None, config));
    }
    assert_eq!(row_of(&*store, "acme", "a").await.config_json, "0");
    let twice = "INSERT INTO mcp_tool (name, enabled, config_json, tenant_id) VALUES ('B', TRUE, '4', '')";
    subject.sql(twice).await.unwrap_err();
    subject.sql("UPDATE mcp_tool SET config_json = '5' WHERE tenant_id = 'acme'").await.unwrap();
    assert_eq!(row_of(&*store, "acme", "a").await.config_json, "5");
    assert_eq!(row(&*store, "a").await.config_json, "1");
}

/// R26, C9.
pub(crate) async fn names_are_unique_by_folded_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("echo", "1"), put("b", "1")], &by("ann")).await.unwrap();
    for sql in [
        "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('ECHO', TRUE, '{}')",
        "UPDATE mcp_tool SET name = 'Echo' WHERE name = 'b'",
        "UPDATE mcp_tool SET tenant_id = 'acme'; \
         INSERT INTO mcp_tool (name, config_json, tenant_id) VALUES ('Echo', '{}', 'acme')",
    ] {
        subject.sql(sql).await.unwrap_err();
    }
    assert_eq!(store.revision().await.unwrap(), before);
}

pub(crate) async fn a_foreign_writer_is_not_taken_for_the_last_one(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject.sql("UPDATE mcp_tool SET config_json = '2'").await.unwrap();
    assert_eq!(row(&*store, "a").await.updated_by, None);
    subject.sql("UPDATE mcp_tool SET config_json = '3', updated_by = 'etl'").await.unwrap();
    assert_eq!(row(&*store, "a").await.updated_by.as_deref(), Some("etl"));
    store.write(&[put("a", "4")], &by("ann")).await.unwrap();
    store.write(&[put("a", "5")], &by("ann")).await.unwrap();
    assert_eq!(row(&*store, "a").await.updated_by.as_deref(), Some("ann"));
}

/// A bad row is the registry's to report; it must not hide the others.
pub(crate) async fn rows_that_make_no_sense_are_still_read(subject: &dyn Subject) {
    let store = subject.open().await;
    subject
        .sql("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('', TRUE, '\"\"'), ('a b/名', TRUE, '[1]'), ('good', TRUE, '{}')")
        .await
        .unwrap();
    let everything = store.changes_since(0).await.unwrap();
    assert_eq!(names(&everything), ["", "a b/名", "good"]);
    assert_eq!(row(&*store, "a B/名").await.config_json, "[1]");
}
