//! Sets to judge search by: a folder with `tools.jsonl` and `queries.jsonl`, read as the gateway would see those tools.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};
use toolrail_search::{Document, Index, NamedText, Parameter, Parameters, read_entry};

const TOOLS: &str = "tools.jsonl";

/// How much of a tool gets into the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// All that an upstream server or a definition tells.
    #[default]
    Whole,
    /// What `register_tool` carries: the id is the name, and nothing is known of the server but its name.
    Registered,
    /// What `register_tool` carries: neither arguments nor a server.
    Bare,
}

/// Tools, and queries with the tools that answer them.
pub(crate) struct Set {
    /// The folder's name.
    pub(crate) name: String,
    pub(crate) tools: Vec<Tool>,
    pub(crate) queries: Vec<Query>,
}

/// One tool of a set.
#[derive(Default)]
pub(crate) struct Tool {
    pub(crate) id: Arc<str>,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) category: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) server_description: Option<String>,
    /// Names and descriptions of arguments, nested ones too.
    pub(crate) parameters: Vec<(String, Option<String>)>,
}

/// One query of a set.
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Places among the tools of the set.
    pub(crate) relevant: HashSet<usize>,
}

/// The sets in that folder, or the one that it is, by name; `only` leaves out the others.
pub(crate) fn read_all(folder: &Path, split: Option<&str>, only: &[String]) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for path in folders(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if only.is_empty() || only.iter().any(|wanted| *wanted == name) {
            sets.push(Set::read(&path, split).with_context(|| format!("set {}", path.display()))?);
        }
    }
    ensure!(!sets.is_empty(), "{} has no set named {}", folder.display(), only.join(" or "));
    Ok(sets)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    ensure!(folder.is_dir(), "there is no folder {}; name one that has sets to judge by", folder.display());
    let folder = folder.canonicalize()?;
    if folder.join(TOOLS).exists() {
        return Ok(vec![folder]);
    }
    let entries = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<PathBuf> =
        entries.iter().map(fs::DirEntry::path).filter(|path| path.join(TOOLS).exists()).collect();
    found.sort();
    ensure!(!found.is_empty(), "neither {} nor a folder in it has a {TOOLS}", folder.display());
    Ok(found)
}

impl Set {
    fn read(folder: &Path, split: Option<&str>) -> Result<Self> {
        let tools: Vec<Tool> = lines(&folder.join(TOOLS))?.iter().map(Tool::read).collect::<Result<_>>()?;
        let places: HashMap<&str, usize> =
            tools.iter().enumerate().map(|(place, tool)| (&*tool.id, place)).collect();
        ensure!(places.len() == tools.len(), "two tools have the same id");
        let file = split.map_or_else(|| "queries.jsonl".to_owned(), |split| format!("queries.{split}.jsonl"));
        let queries = lines(&folder.join(file))?
            .iter()
            .map(|line| Query::read(line, &places))
            .collect::<Result<_>>()?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, tools, queries })
    }

    /// The language of a query, and that of the tools it is about: `zh-en` for a Chinese query about English tools.
    pub(crate) fn pair_of(&self, query: &Query) -> String {
        let chinese =
            query.relevant.iter().filter(|place| is_chinese(&self.tools[**place].description)).count();
        let about = if chinese * 2 > query.relevant.len() { "zh" } else { "en" };
        format!("{}-{about}", if is_chinese(&query.text) { "zh" } else { "en" })
    }

    /// An index of its tools by their places.
    pub(crate) fn index(&self, form: Form, parameters: &Parameters) -> Index<usize> {
        let mut index = Index::with_parameters(parameters.clone());
        index.apply(self.documents(form));
        index
    }

    /// What to put into an index.
    fn documents(&self, form: Form) -> impl Iterator<Item = (Arc<str>, Option<(Document<'_>, usize)>)> {
        let tools = self.tools.iter().enumerate();
        tools.map(move |(place, tool)| (Arc::clone(&tool.id), Some((tool.document(form), place))))
    }
}

impl Tool {
    fn read(line: &Value) -> Result<Self> {
        let text = |key: &str| line[key].as_str().map(str::to_owned).filter(|text| !text.is_empty());
        let id = text("id").or_else(|| text("name")).with_context(|| format!("no id in {line}"))?;
        // As the gateway reads them, out of a list entry.
        let entry = json!({"inputSchema": line["input_schema"]}).to_string();
        let owned = |(name, text): &NamedText<'_>| (name.to_string(), text.as_deref().map(str::to_owned));
        let parameters = read_entry(entry.as_bytes()).parameters.iter().map(owned).collect();
        let tags = line["tags"].as_array().into_iter().flatten();
        Ok(Self {
            name: text("name").unwrap_or_else(|| id.clone()),
            id: id.into(),
            title: text("title"),
            description: text("description").unwrap_or_default(),
            tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
            category: text("category"),
            server: text("server"),
            server_description: text("server_description"),
            parameters,
        })
    }

