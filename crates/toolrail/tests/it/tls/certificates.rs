//! The certificate of a gateway: refused in words if it is no good, and replaced while the gateway runs.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use serde_json::json;
use toolrail_testkit::{Authority, Gateway, TlsClient, wait_until};

use super::{Site, text};
use crate::support::{Ran, run_in, run_with};

async fn serve(site: &Site, arguments: &[&str]) -> Ran {
    let all = [&["serve", "--listen", "127.0.0.1:0", "--data", "data"], arguments].concat();
    run_in(site.folder.path(), &all).await.unwrap()
}

#[tokio::test]
async fn a_pair_that_is_no_good_is_refused_in_words() {
    let site = Site::new();
    let (cert, key) = (text(&site.cert), text(&site.key));
    let (_, stranger) =
        Site::new().authority.for_server("127.0.0.1").unwrap().write(site.folder.path(), "other").unwrap();
    let empty = site.write("empty.pem", "");
    for (arguments, words) in [
        (vec!["--tls-cert", cert], "--tls-key"),
        (vec!["--tls-key", key], "--tls-cert"),
        (vec!["--tls-cert", cert, "--tls-key", "nowhere.key"], "nowhere.key cannot be read"),
        (vec!["--tls-cert", text(&empty), "--tls-key", key], "empty.pem has no certificate"),
        (vec!["--tls-cert", cert, "--tls-key", text(&stranger)], "other.key does not fit the certificate"),
        (vec!["--admin-tls-cert", cert, "--admin-tls-key", key], "--admin-listen"),
    ] {
        let ran = serve(&site, &arguments).await;
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    let variables = [("TOOLRAIL_TLS_CERT", cert.to_owned())];
    let ran = run_with(site.folder.path(), &["serve", "--port", "0"], &variables).await.unwrap();
    assert!(ran.code == Some(1) && ran.stderr.contains("--tls-key"), "{}", ran.stderr);
    let config = site.configuration(&json!({"clientCert": "maybe", "clients": [{"subject": "ci"}]}));
    let ran = serve(&site, &["--config", text(&config)]).await;
    assert!(ran.code == Some(1) && ran.stderr.contains("/tls/clients/0: \"ci\""), "{}", ran.stderr);
}

/// The certificate that new connections meet.
async fn shown(authority: &Authority, gateway: &Gateway) -> Option<Vec<u8>> {
    let client = TlsClient::trusting(authority).ok()?;
    let request = Request::get(format!("{}/healthz", gateway.url())).body(Full::default()).ok()?;
    Some(client.open(request).await.ok()?.certificate)
}

#[tokio::test]
async fn a_new_pair_is_taken_up_and_a_broken_one_is_not() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let first = shown(&site.authority, &gateway).await.unwrap();
    let within = Duration::from_secs(30);

    // A key that does not fit.
    let renewed = site.authority.for_server("127.0.0.1").unwrap();
    site.write("server.key", &renewed.key);
    wait_until("a warning", within, async || {
        gateway.stderr().contains("the old one stays in use").then_some(())
    })
    .await
    .unwrap();
    assert!(gateway.stderr().contains("server.key does not fit"), "{}", gateway.stderr());
    assert_eq!(shown(&site.authority, &gateway).await, Some(first.clone()));

    // Its certificate follows.
    site.write("server.pem", &renewed.certificate);
    let changed = async || shown(&site.authority, &gateway).await.filter(|now| *now != first);
    wait_until("the new certificate", within, changed).await.unwrap();
    let data = text(gateway.data());
    let known = wait_until("the commands to know it", within, async || {
        let ran = run_in(site.folder.path(), &["tools", "list", "-v", "--data", data]).await.ok()?;
        (ran.code == Some(0) && ran.stderr.contains("server https://")).then_some(())
    });
    known.await.unwrap();

    // SIGHUP reads it at once.
    let other = Authority::new().unwrap();
    let last = other.for_server("127.0.0.1").unwrap();
    site.write("server.key", &last.key);
    site.write("server.pem", &last.certificate);
    let pid = gateway.pid().unwrap().to_string();
    tokio::process::Command::new("sh").args(["-c", "kill -HUP \"$0\"", &pid]).status().await.unwrap();
    let changed = async || shown(&other, &gateway).await;
    wait_until("the last certificate", within, changed).await.unwrap();
}

#[tokio::test]
async fn a_key_for_everybody_and_a_certificate_near_its_end_are_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let old = site.authority.for_server_until("127.0.0.1", (2020, 1, 1)).unwrap();
    old.write(site.folder.path(), "server").unwrap();
    std::fs::set_permissions(&site.key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let gateway = site.gateway().start().await.unwrap();
    for words in ["every user of this machine may read the TLS key", "the TLS certificate has expired"] {
        let said = async || gateway.stderr().contains(words).then_some(());
        wait_until(words, Duration::from_secs(30), said).await.unwrap();
    }
    assert!(gateway.stderr().contains("server.key") && gateway.stderr().contains("server.pem"));
}
