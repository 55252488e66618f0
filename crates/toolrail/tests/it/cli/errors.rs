//! What the command line says when something is wrong, and the commands that need no server.

use anyhow::Result;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::run_in;
use toolrail_testkit::{Canned, Upstream};

#[tokio::test]
async fn validate_tells_every_problem_with_file_and_pointer() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let good = json!({
        "name": "good", "description": "d", "inputSchema": {"type": "object", "properties": {}},
        "http": {"url": "http://127.0.0.1:1/"}
    });
    std::fs::write(folder.path().join("good.json"), good.to_string())?;
    std::fs::write(folder.path().join("poor.yaml"), "name: poor\nhttp: {url: 'http://127.0.0.1:1/'}\n")?;
    std::fs::write(
        folder.path().join("bad.yaml"),
        "tools:\n- name: bad name\n  http: {urll: x}\n- name: GOOD\n  http: {url: 'http://a/'}\n",
    )?;
    std::fs::write(folder.path().join("broken.json"), "{\n\"name\": }")?;

    let fine = run_in(folder.path(), &["validate", "good.json"]).await?;
    assert_eq!((fine.code, fine.stdout.as_str()), (Some(0), "1 definition, 0 errors, 0 warnings\n"));
    assert_eq!(run_in(folder.path(), &["validate", "poor.yaml"]).await?.code, Some(0));
    let strict = run_in(folder.path(), &["validate", "poor.yaml", "--strict"]).await?;
    assert_eq!(strict.code, Some(1));
    assert!(strict.stdout.contains("poor.yaml:1:1 /description (poor): warning: "), "{}", strict.stdout);

    let bad =
        run_in(folder.path(), &["validate", "good.json", "bad.yaml", "broken.json", "none.yaml"]).await?;
    assert_eq!(bad.code, Some(1));
    for part in [
        "bad.yaml:2:9 /tools/0/name (bad name): error: ",
        "bad.yaml:3:16 /tools/0/http/urll (bad name): error: ",
        "bad.yaml:4:9 /tools/1/name (GOOD): error: the name \"GOOD\" is used in good.json:1:1 too",
        "broken.json:2:9: error: not valid JSON",
        "none.yaml: error: cannot be read",
    ] {
        assert!(bad.stdout.contains(part), "{part:?} is not in {}", bad.stdout);
    }
    let json = run_in(folder.path(), &["validate", ".", "--json"]).await?;
    let body: Value = serde_json::from_str(&json.stdout)?;
    assert_eq!((json.code, &body["valid"], &body["definitions"]), (Some(1), &json!(false), &json!(4)));
    assert!(!folder.path().join("data").exists());
    Ok(())
}

#[tokio::test]
async fn a_folder_without_definitions_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("empty"))?;
    std::fs::write(folder.path().join("empty/notes.txt"), "not a definition")?;
    let checked = run_in(folder.path(), &["validate", "empty"]).await?;
    assert_eq!(checked.code, Some(1));
    assert!(checked.stdout.contains("empty: error: has no definition file"), "{}", checked.stdout);
    let added = run_in(folder.path(), &["tools", "add", "empty", "--data", "d"]).await?;
    assert_eq!((added.code, added.stdout.as_str()), (Some(1), ""));
    assert!(
        added.stderr.contains("nothing was registered: empty has no definition file"),
        "{}",
        added.stderr
    );
    Ok(())
}

