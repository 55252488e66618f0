//! Choosing a store by URL: on the command line, in the environment, in the configuration; never showing a password.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Database, DatabaseKind, HttpClient, Server, wait_until};
use url::Url;

use crate::support::{BINARY, assert_failed, gateway, get_tool, listed, register, run_in};

/// Nobody listens there.
const NOBODY: &str = "postgres://anna:pa55word@127.0.0.1:1/tools";

#[tokio::test]
async fn a_store_that_cannot_be_had_is_told_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["serve", "--listen", "0", "--store", NOBODY][..],
        &["tools", "list", "--store", NOBODY],
        &["stdio", "--store", NOBODY],
    ] {
        let ran = run_in(folder.path(), command).await.unwrap();
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("the store postgres://127.0.0.1:1/tools cannot be opened"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("pa55word") && !ran.stdout.contains("pa55word"), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn a_url_that_names_no_store_is_told_without_being_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for (url, part) in [
        ("oracle://anna:pa55word@h/db", "there is no kind of store \"oracle\""),
        ("pa55word", "begins with its kind and a colon"),
        ("sqlite:", "needs a file"),
    ] {
        let ran = run_in(folder.path(), &["serve", "--listen", "0", "--store", url]).await.unwrap();
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("--store"), "{}", ran.stderr);
        assert!(ran.stderr.contains(part) && !ran.stderr.contains("pa55word"), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn help_does_not_show_the_password_of_the_environment() {
    let output = tokio::process::Command::new(BINARY)
        .args(["serve", "--help"])
        .env("TOOLRAIL_STORE", NOBODY)
        .output()
        .await
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("TOOLRAIL_STORE") && !help.contains("pa55word"), "{help}");
}

/// A probe must not hang while a slow database is waited for, nor take the gateway for dead.
#[tokio::test]
async fn while_the_store_is_waited_for_the_server_says_that_it_lives_and_is_not_ready() {
    // Takes connections and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = format!("postgres://anna@{}/tools", silent.local_addr().unwrap());
    let _gateway = tokio::process::Command::new(BINARY)
        .args(["serve", "--listen", &free.to_string(), "--store", &store])
        .current_dir(folder.path())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let client = HttpClient::new();
    let get = async |path: &str| client.send_json(Method::GET, &format!("http://{free}{path}"), None).await;
    let alive = wait_until("an answer", Duration::from_secs(8), async || get("/healthz").await.ok());
    assert_eq!(alive.await.unwrap().status, 200);
    let ready = get("/readyz").await.unwrap();
    assert_eq!((ready.status, ready.json().unwrap()["status"].as_str()), (503, Some("starting")));
    assert_eq!(get("/mcp/tools").await.unwrap().status, 503);
}

/// The same URL without its password, and the password.
fn apart(url: &str) -> (String, String) {
    let mut url = Url::parse(url).unwrap();
    let password = url.password().unwrap_or_default().to_owned();
    url.set_password(None).unwrap();
    (url.to_string(), password)
}

/// Registers, restarts, and uses the command line beside the server and without it.
async fn a_store_named_by_its_url_keeps_definitions(kind: DatabaseKind) {
    let database = Database::fresh(kind).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut gateway = gateway().args(["--store", database.url()]).start().await.unwrap();
    let banner = gateway.banner().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), ["one"]);
    assert!(!gateway.data().join("toolrail.db").exists());
    let ran =
        run_in(folder.path(), &["tools", "disable", "one", "-v", "--store", database.url()]).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    wait_until("the change of the command line", Duration::from_secs(5), async || {
        listed(&gateway).await.ok()?.is_empty().then_some(())
    })
    .await
    .unwrap();
    let description = gateway.get("/readyz").await.unwrap().json().unwrap()["store"]["description"].clone();
    let description = description.as_str().unwrap();
    assert!(banner.contains(&format!("from {description}")), "{banner}");
    assert!(ran.stderr.contains(&format!("(store {description})")), "{}", ran.stderr);
    let password = match kind {
        DatabaseKind::Sqlite => String::new(),
        DatabaseKind::Postgres | DatabaseKind::Mysql => apart(database.url()).1,
    };
    if !password.is_empty() {
        for shown in [banner, gateway.stdout(), gateway.stderr(), ran.stdout, ran.stderr] {
            assert!(!shown.contains(&format!(":{password}@")), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_sqlite_file_named_by_its_url_keeps_definitions() {
    a_store_named_by_its_url_keeps_definitions(DatabaseKind::Sqlite).await;
}

#[tokio::test]
async fn a_postgres_server_named_by_its_url_keeps_definitions() {
    a_store_named_by_its_url_keeps_definitions(DatabaseKind::Postgres).await;
}

#[tokio::test]
async fn a_mysql_server_named_by_its_url_keeps_definitions() {
    a_store_named_by_its_url_keeps_definitions(DatabaseKind::Mysql).await;
}

#[tokio::test]
async fn a_password_may_stand_in_the_environment_or_in_a_file() {
    let database = Database::fresh(DatabaseKind::Mysql).await.unwrap();
    let (url, password) = apart(database.url());
    let with_variable = gateway().env("TOOLRAIL_STORE", &url).env("TOOLRAIL_STORE_PASSWORD", &password);
    let gateway_with_variable = with_variable.start().await.unwrap();
    register(&gateway_with_variable, &get_tool("one", "http://127.0.0.1:1/")).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), format!("{password}\n")).unwrap();
    let config = folder.path().join("toolrail.json");
    std::fs::write(&config, json!({"store": url, "storePasswordFile": "secret"}).to_string()).unwrap();
    let gateway_with_file = gateway().arg("--config").arg(&config).start().await.unwrap();
    assert_eq!(listed(&gateway_with_file).await.unwrap(), ["one"]);
}

#[tokio::test]
async fn a_store_in_memory_ends_with_the_process() {
    let mut gateway = gateway().args(["--store", "memory:"]).start().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    assert_eq!(listed(&gateway).await.unwrap(), ["one"]);
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), Vec::<String>::new());
}

