//! What every store does, whatever the database: `suite!(make)` turns each fact into a test of the subject that
//! `make()` gives. A new database passes it by one line in its own file.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolrail_core::{Action, Author, Change, Changes, Expected, Row, Store, ToolKey, Uses, async_trait};

pub(crate) use crate::behaviour_of_messages::{
    a_message_is_collected_once_in_its_turn_and_changes_no_revision,
    a_message_that_has_lain_for_a_minute_is_gone, messages_take_only_so_many_bytes_for_one_and_for_all,
    news_are_read_by_everybody_in_their_order, news_that_pass_push_out_none_that_last,
    of_collectors_at_once_each_message_goes_to_one, only_the_newest_news_are_kept,
    what_is_too_large_or_too_much_is_not_taken,
};

/// A database, empty at first, that can be opened more than once and written to by others.
#[async_trait]
pub(crate) trait Subject: Send + Sync {
    /// Opens one more handle, as another process would.
    async fn open(&self) -> Arc<dyn Store>;

    /// Runs statements as any other program would, in one transaction; `Err` if the database refuses them.
    async fn sql(&self, statements: &str) -> Result<(), String>;
}

macro_rules! suite {
    ($make:path) => {
        crate::behaviour::suite! { @facts $make:
            a_new_store_is_empty
            what_is_put_is_found_in_any_case
            a_put_replaces_the_row_whose_name_differs_only_in_case
            every_change_moves_the_revision_by_one
            only_what_changed_is_reported
            updates_within_one_millisecond_are_all_seen
            an_update_that_changes_nothing_is_seen
            a_removal_is_seen_until_the_name_comes_back
            removing_or_switching_an_unknown_name_has_no_effect
            switching_off_and_on_is_seen
            all_changes_of_a_write_are_made_or_none
            a_rollback_leaves_the_revision
            handles_see_each_others_writes
            writers_at_once_lose_nothing
            everything_survives_reopening
            plain_inserts_updates_and_deletes_are_seen
            a_rename_is_a_removal_and_a_row
            names_are_unique_by_folded_case
            a_foreign_writer_is_not_taken_for_the_last_one
            rows_that_make_no_sense_are_still_read
            reading_while_writing_gives_the_rows_of_the_revision
            uses_are_counted_and_change_no_revision
            a_key_is_made_once_and_shared_by_all
            a_message_is_collected_once_in_its_turn_and_changes_no_revision
            of_collectors_at_once_each_message_goes_to_one
            a_message_that_has_lain_for_a_minute_is_gone
            what_is_too_large_or_too_much_is_not_taken
            messages_take_only_so_many_bytes_for_one_and_for_all
            news_are_read_by_everybody_in_their_order
            only_the_newest_news_are_kept
            news_that_pass_push_out_none_that_last
        }
    };
    (@facts $make:path: $($fact:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                crate::behaviour::$fact(&$make().await).await;
            }
        )*
    };
}
pub(crate) use suite;

fn change(name: &str, action: Action) -> Change {
    Change { tenant: None, name: name.into(), expected: Expected::Anything, action }
}

pub(crate) fn by(who: &str) -> Author {
    Author { who: who.into(), address: None, via: "test".into() }
}

fn uses(name: &str, calls: u32) -> Uses {
    Uses { tool: ToolKey { tenant: None, name: name.into() }, calls }
}

pub(crate) fn put(name: &str, config_json: &str) -> Change {
    change(name, Action::Put { enabled: true, config_json: config_json.into() })
}

fn purge(name: &str) -> Change {
    change(name, Action::Purge)
}

fn switch(name: &str, enabled: bool) -> Change {
    change(name, Action::SetEnabled(enabled))
}

fn names(changes: &Changes) -> Vec<&str> {
    changes.rows.iter().map(|row| row.name.as_str()).collect()
}

fn removed(changes: &Changes) -> Vec<&str> {
    let mut names: Vec<&str> = changes.removed.iter().map(|key| key.name.as_str()).collect();
    names.sort_unstable();
    names
}