#[tokio::test]
async fn another_server_is_not_taken_for_a_gateway() -> Result<()> {
    let upstream = Upstream::start().await?;
    for path in ["/admin/tools", "/admin/problems", "/admin/tools/x", "/mcp/tools/call", "/admin/tools/batch"]
    {
        upstream.answer(path, Canned::new(200, "application/json", "{\"status\": \"fine\"}"));
    }
    upstream.answer("/html/admin/tools", Canned::new(200, "text/html", "<html></html>"));
    upstream.answer("/moved/admin/tools", Canned::new(301, "text/html", ""));
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.yaml"), "name: a\nhttp: {url: 'http://a/'}\n")?;
    for (words, path) in [
        (&["list"][..], ""),
        (&["list", "--json"], ""),
        (&["list"], "/html"),
        (&["list"], "/moved"),
        (&["problems"], ""),
        (&["show", "x"], ""),
        (&["call", "x", "--json"], ""),
        (&["add", "a.yaml"], ""),
    ] {
        let url = upstream.url(path);
        let ran = run_in(folder.path(), &[&["tools"], words, &["--url", &url]].concat()).await?;
        // Programs read everything in one place.
        let (told, silent) =
            if words.contains(&"--json") { (ran.stdout, ran.stderr) } else { (ran.stderr, ran.stdout) };
        assert_eq!((ran.code, silent.as_str()), (Some(1), ""), "{words:?} {path}");
        assert!(told.contains("does not answer like a Toolrail gateway"), "{told}");
    }
    Ok(())
}

#[tokio::test]
async fn schema_prints_the_schema_of_a_definition() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ran = run_in(folder.path(), &["schema"]).await?;
    let schema: Value = serde_json::from_str(&ran.stdout)?;
    assert!(schema["$defs"]["definition"]["properties"]["http"]["properties"]["url"].is_object());
    Ok(())
}

