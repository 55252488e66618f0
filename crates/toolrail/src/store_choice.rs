//! Which store the definitions are kept in, and opening it: the one that was named, or SQLite in the data folder.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use toolrail_core::{Store, StoreError};
use toolrail_registry::{LateStore, OpenStore};
use toolrail_store::StoreUrl;
use url::Url;

use crate::config::Settings;
use crate::spare::Spare;

/// The password of a store whose URL has none.
const PASSWORD: &str = "TOOLRAIL_STORE_PASSWORD";

/// Opens the store, creating and migrating it as needed.
pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let Some(url) = &settings.store else {
        let folder = &settings.data;
        let opened = toolrail_store::open_sqlite(folder).await;
        return Ok(Arc::new(opened.map_err(|error| {
            let cause = cause(&error);
            anyhow::anyhow!(
                "the data folder {} cannot be used: {cause}; name another with --data",
                folder.display()
            )
        })?));
    };
    look_at_folder(url)?;
    let url = with_password(url.clone(), settings.store_password_file.as_deref())?;
    toolrail_store::open(&url).await.map_err(|error| cannot_open(&url, &error))
}

/// A file is created where there is none, its folder is not: more likely the path is mistyped, and an empty store would be
/// served in place of the one that was meant.
fn look_at_folder(url: &StoreUrl) -> anyhow::Result<()> {
    let (StoreUrl::Sqlite(file) | StoreUrl::Json(file)) = url else {
        return Ok(());
    };
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(anyhow::anyhow!(
            "the store {url} cannot be opened: there is no folder {}; create it, or correct --store",
            folder.display()
        )),
        Some(_) | None => Ok(()),
    }
}

/// The store of a gateway.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    /// Where what is needed is kept for a start without the store, if it is on a server.
    pub(crate) spare: Option<Spare>,
    /// Why it is not open yet.
    pub(crate) missing: Option<anyhow::Error>,
}

/// Opens the store of a gateway. One on a server that is away is opened later, if there is something to serve until then.
pub(crate) async fn open_or_wait(settings: &Settings) -> anyhow::Result<Opened> {
    let Some(url @ (StoreUrl::Postgres(_) | StoreUrl::Mysql(_))) = &settings.store else {
        return Ok(Opened { store: open(settings).await?, spare: None, missing: None });
    };
    let folder = &settings.data;
    std::fs::create_dir_all(folder).with_context(|| {
        format!("the data folder {} cannot be made; name another with --data", folder.display())
    })?;
    let url = with_password(url.clone(), settings.store_password_file.as_deref())?;
    let name = url.to_string();
    let spare = Spare::in_folder(folder, &name);
    let store = LateStore::new(&name, opener(url.clone()));
    let missing = match store.opened().await {
        Ok(_) => None,
        Err(error @ StoreError::Unavailable { .. }) if spare.is_there() => {
            tracing::warn!(%error, "the store cannot be opened; it is tried again and again");
            Some(cannot_open(&url, &error))
        }
        Err(error) => return Err(cannot_open(&url, &error)),
    };
    Ok(Opened { store: Arc::new(store), spare: Some(spare), missing })
}

fn opener(url: StoreUrl) -> OpenStore {
    Box::new(move || {
        let url = url.clone();
        Box::pin(async move { toolrail_store::open(&url).await })
    })
}

/// The cause first, then what to do about it, naming the store once.
fn cannot_open(url: &StoreUrl, error: &StoreError) -> anyhow::Error {
    match error {
        StoreError::Unavailable { .. } => anyhow::anyhow!(
            "the store {url} cannot be opened: {}; see that it runs, that the user may use it, and that --store is right",
            cause(error)
        ),
        // Says itself what to do.
        other => anyhow::anyhow!("{other}"),
    }
}

/// Why, without the name of the store.
fn cause(error: &StoreError) -> String {
    match error {
        StoreError::Unavailable { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The same URL with the password from the environment or the file, if it has none itself.
fn with_password(url: StoreUrl, file: Option<&Path>) -> anyhow::Result<StoreUrl> {
    Ok(match url {
        StoreUrl::Postgres(url) => StoreUrl::Postgres(filled(url, file)?),
        StoreUrl::Mysql(url) => StoreUrl::Mysql(filled(url, file)?),
        StoreUrl::Sqlite(_) | StoreUrl::Json(_) | StoreUrl::Memory => url,
    })
}

fn filled(mut url: Url, file: Option<&Path>) -> anyhow::Result<Url> {
    if url.password().is_some() {
        return Ok(url);
    }
    let password = match (std::env::var(PASSWORD), file) {
        (Ok(password), _) => Some(password),
        (Err(_), Some(file)) => {
            let text = std::fs::read_to_string(file);
            Some(text.with_context(|| format!("the password file {} cannot be read", file.display()))?)
        }
        (Err(_), None) => None,
    };
    if let Some(password) = password {
        // Editors end a file with a line break, which no password has.
        let password = password.trim_end_matches(['\r', '\n']);
        url.set_password(Some(password)).map_err(|()| {
            anyhow::anyhow!("the URL of the store names no host that a password could be for")
        })?;
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_opened_is_named_once_with_the_advice_last() {
        let url: StoreUrl = "postgres://u:hidden@h/db".parse().unwrap();
        let error = StoreError::Unavailable { store: url.to_string(), source: "connection refused".into() };
        let told = cannot_open(&url, &error).to_string();
        assert!(told.contains(" cannot be opened: connection refused; see that it runs"), "{told}");
        assert_eq!(told.matches("postgres://").count(), 1, "{told}");
    }

    #[test]
    fn a_store_in_a_folder_that_is_not_there_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        for kind in ["sqlite", "json"] {
            let look = |path: &str| look_at_folder(&format!("{kind}:{place}/{path}").parse().unwrap());
            let told = look("no/such/x").unwrap_err().to_string();
            assert!(told.contains("no/such; create it, or correct --store"), "{told}");
            assert!(look("x").is_ok());
        }
        assert!(look_at_folder(&"sqlite:x.db".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_password_is_taken_from_its_file_unless_the_url_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "p@ss/word\n").unwrap();
        let password =
            |url: &str| filled(Url::parse(url).unwrap(), Some(&file)).unwrap().password().map(str::to_owned);
        assert_eq!(password("postgres://u@h/db").as_deref(), Some("p%40ss%2Fword"));
        assert_eq!(password("postgres://u:own@h/db").as_deref(), Some("own"));
        let missing = filled(Url::parse("mysql://u@h/db").unwrap(), Some(&folder.path().join("none")));
        assert!(missing.unwrap_err().to_string().contains("cannot be read"));
    }
}
