//! The part of the behaviour suite that is about records of the gateway itself.

use toolrail_core::{HistoryQuery, Record, RecordAudit, RecordLimits, RecordWrite, RecordWritten, Store};

use super::audit::{check, record as audit_record};
use super::{Subject, by, put};

const LIMITS: RecordLimits = RecordLimits::ALL;

pub(crate) fn put_record(kind: &str, id: &str, body: &str) -> RecordWrite {
    RecordWrite { kind: kind.into(), id: id.into(), body: Some(body.into()), expected: None, audited: None }
}

fn remove(kind: &str, id: &str) -> RecordWrite {
    RecordWrite { body: None, ..put_record(kind, id, "") }
}

/// The same write, made only of the record with that number.
fn if_number(expected: i64, write: RecordWrite) -> RecordWrite {
    RecordWrite { expected: Some(expected), ..write }
}

/// The same write, entered in the audit record.
pub(crate) fn audited(who: &str, action: &str, write: RecordWrite) -> RecordWrite {
    let audit = RecordAudit {
        author: by(who),
        action: action.into(),
        tenant: Some("acme".into()),
        name: format!("key {}", write.id),
        changes: r#"[{"pointer":"","after":{}}]"#.into(),
    };
    RecordWrite { audited: Some(audit), ..write }
}

fn record(kind: &str, id: &str, body: Option<&str>, number: i64) -> Record {
    Record { kind: kind.into(), id: id.into(), body: body.map(Into::into), number }
}

async fn written(store: &dyn Store, write: &RecordWrite) -> RecordWritten {
    store.write_record(write).await.unwrap()
}

async fn done(store: &dyn Store, write: &RecordWrite) -> i64 {
    match written(store, write).await {
        RecordWritten::Done(number) => number,
        refused @ (RecordWritten::Otherwise | RecordWritten::NoRoom) => panic!("{refused:?}: {write:?}"),
    }
}

pub(crate) async fn only_records_that_are_new_are_read(subject: &dyn Subject) {
    let (one, other) = (subject.open().await, subject.open().await);
    assert_eq!((one.record_number().await.unwrap(), one.records_after(0, &[]).await.unwrap()), (0, vec![]));
    let odd = "天气 \"quoted\" 'and' 😀 {{x}} % \\ \n";
    assert_eq!(done(&*one, &put_record("key", "a", "1")).await, 1);
    assert_eq!(done(&*other, &put_record("key", odd, odd)).await, 2);
    assert_eq!(done(&*one, &put_record("key", "a", "")).await, 3);
    let all = [record("key", odd, Some(odd), 2), record("key", "a", Some(""), 3)];
    assert_eq!(other.records_after(0, &[]).await.unwrap(), all);
    assert_eq!(other.records_after(2, &[]).await.unwrap(), all[1..]);
    assert_eq!(other.records_after(3, &[]).await.unwrap(), []);
    assert_eq!(other.record_number().await.unwrap(), 3);
    assert_eq!(one.record("key", odd).await.unwrap().as_ref(), Some(&all[0]));
    assert_eq!(one.record("key", "b").await.unwrap(), None);
    assert_eq!(one.revision().await.unwrap(), 0, "no definition changed");
    let again = subject.open().await;
    assert_eq!(again.records_after(0, &[]).await.unwrap(), all, "they survive reopening");
    assert_eq!(done(&*again, &put_record("key", "a", "2")).await, 4);

    // Whoever asks for some kinds gets those.
    assert_eq!(done(&*one, &put_record("rule", "r", "1")).await, 5);
    let rule = [record("rule", "r", Some("1"), 5)];
    assert_eq!(other.records_after(0, &["rule"]).await.unwrap(), rule);
    assert_eq!(other.records_after(4, &["key", "rule"]).await.unwrap(), rule);
    assert_eq!(other.records_after(0, &["key", "rule"]).await.unwrap().len(), 3);
    assert_eq!(other.records_after(4, &["key"]).await.unwrap(), []);
    for none in ["ke", "ule", "", "RULE", "%"] {
        assert_eq!(other.records_after(0, &[none]).await.unwrap(), [], "{none}");
    }
}

pub(crate) async fn a_record_that_is_removed_is_told_and_its_id_is_free(subject: &dyn Subject) {
    let store = subject.open().await;
    let first = if_number(0, put_record("key", "a", "1"));
    done(&*store, &first).await;
    done(&*store, &put_record("key", "b", "1")).await;
    assert_eq!(done(&*store, &if_number(1, remove("key", "a"))).await, 3);
    assert_eq!(store.records_after(1, &[]).await.unwrap()[1..], [record("key", "a", None, 3)]);
    assert_eq!(store.record("key", "a").await.unwrap(), None);
    for nothing in [remove("key", "a"), if_number(0, remove("key", "a")), remove("key", "never")] {
        assert_eq!(written(&*store, &nothing).await, RecordWritten::Otherwise, "{nothing:?}");
    }
    let of_removed = if_number(3, put_record("key", "a", "2"));
    assert_eq!(written(&*store, &of_removed).await, RecordWritten::Otherwise);
    assert_eq!(done(&*store, &first).await, 4);
    let all = [record("key", "b", Some("1"), 2), record("key", "a", Some("1"), 4)];
    assert_eq!(store.records_after(0, &[]).await.unwrap(), all);
}

