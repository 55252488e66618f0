//! What a definition may say, and how its faults are told: all at once, each with a pointer into what the user wrote.

#![expect(clippy::panic, reason = "a test that cannot go on should say why")]

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    Auth, Call, CallError, Compiled, Definition, DefinitionForm, ErrorCode, Executor, Kind, Made, Outcome,
    Payload, Preview, Problems, ResponseMapping, Severity, ToolResult, async_trait,
};

/// A kind with just enough of a block to have faults in.
struct Http;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    url: String,
    #[serde(default)]
    #[expect(dead_code, reason = "only its name matters here")]
    query: Option<Value>,
    #[serde(default)]
    #[expect(dead_code, reason = "only its name matters here")]
    timeout_ms: Option<u64>,
}

struct Nothing;

#[async_trait]
impl Executor for Nothing {
    async fn execute(&self, _: &Call<'_>) -> Outcome {
        Ok(ToolResult::good(Payload::Empty))
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "has no preview"))
    }
}

impl Kind for Http {
    const NAME: &'static str = "http";
    const UNAPPLIED: &'static [&'static str] = &["retry", "circuitBreaker", "rateLimit"];
    type Settings = Settings;

    fn compile(&self, settings: Settings, _: &Definition, problems: &mut Problems) -> Option<Compiled> {
        if !settings.url.starts_with("http") {
            problems.error("/http/url", "not a URL");
        }
        Some(Compiled {
            made: Made::Tool(Arc::new(Nothing)),
            arguments: Vec::new(),
            uses_other_arguments: true,
            needs: Vec::new(),
        })
    }
}

fn form() -> DefinitionForm {
    DefinitionForm::new(vec![Arc::new(Http)])
}

fn definition(document: Value) -> Definition {
    let (definition, problems) = form().check(&document, |definition, _, _| Some(definition));
    definition.unwrap_or_else(|| panic!("{problems:?}"))
}

#[track_caller]
fn check_faults(document: Value, expected: &[(&str, &str)]) {
    let (value, problems) = form().check(&document, |definition, _, _| Some(definition));
    assert!(value.is_none(), "was accepted");
    let mut told: Vec<_> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| (problem.pointer.as_str(), problem.message.as_str()))
        .collect();
    told.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for ((pointer, part), (told_pointer, told_message)) in expected.iter().zip(&told) {
        assert_eq!(pointer, told_pointer, "{told:#?}");
        assert!(told_message.contains(part), "{told_message:?} does not say {part:?}");
    }
}