#[tokio::test]
async fn version_completions_and_wrong_usage() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let version = run_in(folder.path(), &["--version"]).await?;
    assert_eq!(version.stdout, format!("toolrail {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run_in(folder.path(), &["completions", shell]).await?;
        assert!(script.code == Some(0) && script.stdout.contains("toolrail"), "{shell}");
    }
    for wrong in [&["serv"][..], &["tools", "call"], &["stdio", "--url", "x", "--demo"], &[]] {
        assert_eq!(run_in(folder.path(), wrong).await?.code, Some(2), "{wrong:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_with_a_next_step() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (arguments, message, hint) in [
        (&["tools", "list", "--data", "none"][..], "none is not a data folder", "toolrail tools add"),
        (
            &["tools", "list", "--url", "http://127.0.0.1:1"],
            "no server answers at http://127.0.0.1:1",
            "toolrail serve",
        ),
        (
            &["tools", "list", "--url", "nonsense"],
            "\"nonsense\" is not the URL of a server",
            "http://127.0.0.1:8080",
        ),
        (&["tools", "add", "none.yaml", "--data", "d"], "none.yaml cannot be read", ""),
        (&["serve", "--config", "none.yaml"], "the configuration none.yaml cannot be read", ""),
        (&["serve", "--tools", "none"], "there is no folder none to read definitions from", "--tools"),
        (&["stdio", "--tools", "none"], "there is no folder none to read definitions from", "--tools"),
    ] {
        let ran = run_in(folder.path(), arguments).await?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(message),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(
            hint.is_empty() || ran.stderr.contains("\nhint: ") && ran.stderr.contains(hint),
            "{}",
            ran.stderr
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_value_that_a_flag_cannot_have_is_wrong_usage_and_names_the_flag() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (arguments, flag, message) in [
        (&["serve", "--listen", "nowhere"][..], "--listen", "\"nowhere\" is not an address to listen on"),
        (&["serve", "--admin-listen", "1.2.3.4:99999"], "--admin-listen", "is not an address to listen on"),
        (&["serve", "--port", "70000"], "--port", "70000"),
        (&["serve", "--poll-ms", "5"], "--poll-ms", "5 is not between 50 and 60000 milliseconds"),
        (&["stdio", "--refresh-window-ms", "5001"], "--refresh-window-ms", "between 0 and 5000"),
        (&["serve", "--page-size", "0"], "--page-size", "0 is not between 1 and 100000 tools"),
        (&["serve", "--history-days", "many"], "--history-days", "many is not between 1 and 36500 days"),
        (&["serve", "--history-versions", "0"], "--history-versions", "between 1 and 1000000 versions"),
        (&["serve", "--allow-host", "http://x"], "--allow-host", "is not the name of a host"),
        (&["serve", "--allow-origin", "x"], "--allow-origin", "is not an origin"),
        (&["serve", "--tenant", "a b"], "--tenant", "is not the name of a tenant"),
        (&["tools", "list", "--tenant", "a b"], "--tenant", "is not the name of a tenant"),
        (&["tools", "list", "--log-level", "=="], "--log-level", "is not a log level"),
        (&["serve", "--log-level", "loud"], "--log-level", "use off, error, warn, info, debug or trace"),
    ] {
        let ran = run_in(folder.path(), arguments).await?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(flag) && ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
    Ok(())
}

/// What the server at that address goes by is its own business, so nothing is taken that would have no effect.
#[tokio::test]
async fn a_bridge_refuses_options_of_a_gateway_of_ones_own() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bridge = ["stdio", "--url", "http://127.0.0.1:1"];
    for (more, told) in [
        (&["--tools", "t"][..], "--tools does not go with --url"),
        (&["--var", "A=b", "--data", "d"], "--data and --var do not go with --url"),
        (
            &["--config", "c.yaml", "--store", "memory:", "--poll-ms", "100"],
            "and --config do not go with --url",
        ),
        (&["--allow-commands"], "--allow-commands does not go with --url"),
    ] {
        let ran = run_in(folder.path(), &[&bridge, more].concat()).await?;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told) && ran.stderr.contains("\nhint: "), "{more:?}: {}", ran.stderr);
    }
    let fine = ["--tenant", "acme", "--group", "g", "--log-level", "warn"];
    let ran = run_in(folder.path(), &[&bridge[..], &fine].concat()).await?;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Ok(())
}

#[tokio::test]
async fn a_secret_of_a_service_is_not_missed_where_secrets_do_not_matter() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = "services: {up: {baseUrl: 'http://127.0.0.1:1', auth: {type: bearer, token: '{{secrets.NOWHERE}}'}}}\n";
    std::fs::write(folder.path().join("c.yaml"), config)?;
    let definition = "name: a\ndescription: d\ninputSchema: {type: object, properties: {}}\n\
                      http: {service: up, url: /x}\n";
    std::fs::write(folder.path().join("a.yaml"), definition)?;
    let checked = ["validate", "a.yaml", "--config", "c.yaml", "--strict"];
    let ran = run_in(folder.path(), &checked).await?;
    assert!(ran.code == Some(1) && ran.stdout.contains("the secret \"NOWHERE\""), "{}", ran.stdout);
    let ran = run_in(folder.path(), &[&checked[..], &["--no-secrets"]].concat()).await?;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1 definition, 0 errors, 0 warnings\n"));
    Ok(())
}

#[tokio::test]
async fn every_problem_of_the_configuration_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("c.json"), "{\"pollMs\": \"x\", \"tool\": []}")?;
    let ran = run_in(folder.path(), &["serve", "--config", "c.json"]).await?;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("/pollMs: ") && ran.stderr.contains("did you mean \"tools\"?"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// A server that is no gateway may answer for ever.
#[tokio::test]
async fn an_answer_without_an_end_is_given_up_and_told() -> Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let endless = async {
        loop {
            let (mut client, _) = listener.accept().await?;
            assert!(client.read(&mut [0; 4096]).await? > 0);
            client.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000)).into_bytes();
            while client.write_all(&chunk).await.is_ok() {}
        }
    };
    let folder = tempfile::tempdir()?;
    let arguments = ["tools", "list", "--url", &url];
    let told = tokio::select! {
        told = run_in(folder.path(), &arguments) => told?,
        failed = endless => return failed,
    };
    assert_eq!(told.code, Some(1));
    let expected = format!("the answer of {url} is larger than 64 MB; is it a Toolrail gateway?");
    assert!(told.stderr.contains(&expected), "{}", told.stderr);
    Ok(())
}
