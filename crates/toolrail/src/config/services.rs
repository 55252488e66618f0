//! `services` of the configuration: what definitions share about a service.

use std::collections::BTreeMap;

use anyhow::bail;
use serde_json::{Map, Value};
use toolrail_core::Problem;
use toolrail_executors::{Service, Services};

use super::faults;

/// Everything that is wrong with the block.
pub(super) fn faults(services: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let mut read = BTreeMap::new();
    for (name, service) in services {
        let place = format!("/services/{}", faults::step(name));
        let Value::Object(members) = service else {
            found.push(format!("{place}: must be a mapping with baseUrl"));
            continue;
        };
        let wrong = faults::of_members::<Service>(&place, members);
        if wrong.is_empty() {
            read.extend(serde_json::from_value(service.clone()).ok().map(|service| (name.clone(), service)));
        }
        found.extend(wrong);
    }
    found.extend(Services::read(read).err().into_iter().flatten().map(|problem| told(&problem)));
    found
}

/// The services; whatever is wrong with them is told at once.
pub(super) fn settle(services: BTreeMap<String, Service>) -> anyhow::Result<Services> {
    match Services::read(services) {
        Ok(services) => Ok(services),
        Err(problems) => bail!("{}", problems.iter().map(told).collect::<Vec<_>>().join("; ")),
    }
}

fn told(problem: &Problem) -> String {
    format!("{}: {}", problem.pointer, problem.message)
}