#[test]
fn a_full_definition_is_understood() {
    let definition = definition(json!({
        "$schema": "http://127.0.0.1:8080/schema/tool.json",
        "name": "weather.search", "title": "Weather", "description": "d", "type": "http",
        "inputSchema": {"required": ["city"], "properties": {"city": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true},
        "category": "weather", "tags": ["a", "b"], "deferLoading": true,
        "http": {"url": "http://x"},
        "auth": {"type": "apiKey", "in": "query", "name": "key", "value": "{{secrets.K}}"},
        "responseMapping": {"type": "jsonPath", "path": "$.a"},
        "policy": {"timeoutMs": 50},
        "enabled": false
    }));
    assert_eq!(definition.kind, "http");
    assert_eq!(definition.input_schema.unwrap()["type"], "object");
    assert_eq!(definition.policy.timeout_ms, Some(50));
    assert!(!definition.enabled);
    assert!(matches!(definition.auth, Some(Auth::ApiKey { .. })));
    assert_eq!(definition.response_mapping, ResponseMapping::JsonPath { path: "$.a".into() });
}

/// R109 to R112: the split columns mean the same as the one form.
#[test]
fn the_split_form_means_the_same() {
    let definition = definition(json!({
        "name": "a", "transport": "http", "input_schema": {"type": "object"},
        "http_spec": {"url": "http://x", "queryTpl": {"q": "1"}, "timeoutMs": 5},
        "auth_spec": {"type": "bearer", "config": {"token": "{{secrets.T}}"}},
        "response_mapping": {"type": "template", "template": "{{ result }}"}
    }));
    assert_eq!(definition.settings, json!({"url": "http://x", "query": {"q": "1"}, "timeoutMs": 5}));
    assert_eq!(definition.auth, Some(Auth::Bearer { token: "{{secrets.T}}".into() }));
    assert_eq!(definition.response_mapping, ResponseMapping::Template { template: "{{ result }}".into() });
}

#[test]
fn a_field_in_the_wrong_place_or_of_another_system_is_told_its_own() {
    check_faults(
        json!({
            "name": "a", "desc": "d", "parameters": {},
            "http": {"url": "http://x", "auth": {"type": "none"}, "inputSchema": {}, "response_mapping": {}, "policy": {}}
        }),
        &[
            ("/desc", "did you mean \"description\"?"),
            ("/http/auth", "it belongs at the top level, as \"auth\""),
            ("/http/inputSchema", "it belongs at the top level, as \"inputSchema\""),
            ("/http/policy", "it belongs at the top level, as \"policy\""),
            ("/http/response_mapping", "it belongs at the top level, as \"responseMapping\""),
            ("/parameters", "did you mean \"inputSchema\"?"),
        ],
    );
}

#[test]
fn the_kind_may_be_left_to_its_block() {
    assert_eq!(definition(json!({"name": "a", "http": {"url": "http://x"}})).kind, "http");
}

#[test]
fn an_odd_unknown_field_has_a_pointer_that_leads_to_it() {
    check_faults(
        json!({"name": "a", "a/b~c": 1, "http": {"url": "http://x", "/": 2}, "auth": {"type": "none", "config": {"x/y": 1}}}),
        &[
            ("/a~1b~0c", "unknown field"),
            ("/auth/config/x~1y", "unknown field"),
            ("/http/~1", "unknown field"),
        ],
    );
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    check_faults(
        json!({"name": "a b", "type": "http", "colour": 1, "tags": "x", "http": {"urll": "u", "url": 5, "timeout_ms": 1}}),
        &[
            ("/tags", "must be of type array, not a string"),
            ("/http/url", "must be of type string, not a number"),
            ("/http/urll", "did you mean \"url\"?"),
            ("/http/timeout_ms", "did you mean \"timeoutMs\"?"),
            ("/colour", "unknown field"),
            ("/name", "is not allowed in a tool name"),
        ],
    );
}

#[test]
fn a_field_that_belongs_into_a_block_is_told_where() {
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "url": "http://y"}),
        &[("/url", "it belongs into the block http")],
    );
}

/// `description: n` in YAML is a boolean.
#[test]
fn a_boolean_in_place_of_a_text_is_to_be_quoted() {
    check_faults(
        json!({"name": "a", "type": "http", "description": false, "tags": true, "http": {"url": "http://x"}}),
        &[
            ("/description", "must be of type string, not a boolean; quote it"),
            ("/tags", "must be of type array, not a boolean"),
        ],
    );
}

#[test]
fn the_type_of_a_mapping_may_be_written_in_any_case() {
    for kind in ["jsonpath", "JSONPath", "jsonPath"] {
        let mapping = json!({"type": kind, "expression": "$.a"});
        let definition =
            definition(json!({"name": "a", "http_spec": {"url": "http://x"}, "response_mapping": mapping}));
        assert_eq!(definition.response_mapping, ResponseMapping::JsonPath { path: "$.a".into() });
    }
}

#[test]
fn faults_of_the_split_form_point_into_the_split_form() {
    check_faults(
        json!({"name": "a", "transport": "http", "http_spec": {"url": "ftp", "queryTp": 1}, "auth_spec": {"type": "basic", "config": {"username": 5}}}),
        &[
            ("/auth_spec", "auth of type \"basic\" needs \"password\""),
            ("/auth_spec", "auth of type \"basic\" needs \"username\""),
            ("/auth_spec/config/username", "must be of type string"),
            ("/http_spec/queryTp", "unknown field"),
            ("/http_spec/url", "not a URL"),
        ],
    );
    check_faults(json!({"name": "a", "http_spec": {"url": "ftp:"}}), &[("/http_spec/url", "not a URL")]);
}

#[test]
fn both_spellings_at_once_are_refused() {
    check_faults(
        json!({"name": "a", "type": "http", "http": {"url": "http://x"}, "input_schema": {}, "inputSchema": {}}),
        &[("/input_schema", "keep one of them")],
    );
}

#[test]
fn what_comes_later_is_refused_and_not_ignored() {
    check_faults(
        json!({"name": "a", "type": "http", "http": {"url": "http://x"}, "policy": {"redact": 1}, "tenant_id": "t"}),
        &[("/policy/redact", "not supported yet"), ("/tenant_id", "not supported yet")],
    );
    check_faults(json!({"name": "a", "type": "grpc"}), &[("/type", "not supported yet")]);
}

