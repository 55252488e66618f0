//! `toolrail sync`: the store becomes what a folder says, and nothing more.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::Gateway;

use crate::support::{Ran, gateway, listed, plain, run_in};

async fn sync(gateway: &Gateway, folder: &Path, more: &[&str]) -> Result<Ran> {
    let mut arguments = vec!["sync", "files", "--url", gateway.url()];
    arguments.extend(more);
    run_in(folder, &arguments).await
}

fn write(folder: &Path, names: &[&str]) -> Result<()> {
    let files = folder.join("files");
    std::fs::create_dir_all(&files)?;
    for name in names {
        std::fs::write(files.join(format!("{name}.json")), plain(name, "http://127.0.0.1:9/").to_string())?;
    }
    Ok(())
}

#[tokio::test]
async fn the_store_becomes_what_the_folder_says() -> Result<()> {
    let gateway = gateway().start().await?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), &["a", "b", "c"])?;
    let plan = sync(&gateway, folder.path(), &["--dry-run", "--exit-code"]).await?;
    assert_eq!(plan.code, Some(2), "{}", plan.stderr);
    assert!(plan.stdout.ends_with("3 to create, 0 unchanged\n"), "{}", plan.stdout);
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());
    let done = sync(&gateway, folder.path(), &[]).await?;
    assert!(done.stdout.ends_with("3 created, 0 unchanged\n"), "{}{}", done.stdout, done.stderr);
    let nothing = sync(&gateway, folder.path(), &["--dry-run", "--exit-code"]).await?;
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "3 unchanged\n"));

    let revision = async || anyhow::Ok(gateway.get("/admin/export").await?.json()?["revision"].clone());
    let before = revision().await?;
    sync(&gateway, folder.path(), &[]).await?;
    assert_eq!(revision().await?, before, "what is so already is not written again");

    let mut off = plain("b", "http://127.0.0.1:9/new");
    off["enabled"] = json!(false);
    std::fs::write(folder.path().join("files/b.json"), off.to_string())?;
    std::fs::remove_file(folder.path().join("files/c.json"))?;
    let kept = sync(&gateway, folder.path(), &[]).await?;
    assert!(
        kept.stdout.contains("~ /http/url: \"http://127.0.0.1:9/\" → \"http://127.0.0.1:9/new\""),
        "{}",
        kept.stdout
    );
    assert!(kept.stdout.contains("~ /enabled: true → false"), "{}", kept.stdout);
    assert_eq!(listed(&gateway).await?, ["a", "c"]);
    let pruned = sync(&gateway, folder.path(), &["--prune"]).await?;
    assert_eq!((pruned.code, pruned.stdout.as_str()), (Some(0), "- c\n1 removed, 2 unchanged\n"));
    assert_eq!(listed(&gateway).await?, ["a"]);
    Ok(())
}

#[tokio::test]
async fn a_file_with_an_error_stops_it_unless_it_is_to_be_skipped() -> Result<()> {
    let gateway = gateway().start().await?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), &["a", "gone", "other"])?;
    sync(&gateway, folder.path(), &[]).await?;
    write(folder.path(), &["new"])?;
    std::fs::remove_file(folder.path().join("files/gone.json"))?;
    std::fs::write(folder.path().join("files/bad.yaml"), "name: bad\nhttp:\n  urll: x\n")?;
    let stopped = sync(&gateway, folder.path(), &["--prune"]).await?;
    assert_eq!(stopped.code, Some(1));
    assert!(
        stopped.stderr.contains("files/bad.yaml:3:9 /http/urll (bad): unknown field"),
        "{}",
        stopped.stderr
    );
    assert!(
        stopped.stderr.contains("error: 1 definition refused, so nothing was done"),
        "{}",
        stopped.stderr
    );
    assert_eq!(listed(&gateway).await?, ["a", "gone", "other"]);
    // What is missing may be what is broken, so nothing is removed.
    let skipped = sync(&gateway, folder.path(), &["--prune", "--skip-broken", "--json"]).await?;
    let body: Value = serde_json::from_str(&skipped.stdout)?;
    assert_eq!(
        (skipped.code, &body["written"], &body["refused"]),
        (Some(1), &json!(1), &json!(1)),
        "{body:#}"
    );
    assert_eq!(
        (&body["problems"][0]["file"], &body["problems"][0]["line"]),
        (&json!("files/bad.yaml"), &json!(3))
    );
    assert_eq!(listed(&gateway).await?, ["a", "gone", "new", "other"]);
    Ok(())
}

#[tokio::test]
async fn a_wrong_folder_does_not_clear_the_store() -> Result<()> {
    let gateway = gateway().start().await?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), &["a", "b", "c"])?;
    sync(&gateway, folder.path(), &[]).await?;
    std::fs::remove_dir_all(folder.path().join("files"))?;
    write(folder.path(), &[])?;
    let empty = sync(&gateway, folder.path(), &["--prune", "--yes"]).await?;
    assert_eq!(empty.code, Some(1));
    assert!(empty.stderr.contains("has no definition file"), "{}", empty.stderr);
    assert!(!empty.stderr.contains("--skip-broken"), "{}", empty.stderr);
    write(folder.path(), &["a"])?;
    let most = sync(&gateway, folder.path(), &["--prune"]).await?;
    assert_eq!(most.code, Some(1));
    assert!(most.stderr.contains("would remove 2 of the 3 definitions"), "{}", most.stderr);
    assert_eq!(listed(&gateway).await?, ["a", "b", "c"]);
    let meant = sync(&gateway, folder.path(), &["--prune", "--yes"]).await?;
    assert!(meant.stdout.ends_with("2 removed, 1 unchanged\n"), "{}{}", meant.stdout, meant.stderr);
    assert_eq!(listed(&gateway).await?, ["a"]);
    Ok(())
}

/// R117: files and store together, the store wins.
#[tokio::test]
async fn a_synced_definition_wins_over_a_watched_file() -> Result<()> {
    let watched = tempfile::tempdir()?;
    std::fs::write(watched.path().join("a.json"), plain("a", "http://127.0.0.1:9/watched").to_string())?;
    let gateway = gateway().arg("--tools").arg(watched.path()).start().await?;
    assert_eq!(gateway.get("/admin/tools/a").await?.json()?["source"], "files");
    let folder = tempfile::tempdir()?;
    write(folder.path(), &["a"])?;
    sync(&gateway, folder.path(), &["--prune"]).await?;
    let entry = gateway.get("/admin/tools/a").await?.json()?;
    assert_eq!(
        (&entry["source"], &entry["configJson"]["http"]["url"]),
        (&json!("store"), &json!("http://127.0.0.1:9/"))
    );
    Ok(())
}
