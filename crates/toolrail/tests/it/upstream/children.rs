//! Programs that `mcp` definitions start end with the gateway, even if they do not want to.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::process::Command;
use toolrail_testkit::{Gateway, wait_until};

use crate::support::{gateway, listed, register};

const WITHIN: Duration = Duration::from_secs(15);

/// A server whose only tool never answers. It minds neither SIGTERM nor the end of its input, and says in `$NOTES` who runs
/// and that it was called.
const STUBBORN: &str = r#"
trap '' TERM
sleep 1000 & echo $! > "$NOTES"; echo $$ >> "$NOTES"
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
        *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"tools/list"'*) answer '{"tools":[{"name":"hang","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) echo called >> "$NOTES" ;;
    esac
done
wait
"#;

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Calls the tool, and gives the connection on which its answer would come.
async fn call_that_hangs(gateway: &Gateway) -> TcpStream {
    let address = gateway.url().trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let body = json!({"tool": "up_hang", "arguments": {}}).to_string();
    let length = body.len();
    let head =
        format!("POST /mcp/tools/call HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n");
    connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    connection
}

#[tokio::test]
async fn a_program_ends_with_the_gateway_although_a_call_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let read = || std::fs::read_to_string(&notes).unwrap_or_default();
    let mut gateway = gateway().arg("--allow-commands").start().await.unwrap();
    let settings =
        json!({"command": "sh", "args": ["-c", STUBBORN], "env": {"NOTES": notes}, "protocol": "legacy"});
    register(&gateway, &json!({"name": "up", "type": "mcp", "mcp": settings})).await;
    wait_until("the tool to be listed", WITHIN, async || {
        listed(&gateway).await.ok()?.iter().any(|name| name == "up_hang").then_some(())
    })
    .await
    .unwrap();
    let _connection = call_that_hangs(&gateway).await;
    wait_until("the call", WITHIN, async || read().contains("called").then_some(())).await.unwrap();
    let (noted, pid) = (read(), gateway.pid().unwrap().to_string());
    let pids: Vec<&str> = noted.lines().take(2).collect();
    assert!(pids.iter().all(|pid| lives(pid)), "{noted}");
    // The first signal begins the end, the second says not to wait for the call.
    Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().await.unwrap();
    let address = gateway.url().trim_start_matches("http://").to_owned();
    wait_until("the end to begin", WITHIN, async || {
        TcpStream::connect(&address).await.is_err().then_some(())
    })
    .await
    .unwrap();
    gateway.stop().await.unwrap();
    wait_until("the programs to end", WITHIN, async || (!pids.iter().any(|pid| lives(pid))).then_some(()))
        .await
        .unwrap();
}
