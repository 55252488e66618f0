//! The browser in which somebody signs in, known again by a cookie: what was begun in one is not finished in another, and no page
//! can send a browser into the middle of somebody else's sign-in.

use http::header::{COOKIE, HeaderMap};

use crate::answer::Failure;
use crate::keys::{Keys, hash_of};

/// The cookie where TLS is spoken: no other host, and nobody without TLS, can set one of that name.
const SECURE: &str = "__Host-toolrail-sign-in";
/// The cookie on the machine itself, without TLS.
const PLAIN: &str = "toolrail-sign-in";
/// How many seconds it is kept.
const KEPT: u64 = 3_600;

/// What a browser shows.
pub(crate) struct Browser(String);

impl Browser {
    /// A browser that was not here before.
    pub(crate) fn new(keys: &Keys) -> Result<Self, Failure> {
        Ok(Self(keys.random_text()?))
    }

    /// The browser that sent those headers, if it was here before. One that shows two is not known: one of them may be planted.
    pub(crate) fn of(headers: &HeaderMap, is_secure: bool) -> Option<Self> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut shown = pairs.filter(|(name, _)| *name == name_of(is_secure)).map(|(_, value)| value);
        let (first, second) = (shown.next()?, shown.next());
        let is_ours = first.len() == 32 && first.bytes().all(|byte| byte.is_ascii_graphic());
        (is_ours && second.is_none()).then(|| Self(first.to_owned()))
    }

    /// By what sealed texts know it.
    pub(crate) fn hash(&self) -> String {
        hash_of(&self.0)
    }

    /// What has it show the same again. `Lax`, since the provider sends people back from another site.
    pub(crate) fn cookie(&self, is_secure: bool) -> String {
        let secure = if is_secure { "; Secure" } else { "" };
        format!("{}={}; Path=/; Max-Age={KEPT}; HttpOnly; SameSite=Lax{secure}", name_of(is_secure), self.0)
    }
}

const fn name_of(is_secure: bool) -> &'static str {
    if is_secure { SECURE } else { PLAIN }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_browser_is_known_by_one_cookie_of_ours() {
        let keys = Keys::from_shared(&[1; 32], "https://id").unwrap();
        let browser = Browser::new(&keys).unwrap();
        let cookie = browser.cookie(true);
        assert!(cookie.starts_with("__Host-") && cookie.ends_with("; Secure"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        let known = |shown: String, is_secure| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(&shown).unwrap());
            Browser::of(&headers, is_secure).map(|known| known.hash() == browser.hash())
        };
        assert_eq!(known(format!("a=b; {pair}; c=d"), true), Some(true));
        assert_eq!(known(pair.to_owned(), false), None);
        assert_eq!(known(format!("{pair}; {pair}"), true), None);
        assert_eq!(known(format!("{SECURE}=x"), true), None);
        assert_eq!(known(pair.trim_start_matches("__Host-").to_owned(), true), None);
    }
}
