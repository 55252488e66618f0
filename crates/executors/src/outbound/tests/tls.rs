//! Upstreams behind TLS.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::*;
use super::upstream::{Reply, Upstream};
use super::{client, get};

struct Authority {
    certificate: CertificateDer<'static>,
    acceptor: tokio_rustls::TlsAcceptor,
}

/// A server's own authority: one certificate for this name, signed by itself.
fn authority(name: &str) -> Authority {
    let signed = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let certificate = signed.cert.der().clone();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    Authority { certificate, acceptor: tokio_rustls::TlsAcceptor::from(Arc::new(config)) }
}

fn client_trusting(authority: &Authority) -> Client {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::with_connector(ClientLimits::default(), OutboundConnector::trusting(config))
}

async fn upstream(
    authority: &Authority,
    answer: impl Fn(&super::upstream::Received) -> Reply + Send + Sync + 'static,
) -> Upstream {
    let acceptor = authority.acceptor.clone();
    Upstream::wrapped(answer, move |stream| {
        let accepting = acceptor.accept(stream);
        async { accepting.await.ok() }
    })
    .await
}

#[tokio::test]
async fn an_upstream_with_a_trusted_certificate_is_called_over_one_connection() {
    let authority = authority("127.0.0.1");
    let upstream = upstream(&authority, |_| Reply::whole("200 OK", "", "safe")).await;
    let client = client_trusting(&authority);
    let url = format!("https://{}/", upstream.address);
    for _ in 0..2 {
        assert_eq!(client.send(get(&url)).await.unwrap().body, "safe");
    }
    assert_eq!(upstream.received()[1].connection, 0);
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_is_named_as_the_reason() {
    let known = authority("127.0.0.1");
    let misnamed = authority("elsewhere.example");
    for (client, authority, words) in
        [(client(), &known, "UnknownIssuer"), (client_trusting(&misnamed), &misnamed, "not valid for name")]
    {
        let upstream = upstream(authority, |_| Reply::whole("200 OK", "", "x")).await;
        let failure = client.send(get(&format!("https://{}/", upstream.address))).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::UpstreamUnreachable);
        assert!(failure.error.message.contains("its TLS certificate is not accepted"), "{failure}");
        assert!(failure.error.message.contains(words), "{failure}");
        assert!(!failure.connected);
    }
}

#[tokio::test]
async fn the_wrong_scheme_for_a_port_is_reported_as_such() {
    let plain = Upstream::wrapped(
        |_| Reply::whole("200 OK", "", ""),
        |mut stream| async move {
            stream.read_u8().await.ok()?;
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok()?;
            Some(stream)
        },
    )
    .await;
    let failure = client().send(get(&format!("https://{}/", plain.address))).await.unwrap_err();
    assert!(failure.error.message.contains("check that the port speaks TLS"), "{failure}");
    let authority = authority("127.0.0.1");
    let safe = upstream(&authority, |_| Reply::whole("200 OK", "", "x")).await;
    let failure = client().send(get(&format!("http://{}/", safe.address))).await.unwrap_err();
    assert!(failure.error.message.contains("whether it must be https"), "{failure}");
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused() {
    let authority = authority("127.0.0.1");
    let upstream = upstream(&authority, |_| Reply::redirect(302, "http://127.0.0.1:1/plain")).await;
    let failure =
        client_trusting(&authority).send(get(&format!("https://{}/", upstream.address))).await.unwrap_err();
    assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid);
    assert!(failure.error.message.contains("redirects from https to http://127.0.0.1:1"), "{failure}");
}
