//! Where a request goes: scheme, host and port, fixed by the author or taken from a variable or a secret, never from an argument (a
//! caller who could choose the host would reach everything that this machine reaches).

use std::fmt;

use http::Uri;
use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use serde_json::Map;
use toolrail_core::{CallError, ErrorCode, Secret};
use url::Url;

use crate::outbound::is_link_local_host;
use crate::template::{Braces, Compiler, Piece, Place, Rendering, Template, scan};

/// The start of a URL, compiled.
pub(crate) enum Base {
    /// Written by the author.
    Fixed(BaseOrigin),
    /// With secrets in it, and what they make of it if they have values.
    Secret(Template, Option<BaseOrigin>),
}

/// Scheme, host and port, and what every path starts with.
#[derive(Clone, Debug)]
pub(crate) struct BaseOrigin {
    scheme: Scheme,
    authority: Authority,
    /// What every path starts with; a slash at least.
    prefix: String,
}

/// A base together with a path and query that may already be known.
#[derive(Debug)]
pub(crate) struct Target {
    base: Base,
    fixed: Option<Uri>,
}

/// A URL template taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitUrl<'u> {
    /// Up to the path.
    pub(crate) base: Vec<Piece<'u>>,
    /// Up to the `?`.
    pub(crate) path: Vec<Piece<'u>>,
    /// After the `?`.
    pub(crate) query: Vec<Piece<'u>>,
    /// Whether a `#` follows.
    pub(crate) fragment: bool,
}

impl Base {
    /// Compiles scheme, host and port, with the start of the path if there is any; notes what is wrong with them, quoting
    /// the URL as it was `written`.
    pub(crate) fn compile(
        pieces: &[Piece<'_>],
        written: &str,
        pointer: &str,
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let (before, secrets_before) = (compiler.arguments.len(), compiler.named_secrets.len());
        let template = compiler.pieces(pieces, pointer, Place::Base)?;
        if template.expressions().any(crate::template::Expression::names_arguments) {
            compiler.arguments.truncate(before);
            compiler.problems.error(
                pointer,
                "an argument must not choose the scheme, host or port; write them out or take them from {{vars.NAME}}",
            );
            return None;
        }
        for named in compiler.named_secrets.iter_mut().skip(secrets_before) {
            named.is_address = true;
        }
        let Some(text) = template.literal() else {
            if template.names_secret() {
                compiler.problems.warning(
                    pointer,
                    "the address is a secret, so it is masked wherever an answer has it; unless it must stay hidden, make it a variable: {{vars.NAME}}",
                );
            }
            let origin = secret_origin(&template, compiler);
            return Some(Self::Secret(template, origin));
        };
        match BaseOrigin::parse(text) {
            Ok(origin) => {
                let host = origin.authority.host();
                if is_link_local_host(host) {
                    compiler.problems.warning(
                        pointer,
                        format!("{host} is link-local: clouds give the credentials of this machine there to whoever asks; name another address unless callers may have them"),
                    );
                }
                Some(Self::Fixed(origin))
            }
            Err(fault) => {
                compiler.problems.error(pointer, format!("{:?} {fault}", quotable(text, written)));
                None
            }
        }
    }

    /// Compiles a base URL that stands alone.
    pub(crate) fn compile_text(text: &str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<Self> {
        match scan(text, Braces::Double) {
            Ok(pieces) => Self::compile(&pieces, text, pointer, compiler),
            Err(fault) => {
                compiler.problems.error(pointer, fault);
                None
            }
        }
    }

    /// What is wrong with a base URL, as far as can be said without variables and secrets.
    pub(crate) fn fault(text: &str) -> Option<String> {
        let is_plain = !text.is_empty() && !text.contains("{{") && !text.contains("${");
        let fault = is_plain.then(|| BaseOrigin::parse(text).err()).flatten()?;
        Some(format!("{:?} {fault}", quotable(text, text)))
    }

    /// The host and port it leads to, as far as they are known.
    pub(crate) fn destination(&self) -> Option<(&str, u16)> {
        match self {
            Self::Fixed(origin) | Self::Secret(_, Some(origin)) => Some(origin.destination()),
            Self::Secret(_, None) => None,
        }
    }

    /// The same for people; nothing if it is secret.
    pub(crate) fn host_shown(&self) -> Option<String> {
        match self {
            Self::Fixed(origin) => Some(origin.authority.to_string()),
            Self::Secret(..) => None,
        }
    }

    fn join(&self, rest: &str, rendering: &mut Rendering<'_>) -> Result<Uri, CallError> {
        match self {
            Self::Fixed(origin) | Self::Secret(_, Some(origin)) => origin.uri(rest),
            Self::Secret(template, None) => {
                let mut text = String::new();
                template.write(rendering, &mut text)?;
                let origin = BaseOrigin::parse(&text).map_err(|fault| {
                    let words =
                        format!("the URL at {} {}", template.pointer(), with_secrets(template, &fault));
                    CallError::new(ErrorCode::InvalidDefinition, words).about_definition()
                })?;
                origin.uri(rest)
            }
        }
    }
}

impl Target {
    /// A target; `rest` is path and query if they are known.
    pub(crate) fn new(base: Base, rest: Option<&str>) -> Self {
        let fixed = match (&base, rest) {
            (Base::Fixed(origin) | Base::Secret(_, Some(origin)), Some(rest)) => origin.uri(rest).ok(),
            _ => None,
        };
        Self { base, fixed }
    }

    /// The whole address; `rest` is path and query.
    pub(crate) fn uri(&self, rest: &str, rendering: &mut Rendering<'_>) -> Result<Uri, CallError> {
        match &self.fixed {
            Some(uri) => Ok(uri.clone()),
            None => self.base.join(rest, rendering),
        }
    }

    /// The whole address for a preview.
    pub(crate) fn shown(&self, rest: &str, rendering: &mut Rendering<'_>) -> Result<String, CallError> {
        match &self.base {
            Base::Fixed(origin) => Ok(join(&origin.text(), rest)),
            Base::Secret(template, _) => {
                let mut text = String::new();
                template.write(rendering, &mut text)?;
                Ok(join(&text, rest))
            }
        }
    }

    /// Scheme, host and port for messages; nothing if they are secret.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.base {
            Base::Fixed(origin) => Some(origin.text().trim_end_matches('/').to_owned()),
            Base::Secret(..) => None,
        }
    }
}

