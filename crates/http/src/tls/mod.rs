//! TLS for what is served: a certificate that can be replaced while the server runs, and clients that prove with certificates
//! of their own who they are. It knows nothing of HTTP but the names of its versions.

mod certificate;
mod clients;
mod files;
mod handshake;
mod secured;
mod watch;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::sync::{Semaphore, watch as channel};
use toolrail_core::Principal;

pub(crate) use certificate::Certificate;
pub use clients::{ClientRule, WrongPattern};
pub use files::TlsError;
use files::{Contents, Digest};
pub(crate) use handshake::{Offered, Settled, shake_hands};
pub(crate) use secured::Secured;

/// The most handshakes under way at one address; more wait their turn, within their time.
const MOST_HANDSHAKES: usize = 1024;
/// How long the log says nothing more of certificates that are refused.
const REFUSALS_REST: Duration = Duration::from_secs(5);

/// What an address with TLS is to do.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The file of the certificate, with those between it and its authority.
    pub cert: PathBuf,
    /// The file of its private key.
    pub key: PathBuf,
    /// Whose certificates clients may show, if any.
    pub client_authority: Option<ClientAuthority>,
    /// Whether browsers are told to use nothing but TLS from now on.
    pub hsts: bool,
    /// Whom their certificates stand for: the first that fits.
    pub clients: Vec<ClientRule>,
}

/// Who issues the certificates of clients.
#[derive(Clone, Debug)]
pub struct ClientAuthority {
    /// The file of the authority's certificates.
    pub file: PathBuf,
    /// Whether a client has to show one.
    pub demand: Demand,
}

/// Whether a client has to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// No connection without.
    Required,
    /// It may.
    Optional,
}

/// Whom the certificate of a connection stands for, as it was found out, and by which rules.
#[derive(Default)]
pub(crate) struct CertifiedGuest(Mutex<Option<(Weak<PreparedTls>, Option<Principal>)>>);

/// TLS as one address speaks it, now and after every change.
pub struct Tls {
    /// When a certificate was last refused in the log, and how many were since.
    refusals: Mutex<(Option<Instant>, u64)>,
    present: ArcSwap<PreparedTls>,
    handshakes: Semaphore,
    fingerprint: channel::Sender<String>,
}

/// What was read and found to be good, to be spoken from some moment on.
pub struct PreparedTls {
    settings: TlsSettings,
    digest: Digest,
    config: Arc<ServerConfig>,
    fingerprint: String,
    /// What the certificate says; absent if it is too odd for us, though not for clients.
    certificate: Option<Certificate>,
}

impl PreparedTls {
    /// Reads the files.
    pub fn read(settings: TlsSettings) -> Result<Self, TlsError> {
        Contents::read(&settings)?.prepare(settings)
    }
}

impl Tls {
    /// Speaks what is prepared.
    pub fn new(prepared: PreparedTls) -> Self {
        let fingerprint = channel::Sender::new(prepared.fingerprint.clone());
        Self {
            refusals: Mutex::default(),
            present: ArcSwap::from_pointee(prepared),
            handshakes: Semaphore::new(MOST_HANDSHAKES),
            fingerprint,
        }
    }

    /// Speaks this from now on; connections that stand go on as they are.
    pub fn replace(&self, prepared: PreparedTls) {
        let (file, fingerprint) = (prepared.settings.cert.clone(), prepared.fingerprint.clone());
        self.present.store(Arc::new(prepared));
        if self.fingerprint.send_replace(fingerprint.clone()) != fingerprint {
            tracing::info!(file = %file.display(), fingerprint, "a new TLS certificate is in use");
        }
        self.tell_open_key();
    }

    /// The SHA-256 of the certificate, in hexadecimal digits; tells of every change.
    pub fn fingerprint(&self) -> channel::Receiver<String> {
        self.fingerprint.subscribe()
    }

    /// Whom the verified certificate of a connection stands for: the very same from one request to the next, as long as the rules
    /// are the same.
    pub(crate) fn principal(&self, certificate: &Certificate, known: &CertifiedGuest) -> Option<Principal> {
        let present = self.present.load();
        let mut known = known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((by, principal)) = &*known
            && Weak::ptr_eq(by, &Arc::downgrade(&present))
        {
            return principal.clone();
        }
        let rules = &present.settings.clients;
        let principal = rules.iter().find_map(|rule| rule.principal(certificate));
        if principal.is_none() && !rules.is_empty() {
            tracing::info!(
                subject = ?certificate.subject,
                "a client's certificate is good, and stands for nobody: no rule under `clients` is about it"
            );
        }
        *known = Some((Arc::downgrade(&present), principal.clone()));
        principal
    }

    /// Notes that the certificate of a client is not taken, once in a while: anybody can show one.
    fn note_refused(&self, peer: Option<IpAddr>, error: &io::Error) {
        let mut noted = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.0.is_some_and(|at| at.elapsed() < REFUSALS_REST) {
            noted.1 += 1;
            return;
        }
        let (peer, more) = (peer.map(|peer| peer.to_string()), noted.1);
        tracing::warn!(peer, %error, more, "the certificate of a client is refused");
        *noted = (Some(Instant::now()), 0);
    }

    /// Whether browsers are told to use nothing but TLS from now on.
    pub(crate) fn tells_hsts(&self) -> bool {
        self.present.load().settings.hsts
    }

    fn config(&self, offered: Offered) -> Arc<ServerConfig> {
        let present = self.present.load();
        match offered {
            Offered::Everything => Arc::clone(&present.config),
            Offered::Http1 => {
                let mut config = ServerConfig::clone(&present.config);
                config.alpn_protocols.retain(|protocol| protocol != handshake::HTTP2);
                Arc::new(config)
            }
        }
    }
}

#[cfg(test)]
mod tests;