/// R110, R111, R113, R139 with the shapes of C36, and the names that Spring people write.
#[test]
fn a_row_with_policies_of_the_documents_is_served_with_a_warning() {
    let documents = [
        json!({"name": "a", "transport": "http",
            "http_spec": {"url": "http://x", "retry": {"maxAttempts": 3, "backoffMs": 100, "multiplier": 2, "on": [503]},
                "circuitBreaker": {"failureRate": 50, "minCalls": 10, "openMs": 1000},
                "rateLimit": {"limit": 5, "periodMs": 1000, "burst": 10}},
            "auth_spec": {"type": "oauth2", "config": {"tokenUrl": "http://t", "clientId": "c",
                "clientSecret": "{{secrets.S}}", "scopes": ["a", "b"], "audience": "x", "grant": "client_credentials"}},
            "policy": {"timeoutMs": 50, "concurrency": 4, "quota": {"limit": 9}, "cache": {"ttlMs": 5}}}),
        json!({"name": "a", "http": {"url": "http://x",
                "retry": {"maxAttempts": 3, "waitDuration": "500ms"},
                "circuitBreaker": {"failureRateThreshold": 50, "slidingWindowSize": 10, "waitDurationInOpenState": "PT10S"},
                "rateLimit": {"limitForPeriod": 5, "limitRefreshPeriod": 1000}},
            "policy": {"retry": 3, "circuitBreaker": {}, "rateLimit": {"limit": 1}}}),
    ];
    let expected: [&[&str]; 2] = [
        &[
            "/http_spec/retry",
            "/http_spec/circuitBreaker",
            "/http_spec/rateLimit",
            "/policy/concurrency",
            "/policy/quota",
            "/policy/cache",
            "/auth_spec",
        ],
        &[
            "/http/retry",
            "/http/circuitBreaker",
            "/http/rateLimit",
            "/policy/retry",
            "/policy/circuitBreaker",
            "/policy/rateLimit",
        ],
    ];
    for (document, expected) in documents.iter().zip(expected) {
        let (value, problems) = form().check(document, |definition, _, _| Some(definition));
        assert!(value.is_some(), "{problems:#?}");
        let told: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        assert_eq!(told, expected);
        for problem in &problems {
            assert_eq!(problem.severity, Severity::Warning);
            assert!(problem.message.contains("not applied yet"), "{problem}");
        }
    }
}

#[test]
fn an_approval_is_a_word_or_says_more() {
    let of = |document: Value| definition(document).approval;
    let with = |approval: Value| of(json!({"name": "a", "http": {"url": "http://x"}, "approval": approval}));
    let usual = with(json!("required")).unwrap();
    assert_eq!((usual.within.as_secs(), usual.by.len(), &usual.message), (300, 0, &None));
    assert_eq!(with(json!(true)).as_ref(), Some(&usual));
    assert_eq!(with(json!({})).as_ref(), Some(&usual));
    let in_policy = json!({"name": "a", "http": {"url": "http://x"}, "policy": {"approval": "required"}});
    assert_eq!(of(in_policy).as_ref(), Some(&usual));
    for none in [json!("none"), json!(false), json!(null), json!({"required": false, "by": ["x"]})] {
        assert_eq!(with(none), None);
    }
    let more = with(json!({"timeoutSecs": 60, "by": ["finance-*"], "message": "Sends money"})).unwrap();
    assert_eq!((more.within.as_secs(), more.message.as_deref()), (60, Some("Sends money")));
    assert_eq!(more.by, ["finance-*"]);
}

#[test]
fn faults_of_an_approval_are_told() {
    let check = |approval: Value, expected: &[(&str, &str)]| {
        check_faults(json!({"name": "a", "http": {"url": "http://x"}, "approval": approval}), expected);
    };
    check(json!("manager"), &[("/approval", "not one of required, none")]);
    check(json!(5), &[("/approval", "must be of type string or boolean or object")]);
    check(
        json!({"timeoutSec": 5, "by": [], "message": "x".repeat(501)}),
        &[
            ("/approval/timeoutSec", "did you mean \"timeoutSecs\"?"),
            ("/approval/message", "longer than 500"),
            ("/approval/by", "names nobody"),
        ],
    );
    check(json!({"timeoutSecs": 0}), &[("/approval/timeoutSecs", "less than the minimum")]);
    check(json!({"timeoutSecs": 86_401}), &[("/approval/timeoutSecs", "greater than the maximum")]);
    check(json!({"by": ["", 5]}), &[("/approval/by/1", "must be of type"), ("/approval/by/0", "1 to 128")]);
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "approval": true, "policy": {"approval": "never"}}),
        &[("/policy/approval", "keep one of them")],
    );
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "policy": {"approval": "never"}}),
        &[("/policy/approval", "not one of")],
    );
}

