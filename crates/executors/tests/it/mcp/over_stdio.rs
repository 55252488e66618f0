//! The scripted server as a child process: this very test binary, started again with a variable that makes it serve.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use toolrail_core::{LogLevel, Mute, Payload};

use super::client::{Brought, Client, Server, eventually};
use super::script::{Eras, Out, Script};

const ERA: &str = "SCRIPT_ERA";

/// Serves if this process was started to do so; otherwise there is nothing to test here.
#[tokio::test]
async fn the_child_serves() {
    let eras = match std::env::var(ERA).as_deref() {
        Ok("modern") => Eras::Modern,
        Ok("legacy") => Eras::Legacy,
        Ok("both") => Eras::Both,
        _ => return,
    };
    let script = Script::new(eras);
    let (messages, mut lines) = mpsc::unbounded_channel::<String>();
    let mut told = script.told.subscribe();
    let writing = messages.clone();
    tokio::spawn(async move {
        while let Ok(message) = told.recv().await {
            if eras == Eras::Legacy {
                let _ = writing.send(message);
            }
        }
    });
    tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(line) = lines.recv().await {
            stdout.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            stdout.flush().await.unwrap();
        }
    });
    let mut stdin = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = stdin.next_line().await.unwrap() {
        if line.contains("\"exit\"") {
            std::process::exit(1);
        }
        let (script, out) = (Arc::clone(&script), Out { messages: messages.clone(), beside: None });
        tokio::spawn(async move { script.take(&line, out).await });
    }
}

pub(crate) fn settings(eras: Eras) -> Value {
    let program = std::env::current_exe().unwrap();
    let era = match eras {
        Eras::Modern => "modern",
        Eras::Legacy => "legacy",
        Eras::Both => "both",
    };
    json!({
        "command": program.to_str().unwrap(),
        "args": ["--exact", "mcp::over_stdio::the_child_serves", "--nocapture"],
        "env": {ERA: era, "TOKEN": "{{secrets.KEY}}"},
        "maxResponseBytes": 20_000,
    })
}

async fn server(eras: Eras) -> Server {
    let server = Server::start_with(&settings(eras), &[("KEY", "hunter2hunter2")]);
    server.ready().await;
    server
}

const BOTH: [Eras; 2] = [Eras::Modern, Eras::Legacy];

