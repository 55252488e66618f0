//! The part of the behaviour suite that is about messages between gateways.

use toolrail_core::{MailLimits, News, NewsKind, Store, StoreError};

use crate::behaviour::Subject;

pub(crate) async fn a_message_is_collected_once_in_its_turn_and_changes_no_revision(subject: &dyn Subject) {
    let (sender, receiver) = (subject.open().await, subject.open().await);
    assert!(receiver.collect("one").await.unwrap().is_empty());
    for body in [&b"first"[..], b"", b"\x00\xff"] {
        sender.leave("one", body).await.unwrap();
    }
    sender.leave("other", b"not for one").await.unwrap();
    assert_eq!(receiver.collect("one").await.unwrap(), [&b"first"[..], b"", b"\x00\xff"]);
    assert!(receiver.collect("one").await.unwrap().is_empty());
    assert_eq!(sender.collect("other").await.unwrap(), [b"not for one"]);
    assert_eq!(receiver.revision().await.unwrap(), 0, "a message is no definition");
}

pub(crate) async fn of_collectors_at_once_each_message_goes_to_one(subject: &dyn Subject) {
    const MESSAGES: u8 = 100;
    let sender = subject.open().await;
    for number in 0..MESSAGES {
        sender.leave("all", &[number]).await.unwrap();
    }
    let mut collecting = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = subject.open().await;
        collecting.spawn(async move {
            let mut got = Vec::new();
            loop {
                match store.collect("all").await.unwrap() {
                    none if none.is_empty() => return got,
                    some => got.extend(some),
                }
            }
        });
    }
    let mut got: Vec<Vec<u8>> = collecting.join_all().await.concat();
    got.sort_unstable();
    assert_eq!(got, (0..MESSAGES).map(|number| vec![number]).collect::<Vec<_>>());
}

pub(crate) async fn a_message_that_has_lain_for_a_minute_is_gone(subject: &dyn Subject) {
    let store = subject.open().await;
    store.leave("one", b"old").await.unwrap();
    subject.sql("UPDATE toolrail_mail SET left_at = left_at - 62").await.unwrap();
    assert!(store.collect("one").await.unwrap().is_empty());
    store.leave("one", b"old").await.unwrap();
    subject.sql("UPDATE toolrail_mail SET left_at = left_at - 62").await.unwrap();
    store.leave("other", b"new").await.unwrap();
    subject.sql("UPDATE toolrail_mail SET left_at = left_at + 62").await.unwrap();
    assert!(store.collect("one").await.unwrap().is_empty(), "it was cleared away");
    assert_eq!(store.collect("other").await.unwrap(), [b"new"]);
}

pub(crate) async fn what_is_too_large_or_too_much_is_not_taken(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut large = vec![b'x'; MailLimits::ALL.largest];
    store.leave("one", &large).await.unwrap();
    assert_eq!(store.collect("one").await.unwrap(), [large.clone()]);
    large.push(b'x');
    let refused = store.leave("one", &large).await.unwrap_err();
    assert!(matches!(refused, StoreError::Undelivered { .. }), "{refused}");
    for _ in 0..MailLimits::ALL.most_of_a_topic {
        store.leave("full", b"").await.unwrap();
    }
    let refused = store.leave("full", b"").await.unwrap_err();
    assert!(matches!(refused, StoreError::Undelivered { .. }), "{refused}");
    store.leave("one", b"others have room").await.unwrap();
    store.collect("full").await.unwrap();
    store.leave("full", b"").await.unwrap();
}

pub(crate) async fn messages_take_only_so_many_bytes_for_one_and_for_all(subject: &dyn Subject) {
    const LIMITS: MailLimits = MailLimits::ALL;
    let store = subject.open().await;
    let large = vec![b'x'; LIMITS.largest];
    let fill = async |topic: &str| {
        let mut taken = 0;
        while store.leave(topic, &large).await.is_ok() {
            taken += large.len();
        }
        u32::try_from(taken).unwrap()
    };
    assert_eq!(fill("one").await, LIMITS.most_bytes_of_a_topic);
    store.leave("one", b"").await.unwrap();
    store.leave("one", b"x").await.unwrap_err();
    assert_eq!(fill("other").await, LIMITS.most_bytes - LIMITS.most_bytes_of_a_topic);
    let refused = store.leave("third", b"x").await.unwrap_err();
    assert!(matches!(refused, StoreError::Undelivered { .. }), "{refused}");
    store.collect("one").await.unwrap();
    store.leave("third", &large).await.unwrap();
}

