//! Commands that talk to a gateway over TLS: found by its data folder, or named by its URL.

use serde_json::json;
use toolrail_testkit::Stdio;

use super::{Site, text};
use crate::support::{BINARY, gateway, run_in, run_with};

/// A site whose certificate is for a name that nothing here has.
fn misnamed() -> Site {
    let site = Site::new();
    site.authority.for_server("gateway.example").unwrap().write(site.folder.path(), "server").unwrap();
    site
}

#[tokio::test]
async fn commands_know_the_gateway_of_a_data_folder_by_its_certificate() {
    let site = misnamed();
    for more in [vec![], vec!["--secure"], vec!["--admin-listen", "127.0.0.1:0"]] {
        let gateway = site.gateway().args(&more).start().await.unwrap();
        let data = text(gateway.data());
        let ran = run_in(site.folder.path(), &["tools", "list", "-v", "--data", data]).await.unwrap();
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("server {}", gateway.url())), "{more:?}: {}", ran.stderr);
        let banner = gateway.banner().await.unwrap();
        assert!(banner.contains(&format!("tools list --data {data}")), "{banner}");
    }
}

#[tokio::test]
async fn another_certificate_at_the_address_is_not_trusted() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let file = gateway.data().join("server.json");
    let mut said: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(said["fingerprint"].as_str().map(str::len), Some(64), "{said}");
    said["fingerprint"] = json!("0".repeat(64));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.json"), said.to_string()).unwrap();
    let data = text(folder.path());
    let ran = run_in(site.folder.path(), &["tools", "list", "-v", "--data", data]).await.unwrap();
    assert!(!ran.stderr.contains("server https://"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_url_is_trusted_by_its_authority() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let authority = site.write("authority.pem", site.authority.pem());
    let (url, ca) = (gateway.url(), text(&authority));
    let ran = run_in(site.folder.path(), &["tools", "list", "--url", url]).await.unwrap();
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("is not trusted") && ran.stderr.contains("--ca-file"), "{}", ran.stderr);
    let ran = run_in(site.folder.path(), &["tools", "list", "--url", url, "--ca-file", ca]).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let variables = [("TOOLRAIL_CA_FILE", ca.to_owned())];
    let ran = run_with(site.folder.path(), &["tools", "list", "--url", url], &variables).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran =
        run_in(site.folder.path(), &["tools", "list", "--url", url, "--ca-file", text(&site.key)]).await;
    let ran = ran.unwrap();
    assert!(ran.code == Some(1) && ran.stderr.contains("server.key is no good"), "{}", ran.stderr);

    let mut bridge = Stdio::spawn(BINARY, ["stdio", "--url", url, "--ca-file", ca]).unwrap();
    let listed = bridge.call("tools/list", json!({})).await.unwrap();
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert!(bridge.finish().await.unwrap().success());
}

#[tokio::test]
async fn commands_show_a_certificate_where_one_is_asked_for() {
    let site = Site::new();
    let authority = site.write("authority.pem", site.authority.pem());
    let own = site.authority.for_client("CN=me", None).unwrap();
    let (cert, key) = own.write(site.folder.path(), "me").unwrap();
    let tls = json!({"clientCa": "authority.pem", "clients": [{"subject": "CN=me", "role": "write"}]});
    let gateway = site.configured(&tls).arg("--secure").start().await.unwrap();
    let shown = ["--client-cert", text(&cert), "--client-key", text(&key)];
    let by_url = ["tools", "list", "--url", gateway.url(), "--ca-file", text(&authority)];
    let ran = run_in(site.folder.path(), &by_url).await.unwrap();
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let ran = run_in(site.folder.path(), &[&by_url[..], &shown].concat()).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let by_data = ["keys", "list", "-v", "--data", text(gateway.data())];
    let ran = run_in(site.folder.path(), &[&by_data[..], &shown].concat()).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("server https://"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_gateway_without_tls_announces_no_certificate() {
    let gateway = gateway().start().await.unwrap();
    let said = std::fs::read_to_string(gateway.data().join("server.json")).unwrap();
    assert!(!said.contains("fingerprint"), "{said}");
}
