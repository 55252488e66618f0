//! The REST face advises requests; on the command line the same advice is a command.

use super::target::Target;

/// What a failure says, and what to try next if it says that too.
pub(super) fn for_people(message: &str, target: &Target) -> (String, Option<String>) {
    let message = without_modes(message);
    match message.rsplit_once("; ") {
        Some((fault, advice)) => match command_for(advice, target) {
            Some(command) => (fault.to_owned(), Some(command)),
            None => (message, None),
        },
        None => (message, None),
    }
}

/// The same about a batch, which `--each` sends in another mode.
pub(super) fn without_modes(message: &str) -> String {
    message.replace("send \"mode\": \"each\"", "pass --each")
}

fn command_for(advice: &str, target: &Target) -> Option<String> {
    let (method, rest) = advice.split_once(' ')?;
    let (path, purpose) = rest.split_once(' ')?;
    // The command has a flag for that.
    let header = target.tenant().map(|tenant| format!("with Toolrail-Tenant: {tenant} "));
    let purpose = header.and_then(|header| purpose.strip_prefix(&header)).unwrap_or(purpose);
    let command = match (method, path.strip_prefix("/admin/tools/")) {
        ("POST", Some(name)) => format!("tools enable {}", name.strip_suffix("/enable")?),
        ("GET", Some(name)) => match name.strip_suffix("/history") {
            Some(name) => format!("history {name}"),
            None => format!("tools show {name}"),
        },
        ("GET", None) if path == "/admin/history" => "history".to_owned(),
        ("GET", None) if matches!(path, "/mcp/tools" | "/admin/tools") => "tools list".to_owned(),
        _ => return None,
    };
    Some(format!("{} {purpose}", target.command(&command)))
}