#[test]
fn faults_inside_a_policy_that_is_not_applied_are_told() {
    check_faults(
        json!({"name": "a", "http": {"url": "http://x", "retry": {"maxAttempts": "three"},
                "circuitBreaker": {"failureRat": 50}, "rateLimit": {"limit": 0}},
            "policy": {"cache": "long"}, "auth": {"type": "oauth2", "scopes": 5, "token": "t"}}),
        &[
            ("/http/retry/maxAttempts", "must be of type integer, not a string"),
            ("/http/circuitBreaker/failureRat", "did you mean \"failureRate\"?"),
            ("/http/rateLimit/limit", "less than the minimum"),
            ("/policy/cache", "must be of type"),
            ("/auth/scopes", "must be of type"),
            ("/auth/token", "has no effect"),
        ],
    );
}

#[test]
fn fields_without_effect_are_refused() {
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "auth": {"type": "bearer", "token": "t", "password": "p"},
               "responseMapping": {"type": "jsonPath", "path": "$", "template": "x"}}),
        &[("/auth/password", "has no effect"), ("/responseMapping/template", "has no effect")],
    );
}

#[test]
fn what_is_missing_is_named() {
    check_faults(json!({"type": "http"}), &[("", "\"name\" is missing"), ("/http", "needs the block")]);
    check_faults(
        json!({"name": "a", "http": {"url": "ftp"}, "auth": {"type": "oauth3"}, "responseMapping": {"type": "x"}}),
        &[
            ("/auth/type", "did you mean \"oauth2\"?"),
            ("/http/url", "not a URL"),
            ("/responseMapping/type", "is not one of"),
        ],
    );
    let smallest = "add one of the blocks http; the smallest is \"http\": {\"url\": ";
    check_faults(json!({"name": "a"}), &[("", smallest)]);
    check_faults(json!([]), &[("", "a definition is a JSON object, not an array")]);
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "auth": {"type": "basic"}, "responseMapping": {"type": "jsonPath"}}),
        &[("/auth", "needs \"password\""), ("/auth", "needs \"username\""), ("/responseMapping", "\"path\"")],
    );
}

#[test]
fn the_root_of_an_input_schema_is_an_object() {
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "inputSchema": {"type": "string"}}),
        &[("/inputSchema/type", "must be \"object\"")],
    );
    check_faults(
        json!({"name": "a", "http": {"url": "http://x"}, "inputSchema": {"type": "objct"}}),
        &[("/inputSchema/type", "must be \"object\"")],
    );
}

/// What editors are told is what files may hold, and a bad name is still told once, in our words.
#[test]
fn the_published_schema_takes_what_files_may_hold() {
    let form = form();
    let published = jsonschema::validator_for(form.schema()).unwrap();
    let one = json!({"name": "a.b-c_1", "http": {"url": "http://x"}});
    for good in
        [one.clone(), json!([one]), json!([]), json!({"tools": [one]}), json!({"$schema": "s", "tools": []})]
    {
        assert!(published.is_valid(&good), "{good}");
    }
    let bad_name = json!({"name": "a b", "http": {"url": "http://x"}});
    for bad in [
        bad_name.clone(),
        json!([bad_name]),
        json!({"tools": {}}),
        json!({"tools": [], "name": "a"}),
        json!("a"),
    ] {
        assert!(!published.is_valid(&bad), "{bad}");
    }
    check_faults(bad_name, &[("/name", "is not allowed in a tool name")]);
}

/// No input may bring the check down.
#[test]
fn odd_documents_are_refused_without_panic() {
    for odd in [
        json!(null),
        json!(1),
        json!({"name": null}),
        json!({"name": {}, "type": [], "http": []}),
        json!({"auth": {"config": {"type": {}}}}),
    ] {
        let (value, problems) = form().check(&odd, |_, _, _| Some(()));
        assert!(value.is_none() && !problems.is_empty(), "{odd}");
    }
}
