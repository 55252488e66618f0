//! Choosing a store by URL: on the command line, in the environment, in the configuration; never showing a password.

use crate::support::{BINARY, run_in};

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
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
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
