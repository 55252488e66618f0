//! Beyond the lists: resources that upstreams have but do not list, such as their results refer to; who hears that a resource
//! was updated; and whether somebody sees other lists than before.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use toolrail_core::{CallError, Caller, Kept, Principal, ToolReach};

use super::feed::Updated;
use super::item::Item;
use super::offered::Resource;
use super::shelf::Listed;
use super::snapshot::Snapshot;
use super::tools::Tool;

/// The most upstreams that are asked for a resource that nobody lists.
const MOST_ASKED: usize = 8;
/// Nobody is asked for a longer URI.
const LONGEST_URI: usize = 8 * 1024;

impl Snapshot {
    /// The same, but for chance, as long as a client is shown the same prompts.
    pub fn prompts_mark(&self) -> u64 {
        self.listed_shelves().prompts.mark()
    }

    /// The same, but for chance, as long as a client is shown the same resources and templates.
    pub fn resources_mark(&self) -> u64 {
        let shelves = self.listed_shelves();
        let mut hasher = DefaultHasher::new();
        (shelves.resources.mark(), shelves.templates.mark()).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether an update concerns those who see this: what they have at its URI is of the definition that was heard of.
    pub fn shows_update(&self, updated: &Updated) -> bool {
        let listed = self.shelves().resource(&updated.uri);
        let Some(of) = &updated.of else { return self.reach().is_none() || listed.is_some() };
        let is_server = self.is_server(&of.name);
        let has =
            |reach: &ToolReach| if is_server { reach.has_things_of(&of.name) } else { reach.has(&of.name) };
        self.reach().is_none_or(has)
            && listed.is_none_or(|(_, by)| *by == of.name)
            && self.entry_anywhere(&of.name).is_some_and(|entry| entry.tenant == of.tenant)
    }

    /// A resource that nobody lists, at each of the upstreams that may have it: those that list something of the same
    /// scheme, or else any.
    pub fn unlisted(&self, uri: &str) -> Vec<Resource> {
        let Some((scheme, _)) = uri.split_once(':').filter(|_| uri.len() <= LONGEST_URI) else {
            return Vec::new();
        };
        let shelves = self.shelves();
        let is_like = |key: &str| key.split_once(':').is_some_and(|(other, _)| other == scheme);
        let like: HashSet<&str> = (shelves.resources.made().chain(shelves.templates.made()))
            .filter(|(resource, _)| is_like(resource.key()))
            .map(|(_, by)| &**by)
            .collect();
        let mut near = Vec::new();
        let mut far = Vec::new();
        for status in &self.upstreams {
            let entry = self.entry(&status.name);
            let Some(entry) = entry.filter(|entry| entry.tenant.as_deref() == status.tenant.as_deref())
            else {
                continue;
            };
            let Some(Item::Upstream { upstream, .. }) = entry.live() else { continue };
            let Some(executor) = upstream.unlisted() else { continue };
            let list = if like.contains(&*Tool::folded(&status.name)) { &mut near } else { &mut far };
            list.push(Resource::unlisted(uri, executor));
        }
        let mut asked = if near.is_empty() { far } else { near };
        asked.truncate(MOST_ASKED);
        asked
    }

    /// The roots of a client have changed, in that conversation.
    pub fn roots_changed(&self, conversation: &str) {
        for status in &self.upstreams {
            let entry = self.entry(&status.name);
            if let Some(Item::Upstream { upstream, .. }) = entry.and_then(|entry| entry.live()) {
                upstream.roots_changed(conversation);
            }
        }
    }

    /// Follows the changes of a resource, listed or not, on behalf of a client as long as what comes back lives; nothing if
    /// there is none.
    pub async fn watch(
        &self,
        uri: &str,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Result<Option<Vec<Kept>>, CallError> {
        if let Some(resource) = self.resource(uri) {
            return Ok(Some(resource.watch(uri, principal, caller).await?.into_iter().collect()));
        }
        let unlisted = self.unlisted(uri);
        let (mut watches, mut refusal) = (Vec::new(), None);
        for resource in &unlisted {
            match resource.watch(uri, principal, caller).await {
                Ok(watch) => watches.extend(watch),
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) if watches.is_empty() => Err(error),
            _ => Ok((!unlisted.is_empty()).then_some(watches)),
        }
    }
}
