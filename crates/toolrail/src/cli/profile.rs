//! Which server a command talks to: the one that `--url` says, or a profile, or else the environment. A profile is a server by
//! name, in a file of the user's: `profiles: {staging: {url: https://tools.staging.example, tenant: acme}}`.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::remote::without_user;
use super::target::TargetArgs;
use super::{Hinted, shell_word};

const URL: &str = "TOOLRAIL_URL";
const PROFILE: &str = "TOOLRAIL_PROFILE";

/// A server, and the flags that name it.
pub(super) struct NamedServer {
    pub(super) url: String,
    pub(super) tenant: Option<String>,
    pub(super) flags: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profiles {
    /// Each is read only when it is used, so that one that is not right spoils no other.
    profiles: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    /// Where the server is.
    url: String,
    /// On whose behalf it is used, unless `--tenant` says.
    tenant: Option<String>,
}

/// The server that flags or the environment name, if any.
pub(super) fn server(args: &TargetArgs) -> anyhow::Result<Option<NamedServer>> {
    if let Some(url) = &args.url {
        return Ok(Some(by_url(url)));
    }
    if let Some(name) = &args.profile {
        return by_profile(name).map(Some);
    }
    if names_store(args) {
        return Ok(None);
    }
    if let Some(url) = variable(URL) {
        return Ok(Some(by_url(&url)));
    }
    variable(PROFILE).map(|name| by_profile(&name)).transpose()
}

/// Whether a flag names a folder or a store, which counts for more than the environment; what their own variables say does not.
fn names_store(args: &TargetArgs) -> bool {
    let data = args.data.as_deref().map(Path::as_os_str);
    let differs =
        |flag: Option<&std::ffi::OsStr>, name: &str| flag.is_some() && flag != env::var_os(name).as_deref();
    differs(data, "TOOLRAIL_DATA")
        || differs(args.store.store.as_deref().map(AsRef::as_ref), "TOOLRAIL_STORE")
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn by_url(url: &str) -> NamedServer {
    let flags = format!(" --url {}", shell_word(&without_user(url)));
    NamedServer { url: url.to_owned(), tenant: None, flags }
}

fn by_profile(name: &str) -> anyhow::Result<NamedServer> {
    let file = file().context("there is no home folder to look for profiles in; use --url")?;
    let example = format!("profiles:\n  {name}:\n    url: http://127.0.0.1:8080");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Hinted::error(
            format!("the profile {name:?} cannot be looked up: {} cannot be read: {error}", file.display()),
            format!("write it like this, or use --url:\n{example}"),
        )
    })?;
    let Profiles { mut profiles } = serde_saphyr::from_str(&text).map_err(|error| {
        // The parser goes on with a picture of the place.
        let fault = error.to_string();
        let fault = fault.lines().next().unwrap_or_default().to_owned();
        Hinted::error(
            format!("{} is not a file of profiles: {fault}", file.display()),
            format!("write it like this, or use --url:\n{example}"),
        )
    })?;
    let Some(profile) = profiles.remove(name) else {
        let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
        return Err(Hinted::error(
            format!("there is no profile {name:?} in {}", file.display()),
            format!("known are: {}", known.join(", ")),
        ));
    };
    let Profile { url, tenant } = serde_json::from_value(profile).map_err(|error| {
        Hinted::error(
            format!("the profile {name:?} in {} is not right: {error}", file.display()),
            format!("write it like this:\n{example}"),
        )
    })?;
    Ok(NamedServer { url, tenant, flags: format!(" --profile {}", shell_word(name)) })
}

/// Where profiles stand.
fn file() -> Option<PathBuf> {
    let folder = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")))?;
    Some(folder.join("toolrail").join("profiles.yaml"))
}
