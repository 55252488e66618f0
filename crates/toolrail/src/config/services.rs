//! `services` of the configuration: what definitions share about a service.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::bail;
use serde_json::{Map, Value};
use toolrail_core::{Auth, Problem, Problems, Secrets, Severity, Variables};
use toolrail_executors::outbound::{Client, ClientLimits};
use toolrail_executors::{Runtime, Scripts, Service, Services};

use super::faults;
use super::wording::{self, in_plain_words, step};

/// What stands for a name and an address that have a fault, so that the rest can be looked at.
const STAND_IN: (&str, &str) = ("stand-in", "http://stand-in.invalid");

/// Everything that is wrong with the block.
pub(super) fn faults(services: &Map<String, Value>) -> Vec<String> {
    services.iter().flat_map(|(name, service)| of_service(name, service)).collect()
}

/// The services; whatever is wrong with them is told at once.
pub(super) fn settle(services: BTreeMap<String, Service>) -> anyhow::Result<Services> {
    match Services::read(services) {
        Ok(services) => Ok(services),
        Err(problems) => {
            let told = problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.message));
            bail!("{}", told.collect::<Vec<_>>().join("; "))
        }
    }
}

fn of_service(name: &str, service: &Value) -> Vec<String> {
    let place = format!("/services/{}", step(name));
    let mut found = of_name(name, &place);
    let Value::Object(members) = service else {
        found.push(wording::fault(&place, "must be a mapping with baseUrl"));
        return found;
    };
    // What is wrong with one member is told, and the others are looked at without it.
    let mut sound = members.clone();
    for (key, value) in members {
        let wrong = match key.as_str() {
            "auth" => of_auth(&format!("{place}/auth"), value),
            _ => faults::of_members::<Service>(&place, &Map::from_iter([(key.clone(), value.clone())])),
        };
        if !wrong.is_empty() {
            sound.remove(key);
        }
        found.extend(wrong);
    }
    if members.get("baseUrl").and_then(Value::as_str).is_none_or(str::is_empty) {
        if members.get("baseUrl").is_none_or(Value::is_string) {
            found.push(wording::fault(&place, "the field \"baseUrl\" is missing; add it"));
        }
        sound.insert("baseUrl".to_owned(), STAND_IN.1.into());
    }
    found.extend(of_requests(&place, sound));
    found
}

fn of_name(name: &str, place: &str) -> Vec<String> {
    let service = Service { base_url: STAND_IN.1.to_owned(), ..Service::default() };
    told(place, Services::read(BTreeMap::from([(name.to_owned(), service)])).err().unwrap_or_default(), place)
}

/// What no request could be made of, whatever the secrets and variables are: those are known only when everything is settled.
fn of_requests(place: &str, members: Map<String, Value>) -> Vec<String> {
    let Ok(service) = serde_json::from_value::<Service>(Value::Object(members)) else {
        return Vec::new();
    };
    let read = Services::read(BTreeMap::from([(STAND_IN.0.to_owned(), service)]));
    let problems = read.map_or_else(
        |problems| problems,
        |services| {
            Services::check(&Runtime {
                client: Arc::new(Client::of_gateway(ClientLimits::default())),
                secrets: Arc::new(Secrets::from_environment([], &[])),
                variables: Arc::new(Variables::none()),
                services: Arc::new(services),
                scripts: Arc::new(Scripts::of_this_binary()),
                grants: None,
            })
        },
    );
    told(place, problems, &format!("/services/{}", STAND_IN.0))
}

/// Everything that is wrong with a credential. Its values are not repeated: they may be the secret itself.
fn of_auth(place: &str, auth: &Value) -> Vec<String> {
    let Value::Object(members) = auth else {
        let wrong = (!auth.is_null()).then(|| wording::fault(place, "must be a mapping with type"));
        return wrong.into_iter().collect();
    };
    let mut found = Vec::new();
    let mut sound = members.clone();
    for (key, value) in members {
        if let Some(words) = of_auth_member(key, value) {
            found.push(wording::fault(&format!("{place}/{}", step(key)), &words));
            sound.remove(key);
            // It is there, though wrong: that nobody misses it.
            if of_auth_member(key, &STAND_IN.0.into()).is_none() {
                sound.insert(key.clone(), STAND_IN.0.into());
            }
        }
    }
    found.extend(told(place, problems_of_auth(sound, place), place));
    found
}

fn of_auth_member(key: &str, value: &Value) -> Option<String> {
    if key == "type" {
        return (!value.is_string() && !value.is_null()).then(|| "must be a text".to_owned());
    }
    let problems = problems_of_auth(Map::from_iter([(key.to_owned(), value.clone())]), "");
    // Alone, it lacks the type.
    let wrong = problems.into_iter().find(|problem| !problem.message.starts_with("the field \"type\""))?;
    let words = in_plain_words(&wrong.message);
    Some(words.split(", not ").next().unwrap_or_default().to_owned())
}

fn problems_of_auth(members: Map<String, Value>, place: &str) -> Vec<Problem> {
    let mut problems = Problems::default();
    let _ = Auth::read(&Value::Object(members), place, &mut problems);
    problems.into_list(None, str::to_owned)
}

/// The errors among them, which stand below `base`, as faults below `place`.
fn told(place: &str, problems: Vec<Problem>, base: &str) -> Vec<String> {
    let errors = problems.into_iter().filter(|problem| problem.severity == Severity::Error);
    let line = |problem: Problem| {
        let below = problem.pointer.strip_prefix(base).unwrap_or_default();
        let steps: Vec<String> = below.split('/').map(wording::cut_step).collect();
        wording::fault(&format!("{place}{}", steps.join("/")), &in_plain_words(&problem.message))
    };
    errors.map(line).collect()
}
