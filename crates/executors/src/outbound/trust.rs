//! Whom a client believes over TLS, and how it proves who it is itself: the authorities of this machine unless it is told
//! otherwise.

use std::fmt;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use ring::digest::{SHA256, digest};
use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use super::connect::BoxError;

/// Whom a client believes over TLS, and how it proves who it is itself.
#[derive(Debug, Default)]
pub struct Trust {
    roots: Roots,
    identity: Option<ClientIdentity>,
}

#[derive(Debug, Default)]
enum Roots {
    /// The authorities of this machine.
    #[default]
    System,
    /// These authorities.
    These(Arc<RootCertStore>),
    /// One certificate, whoever issued it and whatever it is called.
    Only([u8; 32]),
}

struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientIdentity")
    }
}

/// Why nobody can be trusted like that.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// No certificate in a text.
    #[error(
        "it has no certificate: a PEM file is needed, with blocks that begin with -----BEGIN CERTIFICATE-----"
    )]
    NoCertificate,
    /// No key in a text.
    #[error(
        "it has no private key: a PEM file is needed, with a block that begins with -----BEGIN PRIVATE KEY-----"
    )]
    NoKey,
    /// Not the SHA-256 of anything.
    #[error("it is not a fingerprint of 64 hexadecimal digits")]
    NoFingerprint,
    /// A certificate or key that is no good.
    #[error("it cannot be used: {0}")]
    Unusable(#[from] Error),
}

impl Trust {
    /// Believes what these authorities have issued, given as PEM, and nothing else.
    pub fn with_authorities(self, text: &[u8]) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(text)? {
            roots.add(certificate)?;
        }
        Ok(Self { roots: Roots::These(Arc::new(roots)), ..self })
    }

    /// Believes nobody but the holder of the certificate with this SHA-256.
    pub fn with_fingerprint(self, digits: &str) -> Result<Self, TrustError> {
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(TrustError::NoFingerprint);
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| TrustError::NoFingerprint)?;
        }
        Ok(Self { roots: Roots::Only(bytes), ..self })
    }

    /// Shows this certificate to servers that ask for one, given as PEM with its key.
    pub fn with_identity(self, certificate: &[u8], key: &[u8]) -> Result<Self, TrustError> {
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TrustError::NoKey)?;
        Ok(Self { identity: Some(ClientIdentity { chain, key }), ..self })
    }

    /// What TLS is spoken with. Reads the authorities of this machine if it has to, so it may take a while.
    pub(super) fn config(&self) -> Result<ClientConfig, BoxError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()
        };
        let builder: ConfigBuilder<ClientConfig, WantsClientCert> = match &self.roots {
            Roots::These(roots) => builder()?.with_root_certificates(Arc::clone(roots)),
            Roots::Only(fingerprint) => {
                let only = OnlyOne { fingerprint: *fingerprint, provider: Arc::clone(&provider) };
                builder()?.dangerous().with_custom_certificate_verifier(Arc::new(only))
            }
            Roots::System => match builder()?.with_native_roots() {
                Ok(config) => config,
                // A bare container has none; then those of Mozilla do.
                Err(reason) => {
                    tracing::warn!(%reason, "no system root certificates; using the built-in ones");
                    builder()?.with_webpki_roots()
                }
            },
        };
        match &self.identity {
            Some(ClientIdentity { chain, key }) => {
                Ok(builder.with_client_auth_cert(chain.clone(), key.clone_key())?)
            }
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let read = read.map_err(|_| TrustError::NoCertificate)?;
    if read.is_empty() { Err(TrustError::NoCertificate) } else { Ok(read) }
}

/// Believes the holder of one certificate: that it holds the key is proved as always.
#[derive(Debug)]
struct OnlyOne {
    fingerprint: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OnlyOne {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if digest(&SHA256, shown).as_ref() == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