impl BaseOrigin {
    /// Reads scheme, host, port and prefix; a fault comes back in words that do not repeat the text, which may be secret.
    fn parse(text: &str) -> Result<Self, String> {
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        if !lower.starts_with("http://") && !lower.starts_with("https://") {
            return Err(if text.contains("://") {
                "has a scheme that is not supported; use http:// or https://".into()
            } else if let Some(name) = shell_variable(text) {
                format!("has no scheme; write https://… out, or keep it in a variable: {{{{vars.{name}}}}}")
            } else {
                "has no scheme; start it with https:// or http://".to_owned()
            });
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err("has a character that a URL cannot have; remove it".into());
        }
        if text.matches("://").count() > 1 {
            return Err("has two schemes; keep one of them".into());
        }
        if text.contains(":///") {
            return Err("has no host; write one after the scheme".into());
        }
        let url = Url::parse(text).map_err(|error| format!("is not a valid URL ({error}); correct it"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user name or password; put them into auth".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query or a fragment; put parameters into query".into());
        }
        let host = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let authority = Authority::try_from(authority.as_str())
            .map_err(|_| "has a host that is not valid; correct it".to_owned())?;
        let scheme = if url.scheme() == "https" { Scheme::HTTPS } else { Scheme::HTTP };
        Ok(Self { scheme, authority, prefix: url.path().to_owned() })
    }

    fn uri(&self, rest: &str) -> Result<Uri, CallError> {
        let path = join(&self.prefix, rest);
        let unusable = || {
            CallError::new(
                ErrorCode::InvalidArguments,
                "the arguments make a URL that is too long or not valid; shorten them",
            )
        };
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query =
            Some(PathAndQuery::from_maybe_shared(bytes::Bytes::from(path)).map_err(|_| unusable())?);
        Uri::from_parts(parts).map_err(|_| unusable())
    }

    fn destination(&self) -> (&str, u16) {
        let implied = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        (self.authority.host(), self.authority.port_u16().unwrap_or(implied))
    }

