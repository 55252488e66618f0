//! Definitions on their way into the store, from wherever they are: files and folders, catalogues of RegistryTools, and
//! the databases of other systems. Each knows where it came from, so that a problem can be told there.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use toolrail_core::{Problem, Severity, ToolName};
use toolrail_registry::registry_tools_definition;
use toolrail_store::{ForeignForm, ForeignLimits, ForeignTool, StoreUrl, read_foreign};

use super::Hinted;
use super::definition_files::{self, FileText, Found, ReadFile, unreadable};
use crate::print;

/// What was found.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) tools: Vec<Arriving>,
    /// Files that cannot be read.
    pub(super) unreadable: Vec<Problem>,
    /// Definitions whose name another has too, one problem each.
    pub(super) doubles: Vec<Problem>,
    /// Where they came from.
    pub(super) sources: Vec<Origin>,
}

/// One of the places that the user named.
pub(super) struct Origin {
    /// The place, without credentials.
    pub(super) place: String,
    /// What it is, for people.
    pub(super) what: String,
    /// How many definitions it has.
    pub(super) found: usize,
    /// What is there and was left alone.
    pub(super) left_alone: Vec<String>,
}

/// A definition on its way, as it is sent.
pub(super) struct Arriving {
    pub(super) body: Value,
    from: Whence,
}

enum Whence {
    File { file: Arc<FileText>, pointer: String },
    Row(String),
}

impl Arriving {
    /// Where it came from, for people.
    pub(super) fn origin(&self) -> String {
        match &self.from {
            Whence::File { file, pointer } => file.spot(pointer).to_string(),
            Whence::Row(row) => row.clone(),
        }
    }

    /// A problem with a pointer into what was sent, told where it came from.
    pub(super) fn placed(&self, problem: Problem, sent_at: &str) -> Problem {
        let rest = problem.pointer.strip_prefix(sent_at).unwrap_or(&problem.pointer).to_owned();
        match &self.from {
            Whence::File { file, pointer } => {
                let pointer = format!("{pointer}{rest}");
                let spot = Some(file.spot(&pointer));
                Problem { origin: Some(file.name.clone()), spot, pointer, ..problem }
            }
            Whence::Row(row) => Problem { origin: Some(row.clone()), spot: None, pointer: rest, ..problem },
        }
    }

    /// Its name, if it has one, and whose it is.
    fn key(&self) -> Option<(String, Option<&str>)> {
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        let inner = ["configJson", "config_json"].iter().find_map(|field| self.body.get(*field));
        let name = text(&self.body, "name").or_else(|| inner.and_then(|inner| text(inner, "name")))?;
        let tenant = inner.and_then(|_| self.body.get("tenant")).and_then(Value::as_str);
        Some((ToolName::fold(&name), tenant))
    }
}

impl Incoming {
    /// Everything at those places.
    pub(super) async fn read(places: &[String]) -> anyhow::Result<Self> {
        let mut incoming = Self::default();
        for place in places {
            match database(place)? {
                Some(url) => incoming.add_database(&url).await?,
                None => incoming.add_files(place)?,
            }
        }
        incoming.leave_out_doubles();
        Ok(incoming)
    }

    fn add_files(&mut self, place: &str) -> anyhow::Result<()> {
        let read = definition_files::read(&[PathBuf::from(place)])?;
        let (files, before) = (read.len(), self.tools.len());
        for ReadFile { file, found } in read {
            match found {
                Err(fault) => self.unreadable.push(unreadable(&file, fault)),
                Ok(found) => self.tools.extend(found.into_iter().map(arriving)),
            }
        }
        let what = print::counted(files, "file");
        let found = self.tools.len() - before;
        self.sources.push(Origin { place: place.to_owned(), what, found, left_alone: Vec::new() });
        Ok(())
    }

