//! `toolrail search`: finds tools, and says where and why.

use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use toolrail_core::USUAL_HITS;
use toolrail_registry::MOST_HITS;

use super::target::{Missing, RestRequest, Target, TargetArgs};
use super::tools::OutputForm;
use crate::print::{self, Overlong};

/// The most characters of a description where there is no terminal to fit into.
const LONGEST_DESCRIPTION: usize = 100;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail search open a pull request\n  toolrail search 查询天气 --limit 3 --explain\n  toolrail search --method regex '^github\\.'"
)]
pub(super) struct SearchArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// What the tool should do, in words; with --method regex a pattern
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// How to look: bm25 by words, regex by a pattern, hybrid by words and meaning [default: that of the server]
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// The most tools to show
    #[arg(long, default_value_t = USUAL_HITS.into(), value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_HITS as u64))]
    limit: usize,
    /// Only tools of this category
    #[arg(long)]
    category: Option<String>,
    /// Only tools with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only tools of this group, as the server's configuration has it
    #[arg(long)]
    group: Option<String>,
    /// Say by which words each tool was found
    #[arg(long)]
    explain: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    Bm25,
    Regex,
    Hybrid,
}

pub(super) async fn run(args: SearchArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let ended = search(&target, &args).await;
    target.close().await;
    ended
}

async fn search(target: &Target, args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let method = args.method.map(|method| match method {
        Method::Bm25 => "bm25",
        Method::Regex => "regex",
        Method::Hybrid => "hybrid",
    });
    let asked = json!({
        "query": args.query.join(" "), "method": method, "limit": args.limit,
        "category": args.category, "tag": args.tag, "group": args.group,
    });
    let mut reply = target.ask(&RestRequest::post("/mcp/search", &asked, "results")).await?;
    name_flags(&mut reply.body);
    let body = target.accepted(reply)?;
    let results = body["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    match OutputForm::of(args.json) {
        OutputForm::Json => print::json(&body),
        OutputForm::People => {
            show(results, args);
            for note in body["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                print::note(format!("note: {note}"));
            }
            if results.is_empty() {
                print::note(format!("nothing fits; {} shows all there is", target.command("tools list")));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Messages and notes name the method as agents give it; here it is a flag.
fn name_flags(body: &mut Value) {
    const FLAG: (&str, &str) = ("search_method \"bm25\"", "--method bm25");
    let renamed = |text: &mut Value| {
        if let Value::String(text) = text {
            *text = text.replace(FLAG.0, FLAG.1);
        }
    };
    body.pointer_mut("/error/message").into_iter().for_each(renamed);
    body.get_mut("notes").and_then(Value::as_array_mut).into_iter().flatten().for_each(renamed);
}

fn show(results: &[Value], args: &SearchArgs) {
    if args.explain {
        results.iter().for_each(explain);
        return;
    }
    if !results.is_empty() {
        let rows = results.iter().map(row).collect();
        print::table(["SCORE", "NAME", "DESCRIPTION"], rows, Overlong::Cut);
    }
}

fn row(result: &Value) -> [String; 3] {
    let [name, description] = texts(result);
    let described = described(result);
    let shown = print::one_line(&format!("{described}{description}"), LONGEST_DESCRIPTION);
    [score(result), name.to_owned(), shown]
}

/// What is said of a tool that cannot be called here.
fn described(result: &Value) -> &'static str {
    if result["callable"] == false { "(described only) " } else { "" }
}

fn texts(result: &Value) -> [&str; 2] {
    ["tool_name", "description"].map(|field| result[field].as_str().unwrap_or_default())
}

fn score(result: &Value) -> String {
    format!("{:.2}", result["score"].as_f64().unwrap_or_default())
}

/// One hit with what was found marked, and by what.
fn explain(result: &Value) {
    let [name, description] = texts(result);
    let highlights = &result["highlights"];
    let name = print::marked(name, &ranges(&highlights["name"]));
    let shown = format!("{}  {name} {}", score(result), described(result));
    print::raw_line(shown.trim_end());
    if !description.is_empty() {
        print::raw_line(&format!(
            "      {}",
            print::marked(description, &ranges(&highlights["description"]))
        ));
    }
    let reasons: Vec<String> = result["explanation"].as_array().into_iter().flatten().map(reason).collect();
    if !reasons.is_empty() {
        print::line(format!("      {}", reasons.join(", ")));
    }
}

fn ranges(marked: &Value) -> Vec<[usize; 2]> {
    serde_json::from_value(marked.clone()).unwrap_or_default()
}

/// `mail→email in name 0.31`
fn reason(reason: &Value) -> String {
    let text = |field: &str| reason[field].as_str();
    let by = text("by").map(|by| format!("→{by}")).unwrap_or_default();
    let weight = reason["weight"].as_f64().unwrap_or_default();
    let word = print::one_line(text("word").unwrap_or_default(), 30);
    format!("{word}{by} in {} {weight:.2}", text("field").unwrap_or("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_is_told_as_a_flag() {
        let mut body = json!({"error": {"message": "correct it, or use search_method \"bm25\" for plain words"},
            "notes": ["use a simpler one, or search_method \"bm25\""]});
        name_flags(&mut body);
        assert_eq!(body["error"]["message"], "correct it, or use --method bm25 for plain words");
        assert_eq!(body["notes"][0], "use a simpler one, or --method bm25");
        let mut other = json!({"results": []});
        name_flags(&mut other);
        assert_eq!(other, json!({"results": []}));
    }

    #[test]
    fn a_reason_says_what_was_found_where() {
        let by = json!({"word": "mail", "by": "email", "field": "name", "weight": 0.314});
        assert_eq!(reason(&by), "mail→email in name 0.31");
        assert_eq!(reason(&json!({"word": "mail", "field": "tags", "weight": 1})), "mail in tags 1.00");
    }
}
