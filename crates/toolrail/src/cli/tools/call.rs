//! `toolrail tools call NAME`: one call, or with `--dry-run` what it would send.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{Form, arguments};
use crate::cli::target::{Ask, Target, path_step};
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
}

pub(super) async fn run(target: &Target, args: &CallArgs, form: Form) -> anyhow::Result<ExitCode> {
    let schema = if args.arg.is_empty() { Value::Null } else { schema_of(target, &args.name).await? };
    let arguments = arguments::collect(args.args.as_deref(), &args.arg, &schema)?;
    if args.dry_run {
        return preview(target, &args.name, arguments.into(), form).await;
    }
    let request = json!({"tool": args.name, "arguments": arguments});
    let reply = target.ask(&Ask::post("/mcp/tools/call", &request, "result")).await?;
    if form == Form::Json {
        print::json(&reply.body);
        return Ok(if reply.status.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let body = target.accepted(reply)?;
    show_result(&body["result"]);
    for note in body["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        print::note(format!("note: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn schema_of(target: &Target, name: &str) -> anyhow::Result<Value> {
    let path = format!("/admin/tools/{}", path_step(name));
    let shown = target.expect(&Ask::get(&path, "configJson")).await?;
    let definition = &shown["configJson"];
    let schema = definition.get("inputSchema").or_else(|| definition.get("input_schema"));
    Ok(schema.cloned().unwrap_or_default())
}

fn show_result(result: &Value) {
    match result {
        Value::Null => print::note("(no content)"),
        Value::String(text) => print::line(text),
        Value::Object(members)
            if members.len() == 1 && members.get("content").is_some_and(Value::is_array) =>
        {
            members["content"].as_array().into_iter().flatten().for_each(show_block);
        }
        other => print::line(serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

fn show_block(block: &Value) {
    let inner = if block["type"] == "resource" { &block["resource"] } else { block };
    let data = inner["data"].as_str().or_else(|| inner["blob"].as_str());
    match (block["text"].as_str(), data) {
        (Some(text), _) => print::line(text),
        (None, Some(data)) => {
            let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
            let bytes = (data.len() / 4 * 3).saturating_sub(padding);
            let mime = inner["mimeType"].as_str().unwrap_or("binary");
            print::line(format!("[{mime}, {bytes} bytes; --json prints them in base64]"));
        }
        (None, None) => print::line(serde_json::to_string_pretty(block).unwrap_or_default()),
    }
}

async fn preview(target: &Target, name: &str, arguments: Value, form: Form) -> anyhow::Result<ExitCode> {
    let path = format!("/admin/tools/{}/preview", path_step(name));
    let arguments = json!({"arguments": arguments});
    let body = target.expect(&Ask::post(&path, &arguments, "preview")).await?;
    if form == Form::Json {
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