async fn row(store: &dyn Store, name: &str) -> Row {
    store.find(None, name).await.unwrap().unwrap()
}

pub(crate) async fn a_new_store_is_empty(subject: &dyn Subject) {
    let store = subject.open().await;
    assert_eq!(store.changes_since(0).await.unwrap(), Changes::default());
    assert_eq!(store.revision().await.unwrap(), 0);
    assert_eq!(store.find(None, "echo").await.unwrap(), None);
}

/// R106, C9.
pub(crate) async fn what_is_put_is_found_in_any_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let config = r#"{"name":"User.Get","描述":"it's"}"#;
    let revision = store.write(&[put("User.Get", config)], &by("ann")).await.unwrap();
    for name in ["User.Get", "user.get", "USER.GET"] {
        let row = row(&*store, name).await;
        assert_eq!((row.name.as_str(), row.config_json.as_str()), ("User.Get", config));
        assert_eq!((row.enabled, row.version, row.updated_by.as_deref()), (true, revision, Some("ann")));
        assert!(row.updated_at.ends_with('Z') && row.updated_at.contains('T'), "{}", row.updated_at);
    }
    assert_eq!(store.find(None, "user").await.unwrap(), None);
}

/// C9.
pub(crate) async fn a_put_replaces_the_row_whose_name_differs_only_in_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("echo", "1")], &by("ann")).await.unwrap();
    store.write(&[put("Echo", "2")], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!((names(&changes), changes.removed.len()), (vec!["Echo"], 0));
    assert_eq!(names(&store.changes_since(0).await.unwrap()), ["Echo"]);
}

/// R114, R115, C16: one counter for all rows, each row bearing the value it changed at.
pub(crate) async fn every_change_moves_the_revision_by_one(subject: &dyn Subject) {
    let store = subject.open().await;
    let changes =
        [put("a", "1"), put("b", "1"), put("a", "2"), switch("b", false), purge("a"), put("a", "3")];
    for (index, change) in changes.iter().enumerate() {
        let revision = store.write(std::slice::from_ref(change), &by("ann")).await.unwrap();
        assert_eq!(revision, i64::try_from(index).unwrap() + 1, "{change:?}");
        assert_eq!(store.revision().await.unwrap(), revision);
    }
    let together = store.write(&[put("c", "1"), put("d", "1")], &by("ann")).await.unwrap();
    assert_eq!(together, 8);
    assert_eq!((row(&*store, "c").await.version, row(&*store, "d").await.version), (7, 8));
}

pub(crate) async fn only_what_changed_is_reported(subject: &dyn Subject) {
    let store = subject.open().await;
    let first = store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    assert_eq!(
        store.changes_since(first).await.unwrap(),
        Changes { revision: first, ..Changes::default() },
        "nothing new"
    );
    let second = store.write(&[put("b", "2"), purge("c")], &by("ann")).await.unwrap();
    let changes = store.changes_since(first).await.unwrap();
    assert_eq!((names(&changes), changes.revision), (vec!["b"], second));
    assert_eq!(changes.removed.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["c"]);
    let everything = store.changes_since(0).await.unwrap();
    assert_eq!((names(&everything), everything.revision), (vec!["a", "b"], second));
}

/// C15.
pub(crate) async fn updates_within_one_millisecond_are_all_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    for round in 1..200 {
        store.write(&[put("a", &round.to_string())], &by("ann")).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!((changes.rows.len(), changes.rows[0].config_json.clone()), (1, round.to_string()));
        seen = changes.revision;
    }
}

/// C15.
pub(crate) async fn an_update_that_changes_nothing_is_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject.sql("UPDATE mcp_tool SET config_json = config_json").await.unwrap();
    assert_eq!(names(&store.changes_since(before).await.unwrap()), ["a"]);
}

