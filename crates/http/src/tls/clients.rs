//! Whom the certificate of a client stands for, as the configuration says. One that is verified but named by no rule stands for
//! nobody.

use std::sync::Arc;

use toolrail_core::{Ending, Identity, Principal, Role, ToolReach};

use super::certificate::{Certificate, parts};

/// Says of some certificates whom they stand for. At least one of `subject` and `san` is there; both must fit if both are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRule {
    subject: Option<String>,
    san: Option<String>,
    /// The name of whoever shows it; that in the certificate when left out.
    pub name: Option<String>,
    /// What it may do.
    pub role: Role,
    /// Its tenant, if it has one.
    pub tenant: Option<Arc<str>>,
    /// Which tools it sees; all that its tenant does when left out.
    pub reach: Option<Arc<ToolReach>>,
}

/// Why a rule names no certificates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongPattern {
    /// Nothing to compare with.
    #[error("it needs `subject`, such as \"CN=ci,O=Acme\", or `san`, such as \"spiffe://acme.example/ci\"")]
    Nothing,
    /// The subject is none.
    #[error(
        "{0:?} is not the subject of certificates; write its parts like \"CN=ci,O=Acme\", * for any characters"
    )]
    Subject(String),
}

impl ClientRule {
    /// A rule for certificates with such a subject and such another name; `*` stands for any characters, within one part of a
    /// subject, and alone for any number of parts.
    pub fn new(subject: Option<String>, san: Option<String>) -> Result<Self, WrongPattern> {
        if let Some(wrong) = subject.iter().find(|subject| !parts(subject).all(is_part)) {
            return Err(WrongPattern::Subject(wrong.clone()));
        }
        if subject.is_none() && san.as_ref().is_none_or(String::is_empty) {
            return Err(WrongPattern::Nothing);
        }
        Ok(Self { subject, san, name: None, role: Role::Call, tenant: None, reach: None })
    }

    /// Whom the certificate stands for, if the rule is about it. The identity is that of the subject, so that it stays the same
    /// when the certificate is renewed.
    pub(super) fn principal(&self, certificate: &Certificate) -> Option<Principal> {
        if let Some(pattern) = &self.subject
            && !fits_subject(pattern, &certificate.subject)
        {
            return None;
        }
        let san = match &self.san {
            Some(pattern) => Some(certificate.names.iter().find(|name| fits(pattern, name))?),
            None => None,
        };
        let id = match (&self.subject, san) {
            (None, Some(san)) => format!("cert:san:{san}"),
            _ => format!("cert:{}", certificate.subject),
        };
        let name = self.name.as_deref().or(san.map(String::as_str));
        Some(Principal::Known(Arc::new(Identity {
            id: id.into(),
            name: name.unwrap_or_else(|| certificate.short_name()).to_owned(),
            tenant: self.tenant.clone(),
            role: self.role,
            groups: Vec::new(),
            scopes: Vec::new(),
            reach: self.reach.clone(),
            ending: Ending::default(),
        })))
    }
}

fn is_part(part: &str) -> bool {
    part == "*" || part.split_once('=').is_some_and(|(kind, _)| !kind.is_empty() && !kind.contains('*'))
}

/// Part by part, so that no part of a subject can pass for several.
fn fits_subject(pattern: &str, subject: &str) -> bool {
    let subject: Vec<&str> = parts(subject).collect();
    let pattern: Vec<&str> = parts(pattern).collect();
    fit_parts(&pattern, &subject)
}

fn fit_parts(pattern: &[&str], subject: &[&str]) -> bool {
    match (pattern.split_first(), subject.split_first()) {
        (None, None) => true,
        (Some((&"*", rest)), _) => (0..=subject.len()).any(|taken| fit_parts(rest, &subject[taken..])),
        (Some((wanted, rest)), Some((part, others))) => fits(wanted, part) && fit_parts(rest, others),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether a whole text fits; letters count as they are written. The first place for each piece is the best one.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn certificate(subject: &str, names: &[&str]) -> Certificate {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Certificate { subject: subject.to_owned(), names, good_until: SystemTime::now() }
    }

    #[test]
    fn a_subject_is_compared_part_by_part() {
        for (pattern, subject, expected) in [
            ("CN=ci,O=Acme", "CN=ci,O=Acme", true),
            ("CN=ci,O=Acme", "CN=CI,O=Acme", false),
            ("CN=ci,O=Acme", "O=Acme,CN=ci", false),
            ("CN=ci,O=Acme", "CN=ci,O=Acme,C=DE", false),
            ("CN=*,O=Acme", "CN=ci-7,O=Acme", true),
            ("CN=*,O=Acme", "CN=ci,O=Evil,O=Acme", false),
            ("CN=*,O=Acme", r"CN=ci\,O=Acme", false),
            ("CN=ci-*-x,O=Acme", "CN=ci-1-2-x,O=Acme", true),
            ("CN=ci,*", "CN=ci,O=Acme,C=DE", true),
            ("CN=ci,*", "CN=ci", true),
            ("*,O=Acme", "CN=ci,OU=x,O=Acme", true),
            ("*,O=Acme", "CN=ci,O=Acme2", false),
            ("CN=a*a", "CN=a", false),
        ] {
            assert_eq!(fits_subject(pattern, subject), expected, "{pattern} {subject}");
        }
    }

    #[test]
    fn a_rule_needs_something_to_compare_with() {
        assert_eq!(ClientRule::new(None, None), Err(WrongPattern::Nothing));
        assert_eq!(ClientRule::new(None, Some(String::new())), Err(WrongPattern::Nothing));
        for wrong in ["", "ci", "C*=ci", "CN=ci,", "=x"] {
            let wrong = Some(wrong.to_owned());
            assert!(matches!(ClientRule::new(wrong, None), Err(WrongPattern::Subject(_))));
        }
    }

    #[test]
    fn somebody_is_known_by_the_subject_or_by_the_name_that_the_rule_is_about() {
        let shown = certificate("CN=ci,O=Acme", &["ci.acme.example", "spiffe://acme/ci/7"]);
        let told = |subject: Option<&str>, san: Option<&str>| {
            let rule = ClientRule::new(subject.map(str::to_owned), san.map(str::to_owned)).unwrap();
            match rule.principal(&shown) {
                Some(Principal::Known(identity)) => Some((identity.id.to_string(), identity.name.clone())),
                _ => None,
            }
        };
        let pair = |id: &str, name: &str| Some((id.to_owned(), name.to_owned()));
        assert_eq!(told(Some("CN=*,O=Acme"), None), pair("cert:CN=ci,O=Acme", "ci"));
        assert_eq!(
            told(None, Some("spiffe://acme/*")),
            pair("cert:san:spiffe://acme/ci/7", "spiffe://acme/ci/7")
        );
        assert_eq!(told(Some("CN=ci,*"), Some("spiffe://other/*")), None);
        assert_eq!(told(Some("CN=dev,*"), Some("spiffe://acme/*")), None);
    }
}