pub(crate) async fn a_record_is_written_only_if_it_is_what_was_expected(subject: &dyn Subject) {
    let store = subject.open().await;
    done(&*store, &audited("ann", "key.create", if_number(0, put_record("key", "a", "1")))).await;
    for (expected, id) in [(0, "a"), (2, "a"), (-1, "a"), (1, "b")] {
        let other = audited("bob", "key.change", if_number(expected, put_record("key", id, "2")));
        assert_eq!(written(&*store, &other).await, RecordWritten::Otherwise, "{expected} {id}");
    }
    assert_eq!(written(&*store, &if_number(2, remove("key", "a"))).await, RecordWritten::Otherwise);
    assert_eq!(store.records_after(0, &[]).await.unwrap(), [record("key", "a", Some("1"), 1)]);
    assert_eq!(store.record_number().await.unwrap(), 1);
    assert_eq!(check(&*store).await.unwrap().number, 1);
    assert_eq!(done(&*store, &if_number(1, put_record("key", "a", "2"))).await, 2);
}

pub(crate) async fn records_that_are_too_large_are_refused(subject: &dyn Subject) {
    let store = subject.open().await;
    let name = "n".repeat(LIMITS.longest_name);
    let body = "b".repeat(LIMITS.largest);
    done(&*store, &put_record(&name, &name, &body)).await;
    for large in [
        put_record(&format!("{name}n"), "a", "1"),
        put_record("key", &format!("{name}n"), "1"),
        put_record("key", "a", &format!("{body}b")),
    ] {
        let refused = audited("ann", "key.create", large);
        assert_eq!(written(&*store, &refused).await, RecordWritten::NoRoom);
    }
    assert_eq!(store.records_after(0, &[]).await.unwrap(), [record(&name, &name, Some(&body), 1)]);
    assert_eq!(store.audit_head().await.unwrap(), None);
}

pub(crate) async fn records_are_told_apart_by_kind_and_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let names =
        [("key", "a"), ("key", "A"), ("Key", "a"), ("policy", "a"), ("key", "a "), ("key", "ä"), ("", "")];
    for (kind, id) in names {
        done(&*store, &if_number(0, put_record(kind, id, &format!("{kind}/{id}")))).await;
    }
    assert_eq!(store.records_after(0, &[]).await.unwrap().len(), names.len());
    done(&*store, &remove("key", "a")).await;
    for (kind, id) in names {
        let body = store.record(kind, id).await.unwrap().and_then(|record| record.body);
        let expected = Some(format!("{kind}/{id}")).filter(|_| (kind, id) != ("key", "a"));
        assert_eq!(body, expected);
    }
}

pub(crate) async fn writes_of_records_are_entered_in_the_audit_record(subject: &dyn Subject) {
    let store = subject.open().await;
    let create = audited("ann", "key.create", put_record("key", "a", "1"));
    done(&*store, &create).await;
    store.write(&[put("t", "1"), put("u", "1")], &by("bob")).await.unwrap();
    // As long as any word will be.
    let long = "some_kind_of_record.some_kind_of_act";
    done(&*store, &audited("ann", long, put_record("key", "a", "2"))).await;
    done(&*store, &put_record("key", "a", "3")).await;
    done(&*store, &audited("ann", "key.revoke", remove("key", "a"))).await;
    store.write(&[put("t", "2")], &by("bob")).await.unwrap();
    let entries = audit_record(&*store).await;
    let told: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.revision)).collect();
    let expected =
        [("key.create", 0), ("create", 1), ("create", 2), (long, 2), ("key.revoke", 2), ("update", 3)];
    assert_eq!(told, expected);
    let audit = create.audited.unwrap();
    let entry = &entries[0];
    assert_eq!((&entry.who, &entry.via, &entry.name), (&audit.author.who, &audit.author.via, &audit.name));
    assert_eq!((&entry.tenant, &entry.changes), (&audit.tenant, &audit.changes));
    assert!(entries.iter().all(|entry| entry.at.len() == "2026-01-01T00:00:00.000Z".len()));
    assert_eq!(check(&*store).await.unwrap().number, 6);
    assert_eq!(store.revision().await.unwrap(), 3);
    let versions = store.history(&HistoryQuery { most: 9, ..HistoryQuery::default() }).await.unwrap();
    assert!(versions.iter().all(|version| version.who.as_deref() == Some("bob")), "{versions:?}");
}