/// C15, C17.
pub(crate) async fn a_removal_is_seen_until_the_name_comes_back(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("Echo", "1"), put("other", "1")], &by("ann")).await.unwrap();
    let removed = store.write(&[purge("ECHO")], &by("ann")).await.unwrap();
    for since in [1, before] {
        assert_eq!(
            store
                .changes_since(since)
                .await
                .unwrap()
                .removed
                .iter()
                .map(|key| key.name.as_str())
                .collect::<Vec<_>>(),
            ["echo"]
        );
    }
    assert!(store.changes_since(removed).await.unwrap().removed.is_empty());
    store.write(&[put("eCHO", "2")], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!((names(&changes), changes.removed.len()), (vec!["eCHO"], 0));
}

pub(crate) async fn removing_or_switching_an_unknown_name_has_no_effect(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    let after = store.write(&[purge("b"), switch("b", false)], &by("ann")).await.unwrap();
    assert_eq!(before, after);
    assert_eq!(store.write(&[], &by("ann")).await.unwrap(), before);
}

/// R106, C17.
pub(crate) async fn switching_off_and_on_is_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    for enabled in [false, true] {
        store.write(&[switch("A", enabled)], &by("bob")).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!((changes.rows[0].enabled, changes.rows[0].updated_by.as_deref()), (enabled, Some("bob")));
        assert_eq!(changes.rows[0].config_json, "1");
        seen = changes.revision;
    }
}

/// R27: a batch in one transaction.
pub(crate) async fn all_changes_of_a_write_are_made_or_none(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch: Vec<Change> = (0..500).map(|number| put(&format!("t{number}"), "{}")).collect();
    let author = by("ann");
    let writing = store.write(&batch, &author);
    // Dropped after its first step, as when the client of a batch goes away.
    drop(tokio::time::timeout(std::time::Duration::ZERO, writing).await);
    let reader = subject.open().await;
    let count = reader.changes_since(0).await.unwrap().rows.len();
    assert!(count == 0 || count == 500, "{count} of 500 rows were written");
    let revision = store.write(&batch, &by("ann")).await.unwrap();
    assert_eq!(reader.changes_since(0).await.unwrap().rows.len(), 500);
    assert!(revision == 500 || revision == 1000, "{revision}");
}

pub(crate) async fn a_rollback_leaves_the_revision(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject
        .sql("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('b', 1, '{}'); DELETE FROM mcp_tool; SELECT no_such_column FROM mcp_tool")
        .await
        .unwrap_err();
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(names(&store.changes_since(0).await.unwrap()), ["a"]);
}

/// R127.
pub(crate) async fn handles_see_each_others_writes(subject: &dyn Subject) {
    let (one, two) = (subject.open().await, subject.open().await);
    for round in 0..20 {
        let (writer, reader) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let before = reader.revision().await.unwrap();
        let after = writer.write(&[put(&format!("t{round}"), "{}")], &by("ann")).await.unwrap();
        let changes = reader.changes_since(before).await.unwrap();
        assert_eq!(changes.revision, after);
        // Since 0 everything is reported, and before the first write the revision is 0.
        assert_eq!(changes.rows.len(), 1);
    }
}

