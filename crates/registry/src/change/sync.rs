//! Making the store what somebody sent: what each definition comes to, and what stands in the way. `import` and `sync`
//! are this; whatever is so already is left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolrail_core::{Expected, Problem, Severity, ToolKey, ToolName};

use super::Changes;
use super::error::WriteError;
use super::plan::{Covers, Desired, Plan, PlanMode, Step};
use crate::intake::{Registration, error_at};
use crate::source_id::SourceId;

/// A definition that cannot be taken over.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Its place in what was sent.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Why not.
    pub problems: Vec<Problem>,
}

/// A plan, and what of the definitions sent is not in it.
#[derive(Clone, Debug, Default)]
pub struct SyncPlan {
    /// What is to be done.
    pub plan: Plan,
    /// The places in what was sent of those that the plan is about.
    pub places: BTreeMap<ToolKey, usize>,
    /// Those that cannot be taken over.
    pub refused: Vec<Refusal>,
}

impl SyncPlan {
    /// The place in what was sent that a step comes from; none for what is removed.
    pub fn place(&self, step: &Step) -> Option<usize> {
        self.places.get(&key_of(step)).copied()
    }
}

fn key_of(step: &Step) -> ToolKey {
    ToolKey { tenant: step.tenant.clone(), name: ToolName::fold(&step.name) }
}

/// What was sent, sorted into what can be wanted and what cannot.
#[derive(Default)]
struct Sorted {
    desired: Vec<Desired>,
    bases: BTreeMap<ToolKey, (usize, String)>,
    refused: Vec<Refusal>,
}

impl Changes {
    /// What it takes for the store to have the definitions sent. What is read as no definition at all comes as its
    /// problems. While anything is refused, nothing is removed: what is missing may be what could not be read.
    pub async fn plan_sync(
        &self,
        sent: Vec<Result<Registration, Vec<Problem>>>,
        covers: Covers,
        mode: PlanMode,
    ) -> Result<SyncPlan, WriteError> {
        let Sorted { desired, bases, mut refused } = sort(sent);
        let covers = also(covers, &desired);
        let mut plan = self.plan(desired, &covers, mode).await?;
        refused.extend(tokio::task::block_in_place(|| self.refused_steps(&plan, &bases)));
        refused.sort_by_key(|refusal| refusal.index);
        let bad: BTreeSet<usize> = refused.iter().map(|refusal| refusal.index).collect();
        plan.steps.retain(|step| match bases.get(&key_of(step)) {
            Some((index, _)) => !bad.contains(index),
            None => bad.is_empty(),
        });
        let places = bases.into_iter().map(|(key, (index, _))| (key, index)).collect();
        Ok(SyncPlan { plan, places, refused })
    }

    /// Only what differs is looked at: the rest is in the store already.
    fn refused_steps(&self, plan: &Plan, bases: &BTreeMap<ToolKey, (usize, String)>) -> Vec<Refusal> {
        let check = |step: &Step| {
            let document: Value = serde_json::from_str(step.document()?).ok()?;
            let (index, base) = bases.get(&key_of(step))?;
            let mut problems = self.intake.compiler().check(&document, SourceId::Store);
            problems.retain(|problem| problem.severity == Severity::Error);
            for problem in &mut problems {
                problem.pointer = format!("{base}{}", problem.pointer);
            }
            let name = Some(step.name.clone());
            (!problems.is_empty()).then_some(Refusal { index: *index, name, problems })
        };
        plan.steps.iter().filter_map(check).collect()
    }
}

fn sort(sent: Vec<Result<Registration, Vec<Problem>>>) -> Sorted {
    let mut sorted = Sorted::default();
    let sent: Vec<_> = sent.into_iter().map(|sent| sent.and_then(named)).collect();
    let mut counts: BTreeMap<ToolKey, usize> = BTreeMap::new();
    for (name, registration) in sent.iter().flatten() {
        *counts.entry(key_of_sent(name, registration)).or_default() += 1;
    }
    for (index, sent) in sent.into_iter().enumerate() {
        let (name, mut registration) = match sent {
            Ok(named) => named,
            Err(problems) => {
                sorted.refused.push(Refusal { index, name: None, problems });
                continue;
            }
        };
        let key = key_of_sent(&name, &registration);
        // Nobody knows which of them is meant.
        if counts.get(&key).is_some_and(|count| *count > 1) {
            let message = format!("{name:?} is in this list twice; names ignore case, keep one");
            let problems = vec![error_at(&format!("{}/name", registration.base), message)];
            sorted.refused.push(Refusal { index, name: Some(name), problems });
            continue;
        }
        let enabled = registration.settle_switch();
        let Registration { document, base, tenant, .. } = registration;
        sorted.bases.insert(key, (index, base));
        sorted.desired.push(Desired { tenant, name, enabled, config_json: document.to_string() });
    }
    sorted
}

fn key_of_sent(name: &str, registration: &Registration) -> ToolKey {
    ToolKey { tenant: registration.tenant.clone(), name: ToolName::fold(name) }
}

/// A registration that has a name.
fn named(mut registration: Registration) -> Result<(String, Registration), Vec<Problem>> {
    let base = registration.base.clone();
    let fault = |mut problem: Problem| {
        problem.pointer = format!("{base}{}", problem.pointer);
        vec![problem]
    };
    if let Some(problem) = registration.settle_name() {
        return Err(fault(problem));
    }
    if registration.expected != Expected::Anything {
        return Err(fault(error_at("", "a version beside it has no meaning here; remove it".into())));
    }
    match registration.document.get("name").and_then(Value::as_str).map(str::to_owned) {
        Some(name) => Ok((name, registration)),
        None => Err(fault(error_at("/name", "is missing: every definition has a name".into()))),
    }
}

/// A list that has definitions of a tenant speaks for that tenant.
fn also(covers: Covers, desired: &[Desired]) -> Covers {
    match covers {
        Covers::All => Covers::All,
        Covers::Only(mut tenants) => {
            tenants.extend(desired.iter().map(|desired| desired.tenant.clone()));
            Covers::Only(tenants)
        }
    }
}
