//! `toolrail keys`: the keys that clients of a gateway show.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use super::super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail keys create ci --role call --tools 'weather.*' --expires 90d\n  toolrail keys list\n  toolrail keys rotate ci --overlap 1h    # the old text stays good for an hour\n  toolrail keys revoke ci\n\nA client shows its key as `Authorization: Bearer tr_…` or `X-API-Key: tr_…`; our commands take it from TOOLRAIL_KEY or --key-file."
)]
pub(in crate::cli) struct KeysArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Make a key and print its text, which is kept nowhere and cannot be shown again
    Create(CreateArgs),
    /// List the keys
    List,
    /// Show one key
    Show(KeyName),
    /// Give a key a new text and print it; the old one stays good for a while
    Rotate(RotateArgs),
    /// End a key: every gateway on the store refuses it within a second
    Revoke(KeyName),
}

#[derive(Args)]
struct KeyName {
    /// Name of the key
    name: String,
}

#[derive(Args)]
struct CreateArgs {
    /// Name of the key: letters, digits, dots, dashes and underscores
    name: String,
    /// What it may do, each including those before it: read (see and find tools), call, write (definitions), admin (keys)
    #[arg(long, value_name = "ROLE", value_parser = ["read", "call", "write", "admin"])]
    role: String,
    /// Pattern of the names of tools that it sees, such as 'weather.*'; may be repeated [default: all]
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    tools: Vec<String>,
    /// Group it is in, by which permission rules may know it; may be repeated
    #[arg(long = "group", value_name = "GROUP", value_delimiter = ',')]
    groups: Vec<String>,
    /// Scope it has, for permission rules too; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
    scopes: Vec<String>,
    /// How long it is good, such as 90d or 12h [default: until it is revoked]
    #[arg(long, value_name = "SPAN")]
    expires: Option<String>,
}

#[derive(Args)]
struct RotateArgs {
    /// Name of the key
    name: String,
    /// How long the old text stays good, such as 1h; 0s ends it at once
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    overlap: String,
}

pub(in crate::cli) async fn run(args: KeysArgs) -> anyhow::Result<ExitCode> {
    let missing =
        if matches!(args.command, KeysCommand::Create(_)) { Missing::Create } else { Missing::Refuse };
    let target = Target::find(&args.target, missing).await?;
    let form = OutputForm::of(args.json);
    let ended = match &args.command {
        KeysCommand::Create(args) => create(&target, args, form).await,
        KeysCommand::List => list(&target, form).await,
        KeysCommand::Show(args) => show(&target, &args.name, form).await,
        KeysCommand::Rotate(args) => rotate(&target, args, form).await,
        KeysCommand::Revoke(args) => revoke(&target, &args.name, form).await,
    };
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

async fn create(target: &Target, args: &CreateArgs, form: OutputForm) -> anyhow::Result<()> {
    let mut body = json!({"name": args.name, "role": args.role});
    for (field, words) in [("tools", &args.tools), ("groups", &args.groups), ("scopes", &args.scopes)] {
        if !words.is_empty() {
            body[field] = words.clone().into();
        }
    }
    if let Some(expires) = &args.expires {
        body["expiresIn"] = expires.as_str().into();
    }
    let made = target.expect(&RestRequest::post("/admin/keys", &body, "key")).await?;
    hand_over(&made, form, "keep it now: it cannot be shown again");
    Ok(())
}

async fn rotate(target: &Target, args: &RotateArgs, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/keys/{}/rotate", path_step(&args.name));
    let body = json!({"overlap": args.overlap});
    let rotated = target.expect(&RestRequest::post(&path, &body, "key")).await?;
    let note = match rotated["about"]["rotatingUntil"].as_str() {
        Some(until) => format!("keep it now: it cannot be shown again; the old one is good until {until}"),
        None => "keep it now: it cannot be shown again; the old one is refused from now on".to_owned(),
    };
    hand_over(&rotated, form, &note);
    Ok(())
}

/// The text alone on standard output, so that it can be put where it belongs.
fn hand_over(made: &Value, form: OutputForm, note: &str) {
    match form {
        OutputForm::Json => print::json(made),
        OutputForm::People => {
            print::line(made["key"].as_str().unwrap_or_default());
            print::note(note);
        }
    }
}

async fn list(target: &Target, form: OutputForm) -> anyhow::Result<()> {
    let body = target.expect(&RestRequest::get("/admin/keys", "keys")).await?;
    let keys = body["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if keys.is_empty() => {
            print::note(format!("no keys; {} makes one", target.command("keys create NAME --role call")));
        }
        OutputForm::People => {
            let rows = keys.iter().map(row).collect();
            print::table(["NAME", "ROLE", "TENANT", "TOOLS", "EXPIRES", "LAST USE"], rows, Overlong::Wrap);
        }
    }
    Ok(())
}

async fn show(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/keys/{}", path_step(name));
    let key = target.expect(&RestRequest::get(&path, "role")).await?;
    match form {
        OutputForm::Json => print::json(&key),
        OutputForm::People => {
            let [name, role, tenant, tools, expires, used] = row(&key);
            let text = |field: &str| key[field].as_str().unwrap_or("-").to_owned();
            let made = format!("{} by {}", text("created"), text("createdBy"));
            let rotating =
                key["rotatingUntil"].as_str().map(|until| ("old text good until", until.to_owned()));
            let lines = [
                ("name", name),
                ("role", role),
                ("tenant", tenant),
                ("tools", tools),
                ("groups", words(&key, "groups").unwrap_or("-".to_owned())),
                ("scopes", words(&key, "scopes").unwrap_or("-".to_owned())),
                ("made", made),
                ("expires", expires),
                ("last use", used),
            ];
            for (label, value) in lines.into_iter().chain(rotating) {
                print::line(format!("{label}: {value}"));
            }
        }
    }
    Ok(())
}

async fn revoke(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/keys/{}", path_step(name));
    let gone = target.expect(&RestRequest::plain(Method::DELETE, &path, "ok")).await?;
    match form {
        OutputForm::Json => print::json(&gone),
        OutputForm::People => print::line(format!("revoked {name}")),
    }
    Ok(())
}

/// What a list of words says, if there are any.
fn words(key: &Value, field: &str) -> Option<String> {
    let words: Vec<&str> = key[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn row(key: &Value) -> [String; 6] {
    let text = |field: &str| key[field].as_str().unwrap_or("-").to_owned();
    let tools = words(key, "tools").unwrap_or("all".to_owned());
    let expires = if key["expired"] == true {
        format!("{} (expired)", text("expires"))
    } else {
        key["expires"].as_str().unwrap_or("never").to_owned()
    };
    let used = key["lastUsed"].as_str().unwrap_or("never").to_owned();
    [text("name"), text("role"), text("tenant"), tools, expires, used]
}
