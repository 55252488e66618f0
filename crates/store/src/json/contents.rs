//! What is in the file: `tools`, for people to read and edit, and `state`, in which the store remembers everything else.
//! The tools that `state` remembers are those of the last writing: where `tools` has others, somebody edited them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::Row as _;
use toolrail_core::{ToolKey, ToolName};

use super::state;
use crate::SqliteStore;

const TOOLS: &str = "SELECT rowid, nullif(tenant_id, ''), name, enabled <> 0, config_json FROM mcp_tool \
    ORDER BY coalesce(tenant_id, ''), lower(name)";
const INSERT: &str = "INSERT INTO mcp_tool (name, enabled, config_json, tenant_id) VALUES (?, ?, ?, ?)";
const UPDATE: &str = "UPDATE mcp_tool SET name = ?, enabled = ?, config_json = ? WHERE rowid = ?";
const DELETE: &str = "DELETE FROM mcp_tool WHERE rowid = ?";

/// The file, read.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    tools: Vec<Tool>,
    /// The rows of each table, as they were written.
    #[serde(default)]
    pub(super) state: BTreeMap<String, Box<RawValue>>,
}

/// One definition, as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tool {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(default = "switched_on")]
    enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<Value>,
    /// The definition as text, where it is no JSON or would become another text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config_text: Option<String>,
}

fn switched_on() -> bool {
    true
}

impl Tool {
    fn new(tenant: Option<String>, name: String, enabled: bool, text: String) -> Self {
        let is_spelled_so = |value: &Value| {
            let spelled = value.to_string();
            spelled == text
        };
        match serde_json::from_str::<Value>(&text).ok().filter(is_spelled_so) {
            Some(config) => Self { name, tenant, enabled, config: Some(config), config_text: None },
            None => Self { name, tenant, enabled, config: None, config_text: Some(text) },
        }
    }

    fn key(&self) -> ToolKey {
        let tenant = self.tenant.clone().filter(|tenant| !tenant.is_empty());
        ToolKey { tenant, name: ToolName::fold(&self.name) }
    }

    fn text(&self) -> String {
        match (&self.config_text, &self.config) {
            (Some(text), _) => text.clone(),
            (None, Some(config)) => config.to_string(),
            (None, None) => "null".to_owned(),
        }
    }
}

impl Contents {
    /// The contents in that text; otherwise what is wrong, and where.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // The place is part of what the parser says.
        let contents: Self = serde_json::from_str(text)
            .map_err(|error| format!("the file is not what a store writes: {error}; correct it there"))?;
        let mut keys = HashSet::new();
        match contents.tools.iter().find(|tool| !keys.insert(tool.key())) {
            Some(twice) => Err(format!(
                "the name {:?} stands in the file twice; names ignore case, keep one",
                twice.name
            )),
            None => Ok(contents),
        }
    }
}

/// The file's text for what is in memory.
pub(super) async fn text_of(memory: &SqliteStore) -> Result<String, sqlx::Error> {
    let mut transaction = memory.connections().begin().await?;
    let rows = sqlx::query(TOOLS).fetch_all(&mut *transaction).await?;
    let tool = |row: &sqlx::sqlite::SqliteRow| {
        Ok(Tool::new(row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?))
    };
    let tools = rows.iter().map(tool).collect::<Result<Vec<_>, sqlx::Error>>()?;
    let pretty = serde_json::to_string_pretty(&tools).map_err(|error| sqlx::Error::Encode(error.into()))?;
    // Line breaks inside texts are written as \n, so these are between values.
    let mut text = format!("{{\n  \"tools\": {},\n  \"state\": {{", pretty.replace('\n', "\n  "));
    state::write(&mut transaction, &mut text).await?;
    text.push_str("\n  }\n}\n");
    transaction.commit().await?;
    Ok(text)
}

/// Makes the definitions in memory those of the file, as another program would; returns whether they were others.
pub(super) async fn take_over(memory: &SqliteStore, contents: &Contents) -> Result<bool, sqlx::Error> {
    let mut transaction = memory.connections().begin_with("BEGIN IMMEDIATE").await?;
    let mut there = HashMap::new();
    for row in sqlx::query(TOOLS).fetch_all(&mut *transaction).await? {
        let place: i64 = row.try_get(0)?;
        let (name, enabled): (String, bool) = (row.try_get(2)?, row.try_get(3)?);
        let key = ToolKey { tenant: row.try_get(1)?, name: ToolName::fold(&name) };
        let text: String = row.try_get(4)?;
        there.insert(key, (place, name, enabled, text));
    }
    let mut changes = 0_usize;
    let mut wanted = Vec::new();
    for tool in &contents.tools {
        wanted.push((there.remove(&tool.key()), tool));
    }
    for (place, ..) in there.into_values() {
        sqlx::query(DELETE).bind(place).execute(&mut *transaction).await?;
        changes += 1;
    }
    for (before, tool) in wanted {
        let text = tool.text();
        let query = match before {
            Some((_, name, enabled, old)) if name == tool.name && enabled == tool.enabled && old == text => {
                continue;
            }
            Some((place, ..)) => {
                sqlx::query(UPDATE).bind(&tool.name).bind(tool.enabled).bind(text).bind(place)
            }
            None => {
                sqlx::query(INSERT).bind(&tool.name).bind(tool.enabled).bind(text).bind(tool.key().tenant)
            }
        };
        query.execute(&mut *transaction).await?;
        changes += 1;
    }
    transaction.commit().await?;
    Ok(changes > 0)
}