/// However many write at once, whoever goes on from the number he has seen misses nothing.
pub(crate) async fn writers_of_records_at_once_lose_nothing(subject: &dyn Subject) {
    const WRITERS: i64 = 4;
    const ROUNDS: i64 = 10;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = subject.open().await;
        writers.spawn(async move {
            for round in 0..ROUNDS {
                let own = put_record("key", &format!("w{writer}"), &round.to_string());
                done(&*store, &audited("ann", "key.change", own)).await;
                done(&*store, &put_record("key", &format!("w{writer} {round}"), "1")).await;
                store.write(&[put(&format!("t{writer}"), "1")], &by("bob")).await.unwrap();
            }
        });
    }
    let reader = subject.open().await;
    let following = async {
        let (mut number, mut seen) = (0, std::collections::BTreeSet::new());
        while number < WRITERS * ROUNDS * 2 {
            let newest = reader.record_number().await.unwrap();
            let records = reader.records_after(number, &[]).await.unwrap();
            assert!(records.is_sorted_by_key(|record| record.number));
            seen.extend(records.into_iter().map(|record| record.id));
            number = newest;
        }
        seen.len()
    };
    let deadline = std::time::Duration::from_mins(1);
    let seen = tokio::time::timeout(deadline, following).await.expect("not all were written");
    writers.join_all().await;
    assert_eq!(i64::try_from(seen).unwrap(), WRITERS + WRITERS * ROUNDS);
    assert_eq!(reader.record_number().await.unwrap(), WRITERS * ROUNDS * 2);
    assert_eq!(check(&*reader).await.unwrap().number, WRITERS * ROUNDS * 2);
    let revisions: Vec<_> = audit_record(&*reader).await.iter().map(|entry| entry.revision).collect();
    assert!(revisions.is_sorted(), "{revisions:?}");
}

pub(crate) async fn of_writers_of_one_record_one_wins(subject: &dyn Subject) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let store = subject.open().await;
        writers.spawn(async move {
            let mine = if_number(0, put_record("key", "a", &writer.to_string()));
            written(&*store, &audited("ann", "key.create", mine)).await
        });
    }
    let results = writers.join_all().await;
    assert_eq!(results.iter().filter(|result| **result == RecordWritten::Done(1)).count(), 1, "{results:?}");
    assert_eq!(
        results.iter().filter(|result| **result == RecordWritten::Otherwise).count(),
        3,
        "{results:?}"
    );
    assert_eq!(check(&*subject.open().await).await.unwrap().number, 1);
}

pub(crate) async fn records_come_in_pages_and_only_so_many_of_a_kind(subject: &dyn Subject) {
    let store = subject.open().await;
    let digits = (0..10).map(|digit| format!("SELECT {digit} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let all = format!(
        "INSERT INTO toolrail_record (kind, id, body, number) SELECT 'key', n, '1', n FROM \
         (SELECT 1 + v.d + 10 * w.d + 100 * x.d + 1000 * y.d + 10000 * z.d AS n \
         FROM ({digits}) AS v, ({digits}) AS w, ({digits}) AS x, ({digits}) AS y, ({digits}) AS z) AS numbers"
    );
    subject.sql(&all).await.unwrap();
    let most = i64::from(LIMITS.most);
    let count = format!("UPDATE toolrail_meta SET value = '{most}' WHERE name = 'record_number'");
    subject.sql(&count).await.unwrap();
    let page = async |after: i64| -> Vec<i64> {
        store.records_after(after, &[]).await.unwrap().iter().map(|record| record.number).collect()
    };
    let at_once = i64::from(LIMITS.at_once);
    assert_eq!(page(0).await, (1..=at_once).collect::<Vec<_>>());
    assert_eq!(page(at_once).await, (at_once + 1..=2 * at_once).collect::<Vec<_>>());
    assert_eq!(page(most - 2).await, [most - 1, most]);

    let one_more = audited("ann", "key.create", put_record("key", "new", "1"));
    assert_eq!(written(&*store, &one_more).await, RecordWritten::NoRoom);
    assert_eq!((store.record_number().await.unwrap(), store.audit_head().await.unwrap()), (most, None));
    done(&*store, &put_record("key", "1", "2")).await;
    done(&*store, &put_record("policy", "new", "1")).await;
    done(&*store, &remove("key", "2")).await;
    done(&*store, &one_more).await;
    assert_eq!(written(&*store, &put_record("key", "2", "1")).await, RecordWritten::NoRoom);
}

pub(crate) async fn a_record_removed_long_ago_is_forgotten(subject: &dyn Subject) {
    let store = subject.open().await;
    for id in ["a", "b", "c"] {
        done(&*store, &put_record("key", id, "1")).await;
    }
    done(&*store, &remove("key", "a")).await;
    done(&*store, &remove("key", "b")).await;
    let age = i64::from(LIMITS.removed_days) * 86_400 + 1;
    let long_ago = format!("UPDATE toolrail_record SET removed_at = removed_at - {age} WHERE number = 4");
    subject.sql(&long_ago).await.unwrap();
    done(&*store, &put_record("key", "d", "1")).await;
    let records = store.records_after(0, &[]).await.unwrap();
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "d"]);
    assert_eq!(done(&*store, &if_number(0, put_record("key", "a", "1"))).await, 7);
}
