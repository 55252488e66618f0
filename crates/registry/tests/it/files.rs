//! Folders of files: reloads, last good versions, odd files.

use std::fs;

use serde_json::{Value, json};

use crate::support::{files, names, no_rows, registry, tool};

/// R117, R125, R126: files are read again when they change; a broken one keeps its last good definitions.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_keeps_its_last_good_definitions_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "name: a\ndescription: d\necho: {}\n").unwrap();
    fs::write(folder.path().join("b.json"), tool("b", "d").to_string()).unwrap();
    fs::write(folder.path().join("notes.txt"), "not a definition").unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "b"]);

    fs::write(folder.path().join("a.yaml"), "name: [a\n").unwrap();
    fs::remove_file(folder.path().join("b.json")).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    let snapshot = registry.snapshot();
    let problem = snapshot.problems().find(|problem| problem.origin.as_deref() == Some("a.yaml")).unwrap();
    assert!(problem.message.contains("stay in place"), "{problem}");

    fs::write(folder.path().join("a.yaml"), "name: a2\ndescription: d\necho: {}\n").unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["a2"]);
}

/// What `export --all-tenants` writes can be watched.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_of_a_tenant_may_stand_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shared.json"), tool("a", "for everybody").to_string()).unwrap();
    let own = json!({"tenant": "acme", "configJson": tool("a", "for acme")});
    let only = json!({"name": "b", "tenant": "acme", "configJson": tool("b", "d")});
    fs::write(folder.path().join("acme.json"), json!([own, only]).to_string()).unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    let told = |tenant: Option<&str>| registry.catalogue(tenant).find("a").unwrap().description.clone();
    assert_eq!(told(None).as_deref(), Some("for everybody"));
    assert_eq!(told(Some("acme")).as_deref(), Some("for acme"));
    assert!(registry.catalogue(Some("acme")).find("b").is_some());
    assert!(registry.catalogue(Some("other")).find("b").is_none());
}

/// Every problem of a definition in a file says where it stands: its value, or what would hold it.
#[tokio::test(flavor = "multi_thread")]
async fn problems_name_the_line_and_the_column_in_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("one.yaml", "# first\nname: one\ndescription: d\necho:\n  needz: x\n");
    write("more.yaml", "tools:\n- name: two\n  description: d\n  echo: {}\n  tgas: [a]\n");
    write("same.yaml", "- name: ONE\n  echo: {}\n");
    write("wrapped.json", "{\"name\": \"three\",\n \"configJson\": {\"name\": \"three\", \"echo\": 7}}");
    write("broken.yaml", "name: x\necho: [1\n");
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let errors = snapshot.problems().filter(|problem| problem.severity == toolrail_core::Severity::Error);
    let mut told: Vec<String> = errors
        .map(|problem| format!("{} {}", problem.spot.as_ref().unwrap(), problem.pointer))
        .filter(|told| !told.starts_with("broken"))
        .collect();
    told.sort();
    told.dedup();
    assert_eq!(
        told,
        [
            "more.yaml:5:9 /tgas",
            "one.yaml:5:10 /echo/needz",
            "same.yaml:1:9 /name",
            "wrapped.json:2:42 /echo"
        ]
    );
    let broken =
        snapshot.problems().find(|problem| problem.origin.as_deref() == Some("broken.yaml")).unwrap();
    assert_eq!(broken.spot.as_ref().map(|spot| spot.line), Some(2), "{broken}");
}

/// R74: a catalogue of RegistryTools is read as it is; what has no kind here is told where it stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_of_registry_tools_is_a_file_of_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "{\"a.b\": {\"name\": \"a.b\", \"description\": \"d\",\n  \"input_schema\": {\"type\": \"array\"}}}";
    fs::write(folder.path().join("tools.json"), text).unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let entry = snapshot.entry("a.b").unwrap();
    assert_eq!(entry.origin, "tools.json#/a.b");
    let places: Vec<_> =
        entry.problems.iter().map(|problem| problem.spot.as_ref().unwrap().to_string()).collect();
    assert!(places.contains(&"tools.json:2:28".to_owned()), "{places:?} {:?}", entry.problems);
}

/// An editor empties a file before it writes it; only deleting it removes its tools.
#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_file_keeps_its_last_good_definitions_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, json) = (folder.path().join("a.yaml"), folder.path().join("b.json"));
    fs::write(&yaml, "name: a\ndescription: d\necho: {}\n").unwrap();
    fs::write(&json, tool("b", "d").to_string()).unwrap();
    fs::write(folder.path().join("never.yml"), "# nothing yet\n").unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "b"]);
    for (one, other) in [("", ""), ("# later\n", "[]"), ("---\n", "{\"tools\": []}")] {
        fs::write(&yaml, one).unwrap();
        fs::write(&json, other).unwrap();
        registry.refresh().await;
        assert_eq!(names(&registry), ["a", "b"], "{one:?}");
        let mut told: Vec<_> = registry
            .snapshot()
            .problems()
            .map(|problem| format!("{}: {}", problem.origin.as_deref().unwrap(), problem.message))
            .collect();
        told.retain(|text| text.contains("has no definition in it"));
        assert_eq!(told.len(), 3, "{told:#?}");
        assert!(told[0].starts_with("a.yaml: ") && told[0].contains("(1) stay in place"), "{told:#?}");
        assert!(told[2].starts_with("never.yml: ") && !told[2].contains("stay in place"), "{told:#?}");
    }
    fs::remove_file(&yaml).unwrap();
    fs::write(&json, tool("b2", "d").to_string()).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["b2"]);
}

