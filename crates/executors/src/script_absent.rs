//! Kind `script` in a gateway that was built without scripts: its definitions are known and refused in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolrail_core::{Compiled, Definition, Kind, Problems, Tools};

use crate::runtime::Runtime;

const ABSENT: &str = "this gateway was built without scripts; build it with the feature \"scripts\", which is on unless switched off";

/// The workers of scripts, of which there are none.
#[derive(Debug)]
pub struct NoWorkers;

pub use NoWorkers as Scripts;

impl NoWorkers {
    /// None.
    pub fn of_this_binary() -> Self {
        Self
    }

    /// Nothing calls tools.
    pub fn connect(&self, _tools: Arc<dyn Tools>) {}
}

/// The kind `script`.
#[derive(Debug)]
pub(crate) struct AbsentScript;

pub(crate) use AbsentScript as Script;

impl AbsentScript {
    /// The kind.
    pub(crate) fn new(_runtime: Runtime) -> Self {
        Self
    }
}

/// A script, which this gateway cannot carry out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct AbsentSettings {
    _members: BTreeMap<String, Value>,
}

impl Kind for AbsentScript {
    const NAME: &'static str = "script";
    type Settings = AbsentSettings;

    fn compile(&self, _: AbsentSettings, _: &Definition, problems: &mut Problems) -> Option<Compiled> {
        problems.error("/script", ABSENT);
        None
    }
}