pub(crate) async fn writers_at_once_lose_nothing(subject: &dyn Subject) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = subject.open().await;
        writers.spawn(async move {
            for round in 0..25 {
                store.write(&[put(&format!("w{writer}.{round}"), "{}")], &by("ann")).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let changes = subject.open().await.changes_since(0).await.unwrap();
    assert_eq!((changes.rows.len(), changes.revision), (200, 200));
    let versions: BTreeSet<i64> = changes.rows.iter().map(|row| row.version).collect();
    assert_eq!(versions.len(), 200, "no two changes share a revision");
}

/// R108.
pub(crate) async fn everything_survives_reopening(subject: &dyn Subject) {
    let before = {
        let store = subject.open().await;
        store.write(&[put("a", "1"), put("b", "2"), put("c", "3")], &by("ann")).await.unwrap();
        store.write(&[switch("a", false), purge("b")], &by("bob")).await.unwrap();
        store.changes_since(1).await.unwrap()
    };
    assert_eq!(subject.open().await.changes_since(1).await.unwrap(), before);
}

/// R104, R105, R107, R116: another program knows only name, enabled and config_json.
pub(crate) async fn plain_inserts_updates_and_deletes_are_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = 0;
    let steps: [(&str, &[&str], &[&str]); 5] = [
        (
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('a', 1, '{}'), ('b', 0, '{}')",
            &["a", "b"],
            &[],
        ),
        ("INSERT INTO mcp_tool (name, config_json) VALUES ('c', '{}')", &["c"], &[]),
        ("UPDATE mcp_tool SET enabled = 1 WHERE name = 'b'", &["b"], &[]),
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

/// R26, C9.
pub(crate) async fn names_are_unique_by_folded_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("echo", "1"), put("b", "1")], &by("ann")).await.unwrap();
    for sql in [
        "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('ECHO', 1, '{}')",
        "UPDATE mcp_tool SET name = 'Echo' WHERE name = 'b'",
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
        .sql("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('', 1, '\"\"'), ('a b/名', 1, '[1]'), ('good', 1, '{}')")
        .await
        .unwrap();
    let everything = store.changes_since(0).await.unwrap();
    assert_eq!(names(&everything), ["", "a b/名", "good"]);
    assert_eq!(row(&*store, "a B/名").await.config_json, "[1]");
}

pub(crate) async fn reading_while_writing_gives_the_rows_of_the_revision(subject: &dyn Subject) {
    let (writer, reader) = (subject.open().await, subject.open().await);
    let writing = tokio::spawn(async move {
        for round in 0..100 {
            writer
                .write(&[put(&format!("a{round}"), "{}"), put(&format!("b{round}"), "{}")], &by("ann"))
                .await
                .unwrap();
        }
    });
    loop {
        let finished = writing.is_finished();
        let changes = reader.changes_since(0).await.unwrap();
        assert_eq!(
            i64::try_from(changes.rows.len()).unwrap(),
            changes.revision,
            "every row is one change here"
        );
        assert_eq!(changes.revision % 2, 0, "half a write was seen");
        if finished {
            break;
        }
    }
    writing.await.unwrap();
    assert_eq!(reader.revision().await.unwrap(), 200);
}

/// R75.
pub(crate) async fn uses_are_counted_and_change_no_revision(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("Echo", "1"), put("b", "1")], &by("ann")).await.unwrap();
    assert!(store.usage().await.unwrap().is_empty());
    store.record_uses(&[uses("echo", 2), uses("b", 1)]).await.unwrap();
    store.record_uses(&[uses("echo", 3)]).await.unwrap();
    let usage = store.usage().await.unwrap();
    let counts: Vec<(&str, i64)> = usage.iter().map(|tool| (tool.tool.name.as_str(), tool.count)).collect();
    assert_eq!(counts, [("b", 1), ("echo", 5)]);
    assert!(usage.iter().all(|tool| tool.last_used.ends_with('Z')));
    assert_eq!(store.revision().await.unwrap(), before);
    store.write(&[purge("echo")], &by("ann")).await.unwrap();
    assert_eq!(store.usage().await.unwrap().len(), 1);
}

pub(crate) async fn a_key_is_made_once_and_shared_by_all(subject: &dyn Subject) {
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = subject.open().await;
        asking.spawn(async move { store.shared_key("sessions").await.unwrap() });
    }
    let keys: BTreeSet<[u8; 32]> = asking.join_all().await.into_iter().collect();
    assert_eq!(keys.len(), 1);
    let store = subject.open().await;
    assert!(keys.contains(&store.shared_key("sessions").await.unwrap()), "it is kept");
    assert!(!keys.contains(&store.shared_key("other").await.unwrap()), "each name has its own");
    assert_eq!(store.revision().await.unwrap(), 0, "a key is no definition");
}
