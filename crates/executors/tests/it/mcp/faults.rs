//! What is wrong with definitions of type `mcp`, and with servers.

use serde_json::{Value, json};
use toolrail_core::Mute;

use super::client::Server;
use super::over_http::HttpServer;
use super::script::Eras;
use crate::tool::runtime;

fn faults(definition: &Value) -> Vec<String> {
    let form = toolrail_core::DefinitionForm::new(toolrail_executors::kinds(&runtime(&[])));
    let mut definition = definition.clone();
    definition["name"] = "up".into();
    let (_, problems) = form.check(&definition, |_, compiled, _| compiled);
    problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.message)).collect()
}

#[test]
fn every_fault_of_a_definition_is_told_with_its_place() {
    let cases = [
        (json!({"mcp": {}}), "/mcp: needs url"),
        (json!({"mcp": {"url": "http://h/", "command": "x"}}), "/mcp/command: there is url too"),
        (json!({"mcp": {"url": "http://h/", "args": []}}), "/mcp/args: has no effect with url"),
        (json!({"mcp": {"command": "x", "headers": {}}}), "/mcp/headers: has no effect"),
        (json!({"mcp": {"command": " "}}), "/mcp/command: is empty"),
        (
            json!({"mcp": {"command": "npx -y pkg /tmp"}}),
            "/mcp/command: there is no program of that name, which has spaces; put the arguments into args",
        ),
        (
            json!({"mcp": {"command": "x", "args": ["{{secrets.K}}"]}}),
            "/mcp/args/0: only {{vars.NAME}} has an effect",
        ),
        (json!({"mcp": {"command": "x", "env": {"A": [1]}}}), "/mcp/env/A: must be a text"),
        (
            json!({"mcp": {"command": "x", "env": {"A": "{{secrets.K}}"}}}),
            "/mcp/env/A: the secret \"K\" has no value",
        ),
        (json!({"mcp": {"url": "ftp://h/"}}), "/mcp/url: \"ftp://h\" has a scheme that is not supported"),
        (json!({"mcp": {"url": "http://h/{{args.x}}"}}), "/mcp/url: a server is the same for every call"),
        (json!({"mcp": {"url": "http://h/", "prefix": "a b"}}), "/mcp/prefix: ' ' is not allowed"),
        (json!({"mcp": {"url": "http://h/", "protocol": "old"}}), "/mcp/protocol: "),
        (json!({"mcp": {"url": "http://h/", "timeoutms": 5}}), "/mcp/timeoutms: unknown field"),
        (json!({"mcp": {"command": "x"}, "auth": {"type": "bearer", "token": "t"}}), "/auth: has no effect"),
        (
            json!({"mcp": {"url": "http://h/"}, "policy": {"timeoutMs": 5}}),
            "/policy/timeoutMs: has no effect",
        ),
    ];
    for (definition, expected) in cases {
        let found = faults(&definition);
        assert!(found.iter().any(|fault| fault.starts_with(expected)), "{definition}: {found:#?}");
    }
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_and_the_next_call_works() {
    for eras in [Eras::Modern, Eras::Legacy] {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url(), "maxResponseBytes": 20_000}));
        server.ready().await;
        let refused = server.call("up_big", r#"{"bytes":30000}"#, &Mute).await.unwrap_err();
        assert_eq!(refused.code.word(), "UPSTREAM_INVALID");
        assert!(refused.message.contains("more than 20000 bytes"), "{refused}");
        server.result("up_big", r#"{"bytes":3000}"#, &Mute).await;
    }
}

#[tokio::test]
async fn a_server_that_is_silent_is_given_up_in_time() {
    let http = HttpServer::start(Eras::Modern).await;
    let server = Server::start(&json!({"url": http.url(), "timeoutMs": 300}));
    server.ready().await;
    let late = server.call("up_slow", "{}", &Mute).await.unwrap_err();
    assert_eq!(late.code.word(), "TIMEOUT");
    assert!(late.message.contains("300 ms"), "{late}");
}

/// What a message names once.
fn place(settings: &Value) -> String {
    let url = settings["url"].as_str().map(|url| url.trim_end_matches("/mcp").to_owned());
    url.unwrap_or_else(|| settings["command"].to_string())
}

#[tokio::test]
async fn a_program_that_ends_is_told_with_its_last_words_and_no_secrets() {
    let script = "echo first >&2; echo \"fatal: $MY_KEY is bad $(printf %0300d 0)\" >&2; echo >&2; exit 3";
    let settings = json!({"command": "sh", "args": ["-c", script], "env": {"MY_KEY": "{{secrets.KEY}}"}});
    let server = Server::start_with(&settings, &[("KEY", "hunter2hunter2")]);
    let failure = server.until_failure(|failure| failure.is_some()).await.unwrap();
    assert!(failure.starts_with("\"sh\" ended with status 3: fatal: *"), "{failure}");
    assert!(!failure.contains("hunter2") && failure.len() < 270, "{failure}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_in_words() {
    let address = crate::echo::Echo::start().await.address;
    let cases = [
        (json!({"url": format!("http://{address}/mcp")}), "the connection was refused"),
        (json!({"command": "there-is-no-such-program"}), "it was not found"),
        (json!({"command": "npx -y pkg /tmp"}), "put the arguments into args"),
        (json!({"command": "true"}), "\"true\" ended with status 0 and said nothing; "),
        (json!({"command": "sh", "args": ["-c", "kill -9 $$"]}), "\"sh\" ended by signal 9"),
    ];
    for (settings, words) in cases {
        let server = Server::start(&settings);
        let failure = server.until_failure(|failure| failure.is_some()).await.unwrap();
        assert!(failure.contains(words), "{failure}");
        assert_eq!(failure.matches(&place(&settings)).count(), 1, "{failure}");
        assert!(server.upstream.offer().tools.is_empty());
    }
}

#[tokio::test]
async fn a_place_that_is_no_server_is_told_in_words() {
    let echo = crate::echo::Echo::start().await;
    let server = Server::start(&json!({"url": echo.url("/else/where?key=k")}));
    let failure = server.until_failure(|failure| failure.is_some()).await.unwrap();
    assert!(failure.contains("/else/where answered") && !failure.contains("key"), "{failure}");
    assert_eq!(failure.matches(&echo.address.to_string()).count(), 1, "{failure}");
    assert!(failure.contains("check that the URL is its MCP endpoint"), "{failure}");
}

#[tokio::test]
async fn secrets_go_out_and_do_not_come_back() {
    let http = HttpServer::start(Eras::Modern).await;
    let settings = json!({"url": http.url(), "headers": {"X-Key": "{{secrets.KEY}}"}});
    let server = Server::start_with(&settings, &[("KEY", "hunter2hunter2")]);
    let result = server.ready().await;
    drop(result);
    let result = server.result("up_echo", r#"{"a":"hunter2hunter2"}"#, &Mute).await;
    assert_eq!(http.headers_of("tools/call")[0]["x-key"], "hunter2hunter2");
    assert!(!result.to_string().contains("hunter2"), "{result}");
}