    fn text(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(origin) => formatter.debug_tuple("Fixed").field(origin).finish(),
            Self::Secret(template, _) => formatter.debug_tuple("Secret").field(template).finish(),
        }
    }
}

/// Reads the origin once, if the secrets in it have values, and has its host masked like them.
fn secret_origin(template: &Template, compiler: &mut Compiler<'_>) -> Option<BaseOrigin> {
    let arguments = Map::new();
    let mut text = String::new();
    template.write(&mut Rendering::to_send(&arguments, compiler.secrets), &mut text).ok()?;
    match BaseOrigin::parse(&text) {
        Ok(origin) => {
            compiler.derived_secrets.push(Secret::new(origin.authority.as_str()));
            Some(origin)
        }
        Err(fault) => {
            compiler.problems.warning(
                template.pointer(),
                format!("calls fail: the URL {}", with_secrets(template, &fault)),
            );
            None
        }
    }
}

/// The name in `${NAME}/…`, which other systems fill in from the environment.
fn shell_variable(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let fits = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    fits.then_some(name)
}

/// What a message repeats of a URL: its start, or where that says too little, all before the query, which may hold a key.
fn quotable(base: &str, written: &str) -> String {
    if base.contains("://") {
        return without_credentials(base);
    }
    written.split('?').next().unwrap_or_default().to_owned()
}

/// A URL as it may be shown: a password that somebody wrote into it is not repeated.
fn without_credentials(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://***{}", &text[..scheme], &text[at..]),
        _ => text.to_owned(),
    }
}

fn with_secrets(template: &Template, fault: &str) -> String {
    let names: Vec<_> = template.expressions().map(crate::template::Expression::label).collect();
    format!("with {} {fault}", names.join(" and "))
}

/// Puts a prefix before path and query, with one slash where they meet.
fn join(prefix: &str, rest: &str) -> String {
    let prefix = if rest.starts_with('/') { prefix.trim_end_matches('/') } else { prefix };
    let mut path = String::with_capacity(prefix.len() + rest.len());
    path.push_str(prefix);
    path.push_str(rest);
    path
}

/// Finds where base, path and query of a URL template meet.
pub(crate) fn split_url<'u>(pieces: &[Piece<'u>]) -> SplitUrl<'u> {
    split_from(Stage::Base, pieces)
}

/// The same for a text that starts with the path.
pub(crate) fn split_path<'u>(pieces: &[Piece<'u>]) -> SplitUrl<'u> {
    split_from(Stage::Path, pieces)
}

fn split_from<'u>(mut stage: Stage, pieces: &[Piece<'u>]) -> SplitUrl<'u> {
    let mut split = SplitUrl::default();
    for piece in pieces {
        let Piece::Literal(mut text) = *piece else {
            split.push(stage, *piece);
            continue;
        };
        while let Some((part, next, rest)) = stage.cut(text) {
            split.push(stage, Piece::Literal(part));
            (stage, text) = (next, rest);
        }
        split.push(stage, Piece::Literal(text));
    }
    split
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Base,
    Path,
    Query,
    Fragment,
}

impl Stage {
    /// The part of `text` that belongs to this stage, the next stage and what is left for it, if this one ends here.
    fn cut(self, text: &str) -> Option<(&str, Stage, &str)> {
        let (end, keep) = match self {
            Self::Base => (end_of_base(text)?, 0),
            Self::Path => (text.find(['?', '#'])?, 1),
            Self::Query => (text.find('#')?, 1),
            Self::Fragment => return None,
        };
        let next = match (self, &text[end..=end]) {
            (_, "#") => Self::Fragment,
            (Self::Path, "?") => Self::Query,
            _ => Self::Path,
        };
        Some((&text[..end], next, &text[end + keep..]))
    }
}

/// The first `/`, `?` or `#` that is not a part of `://`.
fn end_of_base(text: &str) -> Option<usize> {
    let ends = ['/', '?', '#'];
    let first = text.find(ends)?;
    if text[..first].ends_with(':') && text[first..].starts_with("//") {
        let host = first + 2;
        return text[host..].find(ends).map(|end| host + end);
    }
    Some(first)
}

