//! What tenants see, and what is seen at endpoints, of one snapshot: made when first asked for, and kept as far as there is
//! room.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::endpoint::Endpoint;

/// The most views that are kept while nothing changes.
const MOST_VIEWS: usize = 256;

type ByTenant<V> = HashMap<Box<str>, Arc<V>>;

/// Views by endpoint and tenant. A tenant's name is never empty, so an empty one stands for those without.
pub(crate) struct Views<V> {
    kept: RwLock<HashMap<usize, ByTenant<V>>>,
}

impl<V> Default for Views<V> {
    fn default() -> Self {
        Self { kept: RwLock::default() }
    }
}

impl<V> Views<V> {
    /// The view of that tenant at that endpoint, or everywhere, if it is kept.
    pub(crate) fn find(&self, endpoint: Option<&Arc<Endpoint>>, tenant: &str) -> Option<Arc<V>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(&place(endpoint))?.get(tenant).cloned()
    }

    /// Keeps a view, unless somebody else was faster; the one that is kept comes back.
    pub(crate) fn keep(&self, endpoint: Option<&Arc<Endpoint>>, tenant: &str, view: V) -> Arc<V> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.values().map(HashMap::len).sum::<usize>() >= MOST_VIEWS {
            // Any of them: it is made again when it is asked for.
            for views in kept.values_mut() {
                let any = views.keys().find(|tenant| !tenant.is_empty()).cloned();
                if any.and_then(|any| views.remove(&any)).is_some() {
                    break;
                }
            }
        }
        let views = kept.entry(place(endpoint)).or_default();
        Arc::clone(views.entry(tenant.into()).or_insert_with(|| Arc::new(view)))
    }
}

/// What tells an endpoint from others. A view holds its endpoint, so no other one can come to the same place.
fn place(endpoint: Option<&Arc<Endpoint>>) -> usize {
    endpoint.map_or(0, |endpoint| Arc::as_ptr(endpoint).addr())
}
