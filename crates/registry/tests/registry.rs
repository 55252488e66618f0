//! Sources become snapshots: precedence, reloads, broken definitions, pages. With real files and a kind that echoes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, Once};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    ArgumentUse, Call, CallError, Change, Changes, Compiled, Definition, DefinitionForm, ErrorCode, Executor,
    Json, Kind, Outcome, Payload, Preview, Principal, Problems, Revision, Row, Store, StoreError, ToolResult,
    Usage, async_trait,
};
use toolrail_registry::{
    BatchMode, Compiler, Era, FileSource, FixedSource, Registration, Registry, RegistryLimits, Source,
    SourceId, StoreSource, WriteError, Written,
};

struct Echo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    needs: Option<String>,
    /// Whether only what it needs is used.
    #[serde(default)]
    only: bool,
}

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let answer = Value::Object(call.arguments.clone());
        Ok(ToolResult::good(Payload::Json(Json::from_value(&answer))))
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "has no preview"))
    }
}

impl Kind for Echo {
    const NAME: &'static str = "echo";
    type Settings = Settings;

    fn compile(&self, settings: Settings, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let uses = |name: String| ArgumentUse { name, pointer: "/echo/needs".into(), required: true };
        Some(Compiled {
            executor: Arc::new(Echo),
            arguments: settings.needs.map(uses).into_iter().collect(),
            uses_other_arguments: !settings.only,
        })
    }
}

fn registry(store: Option<Arc<dyn Store>>, sources: Vec<Arc<dyn Source>>, page_tools: usize) -> Registry {
    let compiler = Compiler::new(DefinitionForm::new(vec![Arc::new(Echo)]), Box::new(|_, executor| executor));
    let limits = RegistryLimits { page_tools, ..RegistryLimits::default() };
    Registry::new(compiler, store, sources, limits)
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "type": "echo", "echo": {},
           "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "n", "default": 7}}, "required": []}})
}

fn files(folder: &Path) -> Vec<Arc<dyn Source>> {
    vec![Arc::new(FileSource::new(folder))]
}

fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().tools().iter().map(|tool| tool.name.to_string()).collect()
}

