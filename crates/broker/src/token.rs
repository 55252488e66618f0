//! Where applications get tokens: for a code that somebody brought them (`authorization_code`), and for a refresh token, once each.
//! Also where they give them back (RFC 7009).

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Response, StatusCode};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::Broker;
use crate::answer::{Failure, private_json};
use crate::keys::{Keys, hash_of};
use crate::parameters::Parameters;
use crate::provider::NotSignedIn;
use crate::session::{Session, Shown};
use crate::sessions::now;

/// Answers a request for tokens.
pub(crate) async fn issue(broker: &Broker, form: &Parameters) -> Result<Response<Body>, Failure> {
    let keys = broker.keys().await?;
    match form.get("grant_type") {
        Some("authorization_code") => redeem(broker, keys, form).await,
        Some("refresh_token") => refresh(broker, keys, form).await,
        Some(_) => Err(Failure::refused(
            "unsupported_grant_type",
            "grant_type must be authorization_code or refresh_token",
        )),
        None => Err(Failure::invalid("grant_type is missing")),
    }
}

async fn redeem(broker: &Broker, keys: &Keys, form: &Parameters) -> Result<Response<Body>, Failure> {
    let code = needed(form, "code")?;
    let (client, verifier) = (needed(form, "client_id")?, needed(form, "code_verifier")?);
    let shown = Shown::read_code(code, keys).ok_or_else(|| refused("the code is none of ours"))?;
    let found = broker.sessions.find(keys, &shown).await?;
    let asked = &found.session.asked;
    let is_theirs = asked.client == hash_of(client)
        && form.get("redirect_uri").is_none_or(|redirect| redirect == asked.redirect)
        && asked.challenge == challenge_of(verifier);
    if !is_theirs {
        // A code that is good, in hands that it was not given to.
        broker.sessions.end(&shown.id, &found.session, "session.stolen").await?;
        return Err(refused(
            "the code was given to another client, redirect_uri or code_verifier; sign in again",
        ));
    }
    check_resource(form, &found.session)?;
    let (session, refresh) = broker.sessions.advance(keys, &shown.id, found.take()).await?;
    tokens(broker, (&shown.id, &session), &refresh).await
}

async fn refresh(broker: &Broker, keys: &Keys, form: &Parameters) -> Result<Response<Body>, Failure> {
    let (text, client) = (needed(form, "refresh_token")?, needed(form, "client_id")?);
    let shown =
        Shown::read_refresh(text, keys).ok_or_else(|| refused("the refresh token is none of ours"))?;
    // Several at once come one after the other: the first goes on, and the others get what it got.
    let _turn = broker.sessions.turn_of(&shown.id).await;
    let found = broker.sessions.find(keys, &shown).await?;
    if found.session.asked.client != hash_of(client) {
        broker.sessions.end(&shown.id, &found.session, "session.stolen").await?;
        return Err(refused("the refresh token was given to another client; sign in again"));
    }
    check_resource(form, &found.session)?;
    if found.is_successor_of(&shown) {
        let refresh = Shown::refresh(&shown.id, found.session.generation, keys);
        return tokens(broker, (&shown.id, &found.session), &refresh).await;
    }
    let (mut session, number) = found.take();
    if let Err(failure) = ask_again(broker, &mut session).await {
        if failure.code != "invalid_grant" {
            return Err(failure);
        }
        // Another replica may have shown the provider's own refresh token just before us.
        if let Some(found) = broker.sessions.successor_soon(keys, &shown).await? {
            let refresh = Shown::refresh(&shown.id, found.session.generation, keys);
            return tokens(broker, (&shown.id, &found.session), &refresh).await;
        }
        broker.sessions.end(&shown.id, &session, "session.refused").await?;
        return Err(failure);
    }
    let (session, refresh) = broker.sessions.advance(keys, &shown.id, (session, number)).await?;
    tokens(broker, (&shown.id, &session), &refresh).await
}

