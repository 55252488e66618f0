//! An authority of a test's own.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, SanType};

/// Issues certificates that nobody else trusts.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("CN=authority of a test")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// Its own certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server of that name or address.
    pub fn for_server(&self, host: &str) -> Result<Issued> {
        self.issue(CertificateParams::new(vec![host.to_owned()])?)
    }

    /// The same that is good until the end of a day, `(year, month, day)`.
    pub fn for_server_until(&self, host: &str, (year, month, day): (i32, u8, u8)) -> Result<Issued> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.not_after = rcgen::date_time_ymd(year, month, day);
        self.issue(params)
    }

    /// A certificate for a client with that subject, `CN=ci,O=Acme`, and URI.
    pub fn for_client(&self, subject: &str, uri: Option<&str>) -> Result<Issued> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(subject)?;
        if let Some(uri) = uri {
            params.subject_alt_names.push(SanType::URI(uri.try_into()?));
        }
        self.issue(params)
    }

    /// A certificate for a client with that subject, good for so long.
    pub fn for_client_within(&self, subject: &str, within: Duration) -> Result<Issued> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(subject)?;
        params.not_after = (SystemTime::now() + within).into();
        self.issue(params)
    }

    fn issue(&self, params: CertificateParams) -> Result<Issued> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}

impl Issued {
    /// Writes both files, the key for its owner only.
    pub fn write(&self, folder: &Path, name: &str) -> Result<(PathBuf, PathBuf)> {
        use std::os::unix::fs::PermissionsExt;
        let (cert, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        std::fs::write(&cert, &self.certificate)?;
        std::fs::write(&key, &self.key)?;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600))?;
        Ok((cert, key))
    }
}

/// A name as it is written: the last part stands first in a certificate.
fn name(text: &str) -> Result<DistinguishedName> {
    let mut name = DistinguishedName::new();
    for part in text.rsplit(',') {
        let (kind, value) = part.split_once('=').with_context(|| format!("{part:?} is no part of a name"))?;
        let kind = match kind {
            "CN" => DnType::CommonName,
            "O" => DnType::OrganizationName,
            "OU" => DnType::OrganizationalUnitName,
            other => anyhow::bail!("{other} is not a kind of name that tests use"),
        };
        name.push(kind, value);
    }
    Ok(name)
}
