//! Keys in a real store: made, shown once, rotated, revoked, expired; known to every gateway on the store.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::sync::Arc;
use std::time::Duration;

use toolrail_core::{Author, Principal, Role, Store};
use toolrail_identity::{Directory, KeyError, Keyring, NewKey, RecordFollower, Rejection};
use toolrail_store::StoreUrl;

async fn store() -> Arc<dyn Store> {
    toolrail_store::open(&StoreUrl::Memory).await.unwrap()
}

/// What is new in the store is known to those.
async fn refresh(store: &Arc<dyn Store>, directory: &Arc<Directory>) {
    let directory = Arc::clone(directory);
    RecordFollower::new(Arc::clone(store), vec![directory]).look().await.unwrap();
}

fn author() -> Author {
    Author { who: "ann".to_owned(), address: None, via: "cli".to_owned() }
}

fn new_key(name: &str, role: Role) -> NewKey {
    let (tools, groups, scopes) = (Vec::new(), Vec::new(), Vec::new());
    NewKey { name: name.to_owned(), role, tenant: None, tools, groups, scopes, expires_in: None }
}

#[tokio::test]
async fn whoever_shows_a_key_is_known_on_every_gateway_until_it_is_revoked() {
    let store = store().await;
    let keyring = Keyring::new(Arc::clone(&store));
    let (here, elsewhere) =
        (Arc::new(Directory::new(Arc::clone(&store))), Arc::new(Directory::new(Arc::clone(&store))));
    assert_eq!(here.recognise("tr_x").unwrap_err(), Rejection::NotReady);
    let tools = vec!["weather.*".to_owned()];
    let new = NewKey { tools, tenant: Some("acme".to_owned()), ..new_key("ci", Role::Call) };
    let (text, view) = keyring.create(new, &author()).await.unwrap();
    assert_eq!((view.name.as_str(), view.role, view.expires), ("ci", Role::Call, None));
    for directory in [&here, &elsewhere] {
        refresh(&store, directory).await;
        let principal = directory.recognise(text.reveal()).unwrap();
        assert_eq!((principal.name(), principal.tenant()), (Some("ci"), Some("acme")));
        let reach = principal.reach().unwrap();
        assert!(reach.has("weather.now") && !reach.has("hr.fire"));
        assert!(principal.may(Role::Call) && !principal.may(Role::Write));
        assert_eq!(directory.recognise("tr_0").unwrap_err(), Rejection::Unknown);
    }
    let held = here.recognise(text.reveal()).unwrap();
    keyring.revoke(Some("acme"), "ci", &author()).await.unwrap();
    for directory in [&here, &elsewhere] {
        refresh(&store, directory).await;
        assert_eq!(directory.recognise(text.reveal()).unwrap_err(), Rejection::Unknown);
    }
    // Whoever holds a connection open learns of it.
    held.ended().await;
}

#[tokio::test]
async fn a_name_is_taken_once_and_can_be_used_again_by_somebody_else() {
    let store = store().await;
    let keyring = Keyring::new(Arc::clone(&store));
    let directory = Arc::new(Directory::new(Arc::clone(&store)));
    let (first, _) = keyring.create(new_key("ci", Role::Read), &author()).await.unwrap();
    let again = keyring.create(new_key("ci", Role::Admin), &author()).await.unwrap_err();
    assert!(matches!(again, KeyError::Taken(_)), "{again}");
    let of_tenant = NewKey { tenant: Some("acme".to_owned()), ..new_key("ci", Role::Read) };
    keyring.create(of_tenant, &author()).await.unwrap();
    refresh(&store, &directory).await;
    let before = directory.recognise(first.reveal()).unwrap();
    keyring.revoke(None, "ci", &author()).await.unwrap();
    let (second, _) = keyring.create(new_key("ci", Role::Read), &author()).await.unwrap();
    refresh(&store, &directory).await;
    assert_ne!(directory.recognise(second.reveal()).unwrap(), before);
    assert!(directory.recognise(first.reveal()).is_err());
}

#[tokio::test]
async fn a_rotated_key_has_two_texts_for_a_while_and_is_the_same_somebody() {
    let store = store().await;
    let keyring = Keyring::new(Arc::clone(&store));
    let directory = Arc::new(Directory::new(Arc::clone(&store)));
    let (old, _) = keyring.create(new_key("ci", Role::Call), &author()).await.unwrap();
    refresh(&store, &directory).await;
    let before = directory.recognise(old.reveal()).unwrap();
    let (new, view) = keyring.rotate((None, "ci"), Duration::from_hours(1), &author()).await.unwrap();
    assert!(view.rotating_until.is_some());
    refresh(&store, &directory).await;
    assert_eq!(directory.recognise(old.reveal()).unwrap(), before);
    assert_eq!(directory.recognise(new.reveal()).unwrap(), before);
    let held = directory.recognise(new.reveal()).unwrap();
    let (newest, view) = keyring.rotate((None, "ci"), Duration::ZERO, &author()).await.unwrap();
    refresh(&store, &directory).await;
    // Whoever came in by the text that is good no more has to go.
    held.ended().await;
    assert!(directory.recognise(new.reveal()).is_err() && directory.recognise(newest.reveal()).is_ok());
    // What was promised to the first is kept.
    assert!(directory.recognise(old.reveal()).is_ok() && view.rotating_until.is_some());
}

