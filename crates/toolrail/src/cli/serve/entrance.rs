//! What `serve` does where it asks for keys: reads them, makes the first one if there is none, and one for the commands on this
//! machine.

use anyhow::Context;
use toolrail_core::{Author, Role, Way};
use toolrail_identity::{KeyError, KeyText, NewKey};

use crate::assemble::Assembly;
use crate::identity;
use crate::issuers::Issuers;

/// The name of the key that the first start makes.
const FIRST: &str = "admin";

/// Who can come in at the start.
pub(super) struct Entrance {
    /// The key of commands that find this server by its data folder; good as long as it runs.
    pub(super) local: KeyText,
    /// The first key of all, if this start has made it.
    first: Option<KeyText>,
    /// Whose tokens are taken, if any are.
    issuers: Option<Issuers>,
}

impl Entrance {
    /// Asks for keys from now on.
    pub(super) async fn open(assembly: &mut Assembly) -> anyhow::Result<Self> {
        let directory = assembly.ask_for_keys();
        let local = directory.admit_operator()?;
        let mut first = None;
        match assembly.follower().look().await {
            Ok(()) if directory.is_empty() => {
                first = make_first(assembly).await?;
                assembly.follower().look().await?;
            }
            Ok(()) => {}
            // A gateway starts without its store; nobody comes in with a key before that is back.
            Err(error) => {
                tracing::warn!(%error, "keys and permission rules cannot be read yet, so nobody is let in");
            }
        }
        Ok(Self { local, first, issuers: assembly.issuers().cloned() })
    }

    /// What the banner says.
    pub(super) fn notes(&self) -> Vec<String> {
        let make = format!("`{} keys create NAME --role call` makes one", identity::name());
        let mut notes = vec![match &self.issuers {
            None => format!("keys are asked for; {make}"),
            Some(issuers) if issuers.broker.is_some() => {
                format!("people sign in here, and keys are taken too; {make}")
            }
            Some(issuers) => {
                let names: Vec<&str> = issuers.tokens.issuers().collect();
                format!("tokens of {} are asked for, and keys are taken too; {make}", names.join(" and "))
            }
        }];
        if let Some(first) = &self.first {
            notes.push(format!("the first key, {FIRST:?}, which may do everything and is shown this once:"));
            notes.push(format!("  {}", first.reveal()));
        }
        notes
    }
}

/// The first key of a store. Of several replicas that start at once, one makes it.
async fn make_first(assembly: &Assembly) -> anyhow::Result<Option<KeyText>> {
    let new = NewKey {
        name: FIRST.to_owned(),
        role: Role::Admin,
        tenant: None,
        tools: Vec::new(),
        groups: Vec::new(),
        scopes: Vec::new(),
        expires_in: None,
    };
    let author = Author { who: "the first start".to_owned(), address: None, via: Way::Cli.word().to_owned() };
    match assembly.keys().keyring.create(new, &author).await {
        Ok((text, _)) => Ok(Some(text)),
        Err(KeyError::Taken(_)) => Ok(None),
        Err(error) => Err(error).context("the first key cannot be made"),
    }
}
