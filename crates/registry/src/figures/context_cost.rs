//! What tools cost a model before it has done anything: about how many tokens the whole list takes, and how many remain where
//! most tools are behind the search. Each sort of client writes a tool in its own form.
//!
//! Vendors put the JSON of tools into the prompt in ways that are not public, so these are the tokens of that JSON.

use serde::Serialize;
use toolrail_core::USUAL_HITS;
use toolrail_search::raw_members;

use super::tokens::{ANTHROPIC, LARGE_VOCABULARY, Pieces, Weights};
use crate::catalog::{CALL_TOOL, Snapshot, Tool};

/// Of more tools than this, so many are counted, and what they cost for each byte holds for all.
const MOST_COUNTED: usize = 2_000;

/// How a sort of client hands tools to its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientFormat {
    /// `{name, description, input_schema}`, as the Messages API takes it.
    Anthropic,
    /// `{type: "function", function: {name, description, parameters}}`, as Chat Completions takes it.
    OpenAi,
    /// `{name, description, parameters}`, as a function declaration of Gemini.
    Gemini,
    /// The entry of `tools/list` as it is.
    Json,
}

impl ClientFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Json];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Json => "json",
        }
    }

    /// What stands around the name, the description and the schema.
    const fn frame(self) -> &'static str {
        match self {
            Self::Anthropic => r#"{"name":"","description":"","input_schema":},"#,
            Self::OpenAi => r#"{"type":"function","function":{"name":"","description":"","parameters":}},"#,
            Self::Gemini => r#"{"name":"","description":"","parameters":},"#,
            Self::Json => ",",
        }
    }

    const fn weights(self) -> &'static Weights {
        match self {
            Self::Anthropic => &ANTHROPIC,
            Self::OpenAi | Self::Gemini | Self::Json => &LARGE_VOCABULARY,
        }
    }
}

/// What the tools of an endpoint cost in tokens; estimates, see [`ContextCost::ESTIMATE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextCost {
    /// How many tools may be called.
    pub tools: usize,
    /// How many entries the full list has: those, and the discovery tools that are listed beside them.
    pub listed_in_full: usize,
    /// How many are listed in search mode: the discovery tools, and those that are always listed.
    pub listed_in_search_mode: usize,
    /// For each sort of client.
    pub formats: Vec<FormatCost>,
}

/// What the tools cost one sort of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FormatCost {
    /// Which sort.
    pub format: ClientFormat,
    /// The tokens of the full list.
    pub full: u64,
    /// The tokens of the list in search mode.
    pub search: u64,
    /// What each search adds to that: five hits, and the definition of one of them.
    pub each_search: u64,
    /// How much less the list is in search mode, in percent; below 0 where it is more.
    pub saved_percent: i64,
}

impl ContextCost {
    /// How good the numbers are, for people.
    pub const ESTIMATE: &str = "tokens are estimated from the JSON of the tools, within about 5 % of OpenAI's o200k tokenizer; others differ by up to 15 %";
}

impl Snapshot {
    /// What the tools seen here cost a model: listed in full, and in search mode.
    pub fn context_cost(&self) -> ContextCost {
        let tools: Vec<&Tool> =
            self.tools().iter().map(|tool| &**tool).filter(|tool| tool.is_callable()).collect();
        let is_pinned =
            |tool: &Tool| self.endpoint().is_some_and(|endpoint| endpoint.pinned.has(tool.name.as_str()));
        let kept = tools.iter().copied().filter(|tool| tool.defer_loading == Some(false) || is_pinned(tool));
        let built_ins = || self.built_ins().map(|tool| &**tool);
        let in_search: Vec<&Tool> = kept.chain(built_ins()).collect();
        // Where everything is listed, nothing needs to be called through another.
        let beside: Vec<&Tool> = built_ins().filter(|tool| tool.name.as_str() != CALL_TOOL).collect();
        let lists = Listable {
            beside: ToolTotals::of(&beside),
            tools: ToolTotals::of(&tools),
            in_search: ToolTotals::of(&in_search),
        };
        ContextCost {
            tools: tools.len(),
            listed_in_full: tools.len() + beside.len(),
            listed_in_search_mode: in_search.len(),
            formats: ClientFormat::ALL.map(|format| lists.cost(format)).to_vec(),
        }
    }
}

