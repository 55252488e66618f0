//! `search_tools` and `search_hot_tools`: what is wanted in words, the tools that fit best.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, METADATA, Outcome, USUAL_HITS, shortened};
use toolrail_registry::{
    Among, Hit, MOST_PATTERN_CHARACTERS, MOST_QUERY_CHARACTERS, Only, SearchAnswer, SearchError,
    SearchMethod, SearchRequest, Tool as RegistryTool,
};

use crate::arguments::{Arguments, MOST_TOOLS};
use crate::discovery_call::{DiscoveryCall, good};
use crate::failure::invalid;
use crate::{only_looks, takes};

pub(crate) fn entry(default_method: SearchMethod) -> Value {
    json!({
        "name": "search_tools",
        "title": "Search tools",
        "description": "Finds the tools that fit what you want to do, whether they are in your list of tools or not. Use it first \
            whenever no tool you already know does the job. Say the task in a few words, in English or Chinese, such as \
            \"create a GitHub pull request\" or \"查询天气\". Returns the best matches with a score from 0 to 1. Look at the \
            arguments of one with get_tool_definition before you call it by its name.",
        "inputSchema": schema(
            "What the tool should do, as keywords or a sentence; with search_method \"regex\" a regular expression",
            default_method,
        ),
        "annotations": only_looks(),
    })
}

pub(crate) fn hot_entry(default_method: SearchMethod) -> Value {
    json!({
        "name": "search_hot_tools",
        "title": "Search tools in frequent use",
        "description": "Like search_tools, but only among the tools that are in frequent use here (hot and warm ones). Use it when \
            a proven tool is wanted; if it finds nothing, use search_tools.",
        "inputSchema": schema("What the tool should do, as keywords or a sentence", default_method),
        "annotations": only_looks(),
    })
}

fn schema(query: &str, default_method: SearchMethod) -> Value {
    let methods = SearchMethod::ALL.map(SearchMethod::word);
    takes(
        json!({
            "query": {"type": "string", "description": query, "minLength": 1, "maxLength": MOST_QUERY_CHARACTERS},
            "search_method": {
                "type": "string", "enum": methods, "default": default_method.word(),
                "description": "bm25: by words, the best choice; regex: by a pattern; hybrid: by words and meaning"
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": MOST_TOOLS, "default": USUAL_HITS,
                "description": "The most tools to return"
            },
        }),
        &["query"],
    )
}

/// `search_tools`
pub(crate) async fn among_all(asked: DiscoveryCall<'_>) -> Outcome {
    find(&asked, Among::All).await
}

/// `search_hot_tools`
pub(crate) async fn among_hot(asked: DiscoveryCall<'_>) -> Outcome {
    find(&asked, Among::InUse).await
}

async fn find(asked: &DiscoveryCall<'_>, among: Among) -> Outcome {
    let Wanted { query, method, limit } = Wanted::read(asked)?;
    let conversation = asked.call.caller.conversation();
    let tenant = asked.call.principal.tenant();
    let request =
        SearchRequest { query: &query, method, limit, among, only: Only::default(), tenant, conversation };
    let found = asked
        .registry
        .finder()
        .search(&asked.snapshot, &request)
        .await
        .map_err(|error| not_searched(&error, method))?;
    let SearchAnswer { hits, mut notes } = found;
    let shown: Vec<Shown<'_>> = hits.iter().map(|hit| Shown::new(hit, method)).collect();
    if shown.is_empty() {
        notes.push(nothing_found(asked, among));
    }
    let mut answer = good(&json!(shown))?;
    answer.notes = notes;
    Ok(answer)
}

/// What is looked for.
struct Wanted {
    query: String,
    method: SearchMethod,
    limit: usize,
}

impl Wanted {
    fn read(asked: &DiscoveryCall<'_>) -> Result<Self, CallError> {
        let mut arguments = Arguments::of(asked.call)?;
        let query = arguments.needed("query", "查询不能为空")?;
        let word = arguments.text("search_method")?;
        // The REST face says `method`, so whoever knows that says so here.
        let word = word.or(arguments.text("method")?);
        let limit = arguments.limit(USUAL_HITS.into())?;
        arguments.finish()?;
        let method = word.map_or(Ok(asked.registry.finder().default_method()), |word| method_of(&word))?;
        let longest = match method {
            SearchMethod::Regex => MOST_PATTERN_CHARACTERS,
            SearchMethod::Bm25 | SearchMethod::Hybrid => MOST_QUERY_CHARACTERS,
        };
        if query.chars().count() > longest {
            return Err(invalid(format!(
                "查询长度超过限制 ({longest} 字符)\nthe query has more than {longest} characters; say it in fewer words"
            )));
        }
        Ok(Self { query, method, limit })
    }
}

fn method_of(word: &str) -> Result<SearchMethod, CallError> {
    word.parse().map_err(|unknown| {
        let known = SearchMethod::ALL.map(SearchMethod::word).join(", ");
        invalid(format!("无效的搜索方法: {}。支持的方法: {known}\n{unknown}", shortened(word)))
    })
}

fn not_searched(error: &SearchError, method: SearchMethod) -> CallError {
    let (code, chinese) = match (error, method) {
        (SearchError::Query(_), SearchMethod::Regex) => (ErrorCode::InvalidArguments, "无效的正则表达式"),
        (SearchError::Query(_), SearchMethod::Bm25 | SearchMethod::Hybrid) => {
            (ErrorCode::InvalidArguments, "无效的查询")
        }
        (SearchError::Limit(_), _) => (ErrorCode::InvalidArguments, "无效的返回数量"),
        (SearchError::Busy, _) => (ErrorCode::Timeout, "搜索超时"),
    };
    CallError::new(code, format!("{chinese}\n{error}"))
}

fn nothing_found(asked: &DiscoveryCall<'_>, among: Among) -> String {
    match among {
        Among::InUse => {
            "nothing fits among the tools in frequent use; search_tools looks among all".to_owned()
        }
        Among::All => format!(
            "none of {} tools fits; try other words, or list_tools_by_category with \"all\" to see the categories",
            asked.snapshot.tool_count()
        ),
    }
}

/// A hit, with the field names of RegistryTools.
#[derive(Serialize)]
struct Shown<'h> {
    tool_name: &'h str,
    description: Cow<'h, str>,
    score: f64,
    match_reason: &'static str,
    /// Only said of tools that cannot be called here.
    #[serde(skip_serializing_if = "Option::is_none")]
    callable: Option<bool>,
}

impl<'h> Shown<'h> {
    fn new(hit: &'h Hit<std::sync::Arc<RegistryTool>>, method: SearchMethod) -> Self {
        let tool = &hit.value;
        Self {
            tool_name: tool.name.as_str(),
            description: tool.short_description(),
            score: score(hit.score),
            match_reason: method.reason(),
            callable: (&*tool.kind == METADATA).then_some(false),
        }
    }
}

/// Four places are enough to tell hits apart; what was found never has a score of 0.
fn score(score: f32) -> f64 {
    ((f64::from(score) * 1e4).round() / 1e4).clamp(1e-4, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_short_and_never_nothing() {
        assert!((score(0.85) - 0.85).abs() < f64::EPSILON);
        assert!((score(1e-9) - 1e-4).abs() < f64::EPSILON);
        assert!((score(1.5) - 1.0).abs() < f64::EPSILON);
        assert_eq!(json!(score(0.85)).to_string(), "0.85");
    }
}