#[tokio::test]
async fn a_child_process_is_listed_and_called() {
    for eras in BOTH {
        let server = server(eras).await;
        assert_eq!(server.upstream.offer().tools.len(), 10);
        let arguments = r#"{"z":1.50, "key":"hunter2hunter2"}"#;
        let Payload::Whole(json) = server.call("up_echo", arguments, &Mute).await.unwrap().payload else {
            panic!("not whole");
        };
        assert!(json.text().starts_with(r#"{"z":{"b":1.50, "a":[ ]},"content":[]"#), "{}", json.text());
        let got = json.to_value()["got"].as_str().unwrap().to_owned();
        assert!(got.contains(r#""arguments":{"z":1.50, "key":"***"}"#), "{got}");
    }
}

#[tokio::test]
async fn progress_and_logs_of_a_child_reach_the_client_of_the_call() {
    for eras in BOTH {
        let server = server(eras).await;
        let client = Client { level: Some(LogLevel::Info), ..Client::default() };
        server.result("up_progress", "{}", &client).await;
        assert_eq!(client.progress.lock().unwrap().len(), 2, "{eras:?}");
        assert_eq!(client.logs.lock().unwrap().len(), 1, "{eras:?}");
        let on_the_shared_one = Client::default();
        server.result("up_progress", "{}", &on_the_shared_one).await;
        assert_eq!(on_the_shared_one.progress.lock().unwrap().len(), 2, "{eras:?}");
    }
}

#[tokio::test]
async fn of_a_flood_of_progress_the_last_report_always_arrives() {
    for eras in BOTH {
        let server = server(eras).await;
        for client in [Client::default(), Client::session("own")] {
            server.result("up_progress", r#"{"reports":5000}"#, &client).await;
            let seen = client.progress.lock().unwrap();
            let numbers: Vec<_> = seen.iter().map(|report| report.progress).collect();
            assert_eq!(numbers.last(), Some(&5000.0), "{eras:?}");
            assert!(numbers.is_sorted(), "{eras:?}: {numbers:?}");
        }
    }
}

#[tokio::test]
async fn a_child_asks_clients_of_both_eras() {
    for eras in BOTH {
        let server = server(eras).await;
        let result = server.result("up_ask", "{}", &Client::legacy()).await;
        assert!(result["content"][0]["text"].as_str().unwrap().contains("legacy"), "{result}");
        let outcome = server.call("up_ask", "{}", &Client::modern(Brought::default())).await.unwrap();
        let Payload::InputRequired(input) = outcome.payload else { panic!("{outcome:?}") };
        let (key, _) = input.requests.iter().next().unwrap();
        let responses = json!({key: {"action": "decline"}});
        let remembered = input.state.as_deref().and_then(|state| serde_json::from_str(state).ok());
        let client = Client::modern(Brought {
            responses: Some(serde_json::from_value(responses).unwrap()),
            remembered,
        });
        let result = server.result("up_ask", "{}", &client).await;
        assert_eq!(result["content"][0]["text"], r#"{"action":"decline"}"#, "{eras:?}");
    }
}

#[tokio::test]
async fn calls_that_wait_for_their_clients_do_not_keep_others_out() {
    let server = server(Eras::Legacy).await;
    for _ in 0..10 {
        let outcome = server.call("up_ask", "{}", &Client::modern(Brought::default())).await.unwrap();
        assert!(matches!(outcome.payload, Payload::InputRequired(_)), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_child_tells_of_changes() {
    for eras in BOTH {
        let server = server(eras).await;
        // A modern server tells only once it is listened to, so it is asked to change until it was heard.
        let waiting = server.until(|offer| offer.tools.len() == 11);
        tokio::pin!(waiting);
        loop {
            tokio::select! {
                _ = &mut waiting => break,
                _ = server.result("up_change", "{}", &Mute) => {}
            }
        }
    }
}

#[tokio::test]
async fn a_child_that_ends_is_started_again() {
    for eras in BOTH {
        let server = server(eras).await;
        let ended = server.call("up_echo", r#"{"x":"exit"}"#, &Mute).await.unwrap_err();
        assert_eq!(ended.code.word(), "UPSTREAM_UNREACHABLE", "{ended}");
        assert_eq!(server.result("up_progress", "{}", &Mute).await["content"][0]["text"], "done");
    }
}

#[tokio::test]
async fn a_message_of_a_child_that_is_too_long_is_refused() {
    let server = server(Eras::Legacy).await;
    let refused = server.call("up_big", r#"{"bytes":30000}"#, &Mute).await.unwrap_err();
    assert!(refused.message.contains("more than 20000 bytes"), "{refused}");
    server.result("up_big", r#"{"bytes":3000}"#, &Mute).await;
}

#[tokio::test]
async fn a_child_ends_with_all_that_it_started() {
    let script = "sleep 1000 & echo $! > \"$PIDS\"; echo $$ >> \"$PIDS\"; wait";
    let folder = std::env::temp_dir().join(format!("toolrail-children-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pids = folder.join("pids");
    let settings = json!({
        "command": "sh", "args": ["-c", script], "env": {"PIDS": pids.to_str().unwrap()}, "protocol": "legacy",
    });
    let server = Server::start(&settings);
    let read = || std::fs::read_to_string(&pids).unwrap_or_default();
    eventually(|| read().lines().count() == 2).await;
    let lives = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    assert!(read().lines().all(lives));
    drop(server);
    eventually(|| !read().lines().any(lives)).await;
    std::fs::remove_dir_all(folder).unwrap();
}
