//! The address of a resource: one URI, or a template (RFC 6570) that stands for many. Finding the template of a URI is the
//! registry's business.

use toolrail_core::Problems;

use super::settings::ResourceSettings;
use crate::offered::is_absolute;

const URI: &str = "/resource/uri";
const TEMPLATE: &str = "/resource/uriTemplate";
/// The longest address.
const LONGEST: usize = 2_048;

/// A checked address.
#[derive(Debug)]
pub(super) enum Address {
    /// One resource.
    Uri(String),
    /// Many, with the names of the variables.
    Template(String, Vec<String>),
}

impl Address {
    /// Checks what the block says; nothing if it says none, or a fault was noted.
    pub(super) fn compile(settings: &ResourceSettings, problems: &mut Problems) -> Option<Self> {
        let (written, pointer) = match (&settings.uri, &settings.uri_template) {
            (Some(uri), None) => (uri, URI),
            (None, Some(template)) => (template, TEMPLATE),
            _ => return None,
        };
        let address = if written.len() > LONGEST {
            Err(format!("has {} bytes; at most {LONGEST} are supported, so shorten it", written.len()))
        } else if pointer == URI {
            uri(written)
        } else {
            variables(written).map(|variables| Self::Template(written.clone(), variables))
        };
        address.map_err(|fault| problems.error(pointer, format!("{written:?} {fault}"))).ok()
    }

    /// The variables.
    pub(super) fn variables(&self) -> &[String] {
        match self {
            Self::Uri(_) => &[],
            Self::Template(_, variables) => variables,
        }
    }
}

fn uri(written: &str) -> Result<Address, String> {
    if written.contains(['{', '}']) {
        return Err("has braces; an address with variables goes into \"uriTemplate\"".into());
    }
    is_absolute(written).map(|()| Address::Uri(written.to_owned()))
}

/// The variables of a template, or why it is none.
fn variables(template: &str) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    // What the template is without its variables: those are one letter each, so that the rest can be checked as a URI.
    let mut plain = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, behind)) = after.split_once('}') else {
            return Err("has a \"{\" that is never closed; add \"}\"".into());
        };
        for name in names_in(inside)? {
            if names.iter().any(|known| known == name) {
                return Err(format!("has the variable {name:?} twice; give each its own name"));
            }
            names.push(name.to_owned());
        }
        plain.extend([before, "x"]);
        rest = behind;
    }
    plain.push_str(rest);
    if plain.contains('}') {
        return Err("has a \"}\" without \"{\"; remove it".into());
    }
    if names.is_empty() {
        return Err("has no variable such as {page}; write it as \"uri\", or add one".into());
    }
    if template.find('{') < template.find(':') {
        return Err(
            "has a variable in its scheme; begin with one that is written out, such as docs://".into()
        );
    }
    is_absolute(&plain)?;
    Ok(names)
}

/// The names in one pair of braces, without operator and modifiers.
fn names_in(inside: &str) -> Result<Vec<&str>, String> {
    let list = inside.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(inside);
    let name = |part: &'_ str| {
        let name = part.strip_suffix('*').unwrap_or(part);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
    };
    if !list.split(',').all(name) {
        return Err(format!(
            "has {{{inside}}}, which names no variable; use letters, digits, _ and ., as in {{page}}"
        ));
    }
    Ok(list.split(',').map(|part| part.strip_suffix('*').unwrap_or(part)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_template_are_found_whatever_their_operator() {
        let cases: &[(&str, &[&str])] = &[
            ("docs://pages/{page}", &["page"]),
            ("docs://{a}/{b.c}/x", &["a", "b.c"]),
            ("docs://x{/path*}{?q,lang}{&more}{#part}", &["path", "q", "lang", "more", "part"]),
            ("file:{+path}", &["path"]),
            ("urn:x:{;id}{.format}", &["id", "format"]),
        ];
        for (template, expected) in cases {
            assert_eq!(variables(template).unwrap(), *expected, "{template}");
        }
    }

    #[test]
    fn a_text_that_is_no_template_is_refused_in_words() {
        let cases = [
            ("docs://pages", "has no variable"),
            ("docs://pages/{page", "never closed"),
            ("docs://pages/page}", "without \"{\""),
            ("docs://{}", "names no variable"),
            ("docs://{a b}", "names no variable"),
            ("docs://{a,}", "names no variable"),
            ("docs://{{page}}", "names no variable"),
            ("docs://{args-page}", "names no variable"),
            ("docs://{a}/{a}", "twice"),
            ("{scheme}://x", "in its scheme"),
            ("pages/{page}", "has no scheme"),
            ("docs://a b/{page}", "percent-encode"),
        ];
        for (template, words) in cases {
            let fault = variables(template).unwrap_err();
            assert!(fault.contains(words), "{template}: {fault}");
        }
    }
}