/// R125, R126: a definition in a file that becomes faulty leaves its last good version live, until it is corrected.
#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_definition_in_a_file_keeps_its_last_good_tool() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    let write =
        |document: Value| fs::write(&file, json!([tool("first", "d"), document]).to_string()).unwrap();
    let faulty = |extra: Value| {
        let mut document = tool("a", "new text");
        document.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        document
    };
    write(tool("a", "good"));
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    for extra in [json!({"nope": 1}), json!({"echo": {"nope": 12345}})] {
        write(faulty(extra));
        registry.refresh().await;
        registry.refresh().await;
        let snapshot = registry.snapshot();
        let entry = snapshot.entry("a").unwrap();
        assert_eq!((entry.state(), entry.has_errors()), ("live", true));
        assert_eq!(snapshot.find("a").unwrap().description.as_deref(), Some("good"));
        assert!(entry.problems[0].message.contains("the last good version stays in place"));
        assert_eq!(entry.problems[0].origin.as_deref(), Some("a.json#/1"));
        assert!(entry.problems[1].message.contains("nope"), "{:?}", entry.problems);
    }
    write(faulty(json!({"nope": 1, "enabled": false})));
    registry.refresh().await;
    assert_eq!(registry.snapshot().entry("a").unwrap().state(), "disabled", "off is off");
    write(tool("a", "corrected"));
    registry.refresh().await;
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.find("a").unwrap().description.as_deref(), Some("corrected"));
    assert!(!snapshot.entry("a").unwrap().has_errors());
    fs::write(&file, json!([tool("first", "d")]).to_string()).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["first"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_goes_away_leaves_the_last_good_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("tools");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("a.json"), tool("a", "d").to_string()).unwrap();
    let registry = registry(no_rows(), files(&inner), 10);
    registry.refresh().await;
    fs::remove_dir_all(&inner).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    assert!(registry.snapshot().sources[0].failure.as_ref().unwrap().contains("cannot be read"));
}

/// Pipes, devices and links in circles neither hang a reload nor stop the other files.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn odd_files_in_a_folder_harm_nobody() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), tool("a", "d").to_string()).unwrap();
    symlink("/dev/zero", folder.path().join("zero.json")).unwrap();
    for number in 0..4 {
        symlink(".", folder.path().join(format!("loop{number}"))).unwrap();
    }
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap();
    assert!(made.success());
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    let snapshot = registry.snapshot();
    let told: Vec<_> = snapshot.problems().filter_map(|problem| problem.origin.as_deref()).collect();
    assert_eq!(told, ["pipe.yaml", "zero.json"]);
}

/// Whoever copies files may set their times, and a clock may be too coarse to tell two saves apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_replaced_by_one_of_equal_length_and_time_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let write = |name: &str, rename: bool| {
        let draft = if rename { folder.path().join("draft.txt") } else { path.clone() };
        fs::write(&draft, format!("name: {name}\ndescription: d\necho: {{}}\n")).unwrap();
        fs::File::options().write(true).open(&draft).unwrap().set_modified(long_ago).unwrap();
        if rename {
            fs::rename(draft, &path).unwrap();
        }
    };
    let registry = registry(no_rows(), files(folder.path()), 10);
    for (number, rename) in [false, true, true, false, false].into_iter().enumerate() {
        let name = format!("a{number}");
        write(&name, rename);
        registry.refresh().await;
        assert_eq!(names(&registry), [name.as_str()], "{rename}");
    }
    let before = registry.snapshot().revision;
    registry.refresh().await;
    assert_eq!(registry.snapshot().revision, before, "a file that stays the same is no change");
}

/// F6: an editor that saves writes the beginning first.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_cut_off_anywhere_keeps_all_its_definitions() {
    let text = "- name: first\n  description: d\n  echo: {}\n- name: second\n  description: d\n  echo: {}\n";
    let one = "name: only\ndescription: d\necho: {}\n";
    let folder = tempfile::tempdir().unwrap();
    let (list, single) = (folder.path().join("list.yaml"), folder.path().join("single.yaml"));
    fs::write(&list, text).unwrap();
    fs::write(&single, one).unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    for end in (0..text.len()).step_by(3) {
        fs::write(&list, &text[..end]).unwrap();
        fs::write(&single, &one[..end.min(one.len() - 1)]).unwrap();
        registry.refresh().await;
        assert_eq!(names(&registry), ["first", "only", "second"], "{:?}", &text[..end]);
    }
    fs::write(&list, &text[..9]).unwrap();
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let told = snapshot.problems().find(|problem| problem.origin.as_deref() == Some("list.yaml")).unwrap();
    assert!(told.message.contains("ends in the middle of a definition"), "{told}");
    fs::remove_file(&single).unwrap();
    fs::write(&list, text.replace("second", "third")).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["first", "third"], "one is gone, the other whole again");
}

/// Nobody can tell a list that is being written from one whose end was deleted, but by waiting.
#[tokio::test(flavor = "multi_thread")]
async fn definitions_deleted_from_the_end_of_a_list_go_after_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.yaml");
    let first = "- name: first\n  description: d\n  echo: {}\n";
    fs::write(&file, format!("{first}{}", first.replace("first", "second"))).unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    fs::write(&file, first).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["first", "second"]);
    let gone = async {
        while names(&registry) != ["first"] {
            registry.refresh().await;
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.unwrap();
    let snapshot = registry.snapshot();
    assert!(!snapshot.problems().any(|problem| problem.message.contains("last good definitions")));
}
