//! What not every definition may do: in files it may, in the store only if the operator says so.

use std::fs;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    Action, Change, Compiled, Definition, DefinitionForm, Kind, Made, Need, Permission, Problem, Problems,
};
use toolrail_registry::{
    BatchMode, Compiler, Registry, RegistryLimits, SourceId, StoreSource, Which, Written,
};

use crate::fake::{Connection, Server, tools};
use crate::rows::{Rows, put};
use crate::store::registration;
use crate::support::{Echo, author, files, names, tool};

const REFUSED: &str = "starting programs is not allowed for definitions in the store; put the definition into a folder of --tools, or start the gateway with --allow-commands";

/// Connects to a server; with `program` it would have to start it.
struct Run(Arc<Server>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunSettings {
    #[serde(default)]
    program: Option<String>,
}

impl Kind for Run {
    const NAME: &'static str = "run";
    type Settings = RunSettings;

    fn compile(&self, settings: RunSettings, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let need = |_| Need { permission: Permission::StartPrograms, pointer: "/run/program".into() };
        Some(Compiled {
            made: Made::Upstream(Connection::to(&self.0)),
            arguments: Vec::new(),
            uses_other_arguments: true,
            needs: settings.program.map(need).into_iter().collect(),
        })
    }
}

/// A registry over a store and a folder, and the server that its definitions would start.
struct Fixture {
    rows: Arc<Rows>,
    server: Arc<Server>,
    folder: tempfile::TempDir,
    registry: Registry,
}

fn fixture(permitted: &[Permission]) -> Fixture {
    let (rows, server) = (Arc::new(Rows::default()), Server::offering(tools(&["offered"])));
    let folder = tempfile::tempdir().unwrap();
    let form = DefinitionForm::new(vec![Arc::new(Run(Arc::clone(&server))), Arc::new(Echo)]);
    let compiler = Compiler::new(form, Box::new(|_, executor| executor));
    let compiler = permitted.iter().fold(compiler, |compiler, one| compiler.permitting(*one));
    let mut sources = files(folder.path());
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    let registry = Registry::new(compiler, rows.clone(), sources, RegistryLimits::default());
    Fixture { rows, server, folder, registry }
}

impl Fixture {
    /// Writes a row as another program would.
    async fn write(&self, name: &str, enabled: bool) {
        let config_json = run(name).to_string();
        let Change { tenant, name, expected, .. } = put(name, "");
        let action = Action::Put { enabled, config_json };
        self.rows.commit(&[Change { tenant, name, expected, action }]);
        self.registry.refresh().await;
    }

    fn save(&self, name: &str) {
        fs::write(self.folder.path().join(format!("{name}.json")), run(name).to_string()).unwrap();
    }

    fn state(&self, name: &str) -> (SourceId, &'static str) {
        let snapshot = self.registry.snapshot();
        let entry = snapshot.entry(name).unwrap();
        (entry.source, entry.state())
    }
}

fn run(name: &str) -> Value {
    json!({"name": name, "run": {"program": "sh"}})
}

fn assert_refused(problems: &[Problem], pointer: &str) {
    let told: Vec<_> =
        problems.iter().map(|problem| (problem.pointer.as_str(), problem.message.as_str())).collect();
    assert_eq!(told, [(pointer, REFUSED)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_stand_in_the_store_is_not_registered() {
    let fixture = fixture(&[]);
    fixture.registry.refresh().await;
    assert_refused(&fixture.registry.intake().check(&run("up")), "/run/program");
    let wrapped = json!({"name": "up", "enabled": false, "configJson": run("up")});
    let batch = [wrapped, tool("good", "d")].map(registration).to_vec();
    let (results, _) =
        fixture.registry.changes().register(batch, BatchMode::EachOnItsOwn, &author()).await.unwrap();
    let written: Vec<_> = results.iter().map(|result| result.written).collect();
    assert_eq!(written, [Written::Refused, Written::Created]);
    assert_refused(&results[0].problems, "/configJson/run/program");
    assert_eq!(names(&fixture.registry), ["good"]);
    let harmless = registration(json!({"name": "near", "run": {}}));
    let (results, _) = fixture
        .registry
        .changes()
        .register(vec![harmless], BatchMode::AllOrNothing, &author())
        .await
        .unwrap();
    assert_eq!(results[0].written, Written::Created, "the kind itself is free for all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_may_not_is_broken_and_never_starts() {
    let fixture = fixture(&[]);
    fixture.write("up", true).await;
    assert_eq!(fixture.state("up"), (SourceId::Store, "broken"));
    assert_refused(&fixture.registry.snapshot().entry("up").unwrap().problems, "/run/program");
    fixture.write("off", false).await;
    fixture.registry.changes().set_enabled(&Which::shared("off"), true, &author()).await.unwrap();
    assert_eq!(fixture.state("off"), (SourceId::Store, "broken"));
    assert_eq!((fixture.server.counts(), names(&fixture.registry).len()), ((0, 0), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_may_and_a_row_cannot_borrow_that_from_it() {
    let fixture = fixture(&[]);
    fixture.save("up");
    fixture.registry.refresh().await;
    assert_eq!(fixture.state("up"), (SourceId::Files, "live"));
    assert_eq!((fixture.server.counts(), names(&fixture.registry)), ((1, 1), vec!["offered".to_owned()]));
    // The same text under the same name, in the source that wins.
    fixture.write("up", true).await;
    assert_eq!(fixture.state("up"), (SourceId::Store, "broken"));
    assert_eq!((fixture.server.counts(), names(&fixture.registry).len()), ((1, 0), 0));
    fixture.registry.refresh().await;
    assert_eq!(fixture.server.counts(), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_permission_the_store_may_too() {
    let fixture = fixture(&[Permission::StartPrograms]);
    fixture.registry.refresh().await;
    assert_eq!(fixture.registry.intake().check(&run("up")), []);
    let batch = vec![registration(run("up"))];
    let (results, _) =
        fixture.registry.changes().register(batch, BatchMode::AllOrNothing, &author()).await.unwrap();
    assert_eq!((results[0].written, fixture.state("up")), (Written::Created, (SourceId::Store, "live")));
    assert_eq!((fixture.server.counts(), names(&fixture.registry)), ((1, 1), vec!["offered".to_owned()]));
}
