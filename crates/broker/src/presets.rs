//! What is known of identity providers: where each is found, what it is asked for, and in which ways it differs. One row each.

use serde::Deserialize;

/// Whose accounts people sign in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Keycloak, or Red Hat's build of it.
    Keycloak,
    /// Microsoft Entra ID.
    Entra,
    /// Okta.
    Okta,
    /// Google, Workspace included.
    Google,
    /// Auth0.
    Auth0,
    /// Anybody else who speaks OpenID Connect.
    Oidc,
}

/// One row.
pub(crate) struct Preset {
    pub(crate) kind: ProviderKind,
    /// Its issuer; what stands in braces is a setting.
    pub(crate) issuer: &'static str,
    /// What is asked for.
    pub(crate) scopes: &'static [&'static str],
    /// What else stands in the request that sends somebody there.
    pub(crate) asks: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// The one for that provider.
    pub(crate) fn of(kind: ProviderKind) -> &'static Self {
        // Every kind has a row; a test sees to it.
        PRESETS.iter().find(|preset| preset.kind == kind).unwrap_or(&PRESETS[0])
    }

    /// The settings that its issuer is made from.
    pub(crate) fn parts(&self) -> Vec<&'static str> {
        self.issuer.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
    }
}

/// The first is that of a provider of which nothing is known.
const PRESETS: &[Preset] = &[
    Preset {
        kind: ProviderKind::Oidc,
        issuer: "{issuer}",
        scopes: &["openid", "profile", "email"],
        asks: &[],
    },
    // A refresh token comes without `offline_access`, and ends with the session there.
    Preset {
        kind: ProviderKind::Keycloak,
        issuer: "{url}/realms/{realm}",
        scopes: &["openid", "profile", "email"],
        asks: &[],
    },
    Preset {
        kind: ProviderKind::Entra,
        issuer: "https://login.microsoftonline.com/{tenant}/v2.0",
        scopes: &["openid", "profile", "email", "offline_access"],
        asks: &[],
    },
    Preset {
        kind: ProviderKind::Okta,
        issuer: "https://{domain}",
        scopes: &["openid", "profile", "email", "groups", "offline_access"],
        asks: &[],
    },
    // Knows no `offline_access`, and gives a refresh token only to whoever agrees anew.
    Preset {
        kind: ProviderKind::Google,
        issuer: "https://accounts.google.com",
        scopes: &["openid", "profile", "email"],
        asks: &[("access_type", "offline"), ("prompt", "consent")],
    },
    // Its issuer ends with a slash.
    Preset {
        kind: ProviderKind::Auth0,
        issuer: "https://{domain}/",
        scopes: &["openid", "profile", "email", "offline_access"],
        asks: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_a_row() {
        for (word, parts) in [
            ("oidc", vec!["issuer"]),
            ("keycloak", vec!["url", "realm"]),
            ("entra", vec!["tenant"]),
            ("okta", vec!["domain"]),
            ("google", vec![]),
            ("auth0", vec!["domain"]),
        ] {
            let kind: ProviderKind = serde_json::from_value(word.into()).unwrap();
            let preset = Preset::of(kind);
            assert_eq!((preset.kind, preset.parts()), (kind, parts), "{word}");
            assert!(preset.scopes.contains(&"openid"), "{word}");
        }
    }
}
