//! TLS with certificates made for each test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, SanType, date_time_ymd};
use tempfile::TempDir;

use super::*;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    file
}

fn pair(folder: &TempDir, name: &str) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["gateway.example".to_owned()]).unwrap();
    let cert = write(folder, &format!("{name}.pem"), &made.cert.pem());
    (cert, write(folder, &format!("{name}.key"), &made.signing_key.serialize_pem()))
}

fn settings(cert: &Path, key: &Path) -> TlsSettings {
    let (cert, key) = (cert.to_owned(), key.to_owned());
    TlsSettings { cert, key, client_authority: None, hsts: true, clients: Vec::new() }
}

fn fault(settings: TlsSettings) -> String {
    match PreparedTls::read(settings) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_that_are_no_good_are_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = pair(&folder, "one");
    let (_, other_key) = pair(&folder, "two");
    let empty = write(&folder, "empty.pem", "");
    let torn = write(&folder, "torn.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
    let odd = write(&folder, "odd.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let locked = write(
        &folder,
        "locked.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let missing = folder.path().join("missing.pem");
    assert_eq!(fault(settings(&cert, &key)), "");
    for (settings, file, words) in [
        (settings(&missing, &key), "missing.pem", "name a PEM file that this user may read"),
        (settings(&cert, &missing), "missing.pem", "the TLS key"),
        (settings(&empty, &key), "empty.pem", "-----BEGIN CERTIFICATE-----"),
        (settings(&torn, &key), "torn.pem", "has no certificate"),
        (settings(&odd, &key), "odd.pem", "cannot be used"),
        (settings(&key, &key), "one.key", "has no certificate"),
        (settings(&cert, &cert), "one.pem", "has no private key"),
        (settings(&cert, &empty), "empty.pem", "has no private key"),
        (settings(&cert, &locked), "locked.key", "this one is encrypted"),
        (settings(&cert, &other_key), "two.key", "does not fit the certificate"),
    ] {
        let told = fault(settings);
        assert!(told.contains(file) && told.contains(words), "{words}: {told}");
    }
    let authority = |file: &Path| Some(ClientAuthority { file: file.to_owned(), demand: Demand::Required });
    for (file, words) in [(&missing, "missing.pem"), (&empty, "empty.pem"), (&odd, "odd.pem")] {
        let told = fault(TlsSettings { client_authority: authority(file), ..settings(&cert, &key) });
        assert!(told.contains("the authority of client certificates") && told.contains(words), "{told}");
    }
}

#[test]
fn a_key_that_everybody_may_read_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (_, key) = pair(&folder, "one");
    for (mode, is_open) in [(0o600, false), (0o640, false), (0o644, true)] {
        std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        assert_eq!(files::is_open_to_all(&key), is_open, "{mode:o}");
    }
}

#[test]
fn a_certificate_says_subject_names_and_end() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["ci.acme.example".to_owned()]).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Acme, Inc.");
    params.distinguished_name.push(DnType::CommonName, "ci");
    params.subject_alt_names.push(SanType::URI("spiffe://acme/ci".try_into().unwrap()));
    params.subject_alt_names.push(SanType::Rfc822Name("ci@acme.example".try_into().unwrap()));
    params.not_after = date_time_ymd(2031, 1, 1);
    let issuer = Issuer::from_params(&params, &key);
    let made = params.signed_by(&key, &issuer).unwrap();
    let read = Certificate::read(made.der()).unwrap();
    assert_eq!(read.subject, r"CN=ci,O=Acme\, Inc.");
    assert_eq!(read.short_name(), "ci");
    assert_eq!(read.names, ["ci.acme.example", "spiffe://acme/ci", "ci@acme.example"]);
    let end = read.good_until.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(end.as_secs(), 1_924_992_000);
    assert!(Certificate::read(b"nothing").is_none());
}

#[test]
fn a_new_pair_has_another_fingerprint_and_whoever_waits_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (pair(&folder, "one"), pair(&folder, "two"));
    let tls = Tls::new(PreparedTls::read(settings(&first.0, &first.1)).unwrap());
    let mut told = tls.fingerprint();
    let before = told.borrow_and_update().clone();
    assert_eq!(before.len(), 64);
    tls.replace(PreparedTls::read(settings(&second.0, &second.1)).unwrap());
    assert!(told.has_changed().unwrap());
    assert_ne!(*told.borrow_and_update(), before);
}
