//! Looks at the files of TLS while the server runs: a new certificate is used from the next handshake on, a broken one changes
//! nothing, and one that is about to expire is told of.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::files::{Contents, Digest, is_open_to_all};
use super::{Certificate, Tls};

/// How often the files are read: they are small, and their dates tell less than what is in them.
const LOOK: Duration = Duration::from_secs(2);
/// How long before its end a certificate is told of, and how often.
const SOON: Duration = Duration::from_hours(14 * 24);
const TOLD_EVERY: Duration = Duration::from_hours(24);

/// What was seen and told before.
#[derive(Default)]
struct Seen {
    /// What could not be used at the last look. Certificate and key are written one after the other, so only what is found
    /// twice is told of.
    broken: Option<Broken>,
    expiry_told: Option<Instant>,
}

struct Broken {
    reason: String,
    digest: Option<Digest>,
    is_told: bool,
}

impl Tls {
    /// Keeps what is spoken up to date, for ever.
    pub async fn watch(&self) -> Infallible {
        let mut seen = Seen::default();
        self.tell_open_key();
        let mut clock = tokio::time::interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            self.look(&mut seen).await;
            self.tell_expiry(&mut seen);
        }
    }

    async fn look(&self, seen: &mut Seen) {
        let present = self.present.load_full();
        let settings = present.settings.clone();
        let read = tokio::task::spawn_blocking(move || {
            let contents = Contents::read(&settings).map_err(|error| (error.to_string(), None))?;
            let digest = contents.digest();
            if digest == present.digest {
                return Ok(None);
            }
            contents.prepare(settings).map(Some).map_err(|error| (error.to_string(), Some(digest)))
        });
        match read.await {
            Ok(Ok(None)) => seen.broken = None,
            Ok(Ok(Some(prepared))) => {
                *seen = Seen::default();
                self.replace(prepared);
            }
            Ok(Err((reason, digest))) => seen.note(reason, digest),
            Err(error) => tracing::warn!(%error, "the files of TLS cannot be looked at"),
        }
    }

    pub(super) fn tell_open_key(&self) {
        let key = &self.present.load().settings.key;
        if is_open_to_all(key) {
            tracing::warn!(file = %key.display(), "every user of this machine may read the TLS key; chmod 600 keeps it private");
        }
    }

    fn tell_expiry(&self, seen: &mut Seen) {
        let present = self.present.load();
        let Some(left) = present.certificate.as_ref().map(Certificate::left).filter(|left| *left < SOON)
        else {
            return;
        };
        if seen.expiry_told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return;
        }
        seen.expiry_told = Some(Instant::now());
        let file = present.settings.cert.display();
        if left.is_zero() {
            tracing::warn!(%file, "the TLS certificate has expired; put a new one in its place");
        } else {
            let days = left.as_secs() / (24 * 60 * 60);
            tracing::warn!(%file, days, "the TLS certificate expires soon; put a new one in its place");
        }
    }
}

impl Seen {
    fn note(&mut self, reason: String, digest: Option<Digest>) {
        match &mut self.broken {
            Some(before) if before.reason == reason && before.digest == digest => {
                if !before.is_told {
                    tracing::warn!(
                        reason,
                        "the new TLS certificate or key cannot be used; the old one stays in use"
                    );
                    before.is_told = true;
                }
            }
            broken => *broken = Some(Broken { reason, digest, is_told: false }),
        }
    }
}
