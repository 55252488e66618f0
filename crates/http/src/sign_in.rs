//! Where people sign in: open to those who cannot show yet who they are.

use axum::Router;
use http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use toolrail_core::{PeerAddress, Principal};
use tower::Service;

use super::{AnyBody, Bare, Guest};

/// Where people sign in.
pub struct SignIn {
    /// Whether that path is part of it.
    pub is_here: fn(&str) -> bool,
    /// What is there.
    pub routes: Router,
}

impl SignIn {
    pub(super) async fn answer(
        &self,
        mut request: Request<Incoming>,
        (guest, peer): (&Guest, Option<PeerAddress>),
    ) -> Response<AnyBody> {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let share = guest.share_of(&Principal::Anonymous);
        let Ok(mut response) = share.scope(self.routes.clone().call(request)).await;
        response.extensions_mut().insert(Bare);
        response.map(Either::Right)
    }
}
