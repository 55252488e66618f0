//! The part of the behaviour suite that is about the audit record (R118).

use toolrail_core::{AuditBroken, AuditCheck, AuditEntry, AuditHead, Author, Expected, HistoryQuery, Store};

use super::{Subject, by, if_there, of, purge, put, switch};

pub(super) async fn record(store: &dyn Store) -> Vec<AuditEntry> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let more = store.audit(entries.last().map_or(0, |entry| entry.number), 1_000).await.unwrap();
        if more.is_empty() {
            return entries;
        }
        entries.extend(more);
    }
}

pub(super) async fn check(store: &dyn Store) -> Result<AuditHead, AuditBroken> {
    let mut check = AuditCheck::default();
    record(store).await.iter().try_for_each(|entry| check.take(entry))?;
    check.finish(store.audit_head().await.unwrap().as_ref())
}

pub(crate) async fn each_change_is_entered_in_the_audit_record(subject: &dyn Subject) {
    let store = subject.open().await;
    assert_eq!((record(&*store).await, store.audit_head().await.unwrap()), (vec![], None));
    let ann = Author { who: "ann".into(), address: Some("192.0.2.7".into()), via: "cli".into() };
    let batch = [put("a", r#"{"x":1}"#), of("acme", put("a", "2"))];
    store.write(&batch, &ann).await.unwrap();
    let batch = [put("a", r#"{"x":2}"#), switch("a", false), switch("a", true), put("a", r#"{"x":2}"#)];
    store.write(&batch, &by("bob")).await.unwrap();
    store.write(&[of("acme", purge("a"))], &by("cleo")).await.unwrap();

    let entries = record(&*store).await;
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry.action.as_str(), entry.tenant.as_deref(), entry.who.as_str(), entry.revision))
        .collect();
    assert_eq!(
        told,
        [
            ("create", None, "ann", 1),
            ("create", Some("acme"), "ann", 2),
            ("update", None, "bob", 3),
            ("disable", None, "bob", 4),
            ("enable", None, "bob", 5),
            ("update", None, "bob", 6),
            ("purge", Some("acme"), "cleo", 7),
        ]
    );
    let changes: Vec<&str> = entries.iter().map(|entry| entry.changes.as_str()).collect();
    assert_eq!(
        changes,
        [
            r#"[{"pointer":"","after":{"x":1,"enabled":true}}]"#,
            r#"[{"pointer":"","after":{"definition":2,"enabled":true}}]"#,
            r#"[{"pointer":"/x","before":1,"after":2}]"#,
            r#"[{"pointer":"/enabled","before":true,"after":false}]"#,
            r#"[{"pointer":"/enabled","before":false,"after":true}]"#,
            "[]",
            r#"[{"pointer":"","before":{"definition":2,"enabled":true}}]"#,
        ]
    );
    assert_eq!((entries[0].address.as_deref(), entries[0].via.as_str()), (Some("192.0.2.7"), "cli"));
    assert_eq!((entries[2].address.as_deref(), entries[2].via.as_str()), (None, "test"));
    assert!(entries.iter().all(|entry| entry.name == "a" && entry.at.ends_with('Z')));
    assert_eq!(check(&*store).await.unwrap().number, 7);
    assert_eq!(store.audit_head().await.unwrap(), entries.last().map(AuditEntry::head));
    assert_eq!(record(&*subject.open().await).await, entries);
}

pub(crate) async fn nothing_is_entered_when_nothing_changed(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    store.write(&[purge("b"), switch("b", true), of("acme", purge("a"))], &by("ann")).await.unwrap();
    store.write(&[], &by("ann")).await.unwrap();
    let refused = [put("b", "1"), if_there(Expected::Absent, put("a", "2"))];
    store.write(&refused, &by("ann")).await.unwrap_err();
    assert_eq!(record(&*store).await.len(), 1);
    assert_eq!(check(&*store).await.unwrap().number, 1);
}

pub(crate) async fn a_large_batch_of_new_and_old_is_entered_in_order(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch = |numbers: &mut dyn Iterator<Item = u32>, config: &str| -> Vec<_> {
        numbers.map(|number| put(&format!("t{number}"), config)).collect()
    };
    let is_old = |number: &u32| (number / 20).is_multiple_of(3);
    store.write(&batch(&mut (0..600).filter(is_old), "1"), &by("ann")).await.unwrap();
    // Backwards, so that no order but that of the batch will do for the new ones.
    store.write(&batch(&mut (0..600).rev(), "2"), &by("bob")).await.unwrap();
    let entries = record(&*store).await;
    let revisions: Vec<i64> = entries.iter().map(|entry| entry.revision).collect();
    assert_eq!(revisions, (1..=800).collect::<Vec<_>>());
    assert_eq!(check(&*store).await.unwrap().number, 800);
    let rows = store.changes_since(200).await.unwrap().rows;
    assert_eq!(rows.len(), 600);
    let versions = store.history(&HistoryQuery { most: 600, ..HistoryQuery::default() }).await.unwrap();
    for ((entry, row), version) in entries[200..].iter().zip(&rows).zip(versions.iter().rev()) {
        assert_eq!((&entry.name, entry.revision), (&row.name, row.version));
        assert_eq!((&entry.name, entry.revision), (&version.name, version.revision));
        let old = is_old(&entry.name[1..].parse().unwrap());
        let told = if old { ("update", "updated") } else { ("create", "created") };
        assert_eq!((entry.action.as_str(), version.kind.word()), told, "{}", entry.name);
        assert_eq!((version.who.as_deref(), row.updated_by.as_deref()), (Some("bob"), Some("bob")));
    }
}

pub(crate) async fn the_audit_record_is_read_in_pages(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch: Vec<_> = (0..25).map(|number| put(&format!("t{number}"), "{}")).collect();
    store.write(&batch, &by("ann")).await.unwrap();
    let numbers = async |after: i64, most: u32| -> Vec<i64> {
        store.audit(after, most).await.unwrap().iter().map(|entry| entry.number).collect()
    };
    assert_eq!(numbers(0, 3).await, [1, 2, 3]);
    assert_eq!(numbers(3, 3).await, [4, 5, 6]);
    assert_eq!(numbers(24, 3).await, [25]);
    assert_eq!(numbers(25, 3).await, [0; 0]);
}

pub(crate) async fn writers_at_once_make_one_audit_record(subject: &dyn Subject) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let store = subject.open().await;
        writers.spawn(async move {
            for round in 0..15 {
                let batch = [put(&format!("w{writer}"), &round.to_string()), put("all", "{}")];
                store.write(&batch, &by(&writer.to_string())).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let store = subject.open().await;
    assert_eq!(check(&*store).await.unwrap().number, 120);
    let revisions: Vec<i64> = record(&*store).await.iter().map(|entry| entry.revision).collect();
    assert_eq!(revisions, (1..=120).collect::<Vec<_>>(), "in the order of the changes");
}

/// Only what passes through a gateway is an administrative change; the history has the others.
pub(crate) async fn what_other_programs_write_is_not_in_the_audit_record(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    subject.sql("UPDATE mcp_tool SET config_json = '2'").await.unwrap();
    store.write(&[put("a", "3")], &by("ann")).await.unwrap();
    let entries = record(&*store).await;
    assert_eq!(entries.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(entries[1].changes, r#"[{"pointer":"/definition","before":2,"after":3}]"#);
    assert_eq!(check(&*store).await.unwrap().number, 2);
}

pub(crate) async fn a_change_in_the_audit_record_is_found(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    if subject.sql("UPDATE mcp_tool_audit SET name = 'eve' WHERE name = 'b'").await.is_ok() {
        assert_eq!(check(&*store).await.unwrap_err().number, 2);
    } else {
        assert_eq!(check(&*store).await.unwrap().number, 3, "the database refuses it");
    }
}

pub(crate) async fn a_removal_from_the_audit_record_is_found(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    // From the end, where the entries that are left still follow each other.
    for (name, broken) in [("c", 3), ("b", 3), ("a", 3)] {
        if subject.sql(&format!("DELETE FROM mcp_tool_audit WHERE name = '{name}'")).await.is_ok() {
            assert_eq!(check(&*store).await.unwrap_err().number, broken, "{name}");
        } else {
            assert_eq!(check(&*store).await.unwrap().number, 3, "the database refuses it");
        }
    }
}
