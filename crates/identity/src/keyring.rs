//! Making, rotating and revoking keys in a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolrail_core::{
    Author, Record, RecordAudit, RecordWrite, RecordWritten, Role, Store, StoreError, hexadecimal,
};

use crate::key::{Digester, KeyText};
use crate::key_record::{
    KIND, KeyRecord, KeyView, SecretRecord, USE_KIND, WrongName, check_name, id_of, now,
};

/// The name of the store's key that hashes the keys of clients.
const SHARED: &str = "client keys";
/// The most patterns of tools of one key, and the most characters of one.
const MOST_PATTERNS: usize = 64;
const LONGEST_PATTERN: usize = 128;
/// The most texts of one key that are good at the same time.
const MOST_TEXTS: usize = 8;
/// How often a write is tried that others are in the way of.
const TRIES: usize = 20;

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Its name; no other key of its tenant has it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Its tenant.
    pub tenant: Option<String>,
    /// Patterns of the names of tools that it sees; all if there are none.
    pub tools: Vec<String>,
    /// The groups it is in, by which rules may know it.
    pub groups: Vec<String>,
    /// Its scopes, for rules too.
    pub scopes: Vec<String>,
    /// How long it is good.
    pub expires_in: Option<Duration>,
}

/// Why a key cannot be made, changed or found.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be called that.
    #[error(transparent)]
    Name(#[from] WrongName),
    /// Its tenant cannot be called that.
    #[error(transparent)]
    Tenant(#[from] toolrail_core::WrongTenant),
    /// There is one of that name.
    #[error("there is a key {0:?} already; revoke it, rotate it, or choose another name")]
    Taken(String),
    /// There is none of that name.
    #[error("there is no key {0:?}; `toolrail keys list` shows those there are")]
    Unknown(String),
    /// It cannot have these patterns.
    #[error("{0}")]
    Tools(String),
    /// It cannot be in these groups, or have these scopes.
    #[error("{0}")]
    Words(String),
    /// There are too many keys.
    #[error("there is no room for another key; revoke some that nobody uses")]
    NoRoom,
    /// It is good no more.
    #[error("the key {0:?} has expired; revoke it and make a new one")]
    Expired(String),
    /// It would be good for no time at all.
    #[error("a key that expires at once is good for nothing; give it some time, such as 90d")]
    NoTime,
    /// It was rotated too often in a row.
    #[error(
        "the key {0:?} has {MOST_TEXTS} texts that are still good; wait until some have expired, rotate with a shorter overlap, or make another key"
    )]
    Texts(String),
    /// Others changed it all the time.
    #[error("the key {0:?} is being changed by others; try again")]
    Busy(String),
    /// The system gives no randomness.
    #[error("the system has no randomness to give: {0}")]
    Randomness(#[from] getrandom::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The keys of a store, for those who administer them.
pub struct Keyring {
    store: Arc<dyn Store>,
}

impl Keyring {
    /// The keys of that store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    pub(crate) async fn digester(&self) -> Result<Digester, StoreError> {
        self.store.shared_key(SHARED).await.map(|key| Digester::new(&key))
    }

    /// Makes a key, and gives its text, which nobody can find out again.
    pub async fn create(&self, new: NewKey, author: &Author) -> Result<(KeyText, KeyView), KeyError> {
        check_name(&new.name)?;
        new.tenant.as_deref().map(toolrail_core::Principal::of_tenant).transpose()?;
        check_tools(&new)?;
        check_words("groups", &new.groups)?;
        check_words("scopes", &new.scopes)?;
        if new.expires_in.is_some_and(|time| time.is_zero()) {
            return Err(KeyError::NoTime);
        }
        let text = KeyText::mint()?;
        let mut uid = [0; 12];
        getrandom::fill(&mut uid)?;
        let made = KeyRecord {
            uid: hexadecimal(&uid),
            role: new.role,
            tenant: new.tenant,
            tools: new.tools,
            groups: new.groups,
            scopes: new.scopes,
            created: now(),
            created_by: author.who.clone(),
            expires: new.expires_in.map(|time| now().saturating_add(time.as_secs())),
            secrets: vec![SecretRecord { hash: self.hash_of(&text).await?, until: None }],
            name: new.name,
        };
        let changes = json!({
            "role": made.role, "tools": made.tools, "groups": made.groups, "scopes": made.scopes, "expires": made.expires
        });
        let written = self.write(&made, Some(0), ("key.create", changes), author).await?;
        match written {
            RecordWritten::Done(_) => Ok((text, KeyView::of(&made, None, now()))),
            RecordWritten::Otherwise => Err(KeyError::Taken(made.name)),
            RecordWritten::NoRoom => Err(KeyError::NoRoom),
        }
    }

    /// The keys there are, in the order of tenants and names: those of one tenant, or all.
    pub async fn list(&self, tenant: Option<&str>) -> Result<Vec<KeyView>, KeyError> {
        let mut used: HashMap<String, u64> = HashMap::new();
        let mut keys = Vec::new();
        for record in self.all().await? {
            match record.kind.as_str() {
                KIND => keys.extend(KeyRecord::read(&record)),
                USE_KIND => used.extend(last_use(&record)),
                _ => {}
            }
        }
        keys.retain(|key: &KeyRecord| tenant.is_none() || key.tenant.as_deref() == tenant);
        keys.sort_by(|one, other| (&one.tenant, &one.name).cmp(&(&other.tenant, &other.name)));
        let now = now();
        Ok(keys.iter().map(|key| KeyView::of(key, used.get(&key.uid).copied(), now)).collect())
    }

    /// The key of that name.
    pub async fn show(&self, tenant: Option<&str>, name: &str) -> Result<KeyView, KeyError> {
        let (key, _) = self.find(tenant, name).await?;
        let used = self.store.record(USE_KIND, &key.uid).await?;
        let used = used.as_ref().and_then(last_use).map(|(_, at)| at);
        Ok(KeyView::of(&key, used, now()))
    }

    /// Ends a key: from now on nobody gets in with it.
    pub async fn revoke(&self, tenant: Option<&str>, name: &str, author: &Author) -> Result<(), KeyError> {
        for _ in 0..TRIES {
            let (key, number) = self.find(tenant, name).await?;
            let write = RecordWrite {
                kind: KIND.to_owned(),
                id: key.id(),
                body: None,
                expected: Some(number),
                audited: Some(audit(&key, ("key.revoke", json!({})), author)),
            };
            if let RecordWritten::Done(_) = self.store.write_record(&write).await? {
                return Ok(());
            }
        }
        Err(KeyError::Busy(name.to_owned()))
    }

    /// Gives a key another text; the one before stays good for that long.
    pub async fn rotate(
        &self,
        (tenant, name): (Option<&str>, &str),
        overlap: Duration,
        author: &Author,
    ) -> Result<(KeyText, KeyView), KeyError> {
        let text = KeyText::mint()?;
        let hash = self.hash_of(&text).await?;
        for _ in 0..TRIES {
            let (mut key, number) = self.find(tenant, name).await?;
            let now = now();
            if key.expires.is_some_and(|expires| expires <= now) {
                return Err(KeyError::Expired(key.name));
            }
            let until = now.saturating_add(overlap.as_secs());
            // Of several rotations in a row, each leaves what was promised to those before it.
            for before in key.secrets.iter_mut().filter(|secret| secret.until.is_none()) {
                before.until = Some(until);
            }
            key.secrets.retain(|secret| secret.until.is_some_and(|until| until > now));
            key.secrets.insert(0, SecretRecord { hash: hash.clone(), until: None });
            if key.secrets.len() > MOST_TEXTS {
                return Err(KeyError::Texts(key.name));
            }
            let changes = json!({"overlapSeconds": overlap.as_secs()});
            match self.write(&key, Some(number), ("key.rotate", changes), author).await? {
                RecordWritten::Done(_) => return Ok((text, KeyView::of(&key, None, now))),
                RecordWritten::Otherwise => {}
                RecordWritten::NoRoom => return Err(KeyError::NoRoom),
            }
        }
        Err(KeyError::Busy(name.to_owned()))
    }

    /// All records of keys.
    async fn all(&self) -> Result<Vec<Record>, StoreError> {
        let (mut all, mut number) = (HashMap::new(), 0);
        loop {
            let page = self.store.records_after(number, &[KIND, USE_KIND]).await?;
            let Some(last) = page.last() else {
                return Ok(all.into_values().collect());
            };
            number = last.number;
            all.extend(page.into_iter().map(|record| ((record.kind.clone(), record.id.clone()), record)));
        }
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<(KeyRecord, i64), KeyError> {
        let unknown = || KeyError::Unknown(name.chars().take(80).collect());
        let found = self.store.record(KIND, &id_of(tenant, name)).await?.ok_or_else(unknown)?;
        Ok((KeyRecord::read(&found).ok_or_else(unknown)?, found.number))
    }

    async fn hash_of(&self, text: &KeyText) -> Result<String, StoreError> {
        let digest = self.digester().await?.digest(text.reveal());
        Ok(hexadecimal(&digest.unwrap_or_default()))
    }

    async fn write(
        &self,
        key: &KeyRecord,
        expected: Option<i64>,
        what: (&str, Value),
        author: &Author,
    ) -> Result<RecordWritten, StoreError> {
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: key.id(),
            body: Some(key.write()),
            expected,
            audited: Some(audit(key, what, author)),
        };
        self.store.write_record(&write).await
    }
}

