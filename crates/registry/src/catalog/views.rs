//! What tenants see, and what is seen at endpoints, of one snapshot: made when first asked for, and kept as far as there is
//! room.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use toolrail_core::{AddressMap, Principal, Role, ToolReach};

use super::endpoint::Endpoint;

/// The most views that are kept while nothing changes.
const MOST_VIEWS: usize = 256;

/// Who looks.
#[derive(Clone)]
pub struct Viewer<'a> {
    /// Of which tenant; of none if absent.
    pub(crate) tenant: Option<&'a str>,
    /// Which tools it sees, where not all.
    pub(crate) reach: Option<Arc<ToolReach>>,
    /// Whether it may change definitions, hence sees the tools that do.
    pub(crate) may_change: bool,
}

impl Viewer<'_> {
    /// Whether it sees what everybody does where nobody is asked who he is.
    pub(crate) fn is_anybody(&self) -> bool {
        self.tenant.is_none() && self.reach.is_none() && self.may_change
    }
}

impl<'a> From<&'a Principal> for Viewer<'a> {
    fn from(principal: &'a Principal) -> Self {
        Self { tenant: principal.tenant(), reach: principal.reach(), may_change: principal.may(Role::Write) }
    }
}

impl<'a> From<Option<&'a str>> for Viewer<'a> {
    /// Somebody of that tenant who sees everything that it has.
    fn from(tenant: Option<&'a str>) -> Self {
        Self { tenant, reach: None, may_change: true }
    }
}

/// Views by endpoint, rights and tenant. A tenant's name is never empty, so an empty one stands for those without.
pub(crate) struct Views<V> {
    kept: RwLock<ByPlace<V>>,
}

type ByPlace<V> = AddressMap<Place, HashMap<Box<str>, Arc<V>>>;

/// What tells an endpoint and the rights of a viewer from others. A view holds both, so no others can come to the same place.
type Place = (usize, (usize, bool));

impl<V> Default for Views<V> {
    fn default() -> Self {
        Self { kept: RwLock::default() }
    }
}

impl<V> Views<V> {
    /// The view of somebody at that endpoint, or everywhere, if it is kept.
    pub(crate) fn find(&self, endpoint: Option<&Arc<Endpoint>>, viewer: &Viewer<'_>) -> Option<Arc<V>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(&place(endpoint, viewer))?.get(viewer.tenant.unwrap_or_default()).cloned()
    }

    /// Keeps a view, unless somebody else was faster; the one that is kept comes back.
    pub(crate) fn keep(&self, endpoint: Option<&Arc<Endpoint>>, viewer: &Viewer<'_>, view: V) -> Arc<V> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.values().map(HashMap::len).sum::<usize>() >= MOST_VIEWS {
            make_room(&mut kept);
        }
        let views = kept.entry(place(endpoint, viewer)).or_default();
        let name = viewer.tenant.unwrap_or_default();
        Arc::clone(views.entry(name.into()).or_insert_with(|| Arc::new(view)))
    }
}

/// Lets go of any that is not everybody's: it is made again when it is asked for.
fn make_room<V>(kept: &mut ByPlace<V>) {
    let is_everybodys = |place: &Place, tenant: &str| place.1 == (0, true) && tenant.is_empty();
    let of_some = |(place, views): (&Place, &HashMap<Box<str>, Arc<V>>)| {
        let tenant = views.keys().find(|tenant| !is_everybodys(place, tenant))?;
        Some((*place, tenant.clone()))
    };
    let Some((place, tenant)) = kept.iter().find_map(of_some) else {
        return;
    };
    if let Some(views) = kept.get_mut(&place) {
        views.remove(&tenant);
        if views.is_empty() {
            kept.remove(&place);
        }
    }
}

fn place(endpoint: Option<&Arc<Endpoint>>, viewer: &Viewer<'_>) -> Place {
    let reach = viewer.reach.as_ref().map_or(0, |reach| Arc::as_ptr(reach).addr());
    (endpoint.map_or(0, |endpoint| Arc::as_ptr(endpoint).addr()), (reach, viewer.may_change))
}
