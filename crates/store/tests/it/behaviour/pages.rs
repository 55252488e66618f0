//! The part of the behaviour suite that is about many changes: they come in pages, by their versions (R130).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use toolrail_core::{Change, Changes, Revision, Store, ToolKey, ToolName};

use super::{Subject, by, of, purge, put, removed, switch};

fn many(count: u32) -> Vec<Change> {
    (0..count)
        .map(|number| match number % 3 {
            0 => of("acme", put(&format!("T{number}"), &format!("{{\"n\":{number}}}"))),
            _ => put(&format!("T{number}"), &format!("{{\"n\":{number}}}")),
        })
        .collect()
}

/// Reads on until there is no more, and checks what must be true of each page.
async fn all_pages(store: &dyn Store, since: Revision) -> Vec<Changes> {
    let mut pages: Vec<Changes> = Vec::new();
    loop {
        let from = pages.last().map_or(since, |page| page.revision);
        let page = store.changes_since(from).await.unwrap();
        assert!(page.rows.len() <= Changes::MOST as usize, "{} rows", page.rows.len());
        assert!(page.rows.is_sorted_by(|one, next| one.version < next.version), "oldest first");
        assert!(page.rows.iter().all(|row| row.version > from && row.version <= page.revision));
        assert!(!page.more || page.revision > from, "it goes on");
        let more = page.more;
        pages.push(page);
        if !more {
            return pages;
        }
    }
}

pub(crate) async fn many_rows_come_in_pages_and_each_once(subject: &dyn Subject) {
    let (store, reader) = (subject.open().await, subject.open().await);
    let count = Changes::MOST * 2 + 100;
    let revision = store.write(&many(count), &by("ann")).await.unwrap();
    assert_eq!(revision, i64::from(count));
    assert_eq!(reader.count().await.unwrap(), u64::from(count));
    let pages = all_pages(&*reader, 0).await;
    assert_eq!(pages.len(), 3);
    assert_eq!(pages[2].revision, revision);
    assert!(pages.iter().all(|page| page.removed.is_empty()));
    let mut seen = BTreeSet::new();
    for row in pages.iter().flat_map(|page| &page.rows) {
        assert!(seen.insert((row.tenant.clone(), row.name.clone())), "{} was seen twice", row.name);
    }
    assert_eq!(seen.len(), count as usize);
    let rest = reader.changes_since(revision).await.unwrap();
    assert_eq!(rest, Changes { revision, ..Changes::default() });
}

pub(crate) async fn pages_begin_behind_any_revision(subject: &dyn Subject) {
    let store = subject.open().await;
    let count = Changes::MOST + 1;
    let before = store.write(&many(count), &by("ann")).await.unwrap();
    let first = store.changes_since(0).await.unwrap();
    assert_eq!((first.more, first.rows.len()), (true, Changes::MOST as usize));

    // A whole page exactly is the last one.
    let exactly = store.changes_since(1).await.unwrap();
    assert_eq!((exactly.more, exactly.rows.len()), (false, Changes::MOST as usize));

    // Between two pages, rows that were read and such as were not are changed and removed.
    store
        .write(&[of("acme", switch("t0", false)), purge("t1"), purge(&format!("t{}", count - 1))], &by("bob"))
        .await
        .unwrap();
    let pages = all_pages(&*store, first.revision).await;
    let changed: Vec<&str> = pages.iter().flat_map(|page| &page.rows).map(|row| row.name.as_str()).collect();
    assert!(changed.contains(&"T0"), "{changed:?}");
    let gone: BTreeSet<&str> =
        pages.iter().flat_map(|page| &page.removed).map(|key| key.name.as_str()).collect();
    assert!(gone.contains("t1"), "{gone:?}");
    assert_eq!(pages.last().unwrap().revision, before + 3);
}

/// Otherwise a page of large definitions is never read in time, and is asked for again and again.
pub(crate) async fn pages_are_bounded_by_bytes(subject: &dyn Subject) {
    let store = subject.open().await;
    let large = format!("\"{}\"", "x".repeat(Changes::MOST_BYTES / 2));
    store.write(&[put("small", "{}")], &by("ann")).await.unwrap();
    for name in ["a", "b", "c"] {
        store.write(&[put(name, &large)], &by("ann")).await.unwrap();
    }
    let revision = store.write(&[purge("small")], &by("ann")).await.unwrap();
    let pages = all_pages(&*store, 1).await;
    let rows: Vec<Vec<&str>> =
        pages.iter().map(|page| page.rows.iter().map(|row| row.name.as_str()).collect()).collect();
    assert_eq!(rows, [["a"], ["b"], ["c"]], "each once");
    let last = pages.last().unwrap();
    assert_eq!((last.revision, removed(last)), (revision, vec!["small"]));
}

pub(crate) async fn whoever_reads_in_pages_while_others_write_misses_nothing(subject: &dyn Subject) {
    let (store, writer) = (subject.open().await, subject.open().await);
    let count = Changes::MOST * 2;
    store.write(&many(count), &by("ann")).await.unwrap();
    let writing = tokio::spawn(async move {
        for round in 0..60_u32 {
            let number = round * 61 % count;
            let changed = put(&format!("t{number}"), "{\"n\":-1}");
            let switched = of("acme", switch(&format!("T{}", round * 3), round % 2 == 0));
            let new = put(&format!("new{round}"), "{}");
            let gone = purge(&format!("t{}", (round * 37 + 1) % count));
            writer.write(&[changed, switched, new, gone], &by("bob")).await.unwrap();
        }
    });
    let mut known: BTreeMap<ToolKey, (String, bool, Revision)> = BTreeMap::new();
    let mut revision = 0;
    loop {
        let finished = writing.is_finished();
        for page in all_pages(&*store, revision).await {
            for key in &page.removed {
                known.remove(key);
            }
            for row in page.rows {
                let key = ToolKey { tenant: row.tenant, name: ToolName::fold(&row.name) };
                known.insert(key, (row.config_json, row.enabled, row.version));
            }
            revision = page.revision;
        }
        if finished {
            break;
        }
    }
    writing.await.unwrap();
    assert_eq!(store.revision().await.unwrap(), revision);
    let mut expected = BTreeMap::new();
    for row in all_pages(&*subject.open().await, 0).await.into_iter().flat_map(|page| page.rows) {
        let key = ToolKey { tenant: row.tenant, name: ToolName::fold(&row.name) };
        expected.insert(key, (row.config_json, row.enabled, row.version));
    }
    assert_eq!(store.count().await.unwrap(), u64::try_from(expected.len()).unwrap());
    assert_eq!(known, expected);
}

pub(crate) async fn the_age_of_a_change_grows(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1"), put("b", "1")], &by("ann")).await.unwrap();
    assert_eq!(store.changes_since(before).await.unwrap().age, None, "nothing changed");
    for change in [put("a", "2"), purge("a")] {
        let seen = store.revision().await.unwrap();
        store.write(&[change], &by("ann")).await.unwrap();
        let young = store.changes_since(seen).await.unwrap().age.unwrap();
        assert!(young < Duration::from_secs(30), "{young:?}");
        let deadline = Instant::now() + Duration::from_secs(30);
        while store.changes_since(seen).await.unwrap().age.unwrap() <= young + Duration::from_millis(20) {
            assert!(Instant::now() < deadline, "it does not grow");
        }
    }
}