impl<'u> SplitUrl<'u> {
    fn push(&mut self, stage: Stage, piece: Piece<'u>) {
        if matches!(piece, Piece::Literal("")) {
            self.fragment |= stage == Stage::Fragment;
            return;
        }
        match stage {
            Stage::Base => self.base.push(piece),
            Stage::Path => self.path.push(piece),
            Stage::Query => self.query.push(piece),
            Stage::Fragment => self.fragment = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: &[Piece<'_>]) -> String {
        pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => (*text).to_owned(),
                Piece::Expression(source) => format!("<{source}>"),
                Piece::Argument(name) => format!("<{name}>"),
            })
            .collect()
    }

    #[test]
    fn a_url_is_taken_apart_where_its_parts_meet() {
        let cases = [
            ("http://h:1/a/b?x=1", "http://h:1", "/a/b", "x=1"),
            ("https://h", "https://h", "", ""),
            ("https://h?q={{args.q}}", "https://h", "", "q=<args.q>"),
            ("http://h/{{args.id}}/x?y={{args.y}}&z", "http://h", "/<args.id>/x", "y=<args.y>&z"),
            ("{{secrets.BASE}}/a", "<secrets.BASE>", "/a", ""),
            ("{{secrets.BASE}}", "<secrets.BASE>", "", ""),
            ("http://{{secrets.HOST}}:80/a", "http://<secrets.HOST>:80", "/a", ""),
            ("{{secrets.S}}://h/a", "<secrets.S>://h", "/a", ""),
            ("http://{{args.host}}/a", "http://<args.host>", "/a", ""),
            ("http://h/redirect?to=http://x/y", "http://h", "/redirect", "to=http://x/y"),
            ("{{secrets.B}}/p/http://x", "<secrets.B>", "/p/http://x", ""),
            ("/relative", "", "/relative", ""),
            ("é/x", "é", "/x", ""),
        ];
        for (url, base, path, query) in cases {
            let pieces = scan(url, Braces::Double).unwrap();
            let split = split_url(&pieces);
            assert_eq!(
                (texts(&split.base).as_str(), texts(&split.path).as_str(), texts(&split.query).as_str()),
                (base, path, query),
                "{url}"
            );
            assert!(!split.fragment);
        }
        assert!(split_url(&scan("http://h/a#b", Braces::Double).unwrap()).fragment);
        assert!(split_url(&scan("http://h/a?b#", Braces::Double).unwrap()).fragment);
    }

    #[test]
    fn base_and_path_meet_in_one_slash() {
        let cases = [
            ("http://h", "/a", "/a"),
            ("http://h/", "/a?b", "/a?b"),
            ("http://h/api/", "/a", "/api/a"),
            ("http://h/api", "/", "/api/"),
            ("http://h/api", "", "/api"),
            ("http://h/api/", "?x=1", "/api/?x=1"),
            ("http://h", "?x=1", "/?x=1"),
            ("http://h", "", "/"),
        ];
        for (base, rest, expected) in cases {
            let uri = BaseOrigin::parse(base).unwrap().uri(rest).unwrap();
            assert_eq!(uri.path_and_query().unwrap().as_str(), expected, "{base} + {rest}");
        }
    }

    #[test]
    fn an_origin_is_read_strictly() {
        let good = [
            ("http://localhost:8080", "http://localhost:8080/"),
            ("HTTPS://API.example.com:443/v1/", "https://api.example.com/v1/"),
            ("http://[::1]:9", "http://[::1]:9/"),
            ("https://例え.jp", "https://xn--r8jz45g.jp/"),
        ];
        for (text, expected) in good {
            assert_eq!(BaseOrigin::parse(text).unwrap().text(), expected);
        }
        let bad = [
            ("localhost:8080", "no scheme"),
            ("", "no scheme"),
            ("ftp://h", "not supported"),
            ("file:///etc/passwd", "not supported"),
            ("http://", "not a valid URL"),
            ("http:///x", "no host"),
            ("http://h:99999", "not a valid URL"),
            ("http://u:p@h", "auth"),
            ("http://h\\@evil", "character"),
            ("http://h x", "character"),
            ("http://h?x=1", "query"),
        ];
        for (text, words) in bad {
            let fault = BaseOrigin::parse(text).unwrap_err();
            assert!(fault.contains(words), "{text}: {fault}");
        }
    }
}