    async fn add_database(&mut self, url: &StoreUrl) -> anyhow::Result<()> {
        // Seen on terminals only, and only if it takes a while.
        let bar = ProgressBar::new_spinner().with_message(format!("reading {url}"));
        let tell = |rows: usize| bar.set_position(u64::try_from(rows).unwrap_or_default());
        let foreign = read_foreign(url, ForeignLimits::default(), &tell).await;
        bar.finish_and_clear();
        let foreign = foreign?;
        let place = url.to_string();
        self.sources.push(Origin {
            place: place.clone(),
            what: foreign.form.words().to_owned(),
            found: foreign.tools.len(),
            left_alone: foreign.left_alone,
        });
        let arriving = |tool: ForeignTool| Arriving {
            from: Whence::Row(format!("{place}: {}", tool.name)),
            body: body_of(foreign.form, tool),
        };
        self.tools.extend(foreign.tools.into_iter().map(arriving));
        Ok(())
    }

    /// Those with one name are all left out: nobody knows which is meant.
    fn leave_out_doubles(&mut self) {
        let mut keys: HashMap<(String, Option<&str>), Vec<usize>> = HashMap::new();
        for (index, tool) in self.tools.iter().enumerate() {
            if let Some(key) = tool.key() {
                keys.entry(key).or_default().push(index);
            }
        }
        let mut doubles = BTreeMap::new();
        for ((name, _), places) in keys.into_iter().filter(|(_, places)| places.len() > 1) {
            for (nth, index) in places.iter().enumerate() {
                let other = self.tools[places[usize::from(nth == 0)]].origin();
                let message = format!("the name {name:?} is used in {other} too; rename one of them");
                doubles.insert(*index, self.tools[*index].placed(about(&name, message), ""));
            }
        }
        let mut index = 0..;
        self.tools.retain(|_| index.next().is_none_or(|index| !doubles.contains_key(&index)));
        self.doubles = doubles.into_values().collect();
    }
}

fn about(name: &str, message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: Some(name.to_owned()),
        origin: None,
        pointer: "/name".into(),
        message,
        spot: None,
    }
}

fn arriving(found: Found) -> Arriving {
    let Found { file, pointer, document } = found;
    Arriving { body: document, from: Whence::File { file, pointer } }
}

fn body_of(form: ForeignForm, tool: ForeignTool) -> Value {
    let document = match form {
        ForeignForm::McpTool | ForeignForm::FullMcpTool => tool.document,
        ForeignForm::RegistryTools => registry_tools_definition(tool.document),
    };
    let mut body = Map::from_iter([
        ("name".to_owned(), Value::from(tool.name)),
        ("enabled".to_owned(), tool.enabled.into()),
        ("configJson".to_owned(), document),
    ]);
    if let Some(tenant) = tool.tenant {
        body.insert("tenant".into(), json!(tenant));
    }
    Value::Object(body)
}

/// The database that a place names, if it is one: a URL, or a file of SQLite.
fn database(place: &str) -> anyhow::Result<Option<StoreUrl>> {
    let schemes = ["postgres:", "postgresql:", "mysql:", "mariadb:", "sqlite:"];
    let lower = place.to_ascii_lowercase();
    if schemes.iter().any(|scheme| lower.starts_with(scheme)) && !Path::new(place).exists() {
        return Ok(Some(place.parse()?));
    }
    // Not repeated: it may hold a password.
    if may_hold_password(&lower) && !Path::new(place).exists() {
        return Err(Hinted::error(
            "what was named is no file that is there, and no URL of a store",
            "write postgres://user:password@host:5432/database, mysql://…, sqlite:FILE, or the name of a file",
        ));
    }
    Ok(is_sqlite(Path::new(place)).then(|| StoreUrl::Sqlite(place.into())))
}

/// Whether it looks like a way to a server, however written.
fn may_hold_password(place: &str) -> bool {
    let user = place.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    user || place.contains("://") || place.contains("password=")
}

/// Whether the file begins as those of SQLite do.
fn is_sqlite(path: &Path) -> bool {
    let mut start = [0; 16];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && &start == b"SQLite format 3\0"
}
