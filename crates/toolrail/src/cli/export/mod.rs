//! `toolrail export`: the definitions of the store as files, in a stable order and form.

mod folder;
mod ledger;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::target::{Missing, RestRequest, Target, TargetArgs};
use crate::print;
use folder::{Covers, ForeignFiles, Gone, Order};
use text::Format;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Folder to write one file a definition into, one file (*.yaml, *.json) for all of them, or - for standard output
    #[arg(long, value_name = "DIR|FILE|-", default_value = "-")]
    to: PathBuf,
    /// How files are written [default: as the name of the file says, else yaml]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Every tenant's definitions beside the shared ones, those of a tenant in a folder of its own
    #[arg(long)]
    all_tenants: bool,
    /// Remove files that an export wrote for definitions that are gone
    #[arg(long)]
    prune: bool,
    /// Replace files in the folder that no export wrote
    #[arg(long)]
    overwrite: bool,
    /// Print what was done as JSON; to standard output, the definitions themselves
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let tools = definitions(&target, &args).await;
    let tenant = target.tenant().map(str::to_owned);
    target.close().await;
    let tools = tools?;
    if args.to == Path::new("-") {
        let usual = if args.json { Format::Json } else { Format::Yaml };
        let text = args.format.unwrap_or(usual).text(&text::list(&tools))?;
        print::line(text.trim_end());
    } else if let Some(format) = file_format(&args) {
        let text = format.text(&text::list(&tools))?;
        folder::replace(&args.to, &text)
            .with_context(|| format!("{} cannot be written", args.to.display()))?;
        sweep_beside(&args.to);
        told(&args, &json!({"definitions": tools.len(), "to": args.to}), |_| {
            format!("{} written to {}", print::counted(tools.len(), "definition"), args.to.display())
        });
    } else {
        return into_folder(&args, tenant.as_deref(), &tools);
    }
    Ok(ExitCode::SUCCESS)
}

fn sweep_beside(file: &Path) {
    let beside = file.parent().filter(|beside| *beside != Path::new("")).unwrap_or(Path::new("."));
    folder::sweep(beside, |name| file.file_name().is_some_and(|ours| ours == name));
}

/// The definitions in the store, in the order of tenants and names. Of one tenant, or shared, they are nobody's in a file:
/// whoever takes them over says whose they are.
async fn definitions(target: &Target, args: &ExportArgs) -> anyhow::Result<Vec<Value>> {
    let mut body = target.expect(&RestRequest::get("/admin/export", "tools")).await?;
    let mut tools = body["tools"].as_array_mut().map(std::mem::take).unwrap_or_default();
    if args.all_tenants {
        return Ok(tools);
    }
    tools.retain(|tool| tool["tenant"].as_str() == target.tenant());
    for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
        tool.shift_remove("tenant");
    }
    Ok(tools)
}

/// The format of the one file to write, if it is one.
fn file_format(args: &ExportArgs) -> Option<Format> {
    let said = Format::of(&args.to).filter(|_| !args.to.is_dir())?;
    Some(args.format.unwrap_or(said))
}

fn into_folder(args: &ExportArgs, tenant: Option<&str>, tools: &[Value]) -> anyhow::Result<ExitCode> {
    let order = Order {
        folder: &args.to,
        format: args.format.unwrap_or(Format::Yaml),
        covers: if args.all_tenants { Covers::Everybody } else { Covers::Only(tenant) },
        gone: if args.prune { Gone::Remove } else { Gone::Keep },
        others: if args.overwrite { ForeignFiles::Replace } else { ForeignFiles::Keep },
    };
    let done = folder::write(order, tools)?;
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    let (files, kept): (Vec<String>, Vec<String>) = (shown(&done.gone), shown(&done.kept));
    let body = json!({
        "definitions": tools.len(), "to": args.to, "created": done.created, "updated": done.updated,
        "unchanged": done.unchanged, "gone": files, "kept": kept, "removed": if args.prune { done.gone.len() } else { 0 },
    });
    told(args, &body, |_| {
        let removed = if args.prune { format!(", {} removed", done.gone.len()) } else { String::new() };
        format!(
            "{} in {}: {} new, {} changed, {} as they were{removed}",
            print::counted(tools.len(), "definition"),
            args.to.display(),
            done.created,
            done.updated,
            done.unchanged,
        )
    });
    if !args.prune && !args.json && !files.is_empty() {
        print::note(format!(
            "files of definitions that are gone; --prune removes them: {}",
            files.join(", ")
        ));
    }
    if kept.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print::note(format!(
        "error: files that no export wrote were left as they are; --overwrite replaces them: {}",
        kept.join(", ")
    ));
    Ok(ExitCode::FAILURE)
}

fn told(args: &ExportArgs, body: &Value, words: impl Fn(&Value) -> String) {
    if args.json { print::json(body) } else { print::line(words(body)) }
}
