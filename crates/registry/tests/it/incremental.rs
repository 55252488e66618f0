//! A change costs no more than what changed, and leads to the same as reading everything anew.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolrail_core::{Change, Compiled, Definition, DefinitionForm, Kind, Problems};
use toolrail_registry::{Compiler, Era, List, Registry, RegistryLimits, Source, StoreSource};

use crate::fake::{Far, Note, Server, far, tools};
use crate::rows::{Rows, of, purge, put, switch};
use crate::support::{Echo, Settings, files, tool};

/// Counts how often a definition is compiled.
struct Counted(Arc<AtomicUsize>);

impl Kind for Counted {
    const NAME: &'static str = "echo";
    type Settings = Settings;

    fn compile(
        &self,
        settings: Settings,
        definition: &Definition,
        problems: &mut Problems,
    ) -> Option<Compiled> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Echo.compile(settings, definition, problems)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_change_among_many_compiles_one_definition() {
    let (rows, compiled) = (Arc::new(Rows::default()), Arc::new(AtomicUsize::new(0)));
    let name = |number: usize| format!("t{number}");
    let many: Vec<_> =
        (0..5_000).map(|number| put(&name(number), &tool(&name(number), "d").to_string())).collect();
    rows.commit(&many);
    let form = DefinitionForm::new(vec![Arc::new(Counted(Arc::clone(&compiled)))]);
    let compiler = Compiler::new(form, Box::new(|_, executor| executor));
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler, rows.clone(), vec![source], RegistryLimits::default());
    registry.refresh().await;
    assert_eq!((compiled.swap(0, Ordering::SeqCst), registry.snapshot().tool_count()), (5_000, 5_000));
    let lists = *registry.feed().lists().borrow();
    rows.commit(&[put("t7", &tool("t7", "new").to_string()), switch("t8", false), purge("t9")]);
    let before = registry.snapshot();
    registry.refresh().await;
    let after = registry.snapshot();
    assert_eq!(compiled.load(Ordering::SeqCst), 2, "what was removed is not compiled");
    assert_eq!((before.tool_count(), after.tool_count()), (5_000, 4_998));
    assert!(before.find("t9").is_some() && after.find("t9").is_none());
    assert!(Arc::ptr_eq(before.find("t1").unwrap(), after.find("t1").unwrap()));
    assert_eq!(registry.feed().lists().borrow().tools, lists.tools + 1);
    // A change that no client can see in a list.
    let mut same = tool("t7", "new");
    same["tags"] = json!([]);
    rows.commit(&[put("t7", &same.to_string())]);
    registry.refresh().await;
    assert_eq!(registry.feed().lists().borrow().tools, lists.tools + 1);
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn any_change(dice: &mut Dice) -> Change {
    let name = ["a", "b", "c", "d", "e", "f", "g", "Up", "one", "two"][dice.below(10)];
    let other = json!({"name": name, "note": {}});
    let resource = json!({"name": name, "note": {"uri": format!("docs://{}", dice.below(3))}});
    let output = json!({"name": name, "echo": {}, "description": "d", "outputSchema": {"type": "array"}});
    let change = match dice.below(10) {
        0 => purge(name),
        1 => switch(name, dice.below(2) == 0),
        2 => put(name, "{"),
        3 => put(name, &other.to_string()),
        4 => put(name, &resource.to_string()),
        5 => put(name, &far(name, dice.below(2)).to_string()),
        6 => put(name, &output.to_string()),
        number => put(name, &tool(name, &format!("text {number} {}", dice.below(3))).to_string()),
    };
    match dice.below(4) {
        0 => of("acme", change),
        1 => of("other", change),
        _ => change,
    }
}

/// Everything anybody could see.
fn seen(registry: &Registry) -> Vec<String> {
    let mut seen = Vec::new();
    for tenant in [None, Some("acme"), Some("other"), Some("nobody")] {
        let snapshot = registry.catalogue(tenant);
        for list in [List::Tools, List::Prompts, List::Resources, List::Templates] {
            for era in [Era::Modern, Era::Legacy] {
                let mut after: Option<String> = None;
                loop {
                    let page = snapshot.page(list, era, after.as_deref());
                    seen.push(format!(
                        "{tenant:?} {list:?} {era:?} {}",
                        String::from_utf8_lossy(&page.entries)
                    ));
                    after = page.next_after;
                    if after.is_none() {
                        break;
                    }
                }
            }
        }
        let told = snapshot.entries().map(|entry| {
            let problems: Vec<_> = entry.problems.iter().map(ToString::to_string).collect();
            format!("{tenant:?} {} {:?} {} {problems:?}", entry.name, entry.source, entry.state())
        });
        seen.extend(told);
        assert_eq!(snapshot.tool_count(), snapshot.tools().len());
    }
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.problem_count(), snapshot.all_problems().count());
    seen.push(format!("{:?} {:?}", snapshot.revision, snapshot.tally()));
    seen
}

fn fresh(rows: &Arc<Rows>, folder: &std::path::Path) -> Registry {
    let servers = vec![Server::offering(tools(&["one", "a"])), Server::offering(tools(&["two", "one", "x"]))];
    let form = DefinitionForm::new(vec![Arc::new(Echo), Arc::new(Note), Arc::new(Far(servers))]);
    let compiler = Compiler::new(form, Box::new(|_, executor| executor));
    let mut sources: Vec<Arc<dyn Source>> = files(folder);
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    let limits = RegistryLimits { page_tools: 3, ..RegistryLimits::default() };
    Registry::new(compiler, rows.clone(), sources, limits)
}

#[tokio::test(flavor = "multi_thread")]
async fn any_changes_lead_to_the_same_as_reading_everything_anew() {
    let folder = tempfile::tempdir().unwrap();
    let write = |documents: Value| fs::write(folder.path().join("a.json"), documents.to_string()).unwrap();
    write(json!([tool("a", "file"), tool("h", "file"), far("up", 1)]));
    for seed in 0..12 {
        let (rows, mut dice) = (Arc::new(Rows::default()), Dice(seed));
        let incremental = fresh(&rows, folder.path());
        for round in 0..20 {
            let changes: Vec<_> = (0..=dice.below(4)).map(|_| any_change(&mut dice)).collect();
            rows.commit(&changes);
            incremental.refresh().await;
            if round % 4 != 3 {
                continue;
            }
            let whole = fresh(&rows, folder.path());
            whole.refresh().await;
            assert_eq!(seen(&incremental), seen(&whole), "seed {seed}, round {round}: {changes:#?}");
        }
    }
}