/// Has the provider say what is true now of whoever is signed in: somebody who has left is not let in for another hour.
async fn ask_again(broker: &Broker, session: &mut Session) -> Result<(), Failure> {
    let Some(theirs) = &session.provider_refresh else { return Ok(()) };
    let (said, next) = broker.provider.again(theirs).await.map_err(|why| match why {
        NotSignedIn::Refused(told) => refused(&format!("the identity provider says no ({told}); sign in again")),
        NotSignedIn::Failed(told) => {
            tracing::warn!(why = %told, "the identity provider does not say whether somebody is still signed in");
            Failure::unavailable("the identity provider cannot be asked at the moment; try again")
        }
    })?;
    if let Some(said) = said {
        let person = broker.person(&said.claims, &session.asked).map_err(|told| refused(&told))?;
        if person.subject != session.subject {
            return Err(refused("the identity provider tells of somebody else; sign in again"));
        }
        (session.name, session.tenant, session.claims) = (person.name, person.tenant, person.claims);
    }
    if next.is_some() {
        session.provider_refresh = next;
    }
    Ok(())
}

/// The answer that has tokens (RFC 6749, 5.1).
async fn tokens(
    broker: &Broker,
    (id, session): (&str, &Session),
    refresh: &str,
) -> Result<Response<Body>, Failure> {
    let now = now();
    let until = session.until.min(now + broker.token_seconds);
    let claims = access_claims(&broker.url, (id, session), (now, until));
    let access = broker.signing.ring().await?.sign(&claims)?;
    Ok(private_json(
        StatusCode::OK,
        &json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": until.saturating_sub(now),
            "refresh_token": refresh,
            "scope": session.asked.scope,
        }),
    ))
}

/// What an access token says (RFC 9068).
fn access_claims(issuer: &str, (id, session): (&str, &Session), (now, until): (u64, u64)) -> Value {
    let mut claims = token_claims(session);
    let ours = json!({
        "iss": issuer, "aud": session.asked.resource, "iat": now, "exp": until, "sid": id,
        "jti": format!("{id}.{}", session.generation), "client_id": session.asked.client,
    });
    if let Value::Object(ours) = ours {
        claims.extend(ours);
    }
    Value::Object(claims)
}

/// What of it rules look at.
fn token_claims(session: &Session) -> Map<String, Value> {
    claims_of(&session.claims, &session.subject, &session.asked.scope)
}

/// What is said of somebody, with whom and what was asked for.
pub(crate) fn claims_of(claims: &Map<String, Value>, subject: &str, scope: &str) -> Map<String, Value> {
    let mut all = claims.clone();
    all.insert("sub".to_owned(), subject.into());
    all.insert("scope".to_owned(), scope.into());
    all
}

/// Ends the session of a token that is given back. What is not known is as good as ended (RFC 7009, 2.2).
pub(crate) async fn revoke(broker: &Broker, form: &Parameters) -> Result<Response<Body>, Failure> {
    let keys = broker.keys().await?;
    let (text, client) = (needed(form, "token")?, needed(form, "client_id")?);
    let id = if let Some(shown) = Shown::read_refresh(text, keys) {
        Some(shown.id)
    } else {
        let claims = broker.signing.ring().await?.verified(text);
        claims.and_then(|claims| Some(claims["sid"].as_str()?.to_owned()))
    };
    if let Some(id) = id
        && let Some(session) = broker.sessions.look_up(keys, &id).await?
        && session.asked.client == hash_of(client)
    {
        broker.sessions.end(&id, &session, "session.end").await?;
    }
    Ok(private_json(StatusCode::OK, &json!({})))
}

/// A token is for what was agreed to and nothing else (RFC 8707, 2.2).
fn check_resource(form: &Parameters, session: &Session) -> Result<(), Failure> {
    let asked = &session.asked.resource;
    if form.get("resource").is_none_or(|resource| resource == asked) {
        return Ok(());
    }
    Err(Failure::refused(
        "invalid_target",
        format!("the resource must be the one that was agreed to, {asked}"),
    ))
}

/// What a verifier must have been announced as (RFC 7636, 4.2).
pub(crate) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

fn needed<'f>(form: &'f Parameters, name: &str) -> Result<&'f str, Failure> {
    form.get(name).ok_or_else(|| Failure::invalid(format!("{name} is missing")))
}

fn refused(about: &str) -> Failure {
    Failure::refused("invalid_grant", about)
}