/// Which key it tells of, and when that was last used.
pub(crate) fn last_use(record: &Record) -> Option<(String, u64)> {
    let at = record.body.as_deref()?.parse().ok()?;
    Some((record.id.clone(), at))
}

fn check_tools(new: &NewKey) -> Result<(), KeyError> {
    if new.tools.is_empty() {
        return Ok(());
    }
    if new.role > Role::Call {
        return Err(KeyError::Tools(format!(
            "a key of the role {} sees all tools of its tenant; leave the patterns of tools out, or make it one of read or call",
            new.role.word()
        )));
    }
    let is_wrong = |pattern: &&String| pattern.is_empty() || pattern.chars().nth(LONGEST_PATTERN).is_some();
    if new.tools.len() > MOST_PATTERNS || new.tools.iter().any(|pattern| is_wrong(&pattern)) {
        return Err(KeyError::Tools(format!(
            "a key has at most {MOST_PATTERNS} patterns of tools, each of 1 to {LONGEST_PATTERN} characters"
        )));
    }
    Ok(())
}

/// Groups and scopes are words.
fn check_words(what: &str, words: &[String]) -> Result<(), KeyError> {
    let is_word = |word: &String| {
        !word.is_empty() && word.len() <= LONGEST_PATTERN && word.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if words.len() <= MOST_PATTERNS && words.iter().all(is_word) {
        return Ok(());
    }
    Err(KeyError::Words(format!(
        "/{what}: a key has at most {MOST_PATTERNS} {what}, each of 1 to {LONGEST_PATTERN} ASCII characters without spaces"
    )))
}

fn audit(key: &KeyRecord, (action, changes): (&str, Value), author: &Author) -> RecordAudit {
    RecordAudit {
        author: author.clone(),
        action: action.to_owned(),
        tenant: key.tenant.clone(),
        name: key.name.clone(),
        changes: changes.to_string(),
    }
}
