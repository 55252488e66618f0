//! Reading the databases of other systems, to take their tools over: a table `mcp_tool` (the small one with `config_json`,
//! or the full one with split columns) in any database, and RegistryTools' table `tools` in SQLite. Nothing is changed
//! there, and nothing is created: the connection is read-only.

mod texts;

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::StoreUrl;
use crate::postgres::wrong_parameter;
use texts::{Budget, ReadError, Reader};

/// How much later than its own limit a database that says nothing at all is given up.
const SILENCE: Duration = Duration::from_secs(5);
/// The longest time that reading a file may take.
const FILE_TIME: Duration = Duration::from_secs(10);

/// Columns of `mcp_tool` that hold JSON, as text or as a type of the database.
const JSON_COLUMNS: &[&str] = &[
    "input_schema",
    "output_schema",
    "http_spec",
    "feign_spec",
    "auth_spec",
    "response_mapping",
    "policy",
    "tags",
];
/// Columns of `mcp_tool` that hold plain text and are part of the definition.
const TEXT_COLUMNS: &[&str] = &["title", "description", "transport", "category"];
/// Columns of RegistryTools' `tools`, with whether each holds JSON.
const REGISTRY_TOOLS: &[(&str, Holds)] = &[
    ("name", Holds::Text),
    ("description", Holds::Text),
    ("mcp_server", Holds::Text),
    ("defer_loading", Holds::Switch),
    ("tags", Holds::Json),
    ("category", Holds::Text),
    ("use_frequency", Holds::Json),
    ("last_used", Holds::Text),
    ("input_schema", Holds::Json),
    ("output_schema", Holds::Json),
];

/// What the text of a column is.
#[derive(Clone, Copy)]
enum Holds {
    Text,
    Json,
    Switch,
}

/// How much is read of another system's database: anything may be in it, also a view that never ends.
#[derive(Clone, Copy, Debug)]
pub struct ForeignLimits {
    /// The most rows.
    pub rows: usize,
    /// The most bytes of all of them.
    pub bytes: usize,
    /// The most bytes of one value; a larger one is not read at all.
    pub value_bytes: usize,
    /// The longest time that connecting and reading may take.
    pub time: Duration,
}

impl Default for ForeignLimits {
    fn default() -> Self {
        let (bytes, value_bytes) = (512 * 1024 * 1024, 16 * 1024 * 1024);
        Self { rows: 200_000, bytes, value_bytes, time: Duration::from_mins(1) }
    }
}

impl ForeignLimits {
    /// The limits for that database: a file on this machine is read in seconds, or has no end.
    fn of(self, url: &StoreUrl) -> Self {
        match url {
            StoreUrl::Sqlite(_) | StoreUrl::Json(_) | StoreUrl::Memory => {
                Self { time: self.time.min(FILE_TIME), ..self }
            }
            StoreUrl::Postgres(_) | StoreUrl::Mysql(_) => self,
        }
    }
}

/// Hears how many rows were read.
pub type OnRows<'l> = &'l (dyn Fn(usize) + Send + Sync);

/// What another system's database holds.
#[derive(Debug)]
pub struct Foreign {
    /// Which system's it looks like.
    pub form: ForeignForm,
    /// Its tools, in the order of their names.
    pub tools: Vec<ForeignTool>,
    /// What else is there and was not read, for people.
    pub left_alone: Vec<String>,
}

/// Which system a database belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignForm {
    /// A table `mcp_tool` with whole definitions in `config_json`.
    McpTool,
    /// A table `mcp_tool` with split columns.
    FullMcpTool,
    /// RegistryTools' table `tools`.
    RegistryTools,
}

impl ForeignForm {
    /// Its name for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::McpTool => "table mcp_tool with config_json",
            Self::FullMcpTool => "table mcp_tool with split columns",
            Self::RegistryTools => "RegistryTools' table tools",
        }
    }
}

/// One tool of another system.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTool {
    /// Its name.
    pub name: String,
    /// Whether it is switched on there.
    pub enabled: bool,
    /// Whose it is there; everybody's if absent.
    pub tenant: Option<String>,
    /// What is written there about it; a text where that is no JSON.
    pub document: Value,
}

/// Why another system's database could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// It cannot be opened or asked. Never shown with its password.
    #[error("{place} cannot be read: {fault}")]
    Unreadable {
        /// Which database.
        place: String,
        /// Why.
        fault: String,
    },
    /// It has none of the tables.
    #[error("{0} has no table mcp_tool, nor RegistryTools' table tools; name the database that holds them")]
    NothingThere(String),
    /// It has more than is read.
    #[error("{place} has more than {most}; take them over in parts, from views that hold fewer")]
    TooMuch {
        /// Which database.
        place: String,
        /// More than what.
        most: String,
    },
    /// It has a value that no definition can have.
    #[error("{place} has a value of more than {} MiB in {table}; make it smaller, or leave its row out with a view", .most / 1024 / 1024)]
    TooLarge {
        /// Which database.
        place: String,
        /// In which table.
        table: &'static str,
        /// More than how many bytes.
        most: usize,
    },
}

/// Reads the tools in that database within those limits. What takes longer is broken off, there too.
pub fn read_foreign<'a>(url: &'a StoreUrl, limits: ForeignLimits, tell: OnRows<'a>) -> Reading<'a> {
    Box::pin(read_within(url, limits, tell))
}

/// Tools on their way. It hides its type, so that no crate that waits for them has to compile the drivers again.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Foreign, ForeignError>> + Send + 'a>>;

