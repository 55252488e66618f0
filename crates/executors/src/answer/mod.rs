//! From an upstream's answer to the result of a tool. A status of 4xx or 5xx is a failed call; anything else becomes a
//! payload by its content type (`content`), and a `responseMapping` (`path`, `template`) works on that payload.

mod content;
mod path;
mod status;
mod template;

use std::sync::Arc;

use http::header;
use serde_json::{Map, Value};
use toolrail_core::{
    ArgumentUse, CallError, ErrorCode, Json, Outcome, Outline, Problems, ResponseMapping, Share, ToolResult,
};

use crate::meter::{Allowance, Meter};
use crate::offload::{MOST_INLINE, Unfinished, offload};
use crate::outbound::Incoming;

const TEMPLATE: &str = "/responseMapping/template";
const MAPPING: &str = "/responseMapping";
const PATH: &str = "/responseMapping/path";
/// Answers that are passed on are only looked through, which is quick.
const MOST_PASSED_INLINE: usize = 512 << 10;
/// What an answer may have for a mapping to look into it.
const MOST_VALUES: usize = 3_000_000;

/// What a tool makes of its upstream's answers, compiled.
#[derive(Debug)]
pub struct AnswerMapping {
    mapping: Arc<Mapping>,
}

#[derive(Debug)]
enum Mapping {
    Passthrough,
    Path(path::JsonPath),
    Template(Box<template::ResponseTemplate>),
}

impl AnswerMapping {
    /// Compiles the mapping; faults are noted under `/responseMapping`. Nothing is returned only if an error was noted.
    pub fn compile(mapping: &ResponseMapping, problems: &mut Problems) -> Option<Self> {
        let compiled = match mapping {
            ResponseMapping::Passthrough => Ok(Mapping::Passthrough),
            ResponseMapping::JsonPath { path } => {
                path::JsonPath::compile(path).map(Mapping::Path).map_err(|fault| vec![(PATH, fault)])
            }
            ResponseMapping::Template { template } => template::ResponseTemplate::compile(template)
                .map(|template| Mapping::Template(Box::new(template)))
                .map_err(|faults| faults.into_iter().map(|fault| (TEMPLATE, fault)).collect()),
        };
        match compiled {
            Ok(mapping) => Some(Self { mapping: Arc::new(mapping) }),
            Err(faults) => {
                for (pointer, fault) in faults {
                    problems.error(pointer, fault);
                }
                None
            }
        }
    }

    /// The arguments that the mapping uses, and whether it may use others too.
    pub(crate) fn arguments(&self) -> (Vec<ArgumentUse>, bool) {
        match &*self.mapping {
            Mapping::Passthrough | Mapping::Path(_) => (Vec::new(), false),
            Mapping::Template(template) => {
                let (names, all) = template.arguments();
                let named = |name| ArgumentUse { name, pointer: TEMPLATE.into(), required: false };
                (names.into_iter().map(named).collect(), all)
            }
        }
    }

    /// The media type that an answer declares, unless the mapping makes something else of it.
    pub(crate) fn media_type(&self, incoming: &Incoming) -> Option<String> {
        let unmapped = matches!(*self.mapping, Mapping::Passthrough);
        unmapped.then(|| content::MediaType::of(&incoming.headers)).flatten().map(|media| media.essence)
    }

    /// The tool's result. `arguments` are the call's, for a mapping that names them.
    pub async fn outcome(&self, incoming: Incoming, arguments: &Map<String, Value>) -> Outcome {
        let passes = matches!(*self.mapping, Mapping::Passthrough);
        if passes && incoming.body.len() <= MOST_PASSED_INLINE {
            return self
                .mapping
                .outcome(incoming, arguments, &mut Meter::new(Allowance::SMALL))
                .or_else(MappingFailure::into);
        }
        if !passes && incoming.body.len() <= MOST_INLINE {
            let mapped = self.mapping.outcome(incoming.clone(), arguments, &mut Meter::new(Allowance::SMALL));
            // What takes longer than may be taken here starts over where it may.
            if !matches!(mapped, Err(MappingFailure::Spent(_))) {
                return mapped.or_else(MappingFailure::into);
            }
        }
        let (mapping, arguments) = (Arc::clone(&self.mapping), arguments.clone());
        // What a mapping makes is about as large as what it is made of.
        let held = Share::current().hold(2 * incoming.body.len())?;
        let mapped = offload(move |stop| {
            let _held = held;
            mapping.outcome(incoming, &arguments, &mut Meter::stopped_by(Allowance::LARGE, stop))
        });
        match mapped.await {
            Ok(mapped) => mapped.or_else(MappingFailure::into),
            Err(Unfinished::Lost) => {
                Err(unusable_at(MAPPING, "responseMapping did not come to an end".into()))
            }
            Err(Unfinished::Busy) => {
                let message = "the gateway is busy with other answers, and this one found no place in time; the call was carried out, so think before you try it again";
                Err(CallError::new(ErrorCode::Overloaded, message))
            }
        }
    }
}

