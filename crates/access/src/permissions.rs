//! Rules at work: whoever is known gets what they leave him.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Map, Value};
use toolrail_core::{Denial, Identity, Principal, ToolReach, ToolRights, ToolTraits};

use crate::facts::Subject;
use crate::rights::{Rights, Verdict};
use crate::rulebook::Rulebook;

/// For how many the rights are kept at the same time.
const MOST_KNOWN: usize = 4096;

/// Rules at work.
pub struct Permissions {
    rulebook: Rulebook,
    /// Whoever was seen, by where he is in memory, and what he became. Both are held, so that nobody else can come to be there.
    known: RwLock<HashMap<usize, Ruled>>,
}

/// Somebody, and what the rules leave him.
type Ruled = (Arc<Identity>, Arc<Identity>);

impl Permissions {
    /// Those rules, at work.
    pub fn new(rulebook: Rulebook) -> Self {
        Self { rulebook, known: RwLock::default() }
    }

    /// The rules.
    pub fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    /// Somebody with what the rules leave him. Whom nobody asked who he is keeps everything.
    pub fn apply(&self, principal: Principal) -> Principal {
        let Principal::Known(identity) = principal else {
            return principal;
        };
        let place = Arc::as_ptr(&identity).addr();
        if let Some((_, ruled)) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&place) {
            return Principal::Known(Arc::clone(ruled));
        }
        let ruled = self.ruled(&identity);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let (_, ruled) = known.entry(place).or_insert((identity, ruled));
        Principal::Known(Arc::clone(ruled))
    }

    fn ruled(&self, identity: &Arc<Identity>) -> Arc<Identity> {
        let rights = self.rulebook.for_subject(&Subject::from(&**identity));
        if rights.is_unlimited() {
            return Arc::clone(identity);
        }
        let reach = ToolReach::ruled(identity.reach.as_deref(), Arc::new(rights));
        Arc::new(Identity {
            id: Arc::clone(&identity.id),
            name: identity.name.clone(),
            tenant: identity.tenant.clone(),
            role: identity.role,
            groups: identity.groups.clone(),
            scopes: identity.scopes.clone(),
            reach: Some(Arc::new(reach)),
            ending: identity.ending.clone(),
        })
    }
}

impl From<&Identity> for Subject {
    fn from(identity: &Identity) -> Self {
        Self {
            name: Some(identity.name.clone()),
            tenant: identity.tenant.as_deref().map(str::to_owned),
            role: Some(identity.role),
            groups: identity.groups.clone(),
            scopes: identity.scopes.clone(),
        }
    }
}

impl ToolRights for Rights {
    fn sees(&self, tool: &ToolTraits<'_>) -> bool {
        Self::sees(self, tool)
    }

    fn judge(&self, tool: &ToolTraits<'_>, arguments: &Map<String, Value>) -> Result<(), Denial> {
        match Self::judge(self, tool, arguments) {
            Verdict::Allowed => Ok(()),
            Verdict::Refused { hidden: true, .. } => Err(Denial::Hidden),
            Verdict::Refused { rule, reason, .. } => {
                let rule = rule
                    .map_or_else(|| "no rule allows".to_owned(), |rule| format!("the rule {rule:?} refuses"));
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Err(Denial::Refused(format!("{rule} this call with these arguments{reason}")))
            }
        }
    }
}
