//! `toolrail tools call NAME`: one call, or with `--dry-run` what it would send.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{OutputForm, arguments, output};
use crate::cli::remote::LONGEST;
use crate::cli::target::{RestRequest, Target, path_step};
use crate::print::{self, Overlong};

#[derive(Args)]
pub(super) struct CallArgs {
    /// The tool
    name: String,
    /// One argument, which overrules --args; may be repeated. The value is text where the input schema wants a
    /// string, else JSON where it can be read as JSON, else text
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    arg: Vec<String>,
    /// All arguments as a JSON object, as @FILE, or as - for standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Show the request that would be sent, secrets masked, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the result to this file: a picture or another file as its bytes, anything else as it would be printed
    #[arg(long, short, value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
}

pub(super) async fn run(target: &Target, args: &CallArgs, form: OutputForm) -> anyhow::Result<ExitCode> {
    let schema = if args.arg.is_empty() { Value::Null } else { schema_of(target, &args.name).await? };
    let arguments = arguments::collect(args.args.as_deref(), &args.arg, &schema)?;
    if args.dry_run {
        return preview(target, &args.name, arguments.into(), form).await;
    }
    let request = json!({"tool": args.name, "arguments": arguments});
    let reply = target.ask(&RestRequest::post("/mcp/tools/call", &request, "result").within(LONGEST)).await?;
    if form == OutputForm::Json && (args.output.is_none() || !reply.status.is_success()) {
        print::json(&reply.body);
        return Ok(if reply.status.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let body = target.accepted(reply)?;
    match &args.output {
        Some(file) => output::write(file, &body["result"])?,
        None => show_result(&body["result"]),
    }
    for note in body["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        print::note(format!("note: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn schema_of(target: &Target, name: &str) -> anyhow::Result<Value> {
    let path = format!("/admin/tools/{}", path_step(name));
    let reply = target.ask(&RestRequest::get(&path, "configJson")).await?;
    if reply.is_forbidden() {
        // Whoever may only call tools knows them from their list.
        let listed = target.expect(&RestRequest::get("/mcp/tools", "tools")).await?;
        let mut tools = listed["tools"].as_array().into_iter().flatten();
        let found =
            tools.find(|tool| tool["name"].as_str().is_some_and(|known| known.eq_ignore_ascii_case(name)));
        return Ok(found.map(|tool| tool["inputSchema"].clone()).unwrap_or_default());
    }
    let shown = target.accepted(reply)?;
    let definition = &shown["configJson"];
    let schema = definition.get("inputSchema").or_else(|| definition.get("input_schema"));
    Ok(schema.cloned().unwrap_or_default())
}

fn show_result(result: &Value) {
    match (result, blocks_of(result)) {
        (Value::Null, _) => print::note("(no content)"),
        (Value::String(text), _) => print::line(text),
        (_, Some(blocks)) => blocks.iter().for_each(show_block),
        (other, None) => print::line(serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

/// The blocks of a result that consists of nothing else.
pub(super) fn blocks_of(result: &Value) -> Option<&[Value]> {
    let members = result.as_object().filter(|members| members.len() == 1)?;
    members.get("content")?.as_array().map(Vec::as_slice)
}

/// The bytes of a block that has some, in base64, and their type.
pub(super) fn data_of(block: &Value) -> Option<(&str, &str)> {
    let inner = if block["type"] == "resource" { &block["resource"] } else { block };
    let data = inner["data"].as_str().or_else(|| inner["blob"].as_str())?;
    Some((data, inner["mimeType"].as_str().unwrap_or("binary")))
}

/// The text of a block that has some.
pub(super) fn text_of(block: &Value) -> Option<&str> {
    block["text"].as_str().or_else(|| block["resource"]["text"].as_str())
}

fn show_block(block: &Value) {
    match (text_of(block), data_of(block)) {
        (Some(text), _) => print::line(text),
        (None, Some((data, mime))) => {
            let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
            let bytes = (data.len() / 4 * 3).saturating_sub(padding);
            print::line(format!(
                "[{mime}, {bytes} bytes; --output FILE writes them, --json prints them in base64]"
            ));
        }
        (None, None) => print::line(serde_json::to_string_pretty(block).unwrap_or_default()),
    }
}

async fn preview(
    target: &Target,
    name: &str,
    arguments: Value,
    form: OutputForm,
) -> anyhow::Result<ExitCode> {
    let path = format!("/admin/tools/{}/preview", path_step(name));
    let arguments = json!({"arguments": arguments});
    let body = target.expect(&RestRequest::post(&path, &arguments, "preview")).await?;
    if form == OutputForm::Json {
        print::json(&body);
        return Ok(ExitCode::SUCCESS);
    }
    let preview = &body["preview"];
    show_request(&preview["request"]);
    let values = preview["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !values.is_empty() {
        print::line("");
        print::table(["PLACE", "FROM", "VALUE"], values.iter().map(value_row).collect(), Overlong::Cut);
    }
    for note in preview["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        print::note(format!("note: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// An HTTP request as it would go out; anything else as JSON.
fn show_request(request: &Value) {
    let (Some(method), Some(url)) = (request["method"].as_str(), request["url"].as_str()) else {
        return print::line(serde_json::to_string_pretty(request).unwrap_or_default());
    };
    print::line(format!("{method} {url}"));
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            print::line(format!(
                "{name}: {}",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            ));
        }
    }
    match &request["body"] {
        Value::Null => {}
        Value::String(text) => print::line(format!("\n{text}")),
        body => print::line(format!("\n{}", serde_json::to_string_pretty(body).unwrap_or_default())),
    }
}

fn value_row(origin: &Value) -> [String; 3] {
    let text = |field: &str| origin[field].as_str().unwrap_or("-").to_owned();
    let value = match &origin["value"] {
        Value::Null => "(dropped)".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    [text("pointer"), text("from"), print::one_line(&value, 60)]
}
