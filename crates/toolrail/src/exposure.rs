//! What of a gateway is open, by its configuration: for `toolrail doctor`.

use std::net::SocketAddr;

use toolrail_admin::{Finding, FindingLevel};
use toolrail_core::{Permission, Secrets};
use toolrail_http::Addresses;

use crate::config::{self, Settings};
use crate::identity;

/// What an operator should know of how a gateway runs.
pub(crate) fn findings(settings: &Settings, addresses: &Addresses, asks_for_keys: bool) -> Vec<Finding> {
    let all = [about_keys, about_encryption, about_administration];
    let mut findings: Vec<Finding> =
        all.iter().filter_map(|about| about(settings, addresses, asks_for_keys)).collect();
    findings.extend(about_clients(settings, asks_for_keys));
    findings.extend(about_definitions(settings));
    findings
}

fn reachable(addresses: &Addresses) -> Vec<SocketAddr> {
    let all = [Some(addresses.calls), addresses.administration];
    all.into_iter().flatten().filter(|address| !address.ip().is_loopback()).collect()
}

fn about_keys(_: &Settings, addresses: &Addresses, asks_for_keys: bool) -> Option<Finding> {
    if asks_for_keys {
        return Some(Finding::good("keys", "everybody is asked for a key, a token or a certificate"));
    }
    let Some(address) = reachable(addresses).first().copied() else {
        let message = "no keys are asked for: whoever is on this machine may use and administer the gateway";
        let advice = format!("`{} serve --secure` asks for keys here too", identity::name());
        return Some(Finding::new(FindingLevel::Note, "keys", message, advice));
    };
    let message = format!(
        "no keys are asked for: everybody who can reach {address} may use and administer the gateway"
    );
    Some(Finding::new(FindingLevel::Open, "keys", message, "start it without --insecure-no-auth"))
}

fn about_encryption(settings: &Settings, addresses: &Addresses, _: bool) -> Option<Finding> {
    let address = reachable(addresses).first().copied()?;
    if settings.tls.is_some() {
        return Some(Finding::good("tls", "what others send and get is encrypted (TLS)"));
    }
    let message =
        format!("{address} speaks plain HTTP: whoever is in between reads keys, tokens and answers");
    let advice =
        "give it a certificate (--tls-cert, --tls-key), or let only a reverse proxy that has one reach it";
    Some(Finding::new(FindingLevel::Warning, "tls", message, advice))
}

fn about_administration(_: &Settings, addresses: &Addresses, _: bool) -> Option<Finding> {
    match addresses.administration {
        Some(address) if address.ip().is_loopback() => Some(Finding::good(
            "administration",
            format!("it is administered from this machine only, at {address}"),
        )),
        Some(_) => None,
        None if reachable(addresses).is_empty() => None,
        None => {
            let message = "it is administered at the same address at which tools are called";
            let advice = "--admin-listen gives the administration an address of its own";
            Some(Finding::new(FindingLevel::Note, "administration", message, advice))
        }
    }
}

/// What clients may do.
fn about_clients(settings: &Settings, asks_for_keys: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let endpoints = &settings.endpoints;
    if endpoints.any_registration() {
        let who = if asks_for_keys {
            "clients with the role write"
        } else {
            "any client, and any text that a model reads there,"
        };
        let message = format!("{who} may register and remove tools (register_tool, unregister_tool)");
        let advice = "`discovery: read-only` leaves those two out";
        findings.push(Finding::new(FindingLevel::Warning, "discovery", message, advice));
    }
    if asks_for_keys && settings.permissions.is_none() {
        let message = "no rules in the configuration say more than roles do: whoever may call, may call every tool of his tenant that his key names";
        let advice = "docs/permissions.md shows rules by groups, tags, annotations and arguments";
        findings.push(Finding::new(FindingLevel::Note, "permissions", message, advice));
    }
    if !settings.issuers.is_empty() && settings.public_url.is_none() {
        let message = "publicUrl is not set, so clients are told that they need a token for the address of their request, whatever that is";
        let advice = "set publicUrl to the address that clients type, such as https://tools.example.com";
        findings.push(Finding::new(FindingLevel::Warning, "tokens", message, advice));
    }
    if let Some(name) = settings.broker.as_ref().and_then(|broker| broker.secret_name())
        && !config::environment().any(|(variable, _)| variable == format!("{}{name}", Secrets::PREFIX))
    {
        let message = format!("nobody can sign in: the secret {name} of broker.clientSecret has no value");
        let advice = format!("start the gateway with the environment variable {}{name}", Secrets::PREFIX);
        findings.push(Finding::new(FindingLevel::Warning, "broker", message, advice));
    }
    if !settings.allow_origins.is_empty() {
        let message =
            format!("web pages of these origins may use the gateway: {}", settings.allow_origins.join(", "));
        findings.push(Finding::new(FindingLevel::Note, "origins", message, "keep allowOrigins short"));
    }
    findings
}

/// What definitions may do.
fn about_definitions(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if settings.permitted.contains(&Permission::StartPrograms) {
        let message = "definitions in the store may start programs on this machine";
        let advice = "leave --allow-commands out, and put such definitions into files (--tools DIR)";
        findings.push(Finding::new(FindingLevel::Warning, "commands", message, advice));
    }
    if settings.permitted.contains(&Permission::RunScripts) {
        let message = "definitions in the store may be scripts";
        let advice = "leave --allow-scripts out, and put scripts into files (--tools DIR)";
        findings.push(Finding::new(FindingLevel::Warning, "scripts", message, advice));
    }
    if settings.permitted.contains(&Permission::UseSecrets) {
        let message = "definitions that agents registered may use secrets";
        findings.push(Finding::new(
            FindingLevel::Warning,
            "secrets",
            message,
            "leave --allow-agent-secrets out",
        ));
    }
    let unbound = unbound_secrets(settings);
    if !unbound.is_empty() {
        let message = format!("secrets that definitions may send to any host: {}", unbound.join(", "));
        let advice =
            "bind each to its hosts: `secrets: {NAME: {hosts: [api.example.com]}}`, or --secret NAME@HOST";
        findings.push(Finding::new(FindingLevel::Warning, "secrets", message, advice));
    }
    findings
}

/// The names of secrets that may go anywhere.
fn unbound_secrets(settings: &Settings) -> Vec<String> {
    let listed = settings.secrets.iter();
    let bound =
        |name: &str| settings.secrets.iter().any(|secret| secret.name == name && secret.binding.is_some());
    let of_environment =
        config::environment().filter_map(|(name, _)| name.strip_prefix(Secrets::PREFIX).map(str::to_owned));
    let all = listed.map(|secret| secret.name.clone()).chain(of_environment);
    // No definition gets that of the broker.
    let of_broker = settings.broker.as_ref().and_then(|broker| broker.secret_name());
    let mut unbound: Vec<String> =
        all.filter(|name| !bound(name) && of_broker != Some(name.as_str())).collect();
    unbound.sort();
    unbound.dedup();
    unbound
}
