//! Credentials that are written out in a definition: they work, but everybody who reads the definition reads them.

use toolrail_core::Problems;

/// Headers and parameters that hold credentials, in lower case and without `-` and `_`.
const NAMES: &[&str] = &[
    "authorization",
    "proxyauthorization",
    "xapikey",
    "apikey",
    "xauthtoken",
    "authtoken",
    "xaccesstoken",
    "accesstoken",
    "xtoken",
    "token",
    "apitoken",
    "privatetoken",
    "xauthkey",
    "secret",
    "clientsecret",
    "password",
    "passwd",
    "subscriptionkey",
    "ocpapimsubscriptionkey",
    "xfunctionskey",
    "appkey",
    "sessiontoken",
];

/// How the keys of well-known services begin.
const STARTS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "SG.",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
];

/// Shorter texts are placeholders, or words such as `none`.
const SHORTEST: usize = 6;
const SHORTEST_KEY: usize = 16;

/// Notes that a field of that name holds a credential in plain text, if it looks like one.
pub(super) fn warn(name: &str, text: &str, pointer: &str, problems: &mut Problems) {
    let value = text.trim();
    let value = ["Bearer ", "Basic ", "Token ", "ApiKey "]
        .iter()
        .find_map(|word| {
            let start = value.get(..word.len())?;
            start.eq_ignore_ascii_case(word).then(|| value[word.len()..].trim_start())
        })
        .unwrap_or(value);
    let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_lowercase();
    let by_name = NAMES.contains(&plain.as_str()) && value.len() >= SHORTEST;
    let by_value = value.len() >= SHORTEST_KEY && STARTS.iter().any(|start| value.starts_with(start));
    if by_name || by_value {
        problems.warning(
            pointer,
            "looks like a credential that is written out; keep it in a secret and write {{secrets.KEY}}",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_credential_is_told_and_nothing_else() {
        let cases = [
            ("Authorization", "Bearer abcdef123456", true),
            ("X-API-Key", "0123456789", true),
            ("api_key", "0123456789", true),
            ("X-Team", "sk-abcdefghijklmnop1234", true),
            ("q", "eyJhbGciOiJIUzI1NiJ9.e30.x", true),
            ("Authorization", "none", false),
            ("X-Team", "blue-and-rather-long-name", false),
            ("Accept", "application/json", false),
            ("token", "", false),
        ];
        for (name, text, told) in cases {
            let mut problems = Problems::default();
            warn(name, text, "/h", &mut problems);
            assert_eq!(problems.into_list(None, str::to_owned).len(), usize::from(told), "{name}: {text}");
        }
    }
}
