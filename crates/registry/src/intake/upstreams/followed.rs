//! The upstreams that are followed: started when they come, dropped when they go, and what they offer, which is looked
//! into only when the offer changed.

use std::collections::HashMap;
use std::sync::Arc;

use toolrail_core::{Changed, Offer, Problem, Severity, Upstream, UpstreamState};

use super::offered_tool;
use super::offerer::Offerer;
use crate::approvals::ApprovalDesk;
use crate::calls::UseLog;
use crate::catalog::{Entry, Prompt, Resource, UpstreamStatus};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// Hears of changes, and of the definition whose upstream has changed; natives have none.
pub(crate) type Listener = Arc<dyn Fn(Option<&EntryKey>, Changed) + Send + Sync>;

/// An upstream and what it offers.
pub(crate) struct Followed {
    pub(crate) by: Offerer,
    offer: Arc<Offer>,
    pub(crate) tools: Vec<(EntryKey, Arc<Entry>)>,
    pub(crate) prompts: Vec<Arc<Prompt>>,
    pub(crate) resources: Vec<Arc<Resource>>,
    pub(crate) templates: Vec<Arc<Resource>>,
    failure: Option<String>,
    state: UpstreamState,
    /// What was last said to be wrong with it.
    told: Vec<Problem>,
}

/// The upstreams there are.
pub(crate) struct Upstreams {
    /// Those in this program.
    pub(crate) natives: Vec<Offerer>,
    followed: Vec<Followed>,
    listener: Listener,
    uses: Arc<UseLog>,
    approvals: Arc<ApprovalDesk>,
}

impl Upstreams {
    /// None yet; `listener` hears of the changes of all of them, `uses` of calls, which may have to wait at that desk.
    pub(crate) fn new(listener: Listener, uses: Arc<UseLog>, approvals: Arc<ApprovalDesk>) -> Self {
        Self { natives: Vec::new(), followed: Vec::new(), listener, uses, approvals }
    }

    /// The upstream that a definition has become: its kind and itself.
    pub(crate) fn offerer(
        &self,
        key: &EntryKey,
        entry: &Entry,
        (kind, upstream): (Arc<str>, Arc<dyn Upstream>),
    ) -> Offerer {
        let (name, origin) = (entry.name.clone(), entry.origin.clone());
        Offerer {
            key: key.clone(),
            name,
            kind,
            source: SourceId::Upstream,
            origin,
            upstream,
            uses: Arc::clone(&self.uses),
            approval: None,
            approvals: Arc::clone(&self.approvals),
            document: Arc::clone(&entry.document),
        }
    }

    /// Follows those from now on, and no others.
    pub(crate) fn follow(&mut self, offerers: Vec<Offerer>) -> &mut [Followed] {
        let mut before = std::mem::take(&mut self.followed);
        for by in offerers {
            let known = before.iter().position(|followed| Arc::ptr_eq(&followed.by.upstream, &by.upstream));
            let mut followed = if let Some(index) = known {
                Followed { by, ..before.swap_remove(index) }
            } else {
                let listener = Arc::clone(&self.listener);
                let of = (by.source == SourceId::Upstream).then(|| by.key.clone());
                by.upstream.start(Arc::new(move |changed| listener(of.as_ref(), changed)));
                Followed::new(by)
            };
            followed.look();
            self.followed.push(followed);
        }
        &mut self.followed
    }
}

impl Followed {
    fn new(by: Offerer) -> Self {
        Self {
            by,
            offer: Arc::default(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            failure: None,
            state: UpstreamState::Connecting,
            told: Vec::new(),
        }
    }

    /// Takes over what it offers now.
    fn look(&mut self) {
        let offer = self.by.upstream.offer();
        if !Arc::ptr_eq(&offer, &self.offer) {
            self.take(offer);
        }
        self.state = self.by.upstream.state();
        let failure = self.by.upstream.failure();
        if failure != self.failure {
            let upstream = &self.by.name;
            if let Some(failure) = &failure {
                tracing::warn!(upstream, failure, "upstream fails");
            } else {
                tracing::info!(upstream, "upstream is well again");
            }
            self.failure = failure;
        }
    }

    fn take(&mut self, offer: Arc<Offer>) {
        let before: HashMap<EntryKey, Arc<Entry>> = self.tools.drain(..).collect();
        for offered in &offer.tools {
            let key = EntryKey::new(self.by.key.tenant.clone(), offered.name.as_str());
            let known = before.get(&key);
            let entry = offered_tool::entry_of(offered, &self.by, known);
            if let Some(known) = known {
                known.hand_on_uses(&entry);
            }
            self.tools.push((key, entry));
        }
        self.prompts = offer.prompts.iter().map(|offered| Arc::new(Prompt::new(offered))).collect();
        self.resources = offer.resources.iter().map(|offered| Arc::new(Resource::new(offered))).collect();
        self.templates =
            offer.templates.iter().map(|offered| Arc::new(Resource::template(offered))).collect();
        let nothing = self.offer.is_empty() && offer.is_empty();
        self.offer = offer;
        // A gateway without native tools has nothing to say about them.
        if nothing {
            return;
        }
        tracing::info!(
            upstream = self.by.name,
            tools = self.tools.len(),
            prompts = self.prompts.len(),
            resources = self.resources.len(),
            templates = self.templates.len(),
            "upstream offers"
        );
    }

    /// How it is; nothing for native tools of which there are none.
    pub(crate) fn status(&self) -> Option<UpstreamStatus> {
        let native = self.by.source == SourceId::Native;
        if native && self.offer.is_empty() && self.failure.is_none() {
            return None;
        }
        Some(UpstreamStatus {
            name: self.by.name.clone(),
            tenant: self.by.key.tenant.as_deref().map(str::to_owned),
            state: self.state,
            tools: self.tools.len(),
            prompts: self.prompts.len(),
            resources: self.resources.len(),
            templates: self.templates.len(),
            failure: self.failure.clone(),
            instructions: self.offer.instructions.as_deref().map(Into::into),
        })
    }

    /// Its failure as a problem; what it last offered may be in place all the same, so it is but a warning.
    pub(crate) fn failing(&self) -> Option<Problem> {
        let failure = self.failure.as_ref()?;
        Some(self.by.problem(Severity::Warning, format!("the upstream fails: {failure}")))
    }

    /// What is wrong with its lists: what it has but cannot be offered, and what clients would refuse as it came.
    pub(crate) fn faults(&self) -> Vec<Problem> {
        let problem = |severity, messages: &[String]| -> Vec<Problem> {
            in_short(messages.to_vec())
                .into_iter()
                .map(|message| self.by.problem(severity, message))
                .collect()
        };
        let left_out = problem(Severity::Error, &self.offer.left_out);
        left_out.into_iter().chain(problem(Severity::Warning, &self.offer.mended)).collect()
    }

    /// Logs what was not told before.
    pub(crate) fn tell(&mut self, problems: &[Problem]) {
        let news = problems.iter().filter(|problem| problem.severity == Severity::Error);
        for problem in news.filter(|problem| !self.told.contains(problem)) {
            tracing::warn!(upstream = self.by.name, problem = problem.message, "upstream has a problem");
        }
        self.told = problems.to_vec();
    }
}

/// The most things that are told one by one, for each upstream.
const MOST_TOLD: usize = 20;

/// The first few, and how many more there are.
pub(crate) fn in_short(mut told: Vec<String>) -> Vec<String> {
    if let Some(more) = told.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        told.truncate(MOST_TOLD);
        told.push(format!("{more} more like these"));
    }
    told
}
