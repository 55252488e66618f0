//! How tools are listed, and the groups that have endpoints of their own.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolrail_core::did_you_mean;
use toolrail_registry::{Choice, Discovery, Endpoint, Endpoints, ListingMode};

use super::faults;
use super::keys::keys_of;
use super::layer::{Layer, layered};
use super::wording::{fault, step};

/// The most groups. Each costs memory of its own.
const MOST_GROUPS: usize = 200;
/// The longest name of a group, and the longest pattern.
const LONGEST: (usize, usize) = (64, 128);
const MOST_LISTED: usize = 100_000;

layered! {
    /// How tools are listed: a mode, or a mapping.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub(crate) struct ListingFile {
        /// `full` lists every tool, `search` only pinned ones and those that say `deferLoading: false`, `auto` is `full` but for
        /// those that say `deferLoading: true` as long as there are few; `full` when left out.
        #[serde(deserialize_with = "mode")]
        pub(crate) mode: Option<ListingMode>,
        /// With `auto`: the most tools that are listed (0 to 100000); 100 when left out.
        pub(crate) threshold: Option<usize>,
        /// The names of tools that are listed in any case.
        pub(crate) pinned: Option<Vec<String>>,
    }
}

/// Tools that have an endpoint of their own: those that fit any of what is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct GroupFile {
    /// What it is for; clients are told.
    description: Option<String>,
    /// The names of its tools, in any case.
    tools: Vec<String>,
    /// Tags of its tools, in any case.
    tags: Vec<String>,
    /// Categories of its tools, in any case.
    categories: Vec<String>,
    /// Patterns of their names, with `*` and `?`.
    patterns: Vec<String>,
    /// How they are listed; as all tools are when left out.
    #[serde(deserialize_with = "listing")]
    listing: Option<ListingFile>,
    /// The names of those that are listed in any case.
    pinned: Vec<String>,
    /// Which discovery tools are there: `true`, `false` or `read-only`; as for all tools when left out.
    #[serde(deserialize_with = "discovery")]
    discovery: Option<Discovery>,
}

impl ListingFile {
    fn endpoint(self, discovery: Discovery) -> Endpoint {
        let usual = Endpoint::default();
        Endpoint {
            mode: self.mode.unwrap_or(usual.mode),
            threshold: self.threshold.unwrap_or(usual.threshold),
            pinned: self.pinned.unwrap_or_default().iter().collect(),
            discovery,
            ..usual
        }
    }
}

/// The endpoints that the configuration describes.
pub(super) fn settle(
    listing: ListingFile,
    discovery: Discovery,
    groups: BTreeMap<String, GroupFile>,
) -> Endpoints {
    let group = |(name, group): (String, GroupFile)| {
        let mut own = group.listing.unwrap_or_default();
        if !group.pinned.is_empty() {
            own.pinned.get_or_insert_default().extend(group.pinned);
        }
        let choice = Choice::default()
            .with_names(&group.tools)
            .with_tags(&group.tags)
            .with_categories(&group.categories)
            .with_patterns(&group.patterns);
        Endpoint {
            group: Some(name.into()),
            description: group.description,
            choice: Some(choice),
            ..own.over(listing.clone()).endpoint(group.discovery.unwrap_or(discovery))
        }
    };
    let groups: Vec<Endpoint> = groups.into_iter().map(group).collect();
    Endpoints::new(listing.endpoint(discovery), groups)
}

/// Everything that is wrong with `listing`, which stands at `place`.
pub(super) fn listing_faults(place: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(word) => parse_mode(word).err().map(|words| fault(place, &words)).into_iter().collect(),
        Value::Object(members) => {
            let mut faults = faults::of_members::<ListingFile>(place, members);
            let most = members.get("threshold").and_then(Value::as_u64).unwrap_or_default();
            if most > MOST_LISTED as u64 {
                faults.push(format!("{place}/threshold: {most} is not between 0 and {MOST_LISTED} tools"));
            }
            faults
        }
        _ => vec![format!(
            "{place}: must be full, search or auto, or a mapping of {}",
            keys_of::<ListingFile>().join(", ")
        )],
    }
}