async fn a_start_without_the_database_serves_the_last_good_definitions(kind: DatabaseKind) {
    let mut server = Server::start(kind).await.unwrap();
    let database = server.database().await.unwrap();
    let mut gateway = gateway().args(["--store", database.url()]).start().await.unwrap();
    register(&gateway, &get_tool("one", "http://127.0.0.1:1/")).await;
    let revision = gateway.get("/readyz").await.unwrap().json().unwrap()["revision"].clone();
    gateway.stop().await.unwrap();
    server.kill().await.unwrap();
    gateway.restart().await.unwrap();
    assert_eq!(listed(&gateway).await.unwrap(), ["one"]);
    let ready = gateway.get("/readyz").await.unwrap();
    let told = ready.json().unwrap();
    assert_eq!(
        (ready.status, &told["status"], &told["revision"]),
        (200, &json!("degraded"), &revision),
        "{told}"
    );
    assert_eq!(told["store"]["reachable"], json!(false), "{told}");
    assert!(told["store"]["unreachableSince"].is_string(), "{told}");
    let refused = gateway.post_json("/admin/tools", &get_tool("two", "http://127.0.0.1:1/")).await.unwrap();
    assert_failed(&refused, 503, "STORE_UNAVAILABLE", "is unavailable");
    let refreshed = gateway.post_json("/admin/refresh", &Value::Null).await.unwrap();
    assert_failed(&refreshed, 503, "STORE_UNAVAILABLE", "last good definitions stay");
    let problems = gateway.get("/admin/problems").await.unwrap().json().unwrap();
    let message = problems["problems"][0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cannot be read since "), "{problems}");
    let asked = std::time::Instant::now();
    assert_eq!(gateway.get("/admin/tools").await.unwrap().status, 200);
    assert!(asked.elapsed() < Duration::from_secs(8), "use counts are not waited for: {:?}", asked.elapsed());
    server.restart().await.unwrap();
    wait_until("the gateway to be ready again", Duration::from_secs(30), async || {
        let told = gateway.get("/readyz").await.ok()?.json().ok()?;
        (told["status"] == "ready").then_some(())
    })
    .await
    .unwrap();
    register(&gateway, &get_tool("two", "http://127.0.0.1:1/")).await;
    assert_eq!(listed(&gateway).await.unwrap(), ["one", "two"]);
}

#[tokio::test]
async fn a_start_without_postgres_serves_the_last_good_definitions() {
    a_start_without_the_database_serves_the_last_good_definitions(DatabaseKind::Postgres).await;
}

#[tokio::test]
async fn a_start_without_mysql_serves_the_last_good_definitions() {
    a_start_without_the_database_serves_the_last_good_definitions(DatabaseKind::Mysql).await;
}
