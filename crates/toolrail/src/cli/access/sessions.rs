//! `toolrail sessions` and `toolrail broker`: those who have signed in at the broker, and the key that signs their tokens.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use super::super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail sessions list\n  toolrail sessions end ann@example.com    # all of hers; an id ends one\n\nAll gateways on the store refuse the tokens of a session that was ended within about a second."
)]
pub(in crate::cli) struct SessionsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Subcommand)]
enum SessionsCommand {
    /// List those who have signed in, the newest first
    List,
    /// End a session by its id, or all of the person of that name
    End(SessionName),
}

#[derive(Args)]
struct SessionName {
    /// Name of the person, or id of the session
    name: String,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  toolrail broker keys rotate                # what the old key signed stays good until it expires\n  toolrail broker keys rotate --overlap 0s   # the old key is known to somebody else: everybody's tokens are refused"
)]
pub(in crate::cli) struct BrokerArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: BrokerCommand,
}

#[derive(Subcommand)]
enum BrokerCommand {
    /// The keys that sign access tokens
    #[command(subcommand)]
    Keys(SigningCommand),
}

#[derive(Subcommand)]
enum SigningCommand {
    /// Have another key sign; gateways do so by themselves every 90 days
    Rotate(SigningArgs),
}

#[derive(Args)]
struct SigningArgs {
    /// How long what the old key signed stays good, such as 1h; 0s refuses it at once [default: as long as any token]
    #[arg(long, value_name = "SPAN")]
    overlap: Option<String>,
}

pub(in crate::cli) async fn run(args: SessionsArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let form = OutputForm::of(args.json);
    let ended = match &args.command {
        SessionsCommand::List => list(&target, form).await,
        SessionsCommand::End(args) => end(&target, &args.name, form).await,
    };
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

pub(in crate::cli) async fn run_broker(args: BrokerArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let BrokerCommand::Keys(SigningCommand::Rotate(rotating)) = &args.command;
    let ended = rotate(&target, rotating, OutputForm::of(args.json)).await;
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

async fn list(target: &Target, form: OutputForm) -> anyhow::Result<()> {
    let body = target.expect(&RestRequest::get("/admin/sessions", "sessions")).await?;
    let sessions = body["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if sessions.is_empty() => print::note("nobody is signed in"),
        OutputForm::People => {
            let rows = sessions.iter().map(row).collect();
            let heads = ["NAME", "APPLICATION", "TENANT", "SINCE", "UNTIL", "SESSION"];
            print::table(heads, rows, Overlong::Wrap);
            let count = body["count"].as_u64().unwrap_or_default();
            if count > sessions.len() as u64 {
                print::note(format!("the newest {} of {count}", sessions.len()));
            }
        }
    }
    Ok(())
}

fn row(session: &Value) -> [String; 6] {
    ["name", "client", "tenant", "begun", "until", "id"]
        .map(|field| session[field].as_str().unwrap_or("-").to_owned())
}

async fn end(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/sessions/{}", path_step(name));
    let ended = target.expect(&RestRequest::plain(Method::DELETE, &path, "ended")).await?;
    match form {
        OutputForm::Json => print::json(&ended),
        OutputForm::People => match ended["ended"].as_u64() {
            Some(1) => print::line(format!("ended one session of {name}")),
            count => print::line(format!("ended {} sessions of {name}", count.unwrap_or_default())),
        },
    }
    Ok(())
}

async fn rotate(target: &Target, args: &SigningArgs, form: OutputForm) -> anyhow::Result<()> {
    let mut body = json!({});
    if let Some(overlap) = &args.overlap {
        body["overlap"] = overlap.as_str().into();
    }
    let rotated = target.expect(&RestRequest::post("/admin/broker/keys/rotate", &body, "rotation")).await?;
    match form {
        OutputForm::Json => print::json(&rotated),
        OutputForm::People => {
            let text = |field: &str| rotated["rotation"][field].as_str();
            let (key, from) = (text("key").unwrap_or_default(), text("signsFrom").unwrap_or_default());
            print::line(format!("the key {key} signs from {from} on"));
            print::note(text("oldUntil").map_or_else(
                || "what older keys signed is refused from now on".to_owned(),
                |until| format!("what older keys signed is good until {until}"),
            ));
        }
    }
    Ok(())
}