/// Everything that is wrong with `groups`.
pub(super) fn group_faults(value: &Value) -> Vec<String> {
    let groups = match value {
        Value::Null => return Vec::new(),
        Value::Object(groups) => groups,
        _ => return vec!["/groups: must be a mapping of the names of groups to what they have".to_owned()],
    };
    let mut faults: Vec<String> =
        groups.iter().flat_map(|(name, group)| faults_of_group(name, group)).collect();
    if groups.len() > MOST_GROUPS {
        faults.push(format!("/groups: {} groups are more than {MOST_GROUPS}", groups.len()));
    }
    faults
}

fn faults_of_group(name: &str, group: &Value) -> Vec<String> {
    let place = format!("/groups/{}", step(name));
    let mut faults: Vec<String> = wrong_name(name).map(|words| fault(&place, &words)).into_iter().collect();
    let Value::Object(members) = group else {
        faults.push(format!("{place}: must be a mapping of {}", keys_of::<GroupFile>().join(", ")));
        return faults;
    };
    let (listing, others): (Map<_, _>, Map<_, _>) =
        members.clone().into_iter().partition(|(key, _)| key == "listing");
    faults.extend(listing.values().flat_map(|value| listing_faults(&format!("{place}/listing"), value)));
    faults.extend(faults::of_members::<GroupFile>(&place, &others));
    let chosen =
        ["tools", "tags", "categories", "patterns"].map(|key| members.get(key).and_then(Value::as_array));
    if chosen.iter().all(|list| list.is_none_or(Vec::is_empty)) && faults.is_empty() {
        faults.push(format!("{place}: chooses no tools; give tools, tags, categories or patterns"));
    }
    let patterns = chosen[3].into_iter().flatten().map(|pattern| pattern.as_str().unwrap_or("*"));
    for (index, pattern) in patterns.enumerate() {
        if pattern.is_empty() || pattern.chars().count() > LONGEST.1 {
            let words = format!("{pattern:?} is empty or longer than {} characters", LONGEST.1);
            faults.push(fault(&format!("{place}/patterns/{index}"), &words));
        }
    }
    faults
}

fn wrong_name(name: &str) -> Option<String> {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > LONGEST.0 || !name.bytes().all(is_good) {
        return Some(format!(
            "the name of a group is 1 to {} characters of a-z, 0-9 and -, since it is part of a path",
            LONGEST.0
        ));
    }
    let taken = toolrail_mcp::TAKEN.contains(&name);
    taken.then(|| format!("{name:?} means something else below /mcp/; choose another name"))
}

/// A mode by its word.
fn parse_mode(word: &str) -> Result<ListingMode, String> {
    ListingMode::parse(word).ok_or_else(|| {
        let known = ListingMode::ALL.map(ListingMode::word);
        let hint = did_you_mean(word, known).map(|question| format!("; {question}")).unwrap_or_default();
        format!("{word:?} is no way to list tools{hint}; known are {}", known.join(", "))
    })
}

fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ListingMode>, D::Error> {
    let word = Option::<String>::deserialize(from)?;
    word.map(|word| parse_mode(&word).map_err(D::Error::custom)).transpose()
}

/// A mode alone, or a mapping.
pub(super) fn listing<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ListingFile>, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => {
            let mode = parse_mode(&word).map_err(D::Error::custom)?;
            Ok(Some(ListingFile { mode: Some(mode), ..ListingFile::default() }))
        }
        Some(mapping) => serde_json::from_value(mapping).map(Some).map_err(D::Error::custom),
    }
}

/// `true`, `false` or `read-only`.
pub(super) fn discovery<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Discovery>, D::Error> {
    let wrong = || D::Error::custom("must be true, false or read-only");
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(Discovery::On)),
        Some(Value::Bool(false)) => Ok(Some(Discovery::Off)),
        Some(Value::String(word)) => Discovery::parse(&word).map(Some).ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}
