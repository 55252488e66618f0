//! `serve` and `stdio` from start to end: what they print, how they stop, what they refuse (R23, C14, C25).

use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use toolrail_testkit::{Gateway, Stdio, Upstream, wait_until};

use crate::support::{BINARY, call, echo_tool, get_tool, register_all, run_in};

#[tokio::test]
async fn r23_the_start_shows_address_tools_and_a_client_configuration() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let shown = wait_until("the banner", Duration::from_secs(5), async || {
        let shown = gateway.stdout();
        shown.contains("Try:").then_some(shown)
    })
    .await?;
    assert!(shown.contains(&format!("listens on {}", gateway.url())), "{shown}");
    assert!(shown.contains("8 tools: chart.image, echo.request, "), "{shown}");
    let configuration = shown.lines().find(|line| line.contains("mcpServers")).unwrap();
    let configuration: Value = serde_json::from_str(configuration.trim())?;
    assert_eq!(configuration["mcpServers"]["toolrail"]["url"], format!("{}/mcp", gateway.url()));
    Ok(())
}

#[tokio::test]
async fn r23_only_the_first_twenty_tools_are_named() -> Result<()> {
    let upstream = Upstream::start().await?;
    let mut gateway = Gateway::builder(BINARY).start().await?;
    let tools: Vec<Value> = (0..25).map(|number| echo_tool(&format!("t{number:02}"), &upstream)).collect();
    register_all(&gateway, &tools).await?;
    gateway.restart().await?;
    let shown = wait_until("the banner", Duration::from_secs(5), async || {
        let shown = gateway.stdout();
        shown.contains("Try:").then_some(shown)
    })
    .await?;
    assert!(shown.contains("  25 tools: t00, t01, ") && shown.contains("t19 … and 5 more"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn the_server_file_says_where_it_is_and_goes_with_it() -> Result<()> {
    let mut gateway = Gateway::builder(BINARY).start().await?;
    let file = gateway.data().join("server.json");
    let said: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    assert_eq!(said["url"], gateway.url());
    assert_eq!(said["pid"].as_u64(), gateway.pid().map(u64::from));
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert!(gateway.stop().await?.success());
    assert!(!file.exists());
    Ok(())
}

#[tokio::test]
async fn a_server_leaves_the_server_file_of_another_one_alone() -> Result<()> {
    let first = Gateway::builder(BINARY).start().await?;
    let file = first.data().join("server.json");
    let before = std::fs::read(&file)?;
    let mut second = Serving::start(&["--listen", "127.0.0.1:0", "--data", first.data().to_str().unwrap()])?;
    let shown = second.read_until("Try:").await?;
    let said =
        format!("another server works on the same data folder and keeps its server.json: {}", first.url());
    assert!(shown.contains(&said), "{shown}");
    second.stop().await?;
    assert_eq!(std::fs::read(&file)?, before);
    Ok(())
}

#[tokio::test]
async fn the_server_file_of_a_killed_server_is_replaced() -> Result<()> {
    let mut first = Gateway::builder(BINARY).start().await?;
    first.kill().await?;
    let file = first.data().join("server.json");
    assert!(file.exists());
    let mut second = Serving::start(&["--listen", "127.0.0.1:0", "--data", first.data().to_str().unwrap()])?;
    second.read_until("Try:").await?;
    let said: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    assert_eq!(said["pid"].as_u64(), second.child.id().map(u64::from));
    second.stop().await?;
    assert!(!file.exists());
    Ok(())
}

#[tokio::test]
async fn a_server_that_others_can_reach_says_so_and_warns() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let arguments = ["--listen", "0.0.0.0:0", "--insecure-no-auth", "--data", data.to_str().unwrap()];
    let mut serving = Serving::start(&arguments)?;
    let shown = serving.read_until("Try:").await?;
    let port = shown.lines().next().and_then(|line| line.rsplit(':').next()).unwrap().to_owned();
    let warning = format!(
        "WARNING: no keys are asked for: everybody who can reach 0.0.0.0:{port} can use and administer every tool"
    );
    for part in
        [&format!("listens on http://0.0.0.0:{port}"), &warning, &format!("http://127.0.0.1:{port}/mcp")]
    {
        assert!(shown.contains(part.as_str()), "{part} is not in {shown}");
    }
    let logged = serving.stop().await?;
    let logged = logged.lines().find(|line| line.contains("WARN")).unwrap_or_default();
    assert!(logged.contains("everybody") && logged.contains(&format!("0.0.0.0:{port}")), "{logged}");
    Ok(())
}

#[tokio::test]
async fn a_listed_secret_without_a_value_is_warned_of() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let arguments =
        ["--listen", "127.0.0.1:0", "--secret", "NOT_SET_ANYWHERE,PATH", "--data", data.to_str().unwrap()];
    let mut serving = Serving::start(&arguments)?;
    serving.read_until("Try:").await?;
    let logged = serving.stop().await?;
    assert!(logged.contains("WARN") && logged.contains("NOT_SET_ANYWHERE"), "{logged}");
    assert!(!logged.contains("PATH"), "{logged}");
    Ok(())
}

#[tokio::test]
async fn the_demonstration_says_when_its_usual_port_is_taken() -> Result<()> {
    // Other tests may have it for a moment.
    let _taken = wait_until("the port", Duration::from_secs(30), async || {
        TcpListener::bind("127.0.0.1:8081").await.ok()
    })
    .await?;
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    let shown = wait_until("the banner", Duration::from_secs(5), async || {
        let shown = gateway.stdout();
        shown.contains("Try:").then_some(shown)
    })
    .await?;
    assert!(shown.contains("port 8081 is taken"), "{shown}");
    Ok(())
}

/// `toolrail serve` with arguments of its own; killed when dropped.
struct Serving {
    child: Child,
}

impl Serving {
    fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(BINARY);
        command.arg("serve").args(arguments).kill_on_drop(true).stdin(std::process::Stdio::null());
        let child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()?;
        Ok(Self { child })
    }

    /// What it prints, up to a text.
    async fn read_until(&mut self, end: &str) -> Result<String> {
        let mut shown = Vec::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        let reading = async {
            while !String::from_utf8_lossy(&shown).contains(end) {
                anyhow::ensure!(stdout.read_buf(&mut shown).await? > 0, "it ended without {end:?}");
            }
            Ok(())
        };
        tokio::time::timeout(Duration::from_secs(30), reading).await??;
        Ok(String::from_utf8(shown)?)
    }

    /// Asks it to end, and gives what it logged.
    async fn stop(mut self) -> Result<String> {
        let pid = self.child.id().unwrap_or_default().to_string();
        Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().await?;
        let mut logged = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        tokio::time::timeout(Duration::from_secs(30), stderr.read_to_string(&mut logged)).await??;
        assert!(self.child.wait().await?.success(), "{logged}");
        Ok(logged)
    }
}

