//! Which store: `postgres://…`, `mysql://…`, `sqlite:FILE`, `json:FILE`, `memory:`. Never shown with its password.

use std::fmt;
use std::path::PathBuf;

use url::Url;

/// Which store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A readable JSON file.
    Json(PathBuf),
    /// Nothing that outlives the process.
    Memory,
    /// A PostgreSQL server.
    Postgres(Url),
    /// A MySQL or MariaDB server.
    Mysql(Url),
}

/// Why a text names no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; write postgres://user:password@host:5432/database, mysql://user:password@host:3306/database, sqlite:FILE, json:FILE or memory:"
)]
pub struct WrongUrl(String);

impl std::str::FromStr for StoreUrl {
    type Err = WrongUrl;

    fn from_str(text: &str) -> Result<Self, WrongUrl> {
        // The text itself is never repeated: it may hold a password.
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(WrongUrl("a store is named by a URL, which begins with its kind and a colon".into()));
        };
        let url = || server(text);
        match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => Ok(Self::Postgres(url()?)),
            "mysql" | "mariadb" => Ok(Self::Mysql(url()?)),
            "memory" => match rest.trim_start_matches('/') {
                "" => Ok(Self::Memory),
                _ => Err(WrongUrl("memory: has nothing behind it".into())),
            },
            "sqlite" => file(rest),
            "json" => match rest.strip_prefix("//").unwrap_or(rest) {
                "" => Err(WrongUrl("json: needs a file".into())),
                file => Ok(Self::Json(file.into())),
            },
            other => Err(WrongUrl(format!("there is no kind of store {other:?}"))),
        }
    }
}

fn server(text: &str) -> Result<Url, WrongUrl> {
    let url =
        Url::parse(text).map_err(|error| WrongUrl(format!("the URL of the store is wrong: {error}")))?;
    // Without it, what was meant as a password could be taken for something else, and shown.
    if !url.has_authority() {
        return Err(WrongUrl("the URL of the store has no \"//\" behind its kind".into()));
    }
    Ok(url)
}

fn file(rest: &str) -> Result<StoreUrl, WrongUrl> {
    match rest.strip_prefix("//").unwrap_or(rest) {
        "" => Err(WrongUrl("sqlite: needs a file".into())),
        ":memory:" => Ok(StoreUrl::Memory),
        // Others take options there, which would become part of the file's name.
        file if file.rsplit_once('?').is_some_and(|(_, options)| options.contains('=')) => {
            Err(WrongUrl("sqlite: takes no options behind the file; leave out what begins with \"?\"".into()))
        }
        file => Ok(StoreUrl::Sqlite(file.into())),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => write!(formatter, "sqlite {}", file.display()),
            Self::Json(file) => write!(formatter, "json {}", file.display()),
            Self::Memory => formatter.write_str("memory"),
            Self::Postgres(url) | Self::Mysql(url) => formatter.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Kind, host, port and database: no user, no password, no options.
pub(crate) fn without_password(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_no_password_is_shown() {
        let shown = |text: &str| {
            let url = text.parse::<StoreUrl>();
            url.map_or_else(|error| error.to_string(), |url| format!("{url} {url:?}"))
        };
        assert_eq!(shown("sqlite:a/b.db"), "sqlite a/b.db sqlite a/b.db");
        assert_eq!(shown("sqlite:///var/t.db"), "sqlite /var/t.db sqlite /var/t.db");
        for text in ["memory:", "memory://", "sqlite::memory:", "sqlite://:memory:", "MEMORY:"] {
            assert_eq!(shown(text), "memory memory", "{text}");
        }
        assert!(shown("sqlite:t.db?mode=rwc").contains("no options"));
        assert!(shown("memory:t.db").contains("nothing behind it"));
        assert!(shown("sqlite:").contains("needs a file"));
        assert_eq!(shown("json:a/tools.json"), "json a/tools.json json a/tools.json");
        assert!(shown("json:").contains("needs a file"));
        for text in [
            "mysql://vanna:vanpass@127.0.0.1:3307/tools",
            "mariadb://vanna:vanpass@h/t?ssl-mode=disabled",
            "postgresql://u:vanpass@h:5432/t",
            "postgres:vanpass",
            "postgres:/vanpass",
            "mysql:u:vanpass@h",
            "sqlite+vanpass",
            "vanpass",
            "oracle://u:vanpass@h/t",
        ] {
            assert!(!shown(text).contains("vanpass"), "{}", shown(text));
        }
        assert!(shown("oracle:x").contains("no kind of store \"oracle\""));
    }
}