#[tokio::test]
async fn a_key_that_has_expired_is_refused_in_other_words() {
    let store = store().await;
    let keyring = Keyring::new(Arc::clone(&store));
    let directory = Arc::new(Directory::new(Arc::clone(&store)));
    let new = |time| NewKey { expires_in: Some(time), ..new_key("ci", Role::Call) };
    assert!(matches!(keyring.create(new(Duration::ZERO), &author()).await, Err(KeyError::NoTime)));
    let (text, _) = keyring.create(new(Duration::from_secs(1)), &author()).await.unwrap();
    refresh(&store, &directory).await;
    while directory.recognise(text.reveal()).is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(directory.recognise(text.reveal()).unwrap_err(), Rejection::Expired);
    assert!(keyring.show(None, "ci").await.unwrap().expired);
    let rotated = keyring.rotate((None, "ci"), Duration::ZERO, &author()).await.unwrap_err();
    assert!(matches!(rotated, KeyError::Expired(_)), "{rotated}");
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused_in_words() {
    let keyring = Keyring::new(store().await);
    let tools = |count: usize, pattern: &str| vec![pattern.to_owned(); count];
    for (new, words) in [
        (new_key("a b", Role::Read), "is not the name of a key"),
        (new_key("operator", Role::Read), "is not \"operator\""),
        (
            NewKey { tenant: Some("a/b".to_owned()), ..new_key("k", Role::Read) },
            "is not the name of a tenant",
        ),
        (NewKey { tools: tools(1, "a.*"), ..new_key("k", Role::Write) }, "sees all tools of its tenant"),
        (NewKey { tools: tools(65, "a.*"), ..new_key("k", Role::Read) }, "at most 64 patterns"),
        (
            NewKey { groups: tools(1, "a b"), ..new_key("k", Role::Read) },
            "/groups: a key has at most 64 groups",
        ),
        (NewKey { tools: tools(1, ""), ..new_key("k", Role::Read) }, "each of 1 to 128 characters"),
    ] {
        let told = keyring.create(new, &author()).await.unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
    for told in [
        keyring.show(None, "nobody").await.unwrap_err(),
        keyring.revoke(None, "nobody", &author()).await.unwrap_err(),
        keyring.rotate((None, "nobody"), Duration::ZERO, &author()).await.unwrap_err(),
    ] {
        assert!(told.to_string().starts_with("there is no key \"nobody\""), "{told}");
    }
}

#[tokio::test]
async fn the_store_keeps_no_text_and_the_audit_record_every_act() {
    let store = store().await;
    let keyring = Keyring::new(Arc::clone(&store));
    let (one, _) = keyring.create(new_key("ci", Role::Call), &author()).await.unwrap();
    let (two, _) = keyring.rotate((None, "ci"), Duration::from_mins(1), &author()).await.unwrap();
    let kept: String =
        store.records_after(0, &[]).await.unwrap().into_iter().filter_map(|record| record.body).collect();
    for text in [one.reveal(), two.reveal()] {
        assert!(!kept.contains(text) && !kept.contains(text.trim_start_matches("tr_")));
    }
    keyring.revoke(None, "ci", &author()).await.unwrap();
    let acts: Vec<_> = store.audit(0, 10).await.unwrap();
    let acts: Vec<_> = acts.iter().map(|entry| (entry.action.as_str(), entry.name.as_str())).collect();
    assert_eq!(acts, [("key.create", "ci"), ("key.rotate", "ci"), ("key.revoke", "ci")]);
}

#[tokio::test]
async fn the_operator_of_this_machine_comes_in_without_a_key_of_the_store() {
    let store = store().await;
    let (directory, other) =
        (Arc::new(Directory::new(Arc::clone(&store))), Arc::new(Directory::new(Arc::clone(&store))));
    refresh(&store, &directory).await;
    assert!(directory.is_empty());
    let text = directory.admit_operator().unwrap();
    other.admit_operator().unwrap();
    let operator = directory.recognise(text.reveal()).unwrap();
    assert!(operator.may(Role::Admin) && matches!(operator, Principal::Known(_)));
    assert_eq!(other.recognise(text.reveal()).unwrap_err(), Rejection::Unknown);
}
