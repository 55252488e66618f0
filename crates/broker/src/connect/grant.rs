//! What somebody has granted: one record in the store, sealed. It is renewed by one replica at a time, and only once for all who
//! need it; what is renewed is written down even if nobody waits for it any more.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::{
    Author, CallError, ErrorCode, GrantId, GrantServer, GrantView, NoToken, RecordAudit, RecordWrite,
    RecordWritten, Secret, rfc3339,
};

use super::discovery::{ClientSecret, UpstreamBody, UpstreamRequest, may_be_private};
use super::ticket::Grantor;
use super::{Cached, Connections};
use crate::answer::Failure;
use crate::keys::Purpose;
use crate::sessions::now;

/// The kind of these records in the store.
pub(super) const KIND: &str = "user_grant";
/// How long before its end a token is used no more, and how long one is used that does not say how long it is good.
const MARGIN: u64 = 30;
const USUAL_SECONDS: u64 = 3_600;
/// How long a replica may take to renew one.
const RENEWAL_SECONDS: u64 = 20;
/// How often it is looked whether another replica has done so.
const LOOK: Duration = Duration::from_millis(200);
const MOST_LOOKS: usize = 120;
/// A token that is younger is not renewed because a server refuses it.
const YOUNG_SECONDS: u64 = 10;
/// The longest token.
const LONGEST_TOKEN: usize = 16 << 10;

/// What somebody has granted.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct UserGrant {
    pub(super) server: GrantServer,
    pub(super) person: Grantor,
    pub(super) issuer: String,
    pub(super) token_url: String,
    pub(super) resource: String,
    pub(super) client_id: String,
    pub(super) client_secret: Option<ClientSecret>,
    pub(super) tokens: Tokens,
    /// When it was given.
    pub(super) granted: u64,
    /// Until when another replica renews it.
    pub(super) renewing: u64,
}

/// The tokens of a grant.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Tokens {
    access: String,
    refresh: Option<String>,
    scope: Option<String>,
    /// When they were given, and until when the first is good.
    given: u64,
    until: u64,
}

/// Why no tokens were given.
pub(super) enum NoTokens {
    /// The authorisation server says no.
    Refused(String),
    /// It cannot be asked, or understood.
    Failed(String),
}

impl Tokens {
    /// Those of an answer; a refresh token that is not given anew stays as it was.
    fn read(answer: &Value, before: Option<&Self>) -> Result<Self, NoTokens> {
        let failed = |why: &str| Err(NoTokens::Failed(why.to_owned()));
        let is_good = |token: &&str| {
            !token.is_empty()
                && token.len() <= LONGEST_TOKEN
                && token.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let token = |name: &str| answer[name].as_str().filter(is_good).map(str::to_owned);
        if answer["token_type"].as_str().is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return failed("the token is not a bearer token");
        }
        let Some(access) = token("access_token") else {
            return failed("there is no access_token that can stand in a header");
        };
        let said = &answer["expires_in"];
        let seconds = said.as_u64().or_else(|| said.as_str().and_then(|text| text.parse().ok()));
        let scope = answer["scope"].as_str().map(|scope| scope.chars().take(1_000).collect());
        Ok(Self {
            access,
            refresh: token("refresh_token").or_else(|| before?.refresh.clone()),
            scope: scope.or_else(|| before?.scope.clone()),
            given: now(),
            until: now().saturating_add(seconds.unwrap_or(USUAL_SECONDS)),
        })
    }

    fn are_good(&self) -> bool {
        self.until > now() + MARGIN.min((self.until.saturating_sub(self.given)) / 4)
    }
}

impl UserGrant {
    pub(super) fn view(&self, id: &str) -> GrantView {
        GrantView {
            id: GrantId(id.to_owned()),
            server: self.server.name.clone(),
            url: self.server.url.clone(),
            of: self.person.name.clone(),
            tenant: self.person.tenant.clone(),
            issuer: self.issuer.clone(),
            scope: self.tokens.scope.clone(),
            granted: rfc3339(UNIX_EPOCH + Duration::from_secs(self.granted)),
        }
    }

