//! What the kinds need to run.

use std::sync::Arc;

use toolrail_core::{Secrets, UserGrants, Variables};

use crate::outbound::Client;
use crate::script_workers::Scripts;
use crate::service::Services;

/// What the kinds need to run.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// The one client through which everything goes out.
    pub client: Arc<Client>,
    /// The secrets that templates may name.
    pub secrets: Arc<Secrets>,
    /// The variables that templates may name.
    pub variables: Arc<Variables>,
    /// What several definitions share about a service.
    pub services: Arc<Services>,
    /// The workers that carry scripts out.
    pub scripts: Arc<Scripts>,
    /// What people have granted this gateway at upstream servers, where that is kept.
    pub grants: Option<Arc<dyn UserGrants>>,
}