/// What may be listed.
struct Listable {
    /// The tools that may be called.
    tools: ToolTotals,
    /// What is listed beside all of them.
    beside: ToolTotals,
    /// What is listed in search mode.
    in_search: ToolTotals,
}

impl Listable {
    fn cost(&self, format: ClientFormat) -> FormatCost {
        let hit =
            r#"{"tool_name":"","score":0.8512,"match_reason":"bm25_keyword_similarity","description":""},"#;
        let hits = u64::from(USUAL_HITS)
            * (self.tools.mean_hit(format) + Pieces::of(hit).millitokens(format.weights()));
        let each_search = hits + self.tools.mean_tool(format);
        let full = self.tools.tokens(format) + self.beside.tokens(format);
        let search = self.in_search.tokens(format);
        FormatCost {
            format,
            full,
            search,
            each_search: each_search.div_ceil(1_000),
            saved_percent: saved_percent(full, search),
        }
    }
}

/// Rounded down, so that a loss is never told as nothing.
fn saved_percent(full: u64, search: u64) -> i64 {
    let [full, search] = [full, search].map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX / 200));
    (full.saturating_sub(search) * 100).checked_div_euclid(full).unwrap_or(0)
}

/// What some tools consist of.
#[derive(Default)]
struct ToolTotals {
    tools: u64,
    /// Bytes of all their list entries.
    bytes: u64,
    sample: u64,
    sample_bytes: u64,
    /// Of the sample: the list entries; the names and descriptions; the input schemas.
    entries: Pieces,
    words: Pieces,
    schemas: Pieces,
}

impl ToolTotals {
    fn of(tools: &[&Tool]) -> Self {
        let mut counted = Self::default();
        let step = tools.len().div_ceil(MOST_COUNTED).max(1);
        for (place, tool) in tools.iter().enumerate() {
            counted.tools += 1;
            counted.bytes += tool.entry.len() as u64;
            if place % step == 0 {
                counted.add(tool);
            }
        }
        counted
    }

    fn add(&mut self, tool: &Tool) {
        let [name, description, schema] = raw_members(&tool.entry, ["name", "description", "inputSchema"]);
        let bare = |text: &str| Pieces::of(text.trim_matches('"'));
        self.sample += 1;
        self.sample_bytes += tool.entry.len() as u64;
        self.entries = self.entries.and(Pieces::of(std::str::from_utf8(&tool.entry).unwrap_or_default()));
        self.words = self.words.and(bare(name)).and(bare(description));
        self.schemas = self.schemas.and(Pieces::of(schema));
    }

    /// Of the sample.
    fn millitokens(&self, format: ClientFormat) -> u64 {
        let weights = format.weights();
        let pieces = match format {
            ClientFormat::Json => self.entries,
            ClientFormat::Anthropic | ClientFormat::OpenAi | ClientFormat::Gemini => {
                self.words.and(self.schemas)
            }
        };
        pieces.millitokens(weights) + self.sample * Pieces::of(format.frame()).millitokens(weights)
    }

    fn tokens(&self, format: ClientFormat) -> u64 {
        let all = u128::from(self.millitokens(format)) * u128::from(self.bytes)
            / u128::from(self.sample_bytes.max(1));
        u64::try_from(all.div_ceil(1_000)).unwrap_or(u64::MAX)
    }

    fn mean_tool(&self, format: ClientFormat) -> u64 {
        self.millitokens(format) / self.sample.max(1)
    }

    fn mean_hit(&self, format: ClientFormat) -> u64 {
        self.words.millitokens(format.weights()) / self.sample.max(1)
    }
}