    pub(super) fn audit(&self, action: &str, author: Option<&Author>) -> RecordAudit {
        let own = || Author { who: self.person.name.clone(), address: None, via: "connect".to_owned() };
        RecordAudit {
            author: author.cloned().unwrap_or_else(own),
            action: action.to_owned(),
            tenant: self.person.tenant.clone(),
            name: self.server.name.clone(),
            changes: json!({"of": self.person.name, "url": self.server.url, "issuer": self.issuer})
                .to_string(),
        }
    }
}

impl Connections {
    /// Asks an authorisation server for tokens.
    pub(super) async fn ask_for_tokens(
        &self,
        grant: (&GrantServer, &str),
        (client_id, secret): (&str, Option<&ClientSecret>),
        form: &[(&str, &str)],
    ) -> Result<Value, NoTokens> {
        let (server, url) = grant;
        let mut form = form.to_vec();
        if secret.is_none() {
            form.push(("client_id", client_id));
        }
        let request = UpstreamRequest {
            url,
            body: UpstreamBody::Form(&form),
            client: secret.map(|secret| (client_id, secret)),
            may_be_private: may_be_private(server, url),
        };
        let answer = self.outbound.send(request).await.map_err(NoTokens::Failed)?;
        let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let error = said.as_ref().and_then(|said| said["error"].as_str());
        let error: Option<String> = error.map(|error| {
            error.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').take(60).collect()
        });
        match (answer.status, error, said) {
            (200..=299, None, Some(said)) => Ok(said),
            (_, Some(error), _) if error == "invalid_grant" => Err(NoTokens::Refused(error)),
            (status, Some(error), _) => Err(NoTokens::Failed(format!("it answered {status}: {error}"))),
            (status, None, _) => Err(NoTokens::Failed(format!("it answered {status} and no token"))),
        }
    }

    /// Reads the tokens that a code was given for.
    pub(super) fn tokens_in(answer: &Value) -> Result<Tokens, NoTokens> {
        Tokens::read(answer, None)
    }

    /// Writes a grant down.
    pub(super) async fn write_grant(
        &self,
        id: &str,
        (grant, expected): (Option<&UserGrant>, Option<i64>),
        audited: Option<RecordAudit>,
    ) -> Result<RecordWritten, Failure> {
        let keys = self.keys().await?;
        let body = grant.map(|grant| keys.seal(Purpose::UserGrant, grant)).transpose()?;
        let write = RecordWrite { kind: KIND.to_owned(), id: id.to_owned(), body, expected, audited };
        let written = self.store.write_record(&write).await?;
        self.lock().cached.remove(id);
        Ok(written)
    }

    /// The grant of that id, with the number of its record.
    pub(super) async fn find_grant(&self, id: &str) -> Result<Option<(UserGrant, i64)>, Failure> {
        let keys = self.keys().await?;
        let Some(record) = self.store.record(KIND, id).await? else { return Ok(None) };
        let grant = record.body.as_deref().and_then(|body| keys.open_long(Purpose::UserGrant, body));
        Ok(grant.map(|grant| (grant, record.number)))
    }

    /// A token of that grant, renewed if need be. Of several at once, one asks.
    pub(super) async fn good_token(self: &Arc<Self>, id: &str) -> Result<Secret, NoToken> {
        if let Some(cached) = self.lock().cached.get(id).filter(|cached| cached.until > now()) {
            return Ok(cached.token.clone());
        }
        let turn = self.turn(id);
        let _turn = turn.lock().await;
        if let Some(cached) = self.lock().cached.get(id).filter(|cached| cached.until > now()) {
            return Ok(cached.token.clone());
        }
        let (this, of) = (Arc::clone(self), id.to_owned());
        // Goes on without whoever waits for it: what the authorisation server gives it gives once.
        let renewing = self.renewals.spawn(async move { this.token_of_store(&of).await });
        renewing.await.unwrap_or_else(|_| Err(failed("renewing a token was broken off")))
    }

