//! Sending definitions to the store through `POST /admin/sync`, and what came of it.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use toolrail_core::{Problem, Way};

use super::incoming::{Arriving, Incoming};
use super::target::{RestRequest, Target};

/// The most definitions in one request, and about the most bytes.
const PORTION: usize = 5_000;
const PORTION_BYTES: usize = 64 * 1024 * 1024;

/// How definitions are taken over.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    pub(super) existing: Existing,
    pub(super) others: UnsentDefinitions,
    pub(super) extent: Extent,
    /// By what way it is recorded to come.
    pub(super) via: Way,
}

/// What becomes of a definition that is there and differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Keep,
    Replace,
}

/// What becomes of definitions in the store that were not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsentDefinitions {
    Keep,
    Remove,
}

/// Whether anything is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Plan,
    Apply,
}

/// What was done, or would be.
#[derive(Default)]
pub(super) struct Transferred {
    /// Steps as the server tells them: `action`, `name`, `tenant`, `differences`, and `origin`.
    pub(super) steps: Vec<Value>,
    pub(super) unchanged: u64,
    /// What was not taken, and why.
    pub(super) refused: Vec<Problem>,
    /// How many definitions that concerns.
    pub(super) refusals: usize,
    /// How many files that concerns, whose definitions nobody could count.
    pub(super) unreadable: usize,
    pub(super) written: u64,
    /// What kept the server from doing all of it.
    pub(super) failure: Option<String>,
}

impl Transferred {
    /// The steps with that to do.
    pub(super) fn with<'s>(&'s self, action: &'s str) -> impl Iterator<Item = &'s Value> {
        self.steps.iter().filter(move |step| step["action"] == action)
    }

    /// Whether anything was not taken.
    pub(super) fn has_refusals(&self) -> bool {
        self.refusals + self.unreadable > 0
    }

    /// Puts what was not even sent before what was refused.
    pub(super) fn add_unsent(&mut self, incoming: &Incoming) {
        self.unreadable += incoming.unreadable.len();
        self.refusals += incoming.doubles.len();
        let unsent = incoming.unreadable.iter().chain(&incoming.doubles).cloned();
        self.refused.splice(0..0, unsent);
    }

    fn add(&mut self, body: &mut Value, sent: &[Arriving]) {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        self.unchanged += number(&body["counts"]["unchanged"]);
        self.written += number(&body["written"]);
        let index = |value: &Value| value["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        for mut step in body["plan"].as_array_mut().map(std::mem::take).unwrap_or_default() {
            if let Some(tool) = index(&step).and_then(|index| sent.get(index)) {
                step["origin"] = tool.origin().into();
            }
            step.as_object_mut().map(|step| step.shift_remove("index"));
            self.steps.push(step);
        }
        for refused in body["refused"].as_array_mut().into_iter().flatten() {
            self.refusals += 1;
            let index = index(refused).unwrap_or_default();
            let problems: Vec<Problem> =
                serde_json::from_value(refused["problems"].take()).unwrap_or_default();
            let name = refused["name"].as_str();
            for mut problem in problems {
                problem.tool = problem.tool.or_else(|| name.map(str::to_owned));
                let sent_at = format!("/tools/{index}");
                self.refused.push(match sent.get(index) {
                    Some(tool) => tool.placed(problem, &sent_at),
                    None => problem,
                });
            }
        }
    }
}

/// Sends them, the good ones even if others are refused. With others to be removed, in one request: the store must know
/// all that stays.
pub(super) async fn send(target: &Target, tools: &[Arriving], wishes: Wishes) -> anyhow::Result<Transferred> {
    let mut done = Transferred::default();
    let progress = progress(tools.len(), wishes.extent);
    let mut rest = tools;
    loop {
        let count = match wishes.others {
            UnsentDefinitions::Remove => rest.len(),
            UnsentDefinitions::Keep => portion(rest),
        };
        let (now, later) = rest.split_at(count);
        let body = request(now, wishes);
        let mut reply = target.ask(&RestRequest::post("/admin/sync", &body, "plan").by(wishes.via)).await?;
        if !reply.body["plan"].is_array() {
            target.accepted(reply)?;
            anyhow::bail!("the server answered without a plan");
        }
        done.add(&mut reply.body, now);
        done.failure = reply.body["error"]["message"].as_str().map(str::to_owned);
        progress.inc(u64::try_from(now.len()).unwrap_or_default());
        rest = later;
        if rest.is_empty() || done.failure.is_some() {
            progress.finish_and_clear();
            return Ok(done);
        }
    }
}

fn request(tools: &[Arriving], wishes: Wishes) -> Value {
    let bodies: Vec<&Value> = tools.iter().map(|tool| &tool.body).collect();
    json!({
        "tools": bodies, "mode": "each", "overwrite": wishes.existing == Existing::Replace,
        "prune": wishes.others == UnsentDefinitions::Remove, "dryRun": wishes.extent == Extent::Plan,
    })
}

/// How many fit into the next request.
fn portion(tools: &[Arriving]) -> usize {
    let mut bytes = 0;
    let fitting = tools.iter().take(PORTION).take_while(|tool| {
        bytes += tool.body.to_string().len();
        bytes <= PORTION_BYTES
    });
    fitting.count().max(1).min(tools.len())
}

/// A bar on terminals, for what takes a while.
fn progress(count: usize, extent: Extent) -> ProgressBar {
    if count <= PORTION {
        return ProgressBar::hidden();
    }
    let verb = match extent {
        Extent::Plan => "comparing",
        Extent::Apply => "writing",
    };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
    let bar = ProgressBar::new(u64::try_from(count).unwrap_or_default()).with_message(verb);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