async fn read_within(
    url: &StoreUrl,
    limits: ForeignLimits,
    tell: OnRows<'_>,
) -> Result<Foreign, ForeignError> {
    let place = url.to_string();
    let limits = limits.of(url);
    let began = Instant::now();
    let late = || ForeignError::Unreadable {
        place: place.clone(),
        fault: format!(
            "reading it did not end within {} seconds; a table or view there may have no end",
            limits.time.as_secs_f32()
        ),
    };
    let silent = limits.time + SILENCE;
    match tokio::time::timeout(silent, read(url, &place, Budget { limits, tell })).await {
        Err(_) => Err(late()),
        // What the database says when it is broken off means nothing to people.
        Ok(Err(ForeignError::Unreadable { .. })) if began.elapsed() >= limits.time => Err(late()),
        Ok(read) => read,
    }
}

async fn read(url: &StoreUrl, place: &str, budget: Budget<'_>) -> Result<Foreign, ForeignError> {
    let unreadable = |error: ReadError| match error {
        ReadError::Sql(error) => {
            ForeignError::Unreadable { place: place.to_owned(), fault: texts::told(&error) }
        }
        ReadError::TooMuch(most) => ForeignError::TooMuch { place: place.to_owned(), most },
        ReadError::TooLarge(table) => {
            ForeignError::TooLarge { place: place.to_owned(), table, most: budget.limits.value_bytes }
        }
    };
    if let StoreUrl::Postgres(url) = url
        && let Some(fault) = wrong_parameter(url)
    {
        return Err(ForeignError::Unreadable { place: place.to_owned(), fault });
    }
    let mut reader = Reader::open(url, budget.limits.time).await.map_err(unreadable)?;
    let columns = reader.columns("mcp_tool").await.map_err(unreadable)?;
    let has = |column: &str| columns.iter().any(|known| known == column);
    let mut left_alone = Vec::new();
    let (form, rows) = if has("name") && (has("config_json") || has("http_spec")) {
        let common = ["name", "enabled", "tenant_id", "config_json"];
        let all: Vec<&'static str> = common.iter().chain(TEXT_COLUMNS).chain(JSON_COLUMNS).copied().collect();
        let form = if has("config_json") { ForeignForm::McpTool } else { ForeignForm::FullMcpTool };
        (form, reader.texts("mcp_tool", chosen(&columns, &all), budget).await)
    } else {
        let columns = reader.columns("tools").await.map_err(unreadable)?;
        if !["name", "description", "use_frequency"]
            .iter()
            .all(|column| columns.iter().any(|known| known == column))
        {
            return Err(ForeignError::NothingThere(place.to_owned()));
        }
        if !reader.columns("api_keys").await.map_err(unreadable)?.is_empty() {
            left_alone.push("the table api_keys: keys are not taken over, make new ones".to_owned());
        }
        let all: Vec<&'static str> = REGISTRY_TOOLS.iter().map(|(column, _)| *column).collect();
        (ForeignForm::RegistryTools, reader.texts("tools", chosen(&columns, &all), budget).await)
    };
    let rows = rows.map_err(unreadable)?;
    reader.close().await;
    let tools = rows.into_iter().map(|row| tool_of(form, row)).collect();
    Ok(Foreign { form, tools, left_alone })
}

/// Those of the columns we know that are there.
fn chosen(there: &[String], known: &[&'static str]) -> Vec<&'static str> {
    known.iter().filter(|column| there.iter().any(|name| name == *column)).copied().collect()
}

/// One row: the columns that are not null, by name.
type Texts = Vec<(&'static str, String)>;

fn tool_of(form: ForeignForm, row: Texts) -> ForeignTool {
    let text = |wanted: &str| row.iter().find(|(column, _)| *column == wanted).map(|(_, text)| text.clone());
    let name = text("name").unwrap_or_default();
    let enabled = text("enabled").is_none_or(|text| is_on(&text));
    let tenant = text("tenant_id").filter(|tenant| !tenant.is_empty());
    let document = match form {
        // A table that has both kinds of columns has each row in one of the two forms.
        ForeignForm::McpTool | ForeignForm::FullMcpTool => match text("config_json") {
            Some(text) => json_or_text(text),
            None => Value::Object(split_definition(&name, &row)),
        },
        ForeignForm::RegistryTools => Value::Object(registry_tools(row)),
    };
    ForeignTool { name, enabled, tenant, document }
}

fn split_definition(name: &str, row: &Texts) -> Map<String, Value> {
    let mut definition = Map::from_iter([("name".to_owned(), Value::from(name))]);
    for (column, text) in row {
        let value = if TEXT_COLUMNS.contains(column) {
            Value::from(text.as_str())
        } else if JSON_COLUMNS.contains(column) {
            json_or_text(text.clone())
        } else {
            continue;
        };
        // A column that says nothing is no field.
        if !value.is_null() {
            definition.insert((*column).to_owned(), value);
        }
    }
    definition
}

fn registry_tools(row: Texts) -> Map<String, Value> {
    let holds =
        |column: &str| REGISTRY_TOOLS.iter().find(|(known, _)| *known == column).map(|(_, holds)| *holds);
    let member = |(column, text): (&'static str, String)| {
        let value = match holds(column)? {
            Holds::Text => Value::String(text),
            Holds::Json => json_or_text(text),
            Holds::Switch => Value::Bool(is_on(&text)),
        };
        Some((column.to_owned(), value))
    };
    row.into_iter().filter_map(member).collect()
}

fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Databases say true in several ways.
fn is_on(text: &str) -> bool {
    !matches!(text.trim().to_ascii_lowercase().as_str(), "0" | "false" | "f" | "")
}
