//! What a certificate says about its holder.

use std::time::{Duration, SystemTime};

use x509_cert::Certificate as Document;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// What a certificate says.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    /// The subject as RFC 4514 writes it, `CN=ci,O=Acme`.
    pub(crate) subject: String,
    /// Its other names: those of hosts, addresses of mail, URIs.
    pub(crate) names: Vec<String>,
    /// From when on it is good no more.
    pub(crate) good_until: SystemTime,
}

impl Certificate {
    /// Reads it, if it is written as it should be.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let document = Document::from_der(bytes).ok()?;
        let content = document.tbs_certificate();
        let names = content.get_extension::<SubjectAltName>().ok()?;
        let names = names.map(|(_, names)| names.0).unwrap_or_default();
        Some(Self {
            subject: content.subject().to_string(),
            names: names.iter().filter_map(text).collect(),
            good_until: SystemTime::UNIX_EPOCH + content.validity().not_after.to_unix_duration(),
        })
    }

    /// How long it is still good.
    pub(super) fn left(&self) -> Duration {
        self.good_until.duration_since(SystemTime::now()).unwrap_or_default()
    }

    /// The first part of the subject, without its kind, or the first of the other names.
    pub(super) fn short_name(&self) -> &str {
        let first = parts(&self.subject).next().filter(|part| !part.is_empty());
        let first = first.map(|part| part.split_once('=').map_or(part, |(_, value)| value));
        first.or_else(|| self.names.first().map(String::as_str)).unwrap_or_default()
    }
}

fn text(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::Rfc822Name(text)
        | GeneralName::DnsName(text)
        | GeneralName::UniformResourceIdentifier(text) => Some(text.as_str().to_owned()),
        GeneralName::OtherName(_)
        | GeneralName::DirectoryName(_)
        | GeneralName::EdiPartyName(_)
        | GeneralName::IpAddress(_)
        | GeneralName::RegisteredId(_) => None,
    }
}

/// The parts of a subject, between commas that are not written with a backslash.
pub(super) fn parts(subject: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    subject.split(move |letter| {
        let ends = letter == ',' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    })
}