/// A result, or why there is none.
type Mapped = Result<ToolResult, MappingFailure>;

/// Why there is no result.
#[derive(Debug)]
enum MappingFailure {
    Failed(CallError),
    /// It took more than it was allowed to.
    Spent(CallError),
}

impl From<CallError> for MappingFailure {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

impl MappingFailure {
    fn into(self) -> Outcome {
        match self {
            Self::Failed(error) | Self::Spent(error) => Err(error),
        }
    }
}

/// Where the values of an answer are.
fn outline<'j>(json: &'j Json, place: &str, meter: &mut Meter) -> Result<Outline<'j>, MappingFailure> {
    let outline = Outline::of(json, MOST_VALUES).map_err(|many| {
        unusable_at(MAPPING, format!("responseMapping cannot be applied to the answer of {place}: {many}"))
    })?;
    meter.take(outline.size() * 16).map_err(|spent| {
        MappingFailure::Spent(unusable_at(
            MAPPING,
            format!("responseMapping takes too much {} with the answer of {place}", spent.word()),
        ))
    })?;
    Ok(outline)
}

impl Mapping {
    fn outcome(&self, incoming: Incoming, arguments: &Map<String, Value>, meter: &mut Meter) -> Mapped {
        if let Some(failure) = status::failure(&incoming) {
            return Err(failure.into());
        }
        check_encoding(&incoming)?;
        if matches!(self, Self::Passthrough) {
            return Ok(content::result(incoming)?);
        }
        if let Some(cut) = incoming.cut {
            return Err(MappingFailure::Failed(unusable_at(
                MAPPING,
                format!(
                    "the answer of {} was cut at {}, so responseMapping cannot work on it; raise maxResponseBytes or ask the upstream for less",
                    incoming.place(),
                    content::extent(cut, incoming.body.len()),
                ),
            )));
        }
        let status = incoming.status;
        let place = incoming.place();
        let result = content::result(incoming)?;
        match self {
            Self::Passthrough => Ok(result),
            Self::Path(path) => path.apply(result, &place, meter),
            Self::Template(template) => {
                template.apply(result, &template::Scope { arguments, status, place: &place }, meter)
            }
        }
    }
}

/// Nobody asked for a compressed answer, and nothing can look into one (not even the masking of secrets).
fn check_encoding(incoming: &Incoming) -> Result<(), CallError> {
    match encoding(incoming) {
        Some(encoding) => Err(unusable(format!(
            "{} answered with content-encoding {encoding:?} though none was asked for; remove accept-encoding from the definition's headers or switch compression off upstream",
            incoming.place(),
        ))),
        None => Ok(()),
    }
}

/// The content encoding, if it changes the bytes.
fn encoding(incoming: &Incoming) -> Option<&str> {
    let encoding = incoming.headers.get(header::CONTENT_ENCODING)?;
    let name = encoding.to_str().unwrap_or("?").trim();
    let plain = name.is_empty() || name.eq_ignore_ascii_case("identity") || incoming.body.is_empty();
    (!plain).then_some(name)
}

/// The same, because of a field of the definition.
fn unusable_at(pointer: &str, message: String) -> CallError {
    CallError::at_field(ErrorCode::UpstreamInvalid, pointer, message)
}

fn unusable(message: String) -> CallError {
    CallError::new(ErrorCode::UpstreamInvalid, message)
}

#[cfg(test)]
mod tests;