async fn call(registry: &Registry, name: &str, arguments: &str) -> Outcome {
    let raw = serde_json::from_str(arguments).unwrap();
    let snapshot = registry.snapshot();
    snapshot.find(name).unwrap().call(Some(raw), &Principal::Anonymous).await
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_get_their_defaults_and_are_checked() {
    let source = FixedSource::new(SourceId::Demo, "fixed", vec![tool("a", "d")]);
    let registry = registry(None, vec![Arc::new(source)], 10);
    registry.refresh().await;
    let Payload::Json(answer) = call(&registry, "A", "{}").await.unwrap().payload else { unreachable!() };
    assert_eq!(answer.text(), r#"{"n":7}"#);
    let refused = call(&registry, "a", r#"{"n":"x"}"#).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
    assert!(refused.message.contains("/n"), "{refused}");
}

/// R92: without an input schema, the arguments a path needs are required and nothing else is checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_input_schema_is_derived_from_the_templates() {
    let definition = json!({"name": "a", "description": "d", "echo": {"needs": "id"}});
    let registry =
        registry(None, vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", vec![definition]))], 10);
    registry.refresh().await;
    assert!(call(&registry, "a", r#"{"id":1,"more":true}"#).await.is_ok());
    assert!(call(&registry, "a", "{}").await.unwrap_err().message.contains("\"id\" is required"));
}

/// R117, R125, R126: files are read again when they change; a broken one keeps its last good definitions.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_keeps_its_last_good_definitions_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "name: a\ndescription: d\necho: {}\n").unwrap();
    fs::write(folder.path().join("b.json"), tool("b", "d").to_string()).unwrap();
    fs::write(folder.path().join("notes.txt"), "not a definition").unwrap();
    let registry = registry(None, files(folder.path()), 10);
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

/// An editor empties a file before it writes it; only deleting it removes its tools.
#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_file_keeps_its_last_good_definitions_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, json) = (folder.path().join("a.yaml"), folder.path().join("b.json"));
    fs::write(&yaml, "name: a\ndescription: d\necho: {}\n").unwrap();
    fs::write(&json, tool("b", "d").to_string()).unwrap();
    fs::write(folder.path().join("never.yml"), "# nothing yet\n").unwrap();
    let registry = registry(None, files(folder.path()), 10);
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
    let registry = registry(None, files(folder.path()), 10);
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

#[track_caller]
fn check_told(document: &Value, expected: &[&str]) {
    let told: Vec<_> =
        registry(None, Vec::new(), 10).check(document).iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for words in expected {
        assert!(told.iter().any(|text| text.contains(words)), "{words} in {told:#?}");
    }
}

#[test]
fn an_input_schema_that_contradicts_itself_or_the_templates_is_told() {
    let with = |schema: Value, needs: &str| json!({"name": "a", "description": "d", "echo": {"needs": needs, "only": true}, "inputSchema": schema});
    let text = || json!({"type": "string", "description": "d"});
    check_told(
        &with(json!({"properties": {"city": text(), "day": text()}, "required": ["city", "day"]}), "day"),
        &["warning in a at /inputSchema/properties/city: the argument \"city\" is used nowhere"],
    );
    check_told(
        &with(json!({"properties": {"city": text(), "day": text()}, "required": ["day"]}), "day"),
        &[],
    );
    check_told(
        &json!({"name": "a", "description": "d", "echo": {}, "inputSchema": {"properties": {"city": text()}, "required": ["city"]}}),
        &[],
    );
    check_told(
        &with(json!({"properties": {"day": text()}, "required": ["day", "dy"]}), "day"),
        &["warning in a at /inputSchema/required: \"dy\" is not in \"properties\"; did you mean \"day\"?"],
    );
    let defaults = json!({
        "properties": {
            "day": text(),
            "n": {"type": "integer", "description": "d", "default": "x"},
            "a/b": {"$ref": "#/$defs/list", "description": "d", "default": [1, "y"]},
            "fine": {"type": ["integer", "null"], "description": "d", "default": null}
        },
        "required": ["day"], "$defs": {"list": {"items": {"type": "integer"}}}
    });
    check_told(
        &with(defaults, "day"),
        &[
            "error in a at /inputSchema/properties/n/default: the default does not fit",
            "error in a at /inputSchema/properties/a~1b/default/1: the default does not fit",
        ],
    );
    check_told(
        &with(json!({"city": "string", "day": {"type": "string"}}), "day"),
        &[
            "error in a at /inputSchema/city: \"city\" is no JSON Schema keyword",
            "error in a at /inputSchema/day: \"day\" is no JSON Schema keyword",
            "args.day is not a property",
        ],
    );
    check_told(
        &with(
            json!({"properties": {"day": {"type": "strng", "description": "d"}}, "required": ["day"]}),
            "day",
        ),
        &[
            "error in a at /inputSchema/properties/day/type: not a valid JSON Schema here: \"strng\" is not one of",
        ],
    );
}

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What this thread logs; a registry works on the thread of its test.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> Self {
        static ONCE: Once = Once::new();
        // One for all threads: whether an event is wanted is found out once, on whichever thread comes first.
        ONCE.call_once(|| {
            let subscriber = tracing_subscriber::fmt()
                .with_writer(|| Self)
                .without_time()
                .with_ansi(false)
                .with_target(false)
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        Self
    }

    #[expect(clippy::unused_self, reason = "only after the start is there a log")]
    fn take(&self) -> Vec<String> {
        let bytes = LOGGED.take();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_logs_what_it_changed() {
    let log = Log::start();
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let put = |name: &str, document: Value| Change::Put {
        name: name.into(),
        enabled: true,
        config_json: document.to_string(),
    };
    let broken = json!({"name": "b", "echo": {"nope": 1}});
    rows.write(&[put("a", tool("a", "d")), put("b", broken)], "test").await.unwrap();
    registry.refresh().await;
    let first = log.take();
    assert!(first.len() == 1 && first[0].contains("definition has an error"), "{first:#?}");

    let changes = [put("a", tool("a", "new")), put("b", tool("b", "d")), put("c", tool("c", "d"))];
    rows.write(&changes, "test").await.unwrap();
    registry.refresh().await;
    assert_eq!(
        log.take(),
        [
            " INFO tool updated tool=\"a\" origin=\"store row \\\"a\\\"\"",
            " INFO tool live again tool=\"b\" origin=\"store row \\\"b\\\"\"",
            " INFO tool created tool=\"c\" origin=\"store row \\\"c\\\"\"",
        ]
    );
    rows.write(&[Change::SetEnabled { name: "a".into(), enabled: false }], "test").await.unwrap();
    registry.refresh().await;
    assert!(log.take()[0].contains("tool switched off"));
    let many: Vec<_> =
        (0..25).map(|number| put(&format!("t{number}"), tool(&format!("t{number}"), "d"))).collect();
    rows.write(&many, "test").await.unwrap();
    registry.refresh().await;
    let told = log.take();
    assert_eq!(told.len(), 21, "{told:#?}");
    assert_eq!(told[20], " INFO more tools changed source=\"store\" more=5");
    registry.refresh().await;
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_of_a_file_is_logged_once() {
    let log = Log::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "name: [a\n").unwrap();
    let registry = registry(None, files(folder.path()), 10);
    registry.refresh().await;
    let first = log.take();
    assert!(first.len() == 1 && first[0].contains("source has a problem"), "{first:#?}");
    fs::write(folder.path().join("b.json"), tool("b", "d").to_string()).unwrap();
    registry.refresh().await;
    assert_eq!(log.take(), [" INFO tool created tool=\"b\" origin=\"b.json\""]);
    fs::remove_file(folder.path().join("b.json")).unwrap();
    registry.refresh().await;
    assert_eq!(log.take(), [" INFO tool removed tool=\"b\" origin=\"b.json\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_goes_away_leaves_the_last_good_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("tools");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("a.json"), tool("a", "d").to_string()).unwrap();
    let registry = registry(None, files(&inner), 10);
    registry.refresh().await;
    fs::remove_dir_all(&inner).unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    assert!(registry.snapshot().sources[0].failure.as_ref().unwrap().contains("cannot be read"));
}

/// R26, R36: the first definition of a name wins, and the second is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_definition_never_stops_the_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("1.json"),
        json!([tool("a", "first"), {"name": "bad", "echo": {"x": 1}}]).to_string(),
    )
    .unwrap();
    fs::write(folder.path().join("2.json"), json!([tool("A", "second"), tool("c", "d")]).to_string())
        .unwrap();
    let registry = registry(None, files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "c"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("bad").unwrap().state(), "broken");
    let told: Vec<_> = snapshot.problems().map(ToString::to_string).collect();
    assert!(told.iter().any(|text| text.contains("is taken by 1.json#/0")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("/echo/x")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_in_a_fixed_order_and_cursors_survive_changes() {
    let tools = (0..7).map(|number| tool(&format!("t{number}"), "d")).collect();
    let registry = registry(None, vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", tools))], 3);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = snapshot.page(Era::Modern, after.as_deref());
        let listed: Vec<Value> = serde_json::from_slice(&page.tools).unwrap();
        seen.extend(listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        after = page.next_after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    let odd: Vec<Value> = serde_json::from_slice(&snapshot.page(Era::Modern, Some("t3x")).tools).unwrap();
    assert_eq!(odd[0]["name"], "t4");
    assert_eq!(snapshot.page(Era::Legacy, Some("zzz")).tools, "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_schema_that_is_no_object_is_wrapped_for_legacy_clients() {
    let mut definition = tool("a", "d");
    definition["outputSchema"] = json!({"type": "array"});
    let registry =
        registry(None, vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", vec![definition]))], 3);
    registry.refresh().await;
    let list = |era| serde_json::from_slice::<Value>(&registry.snapshot().page(era, None).tools).unwrap();
    assert_eq!(list(Era::Modern)[0]["outputSchema"], json!({"type": "array"}));
    assert_eq!(list(Era::Legacy)[0]["outputSchema"]["properties"]["result"], json!({"type": "array"}));
    let refused = call(&registry, "a", "{}").await.unwrap_err();
    assert!(refused.message.contains("does not fit the output schema"), "{refused}");
}

/// A store in memory, which can be made to fail.
#[derive(Default)]
struct Rows {
    kept: Mutex<Vec<Row>>,
    revision: Mutex<Revision>,
    down: Mutex<bool>,
    uses: Mutex<Vec<(String, u32)>>,
}

impl Rows {
    fn check(&self) -> Result<(), StoreError> {
        if *self.down.lock().unwrap() {
            return Err(StoreError::Unavailable { store: "rows".into(), source: "it is down".into() });
        }
        Ok(())
    }
}

#[async_trait]
impl Store for Rows {
    fn describe(&self) -> String {
        "rows".into()
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.check()?;
        Ok(*self.revision.lock().unwrap())
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.check()?;
        let rows = self.kept.lock().unwrap().iter().filter(|row| row.version > since).cloned().collect();
        Ok(Changes { revision: *self.revision.lock().unwrap(), rows, removed: Vec::new() })
    }

    async fn find(&self, name: &str) -> Result<Option<Row>, StoreError> {
        Ok(self.kept.lock().unwrap().iter().find(|row| row.name == name).cloned())
    }

    async fn write(&self, changes: &[Change], _: &str) -> Result<Revision, StoreError> {
        self.check()?;
        let mut revision = self.revision.lock().unwrap();
        let mut rows = self.kept.lock().unwrap();
        for change in changes {
            *revision += 1;
            match change {
                Change::Put { name, enabled, config_json } => {
                    rows.retain(|row| row.name != *name);
                    rows.push(Row {
                        name: name.clone(),
                        enabled: *enabled,
                        config_json: config_json.clone(),
                        version: *revision,
                        updated_at: String::new(),
                        updated_by: None,
                    });
                }
                Change::SetEnabled { name, enabled } => {
                    for row in rows.iter_mut().filter(|row| row.name == *name) {
                        row.enabled = *enabled;
                        row.version = *revision;
                    }
                }
                Change::Purge { name } => rows.retain(|row| row.name != *name),
            }
        }
        Ok(*revision)
    }

    async fn record_uses(&self, calls_by_name: &[(String, u32)]) -> Result<(), StoreError> {
        self.check()?;
        self.uses.lock().unwrap().extend(calls_by_name.iter().cloned());
        Ok(())
    }

    async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        Ok(Vec::new())
    }
}

fn registration(document: Value) -> Registration {
    Registration::from_request(document, "").unwrap()
}

/// R117: the store wins over files, even with a tool that is switched off.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_wins_over_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), tool("a", "from the file").to_string()).unwrap();
    let rows = Arc::new(Rows::default());
    let mut sources = files(folder.path());
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    let registry = registry(Some(rows), sources, 10);
    registry.refresh().await;
    assert_eq!(registry.snapshot().entry("a").unwrap().source, SourceId::Files);
    let refused = registry.set_enabled("a", false, "test").await.unwrap_err();
    assert!(matches!(refused, WriteError::Elsewhere { .. }), "{refused}");

    registry
        .register(vec![registration(tool("a", "from the store"))], BatchMode::AllOrNothing, "test")
        .await
        .unwrap();
    assert_eq!(registry.snapshot().find("a").unwrap().description.as_deref(), Some("from the store"));
    registry.set_enabled("a", false, "test").await.unwrap();
    assert!(registry.snapshot().find("a").is_none());
}

/// R126: a store that fails leaves the last good snapshot in place; it catches up afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_leaves_the_last_good_snapshot() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry.register(vec![registration(tool("a", "d"))], BatchMode::AllOrNothing, "test").await.unwrap();
    *rows.down.lock().unwrap() = true;
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    assert!(registry.snapshot().sources[0].failure.as_ref().unwrap().contains("it is down"));
    *rows.down.lock().unwrap() = false;
    registry.refresh().await;
    assert_eq!(registry.snapshot().sources[0].failure, None);
}

/// R27: a batch is written whole or each on its own, with a result for each.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_written_whole_or_each_on_its_own() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    let batch = || {
        let bodies = [tool("a", "d"), json!({"name": "b", "type": "nope"}), tool("A", "again")];
        bodies.into_iter().map(registration).collect::<Vec<_>>()
    };
    let (results, _) = registry.register(batch(), BatchMode::AllOrNothing, "test").await.unwrap();
    let written: Vec<_> = results.iter().map(|result| result.written).collect();
    assert_eq!(written, [Written::HeldBack, Written::Refused, Written::Refused]);
    assert_eq!(names(&registry), [""; 0]);
    let (results, _) = registry.register(batch(), BatchMode::EachOnItsOwn, "test").await.unwrap();
    assert_eq!(results[0].written, Written::Created);
    assert_eq!(names(&registry), ["a"]);
    let (results, _) =
        registry.register(vec![registration(tool("A", "d"))], BatchMode::EachOnItsOwn, "test").await.unwrap();
    assert_eq!(results[0].written, Written::Refused, "another spelling of an existing name");
}

/// R82, R83: the wrapped and the bare form.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_wrapped_or_bare() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    let mut nameless = tool("a", "d");
    nameless.as_object_mut().unwrap().remove("name");
    let wrapped = registration(json!({"name": "w", "enabled": false, "configJson": nameless}));
    let text = registration(json!({"name": "t", "configJson": tool("t", "d").to_string()}));
    let off = registration({
        let mut off = tool("off", "d");
        off["enabled"] = false.into();
        off
    });
    let (results, _) =
        registry.register(vec![wrapped, text, off], BatchMode::AllOrNothing, "test").await.unwrap();
    assert!(results.iter().all(|result| result.written == Written::Created), "{results:?}");
    assert_eq!(names(&registry), ["t"]);
    registry.set_enabled("off", true, "test").await.unwrap();
    registry.set_enabled("W", true, "test").await.unwrap();
    assert_eq!(names(&registry), ["off", "t", "w"]);
    let mismatch = registration(json!({"name": "x", "configJson": tool("y", "d")}));
    let (results, _) = registry.register(vec![mismatch], BatchMode::AllOrNothing, "test").await.unwrap();
    assert_eq!(results[0].problems[0].pointer, "/configJson/name");
    assert!(Registration::from_request(json!({"configJson": {}, "colour": 1}), "").is_err());
}

/// R107: rows of other programs: broken JSON, another name inside, its own word on `enabled`.
#[tokio::test(flavor = "multi_thread")]
async fn odd_rows_become_problems_and_the_rest_go_live() {
    let rows = Arc::new(Rows::default());
    let put = |name: &str, config_json: String| Change::Put { name: name.into(), enabled: true, config_json };
    let mut off = tool("off", "d");
    off["enabled"] = false.into();
    let changes = [
        put("broken", "{".into()),
        put("other", tool("name", "d").to_string()),
        put("off", off.to_string()),
        put("good", tool("good", "d").to_string()),
    ];
    rows.write(&changes, "sql").await.unwrap();
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["good"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("broken").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("other").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("off").unwrap().state(), "disabled");
    registry.set_enabled("off", true, "test").await.unwrap();
    assert_eq!(names(&registry), ["good", "off"]);
}

/// R75: every call counts, also while the store is away or the definition is being replaced.
#[tokio::test(flavor = "multi_thread")]
async fn uses_are_counted_and_none_is_lost() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let put = |text| registry.register(vec![registration(tool("a", text))], BatchMode::AllOrNothing, "test");
    put("one").await.unwrap();
    call(&registry, "a", "{}").await.unwrap();
    *rows.down.lock().unwrap() = true;
    registry.record_uses().await;
    *rows.down.lock().unwrap() = false;
    put("two").await.unwrap();
    call(&registry, "a", "{}").await.unwrap();
    registry.record_uses().await;
    registry.record_uses().await;
    assert_eq!(*rows.uses.lock().unwrap(), [("a".to_owned(), 2)]);
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
    let registry = registry(None, files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    let snapshot = registry.snapshot();
    let told: Vec<_> = snapshot.problems().filter_map(|problem| problem.origin.as_deref()).collect();
    assert_eq!(told, ["pipe.yaml", "zero.json"]);
}