fn bodies(news: &[News]) -> Vec<&[u8]> {
    news.iter().map(|news| &*news.body).collect()
}

pub(crate) async fn news_are_read_by_everybody_in_their_order(subject: &dyn Subject) {
    let (one, other) = (subject.open().await, subject.open().await);
    assert_eq!(one.news_after(0).await.unwrap(), []);
    one.announce(NewsKind::Lasting, &[b"first".to_vec(), b"second".to_vec()]).await.unwrap();
    other.announce(NewsKind::Lasting, &[b"third".to_vec()]).await.unwrap();
    for store in [&one, &other] {
        let news = store.news_after(0).await.unwrap();
        assert_eq!(bodies(&news), [&b"first"[..], b"second", b"third"]);
        let rest = store.news_after(news[1].number).await.unwrap();
        assert_eq!(bodies(&rest), [b"third"]);
        assert_eq!(store.news_after(news[2].number).await.unwrap(), []);
    }
    assert_eq!(one.revision().await.unwrap(), 0, "news are no definitions");
    let refused =
        one.announce(NewsKind::Lasting, &[vec![0; MailLimits::ALL.largest_news + 1]]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Undelivered { .. }), "{refused}");
}

/// Whoever goes on from the last number he got misses none, however many announce at once.
pub(crate) async fn news_become_visible_in_their_order(subject: &dyn Subject) {
    const ANNOUNCERS: u8 = 4;
    const ROUNDS: u8 = 25;
    let mut announcers = tokio::task::JoinSet::new();
    for announcer in 0..ANNOUNCERS {
        let store = subject.open().await;
        announcers.spawn(async move {
            for round in 0..ROUNDS {
                let news = [vec![announcer, round, 0], vec![announcer, round, 1]];
                store.announce(NewsKind::Passing, &news).await.unwrap();
            }
        });
    }
    let reader = subject.open().await;
    let expected = usize::from(ANNOUNCERS) * usize::from(ROUNDS) * 2;
    let following = async {
        let mut followed: Vec<News> = Vec::new();
        while followed.len() < expected {
            let number = followed.last().map_or(0, |last| last.number);
            followed.extend(reader.news_after(number).await.unwrap());
        }
        followed
    };
    let deadline = std::time::Duration::from_secs(30);
    let followed = tokio::time::timeout(deadline, following).await.expect("some news were missed");
    announcers.join_all().await;
    assert_eq!(followed, all_news(&*reader).await);
}

pub(crate) async fn only_the_newest_news_are_kept(subject: &dyn Subject) {
    let store = subject.open().await;
    let most = MailLimits::ALL.most_news;
    let news: Vec<Vec<u8>> = (0..most + 3).map(|number| number.to_be_bytes().to_vec()).collect();
    store.announce(NewsKind::Lasting, &news).await.unwrap();
    let kept = all_news(&*store).await;
    assert_eq!(bodies(&kept), news[3..].iter().map(Vec::as_slice).collect::<Vec<_>>());
    store.announce(NewsKind::Lasting, &[b"one more".to_vec()]).await.unwrap();
    let newest = store.news_after(kept[kept.len() - 1].number).await.unwrap();
    assert_eq!(bodies(&newest), [b"one more"]);
}

pub(crate) async fn news_that_pass_push_out_none_that_last(subject: &dyn Subject) {
    let store = subject.open().await;
    let most = MailLimits::ALL.most_news;
    store.announce(NewsKind::Lasting, &[b"lasts".to_vec()]).await.unwrap();
    let passing: Vec<Vec<u8>> = (0..most + 3).map(|number| number.to_be_bytes().to_vec()).collect();
    store.announce(NewsKind::Passing, &passing).await.unwrap();
    let kept = all_news(&*store).await;
    assert_eq!(kept[0].body, b"lasts");
    assert_eq!(bodies(&kept[1..]), passing[3..].iter().map(Vec::as_slice).collect::<Vec<_>>());
}

async fn all_news(store: &dyn Store) -> Vec<News> {
    let mut all: Vec<News> = Vec::new();
    loop {
        let more = store.news_after(all.last().map_or(0, |last| last.number)).await.unwrap();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}
