//! What stands in a query or a form: each name once (RFC 6749, 3.1), and not too much of it.

use std::collections::BTreeMap;

/// The most bytes of a query or a form.
pub(crate) const MOST_BYTES: usize = 32 << 10;
/// The most names.
const MOST_NAMES: usize = 40;

/// The parameters of a request.
#[derive(Debug, Default)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Reads them, or says what is wrong.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("the request has more than {MOST_BYTES} bytes"));
        }
        let mut all = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            if all.len() == MOST_NAMES {
                return Err(format!("the request has more than {MOST_NAMES} parameters"));
            }
            let name: String = name.into_owned();
            if all.contains_key(&name) {
                let name: String = name.chars().take(40).collect();
                return Err(format!("the parameter {name:?} is there more than once"));
            }
            all.insert(name, value.into_owned());
        }
        Ok(Self(all))
    }

    /// One of them; one without a value is not there (RFC 6749, 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Parameters as they are written.
pub(crate) fn written<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_there_twice_is_refused() {
        let read = Parameters::read(b"a=1&b=%20x&c=").unwrap();
        assert_eq!((read.get("a"), read.get("b"), read.get("c")), (Some("1"), Some(" x"), None));
        assert!(Parameters::read(b"a=1&a=1").unwrap_err().contains("more than once"));
        assert!(Parameters::read(&vec![b'a'; MOST_BYTES + 1]).is_err());
    }
}