    /// The tool as the index takes it.
    pub(crate) fn document(&self, form: Form) -> Document<'_> {
        let whole = Document {
            name: &self.name,
            title: self.title.as_deref(),
            description: &self.description,
            tags: self.tags.iter().map(String::as_str).collect(),
            category: self.category.as_deref(),
            server: self.server.as_deref(),
            server_description: self.server_description.as_deref(),
            parameters: self.parameters.iter().map(parameter).collect(),
        };
        match form {
            Form::Whole => whole,
            Form::Registered => Document { name: &self.id, title: None, server_description: None, ..whole },
            Form::Bare => Document {
                name: &self.id,
                title: None,
                server: None,
                server_description: None,
                parameters: Vec::new(),
                ..whole
            },
        }
    }
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
}

fn parameter((name, description): &(String, Option<String>)) -> Parameter<'_> {
    Parameter { name, description: description.as_deref() }
}

impl Query {
    fn read(line: &Value, places: &HashMap<&str, usize>) -> Result<Self> {
        let text = line["text"].as_str().with_context(|| format!("no text in {line}"))?;
        let id = line["id"].as_str().unwrap_or(text);
        let ids = line["relevant"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut relevant = HashSet::new();
        for tool in ids {
            match places.get(tool) {
                Some(place) => relevant.insert(*place),
                None => bail!("query {id} names {tool:?}, which is no tool of the set"),
            };
        }
        ensure!(!relevant.is_empty(), "query {id} has no relevant tool");
        Ok(Self { id: id.to_owned(), text: text.to_owned(), relevant })
    }
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let filled = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = filled.map(|(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}:{} is not JSON", path.display(), number + 1))
    });
    parsed.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes a set of two tools into a new folder.
    pub(in super::super) fn small_set() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let set = folder.path().join("small");
        fs::create_dir(&set).unwrap();
        let tools = [
            json!({"id": "sky__forecast", "name": "forecast", "description": "Weather of the next days", "server": "sky",
                "server_description": "All about weather",
                "input_schema": {"properties": {"place": {"type": "object", "description": "Where", "properties": {
                    "city": {"description": "Name of the city"}}}, "days": {"type": "array", "items": {"properties": {"day": {}}}}}}}),
            json!({"id": "mail__send", "name": "send", "description": "Sends a letter", "tags": ["post"], "category": "office"}),
        ];
        let queries = [
            json!({"id": "1", "text": "weather", "relevant": ["sky__forecast"]}),
            json!({"id": "2", "text": "letter", "relevant": ["mail__send"]}),
        ];
        let lined = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        fs::write(set.join("tools.jsonl"), lined(&tools)).unwrap();
        fs::write(set.join("queries.jsonl"), lined(&queries)).unwrap();
        folder
    }

    #[test]
    fn a_folder_of_sets_and_one_set_are_read_alike() {
        let folder = small_set();
        for path in [folder.path().to_owned(), folder.path().join("small")] {
            let sets = read_all(&path, None, &[]).unwrap();
            assert_eq!(sets.len(), 1);
            assert_eq!((sets[0].name.as_str(), sets[0].tools.len()), ("small", 2));
            assert_eq!(sets[0].queries[1].relevant, HashSet::from([1]));
        }
    }

    #[test]
    fn arguments_of_arguments_are_found() {
        let folder = small_set();
        let sets = read_all(folder.path(), None, &[]).unwrap();
        let document = sets[0].tools[0].document(Form::Whole);
        let names: Vec<&str> = document.parameters.iter().map(|parameter| parameter.name).collect();
        assert_eq!(names, ["place", "days", "city", "day"]);
    }

    #[test]
    fn a_registered_tool_is_named_by_its_id_and_tells_less() {
        let folder = small_set();
        let sets = read_all(folder.path(), None, &[]).unwrap();
        let tool = &sets[0].tools[0];
        let registered = tool.document(Form::Registered);
        assert_eq!((registered.name, registered.server), ("sky__forecast", Some("sky")));
        assert_eq!((registered.server_description, registered.parameters.len()), (None, 4));
        let bare = tool.document(Form::Bare);
        assert_eq!((bare.server, bare.parameters.len()), (None, 0));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = small_set();
        let fault = |path: &Path, only: &[String]| format!("{:#}", read_all(path, None, only).err().unwrap());
        assert!(fault(Path::new("no/such/folder"), &[]).contains("there is no folder no/such/folder"));
        assert!(fault(folder.path(), &["large".to_owned()]).contains("no set named large"));
        let unknown = json!({"id": "3", "text": "x", "relevant": ["nobody"]}).to_string();
        fs::write(folder.path().join("small/queries.jsonl"), unknown).unwrap();
        assert!(fault(folder.path(), &[]).contains("query 3 names \"nobody\""));
    }
}
