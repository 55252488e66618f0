//! The files of TLS: read, checked against one another, and told in words that name the file when they are no good.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use ring::digest::{Context, SHA256, digest};
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};
use toolrail_core::hexadecimal;

use super::{Certificate, ClientAuthority, Demand, PreparedTls, TlsSettings, handshake};

/// The most bytes of a file: a chain of certificates has a few thousand, and some list every authority of the world.
const LARGEST: u64 = 1024 * 1024;
/// How many sessions may be taken up again without a whole handshake.
const MOST_SESSIONS: usize = 4096;

/// Why TLS cannot be spoken with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there, or not ours to read.
    #[error("{what} {} cannot be read: {source}; name a PEM file that this user may read", file.display())]
    Unreadable {
        /// What it should be.
        what: &'static str,
        /// Where it should be.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is too large to be one of these.
    #[error("{what} {} is larger than a megabyte, so it is no PEM file of certificates", file.display())]
    TooLarge {
        /// What it should be.
        what: &'static str,
        /// Where it is.
        file: PathBuf,
    },
    /// No certificate in a file.
    #[error(
        "{what} {} has no certificate: it must be a PEM file with blocks that begin with -----BEGIN CERTIFICATE-----{fault}",
        file.display()
    )]
    NoCertificate {
        /// What it should be.
        what: &'static str,
        /// Where it is.
        file: PathBuf,
        /// What was found wrong, after a semicolon.
        fault: String,
    },
    /// A certificate that is not written as one.
    #[error("{what} {} has a certificate that cannot be used: {source}", file.display())]
    WrongCertificate {
        /// What it should be.
        what: &'static str,
        /// Where it is.
        file: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No key in a file.
    #[error(
        "the TLS key {} has no private key: it must be a PEM file with a block that begins with -----BEGIN PRIVATE KEY-----{fault}",
        file.display()
    )]
    NoKey {
        /// Where it is.
        file: PathBuf,
        /// What was found wrong, after a semicolon.
        fault: &'static str,
    },
    /// A key of a kind that is not known.
    #[error("the TLS key {} cannot be used: {source}; use RSA, ECDSA (P-256, P-384) or Ed25519", file.display())]
    WrongKey {
        /// Where it is.
        file: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// A key and a certificate that do not belong together.
    #[error(
        "the TLS key {} does not fit the certificate {}: name the key that it was issued for, and let the server's own certificate stand \
         first in its file",
        key.display(),
        cert.display()
    )]
    Mismatch {
        /// Where the key is.
        key: PathBuf,
        /// Where the certificate is.
        cert: PathBuf,
    },
    /// The library refuses what it was given.
    #[error("TLS cannot be prepared: {0}")]
    Library(#[from] rustls::Error),
}

/// By what two readings of the files are compared.
pub(super) type Digest = [u8; 32];

const CERT: &str = "the TLS certificate";
const KEY: &str = "the TLS key";
const AUTHORITY: &str = "the authority of client certificates";

/// What stands in the files.
pub(super) struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_authority: Option<Vec<u8>>,
}

impl Contents {
    /// Reads the files, whatever is in them.
    pub(super) fn read(settings: &TlsSettings) -> Result<Self, TlsError> {
        let authority = settings.client_authority.as_ref();
        Ok(Self {
            cert: read(CERT, &settings.cert)?,
            key: read(KEY, &settings.key)?,
            client_authority: authority.map(|authority| read(AUTHORITY, &authority.file)).transpose()?,
        })
    }

    /// By what they are compared with what was read before.
    pub(super) fn digest(&self) -> Digest {
        let mut context = Context::new(&SHA256);
        for part in [&self.cert, &self.key].into_iter().chain(&self.client_authority) {
            context.update(&part.len().to_le_bytes());
            context.update(part);
        }
        bytes_of(context.finish())
    }

    /// Checks what they hold.
    pub(super) fn prepare(self, settings: TlsSettings) -> Result<PreparedTls, TlsError> {
        let digest = self.digest();
        let provider = Arc::new(provider::default_provider());
        let chain = certificates(CERT, &settings.cert, &self.cert)?;
        let own = chain.first().cloned().unwrap_or_else(|| CertificateDer::from(Vec::new()));
        let certified = certified(chain, &self.key, &settings, &provider)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match settings.client_authority.as_ref().zip(self.client_authority.as_deref()) {
            Some((authority, bytes)) => {
                builder.with_client_cert_verifier(verifier(authority, bytes, provider)?)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![handshake::HTTP2.to_vec(), handshake::HTTP1.to_vec()];
        config.session_storage = match settings.client_authority {
            // A session that is taken up again is not verified again.
            Some(_) => Arc::new(NoServerSessionStorage {}),
            None => ServerSessionMemoryCache::new(MOST_SESSIONS),
        };
        if settings.client_authority.is_some() {
            config.send_tls13_tickets = 0;
        }
        Ok(PreparedTls {
            fingerprint: fingerprint(&own),
            certificate: Certificate::read(&own),
            config: Arc::new(config),
            digest,
            settings,
        })
    }
}

/// Whether anybody on this machine may read the key.
pub(super) fn is_open_to_all(key: &Path) -> bool {
    fs::metadata(key).is_ok_and(|about| about.permissions().mode() & 0o004 != 0)
}

fn fingerprint(certificate: &[u8]) -> String {
    hexadecimal(digest(&SHA256, certificate).as_ref())
}

fn bytes_of(digest: ring::digest::Digest) -> Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}

fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |source| TlsError::Unreadable { what, file: file.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(unreadable)?;
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(TlsError::TooLarge { what, file: file.to_owned() });
    }
    Ok(bytes)
}

fn certificates(
    what: &'static str,
    file: &Path,
    bytes: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let none = |fault: String| TlsError::NoCertificate { what, file: file.to_owned(), fault };
    let read: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(bytes).collect();
    let read = read.map_err(|error| none(format!("; {error}")))?;
    if read.is_empty() {
        return Err(none(String::new()));
    }
    Ok(read)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: &[u8],
    settings: &TlsSettings,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let file = || settings.key.clone();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
        let is_encrypted = contains(key, b"ENCRYPTED");
        let fault = if is_encrypted { "; this one is encrypted, which a server cannot undo" } else { "" };
        TlsError::NoKey { file: file(), fault }
    })?;
    let key = provider.key_provider.load_private_key(key);
    let key = key.map_err(|source| TlsError::WrongKey { file: file(), source })?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certified),
        Err(rustls::Error::InconsistentKeys(_)) => {
            Err(TlsError::Mismatch { key: file(), cert: settings.cert.clone() })
        }
        Err(source) => {
            Err(TlsError::WrongCertificate { what: CERT, file: settings.cert.clone(), source: source.into() })
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn verifier(
    authority: &ClientAuthority,
    bytes: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let wrong = |source| TlsError::WrongCertificate { what: AUTHORITY, file: authority.file.clone(), source };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(AUTHORITY, &authority.file, bytes)? {
        roots.add(certificate).map_err(|error| wrong(error.into()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = match authority.demand {
        Demand::Required => builder,
        Demand::Optional => builder.allow_unauthenticated(),
    };
    builder.build().map_err(|error| wrong(error.into()))
}
