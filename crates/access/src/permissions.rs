//! Rules at work: whoever is known gets what they leave him. There are those of the configuration and those of the store; each
//! document is judged by itself, and both have to allow.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use serde::Serialize;
use serde_json::{Map, Value};
use toolrail_core::{
    AddressMap, Denial, Identity, Principal, Role, Ruling, ToolReach, ToolRights, ToolTraits,
};

use crate::explain::Explanation;
use crate::facts::Subject;
use crate::rights::{Rights, Verdict};
use crate::rulebook::Rulebook;
use crate::stored::{RulesUnknown, StoredRules, StoredState};

/// For how many the rights are kept at the same time.
const MOST_KNOWN: usize = 4096;

/// Rules at work.
pub struct Permissions {
    rules: Arc<BothRules>,
    /// Whoever was seen, by where he is in memory, and what he became. Both are held, so that nobody else can come to be there.
    known: RwLock<AddressMap<usize, Ruled>>,
}

/// Somebody, and what the rules leave him.
type Ruled = (Arc<Identity>, Arc<Identity>);

/// Where rules stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSource {
    /// In the configuration.
    Configuration,
    /// In the store.
    Store,
}

/// Those of the configuration stay as they are; those of the store may change at any moment.
struct BothRules {
    configured: Option<Rulebook>,
    stored: Arc<ArcSwap<StoredState>>,
}

impl Permissions {
    /// The rules of a configuration, if it has any, and those of a store, at work.
    pub fn new(configured: Option<Rulebook>, stored: &StoredRules) -> Self {
        let rules = BothRules { configured, stored: stored.state() };
        Self { rules: Arc::new(rules), known: RwLock::default() }
    }

    /// The rules of the configuration.
    pub fn configured(&self) -> Option<&Rulebook> {
        self.rules.configured.as_ref()
    }

    /// What each document says of a question; all of them have to allow.
    pub fn explain(
        &self,
        subject: &Subject,
        tool: &ToolTraits<'_>,
        args: Option<&Map<String, Value>>,
    ) -> Vec<(RuleSource, Explanation)> {
        let stored = self.rules.stored.load();
        let configured = self.configured().map(|rules| (RuleSource::Configuration, rules));
        let stored = stored.version.is_some().then_some((RuleSource::Store, &stored.rulebook));
        let both = configured.into_iter().chain(stored);
        both.map(|(source, rules)| (source, rules.explain(subject, tool, args))).collect()
    }

    /// Somebody with what the rules leave him, also if they change while he is here. Whom nobody asked who he is keeps
    /// everything. Whoever may set rules comes in even if those of the store are unknown.
    pub fn apply(&self, principal: Principal) -> Result<Principal, RulesUnknown> {
        let Principal::Known(identity) = principal else {
            return Ok(principal);
        };
        if identity.role < Role::Admin || identity.tenant.is_some() {
            self.rules.stored.load().must_be_known()?;
        }
        let place = Arc::as_ptr(&identity).addr();
        if let Some((_, ruled)) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&place) {
            return Ok(Principal::Known(Arc::clone(ruled)));
        }
        let ruled = self.ruled(&identity);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let (_, ruled) = known.entry(place).or_insert((identity, ruled));
        Ok(Principal::Known(Arc::clone(ruled)))
    }

    fn ruled(&self, identity: &Arc<Identity>) -> Arc<Identity> {
        let ruling = LiveReach {
            identity: Arc::clone(identity),
            rules: Arc::clone(&self.rules),
            last: ArcSwapOption::empty(),
        };
        Arc::new(identity.with_reach(Some(Arc::new(ToolReach::following(Arc::new(ruling))))))
    }
}

impl BothRules {
    /// What they leave somebody, those of the store as they are said to be.
    fn reach_of(&self, identity: &Identity, stored: &StoredState) -> Option<Arc<ToolReach>> {
        let subject = Subject::from(identity);
        let both = self.configured.iter().chain([&stored.rulebook]);
        let rights = both.map(|rules| rules.for_subject(&subject)).filter(|rights| !rights.is_unlimited());
        let rights: Vec<Rights> = rights.collect();
        if rights.is_empty() {
            return identity.reach.clone();
        }
        Some(Arc::new(ToolReach::ruled(identity.reach.as_deref(), Arc::new(EachOf(rights)))))
    }
}

/// What the rules leave somebody at the moment.
struct LiveReach {
    identity: Arc<Identity>,
    rules: Arc<BothRules>,
    /// What was found the last time.
    last: ArcSwapOption<FoundReach>,
}

/// What rules leave somebody, and those of the store by which that was found.
struct FoundReach {
    by: Arc<StoredState>,
    reach: Option<Arc<ToolReach>>,
}

impl Ruling for LiveReach {
    fn unruled(&self) -> Option<Arc<ToolReach>> {
        self.identity.reach.clone()
    }

    fn reach(&self) -> Option<Arc<ToolReach>> {
        let stored = self.rules.stored.load();
        if let Some(last) = &*self.last.load()
            && Arc::ptr_eq(&last.by, &stored)
        {
            return last.reach.clone();
        }
        let reach = self.rules.reach_of(&self.identity, &stored);
        self.last.store(Some(Arc::new(FoundReach { by: Arc::clone(&stored), reach: reach.clone() })));
        reach
    }
}

impl fmt::Debug for LiveReach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LiveReach").field("of", &self.identity.id).finish_non_exhaustive()
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

/// Rights of which each has to allow.
#[derive(Debug)]
struct EachOf(Vec<Rights>);

impl ToolRights for EachOf {
    fn sees(&self, tool: &ToolTraits<'_>) -> bool {
        self.0.iter().all(|rights| rights.sees(tool))
    }

    fn judge(&self, tool: &ToolTraits<'_>, arguments: &Map<String, Value>) -> Result<(), Denial> {
        let mut judged = Ok(());
        for rights in &self.0 {
            match denial(rights.judge(tool, arguments)) {
                // What one hides is not there, whatever the other would say about its arguments.
                Some(Denial::Hidden) => return Err(Denial::Hidden),
                Some(refused) if judged.is_ok() => judged = Err(refused),
                Some(_) | None => {}
            }
        }
        judged
    }
}

fn denial(verdict: Verdict) -> Option<Denial> {
    match verdict {
        Verdict::Allowed => None,
        Verdict::Refused { hidden: true, .. } => Some(Denial::Hidden),
        Verdict::Refused { rule, reason, .. } => {
            let rule =
                rule.map_or_else(|| "no rule allows".to_owned(), |rule| format!("the rule {rule:?} refuses"));
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            Some(Denial::Refused(format!("{rule} this call with these arguments{reason}")))
        }
    }
}