    async fn token_of_store(&self, id: &str) -> Result<Secret, NoToken> {
        for _ in 0..MOST_LOOKS {
            let found = self.find_grant(id).await.map_err(|failure| failed(&failure.about))?;
            let Some((grant, number)) = found else { return Err(NoToken::NotGranted) };
            if grant.tokens.are_good() {
                return Ok(self.cache(id, &grant.tokens));
            }
            let Some(refresh) = grant.tokens.refresh.clone() else {
                self.drop_grant(id, &grant, number).await;
                return Err(NoToken::NotGranted);
            };
            if grant.renewing > now() {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let claimed = UserGrant { renewing: now() + RENEWAL_SECONDS, ..grant };
            let written = self.write_grant(id, (Some(&claimed), Some(number)), None).await;
            match written.map_err(|failure| failed(&failure.about))? {
                RecordWritten::Done(number) => return self.renewed(id, (claimed, number), &refresh).await,
                // Another replica was quicker.
                RecordWritten::Otherwise => {}
                RecordWritten::NoRoom => return Err(failed("the store has no room")),
            }
        }
        Err(failed("another gateway renews the token and does not come to an end"))
    }

    async fn renewed(
        &self,
        id: &str,
        (grant, number): (UserGrant, i64),
        refresh: &str,
    ) -> Result<Secret, NoToken> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("resource", grant.resource.as_str()),
        ];
        let client = (grant.client_id.as_str(), grant.client_secret.as_ref());
        let within = Duration::from_secs(RENEWAL_SECONDS - 5);
        let asked = self.ask_for_tokens((&grant.server, &grant.token_url), client, &form);
        let answer = tokio::time::timeout(within, asked).await;
        let answer = answer.unwrap_or_else(|_| Err(NoTokens::Failed("it does not answer".to_owned())));
        let tokens = answer.and_then(|answer| Tokens::read(&answer, Some(&grant.tokens)));
        match tokens {
            Ok(tokens) => {
                let renewed = UserGrant { tokens, renewing: 0, ..grant };
                let written = self.write_grant(id, (Some(&renewed), Some(number)), None).await;
                match written.map_err(|failure| failed(&failure.about))? {
                    RecordWritten::Done(_) => Ok(self.cache(id, &renewed.tokens)),
                    // It was taken back, or given anew, meanwhile.
                    RecordWritten::Otherwise | RecordWritten::NoRoom => Err(NoToken::NotGranted),
                }
            }
            Err(NoTokens::Refused(_)) => {
                self.drop_grant(id, &grant, number).await;
                Err(NoToken::NotGranted)
            }
            Err(NoTokens::Failed(why)) => {
                let free = UserGrant { renewing: 0, ..grant };
                drop(self.write_grant(id, (Some(&free), Some(number)), None).await);
                Err(failed(&format!("{} gives no new token: {why}", free.issuer)))
            }
        }
    }

    async fn drop_grant(&self, id: &str, grant: &UserGrant, number: i64) {
        let audited = Some(grant.audit("connection.ended", None));
        if let Err(failure) = self.write_grant(id, (None, Some(number)), audited).await {
            tracing::warn!(
                server = grant.server.name,
                why = failure.about,
                "a grant that is over stays in the store"
            );
        }
    }

    fn cache(&self, id: &str, tokens: &Tokens) -> Secret {
        /// So that another replica's renewal, or what was taken back elsewhere, is not missed for long.
        const LONGEST: u64 = 60;
        let margin = MARGIN.min(tokens.until.saturating_sub(tokens.given) / 4);
        let until = tokens.until.saturating_sub(margin).min(now() + LONGEST);
        let token = Secret::new(tokens.access.as_str());
        self.lock().cached.insert(id.to_owned(), Cached { token: token.clone(), until });
        token
    }

    /// Has the next who asks get another token; false if there can be none.
    pub(super) async fn make_stale(&self, id: &str) -> bool {
        let Ok(Some((grant, number))) = self.find_grant(id).await else { return false };
        let is_young = now() < grant.tokens.given + YOUNG_SECONDS;
        if is_young || grant.tokens.refresh.is_none() {
            return false;
        }
        let tokens = Tokens { until: 0, ..grant.tokens.clone() };
        let stale = UserGrant { tokens, ..grant };
        self.write_grant(id, (Some(&stale), Some(number)), None).await.is_ok()
    }
}

fn failed(why: &str) -> NoToken {
    NoToken::Failed(CallError::new(ErrorCode::UpstreamUnreachable, why))
}