#[tokio::test]
async fn a_call_under_way_is_finished_before_the_server_ends() -> Result<()> {
    let upstream = Upstream::start().await?;
    let mut gateway = Gateway::builder(BINARY).start().await?;
    register_all(&gateway, &[get_tool("slow", &upstream.url("/slow/800"))]).await?;
    let address = gateway.url().trim_start_matches("http://").to_owned();
    let mut connection = TcpStream::connect(&address).await?;
    let body = json!({"tool": "slow", "arguments": {}}).to_string();
    let head =
        format!("POST /mcp/tools/call HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.write_all(format!("{head}{body}").as_bytes()).await?;
    wait_until("the call to reach the upstream", Duration::from_secs(5), async || {
        (upstream.count("/slow/800") == 1).then_some(())
    })
    .await?;
    let ended = gateway.stop().await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"ok\":true"), "{answer}");
    assert!(ended.success());
    Ok(())
}

#[tokio::test]
async fn a_port_in_use_is_told_with_a_way_out() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0").await?;
    let address = taken.local_addr()?.to_string();
    let folder = tempfile::tempdir()?;
    let ran = run_in(folder.path(), &["serve", "--listen", &address]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("cannot listen on {address}")) && ran.stderr.contains("--listen"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_used_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("data"), "a file")?;
    let ran = run_in(folder.path(), &["serve", "--listen", "127.0.0.1:0"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("--data"), "{}", ran.stderr);
    Ok(())
}

#[tokio::test]
async fn the_configuration_file_is_overruled_by_environment_and_flags() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start().await?;
    std::fs::create_dir(folder.path().join("defs"))?;
    std::fs::write(folder.path().join("defs/a.yaml"), echo_tool("filed", &upstream).to_string())?;
    let config = "tools: [defs]\nlisten: 0.0.0.0:1\nallowHosts: [from.file]\nsecrets: [FROM_FILE]\n";
    std::fs::write(folder.path().join("toolrail.yaml"), config)?;
    // The listen address of the file would be refused; the flag of the test kit goes before it.
    let gateway = Gateway::builder(BINARY)
        .arg("--config")
        .arg(folder.path().join("toolrail.yaml"))
        .env("TOOLRAIL_ALLOW_HOSTS", "from.env")
        .env("FROM_FILE", "secret-from-file")
        .start()
        .await?;
    assert_eq!(call(&gateway, "filed", json!({"q": "x"})).await?.status, 200);
    for (host, status) in [("from.env", 200), ("from.file", 403)] {
        let request = hyper::Request::get("/mcp/tools").header("host", host).body(Full::default())?;
        assert_eq!(gateway.request(request).await?.status, status, "{host}");
    }
    let mut definition = echo_tool("uses.secret", &upstream);
    definition["http"]["headers"] = json!({"X-Key": "{{secrets.FROM_FILE}}"});
    register_all(&gateway, &[definition]).await?;
    call(&gateway, "uses.secret", json!({"q": "x"})).await?;
    assert_eq!(upstream.received("/echo").last().unwrap().headers["x-key"], "secret-from-file");
    Ok(())
}

#[tokio::test]
async fn c14_stdio_writes_nothing_but_protocol_to_standard_output() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let mut stdio = Stdio::spawn(BINARY, ["stdio", "--demo", "--data", data.to_str().unwrap()])?;
    let listed = stdio.call("tools/list", json!({})).await?;
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(8), "{listed}");
    stdio.said("8 tools: chart.image").await?;
    assert!(stdio.finish().await?.success());
    Ok(())
}

#[tokio::test]
async fn stdio_bridges_to_a_running_server() -> Result<()> {
    let gateway = Gateway::builder(BINARY).arg("--demo").start().await?;
    for url in [gateway.url().to_owned(), format!("{}/mcp", gateway.url())] {
        let mut stdio = Stdio::spawn(BINARY, ["stdio", "--url", &url])?;
        let answer = stdio.call("tools/call", json!({"name": "user.get", "arguments": {"id": 1}})).await?;
        assert!(answer.to_string().contains("Ada Lovelace"), "{answer}");
        assert!(stdio.finish().await?.success());
    }
    Ok(())
}
