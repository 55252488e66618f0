//! TLS at the addresses of a gateway: read at the start, read again when the configuration is, and kept up to date between.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::future::{join_all, pending};
use tokio::net::TcpListener;
use toolrail_http::{Listener, PreparedTls, Tls, TlsSettings};

use crate::config::Settings;
use crate::server_file::Announced;

/// TLS at each address, where it is spoken.
#[derive(Clone, Default)]
pub(in crate::cli) struct SpokenTls {
    pub(super) calls: Option<Arc<Tls>>,
    /// The same as for calls where nothing else was said.
    pub(super) administration: Option<Arc<Tls>>,
}

/// What was read again and found to be good.
#[must_use]
pub(in crate::cli) struct Renewal(Vec<(Arc<Tls>, PreparedTls)>);

impl SpokenTls {
    /// Reads what the settings name.
    pub(super) fn read(settings: &Settings) -> anyhow::Result<Self> {
        let read = |tls: &TlsSettings| anyhow::Ok(Arc::new(Tls::new(PreparedTls::read(tls.clone())?)));
        let calls = settings.tls.as_ref().map(read).transpose()?;
        let administration = settings.admin_tls.as_ref().map(read).transpose()?;
        Ok(Self { administration: administration.or_else(|| calls.clone()), calls })
    }

    /// Reads it again, without using it yet.
    pub(in crate::cli) fn read_again(&self, settings: &Settings) -> anyhow::Result<Renewal> {
        let calls = self.calls.as_ref().zip(settings.tls.as_ref());
        let administration = self.administration.as_ref().zip(settings.admin_tls.as_ref());
        let read = |(tls, settings): (&Arc<Tls>, &TlsSettings)| {
            anyhow::Ok((Arc::clone(tls), PreparedTls::read(settings.clone())?))
        };
        calls.into_iter().chain(administration).map(read).collect::<Result<_, _>>().map(Renewal)
    }

    /// A listener for calls.
    pub(super) fn calls(&self, listener: TcpListener) -> Listener {
        listener_with(listener, self.calls.as_ref())
    }

    /// A listener for the administration.
    pub(super) fn administration(&self, listener: TcpListener) -> Listener {
        listener_with(listener, self.administration.as_ref())
    }

    /// That at the address where commands administer the gateway.
    fn administered(&self, has_own_address: bool) -> Option<&Arc<Tls>> {
        if has_own_address { self.administration.as_ref() } else { self.calls.as_ref() }
    }

    /// The SHA-256 of the certificate at the address where commands administer the gateway.
    pub(super) fn fingerprint(&self, has_own_address: bool) -> Option<String> {
        self.administered(has_own_address).map(|tls| tls.fingerprint().borrow().clone())
    }

    /// Looks at the files for ever, and says in the data folder when the certificate there is another.
    pub(super) async fn watch(&self, announced: Option<&Announced>, has_own_address: bool) -> Infallible {
        let is_shared = self.calls.as_ref().zip(self.administration.as_ref());
        let is_shared = is_shared.is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        let other = self.administration.as_ref().filter(|_| has_own_address && !is_shared);
        let watching = join_all(self.calls.iter().chain(other).map(|tls| tls.watch()));
        let announcing = async {
            match (announced, self.administered(has_own_address)) {
                (Some(announced), Some(tls)) => announce_changes(announced, tls).await,
                _ => pending().await,
            }
        };
        tokio::select! {
            // Of none, it ends at once.
            _ = watching, if self.calls.is_some() || other.is_some() => pending().await,
            never = announcing => never,
        }
    }
}

impl Renewal {
    /// Uses it from now on.
    pub(in crate::cli) fn take_effect(self) {
        for (tls, prepared) in self.0 {
            tls.replace(prepared);
        }
    }
}

fn listener_with(listener: TcpListener, tls: Option<&Arc<Tls>>) -> Listener {
    match tls {
        Some(tls) => Listener::Tls(listener, Arc::clone(tls)),
        None => Listener::Tcp(listener),
    }
}

async fn announce_changes(announced: &Announced, tls: &Tls) -> Infallible {
    let mut fingerprint = tls.fingerprint();
    // It may have changed since it was announced.
    fingerprint.mark_changed();
    while fingerprint.changed().await.is_ok() {
        let now = fingerprint.borrow_and_update().clone();
        if let Err(error) = announced.renew(&now) {
            tracing::warn!(%error, "the new certificate cannot be announced in the data folder; commands will not trust it");
        }
    }
    pending().await
}
