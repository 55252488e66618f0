//! `toolrail connections`: the accounts at upstream servers that people have connected.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::Value;

use super::super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail connections list\n  toolrail connections revoke co_6f1c…      # its tokens are used no more\n\nPeople connect their accounts at upstream servers whose definition says `auth: {type: oauth_user}`. Each sees and revokes his own,\nadministrators those of everybody."
)]
pub(in crate::cli) struct ConnectionsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ConnectionsCommand,
}

#[derive(Subcommand)]
enum ConnectionsCommand {
    /// List the accounts that are connected
    List,
    /// Take one back; its tokens are used no more
    Revoke(ConnectionId),
}

#[derive(Args)]
struct ConnectionId {
    /// Id of the connection, such as co_6f1c…
    id: String,
}

pub(in crate::cli) async fn run(args: ConnectionsArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let form = OutputForm::of(args.json);
    let ended = match &args.command {
        ConnectionsCommand::List => list(&target, form).await,
        ConnectionsCommand::Revoke(ConnectionId { id }) => revoke(&target, id, form).await,
    };
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

async fn list(target: &Target, form: OutputForm) -> anyhow::Result<()> {
    let body = target.expect(&RestRequest::get("/admin/connections", "connections")).await?;
    let connections = body["connections"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if connections.is_empty() => print::note("no account is connected"),
        OutputForm::People => {
            let rows = connections.iter().map(row).collect();
            print::table(["ID", "SERVER", "OF", "TENANT", "SINCE"], rows, Overlong::Wrap);
        }
    }
    Ok(())
}

async fn revoke(target: &Target, id: &str, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/connections/{}", path_step(id));
    let gone = target.expect(&RestRequest::plain(Method::DELETE, &path, "ok")).await?;
    match form {
        OutputForm::Json => print::json(&gone),
        OutputForm::People => {
            let text = |field: &str| gone["connection"][field].as_str().unwrap_or_default().to_owned();
            print::line(format!("revoked {id}: {} of {}", text("server"), text("of")));
        }
    }
    Ok(())
}

fn row(connection: &Value) -> [String; 5] {
    let text = |field: &str| connection[field].as_str().unwrap_or("-").to_owned();
    [text("id"), text("server"), text("of"), text("tenant"), text("granted")]
}
