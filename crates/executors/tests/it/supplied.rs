//! What the operator supplies to definitions: variables, services, and secrets that are bound to where they may go.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Binding, ErrorCode, Problem, Severity, Variables};
use toolrail_executors::{Runtime, Service, Services};

use crate::echo::Echo;
use crate::tool::{compile, header, runtime, tool_with};

const SECRETS: &[(&str, &str)] = &[("KEY", "hunter2-hunter2")];

fn variables(given: &[(&str, &str)]) -> Runtime {
    let pairs = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Runtime { variables: Arc::new(Variables::new([], [], pairs)), ..runtime(SECRETS) }
}

fn services(runtime: Runtime, services: Value) -> Runtime {
    let services: BTreeMap<String, Service> = serde_json::from_value(services).unwrap();
    Runtime { services: Arc::new(Services::read(services).unwrap()), ..runtime }
}

/// The same, the secret bound to those hosts.
fn bound(runtime: Runtime, hosts: &[&str], programs: bool) -> Runtime {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let secrets = (*runtime.secrets).clone().bound([("KEY".to_owned(), Binding { hosts, programs })]);
    Runtime { secrets: Arc::new(secrets), ..runtime }
}

fn told(problems: &[Problem], severity: Severity) -> Vec<(&str, &str)> {
    let wanted = problems.iter().filter(|problem| problem.severity == severity);
    wanted.map(|problem| (problem.pointer.as_str(), problem.message.as_str())).collect()
}

#[tokio::test]
async fn a_variable_stands_anywhere_and_is_never_masked() {
    let echo = Echo::start().await;
    let base = echo.url("/api/");
    let runtime = variables(&[("BASE", &base), ("TEAM", "blue & co"), ("N", "5")]);
    let definition = json!({"http": {
        "method": "POST", "url": "{{vars.BASE}}/u/{{vars.TEAM}}?a={{vars.N}}", "query": {"t": "${vars.TEAM}"},
        "headers": {"X-Team": "team {{vars.TEAM|upper}}"}, "cookies": {"c": "{{vars.N}}"},
        "body": {"text": "{{vars.N}}", "number": "{{vars.N|int}}", "both": "{{args.x}}-{{vars.TEAM}}"}
    }});
    let tool = tool_with(&definition, &runtime);
    assert_eq!(told(&tool.problems, Severity::Warning), []);
    let received = tool.call(json!({"x": 1})).await;
    assert_eq!(
        (&received["path"], &received["query"]),
        (&json!("/api/u/blue%20%26%20co"), &json!("a=5&t=blue%20%26%20co"))
    );
    assert_eq!(header(&received, "x-team"), ["team BLUE & CO"]);
    assert_eq!(header(&received, "cookie"), ["c=5"]);
    let body: Value = serde_json::from_str(received["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, json!({"text": "5", "number": 5, "both": "1-blue & co"}));
    let preview = tool.preview(json!({"x": 1})).unwrap();
    let origins: Vec<_> =
        preview.values.iter().map(|one| (one.pointer.as_str(), one.from.as_str())).collect();
    assert!(origins.contains(&("/http/url", "vars.BASE")), "{origins:?}");
    assert!(origins.contains(&("/http/headers/X-Team", "vars.TEAM|upper")), "{origins:?}");
    assert!(preview.request["url"].as_str().unwrap().starts_with(&base), "{}", preview.request);
}

#[tokio::test]
async fn a_variable_without_a_value_is_told_with_what_would_supply_it() {
    let definition = json!({"http": {"url": "{{vars.BASE}}/x"}});
    let tool = tool_with(&definition, &runtime(&[]));
    let warnings = told(&tool.problems, Severity::Warning);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::VarMissing);
    for words in ["--var BASE=VALUE", "TOOLRAIL_VAR_BASE", "`vars`"] {
        assert!(error.message.contains(words) && warnings[0].1.contains(words), "{error} {warnings:?}");
    }
    let defaulted = json!({"http": {"url": "{{vars.BASE|default('http://127.0.0.1:1')}}/x"}});
    let tool = tool_with(&defaulted, &runtime(&[]));
    assert_eq!(
        (tool.problems.len(), tool.refused(json!({})).await.code),
        (0, ErrorCode::UpstreamUnreachable)
    );
}

#[test]
fn an_address_in_a_secret_is_warned_of() {
    let definition = json!({"http": {"url": "{{secrets.KEY}}/x"}});
    let (_, problems) = compile(&definition, &runtime(&[("KEY", "http://127.0.0.1:1")]));
    let warnings = told(&problems, Severity::Warning);
    assert!(warnings.len() == 1 && warnings[0].1.contains("{{vars.NAME}}"), "{warnings:?}");
}

fn shop(echo: &Echo) -> Value {
    json!({"shop": {
        "baseUrl": "{{vars.SHOP}}/v2", "headers": {"X-Team": "blue", "X-Kind": "shared"},
        "auth": {"type": "bearer", "token": "{{secrets.KEY}}"}, "timeoutMs": 700,
    }, "fixed": {"baseUrl": echo.url("/f")}})
}

#[tokio::test]
async fn a_definition_uses_a_service_and_may_overrule_it() {
    let echo = Echo::start().await;
    let runtime = services(variables(&[("SHOP", echo.url("").trim_end_matches('/'))]), shop(&echo));
    let tool = tool_with(
        &json!({"http": {"service": "shop", "url": "/orders/{{args.id}}", "headers": {"x-kind": "own"}}}),
        &runtime,
    );
    let received = tool.call(json!({"id": 7})).await;
    assert_eq!(received["path"], "/v2/orders/7");
    assert_eq!(
        (header(&received, "x-team"), header(&received, "x-kind")),
        (vec!["blue".into()], vec!["own".into()])
    );
    let preview = tool.preview(json!({"id": 7})).unwrap();
    assert_eq!(preview.request["headers"]["authorization"], "Bearer ***");
    let origins: Vec<_> =
        preview.values.iter().map(|one| (one.pointer.as_str(), one.from.as_str())).collect();
    assert!(origins.contains(&("/services/shop/baseUrl", "vars.SHOP")), "{origins:?}");
    assert!(origins.contains(&("/services/shop/auth/token", "secrets.KEY")), "{origins:?}");
    let none = tool_with(&json!({"http": {"service": "shop"}, "auth": {"type": "none"}}), &runtime);
    let received = none.call(json!({})).await;
    assert_eq!((&received["path"], header(&received, "authorization").len()), (&json!("/v2"), 0));
    let feign = tool_with(&json!({"feign": {"service": "fixed", "path": "/users/{id}"}}), &runtime);
    assert_eq!(feign.call(json!({"id": 3})).await["path"], "/f/users/3");
}

#[tokio::test]
async fn faults_around_a_service_point_at_it() {
    let echo = Echo::start().await;
    let runtime = services(variables(&[]), shop(&echo));
    let faults = |definition: Value| {
        let (_, problems) = compile(&definition, &runtime);
        let errors = told(&problems, Severity::Error);
        errors.iter().map(|(pointer, message)| format!("{pointer}: {message}")).collect::<Vec<_>>().join("\n")
    };
    let unknown = faults(json!({"http": {"service": "shopp", "url": "/x"}}));
    assert!(
        unknown.starts_with("/http/service: ") && unknown.contains("did you mean \"shop\"?"),
        "{unknown}"
    );
    let whole = faults(json!({"http": {"service": "fixed", "url": "http://h/x"}}));
    assert!(whole.starts_with("/http/url: is no path"), "{whole}");
    assert_eq!(faults(json!({"http": {"method": "GET"}})), "/http: the field \"url\" is missing; add it");
    let (_, problems) = compile(&json!({"http": {"service": "shop", "url": "/x"}}), &runtime);
    let warnings = told(&problems, Severity::Warning);
    let missing = warnings.iter().find(|(_, message)| message.contains("\"SHOP\"")).unwrap();
    assert_eq!(missing.0, "/http/service");
    assert!(missing.1.starts_with("/services/shop/baseUrl in the configuration: "), "{missing:?}");
    let faulty = services(
        variables(&[]),
        json!({"a": {"baseUrl": "h:1"}, "b": {"baseUrl": "http://{{args.x}}", "headers": {"X": "{{args.y}}"}}}),
    );
    let problems = Services::check(&faulty);
    let errors: Vec<&str> = told(&problems, Severity::Error).iter().map(|(pointer, _)| *pointer).collect();
    assert_eq!(errors, ["/services/a/baseUrl", "/services/b/baseUrl", "/services/b/headers/X"]);
}

/// B1: where a secret may go is checked when a definition is registered.
#[test]
fn a_bound_secret_goes_to_its_hosts_only() {
    let definition = |url: &str| json!({"http": {"url": url, "headers": {"X-Key": "{{secrets.KEY}}"}}});
    let only = bound(runtime(SECRETS), &["*.shop.example", "127.0.0.1:7"], false);
    for url in ["https://api.shop.example/x", "http://127.0.0.1:7/"] {
        let (tool, problems) = compile(&definition(url), &only);
        assert!(tool.is_some() && problems.is_empty(), "{problems:?}");
    }
    for url in ["https://evil.example/x", "http://127.0.0.1:8/", "https://shop.example/"] {
        let (tool, problems) = compile(&definition(url), &only);
        let errors = told(&problems, Severity::Error);
        assert!(tool.is_none() && errors.len() == 1, "{problems:?}");
        assert_eq!(errors[0].0, "/http/headers/X-Key");
        assert!(errors[0].1.contains("may go to *.shop.example and 127.0.0.1:7 only"), "{errors:?}");
    }
    let (tool, problems) = compile(&definition("https://api.shop.example/x"), &runtime(SECRETS));
    let warnings = told(&problems, Severity::Warning);
    assert!(tool.is_some() && warnings.len() == 1, "{problems:?}");
    assert!(warnings[0].1.contains("--secret KEY@api.shop.example"), "{warnings:?}");
    assert!(warnings[0].1.contains("secrets: {KEY: {hosts: [api.shop.example]}}"), "{warnings:?}");
}

#[test]
fn a_link_local_address_is_warned_of() {
    let runtime = runtime(&[]);
    for (url, expected) in [
        ("http://169.254.169.254/latest/meta-data/", 1),
        ("http://[fd00:ec2::254]/", 1),
        ("http://127.0.0.1:7/", 0),
    ] {
        let (tool, problems) = compile(&json!({"http": {"url": url}}), &runtime);
        let warnings = told(&problems, Severity::Warning);
        let warnings: Vec<_> =
            warnings.iter().filter(|(_, message)| message.contains("link-local")).collect();
        assert!(tool.is_some() && warnings.len() == expected, "{url}: {problems:?}");
        assert!(warnings.iter().all(|(pointer, _)| *pointer == "/http/url"), "{problems:?}");
    }
}

/// Virtual hosts and networks that deliver for many go by the header, not by the address.
#[test]
fn a_host_header_does_not_lead_a_bound_secret_elsewhere() {
    let only = bound(runtime(SECRETS), &["*.shop.example", "127.0.0.1:7"], false);
    let headers = |host: &str| json!({"Host": host, "X-Key": "{{secrets.KEY}}"});
    let http = |host: &str| json!({"http": {"url": "http://127.0.0.1:7/", "headers": headers(host)}});
    for host in ["api.shop.example", "API.shop.example:8443", "127.0.0.1:7", "127.0.0.1"] {
        let (tool, problems) = compile(&http(host), &only);
        assert!(tool.is_some() && told(&problems, Severity::Error).is_empty(), "{host}: {problems:?}");
    }
    let error = |definition: &Value| -> (String, String) {
        let (_, problems) = compile_any(definition, &only);
        let errors = told(&problems, Severity::Error);
        assert_eq!(errors.len(), 1, "{definition}: {problems:?}");
        (errors[0].0.to_owned(), errors[0].1.to_owned())
    };
    for host in ["evil.example", "{{args.host}}", "127.0.0.1:8", "x@api.shop.example", "a b"] {
        let (pointer, message) = error(&http(host));
        assert_eq!(pointer, "/http/headers/Host", "{host}");
        assert!(message.contains("may go to *.shop.example and 127.0.0.1:7 only"), "{message}");
    }
    let evil = headers("evil.example");
    for (definition, pointer) in [
        (
            json!({"feign": {"service": "s", "baseUrl": "http://127.0.0.1:7", "path": "/x", "headers": evil}}),
            "/feign/headers/Host",
        ),
        (json!({"mcp": {"url": "http://127.0.0.1:7/mcp", "headers": evil}}), "/mcp/headers/Host"),
        (
            json!({"resource": {"uri": "a://b", "http": {"url": "http://127.0.0.1:7/", "headers": evil}}}),
            "/resource/http/headers/Host",
        ),
        (
            json!({"http": {"url": "http://127.0.0.1:7/", "headers": {"X-Key": "{{secrets.KEY}}"}},
                "auth": {"type": "apiKey", "name": "host", "value": "evil.example"}}),
            "/auth/value",
        ),
    ] {
        assert_eq!(error(&definition).0, pointer);
    }
    let free = json!({"http": {"url": "http://127.0.0.1:7/", "headers": {"Host": "other.example"}}});
    let (tool, problems) = compile(&free, &only);
    assert!(tool.is_some() && problems.is_empty(), "{problems:?}");
}

#[tokio::test]
async fn a_bound_secret_is_kept_from_other_instances() {
    let feign = json!({"feign": {
        "service": "s", "instances": ["http://127.0.0.1:7", "http://evil.example"], "path": "/x",
        "headers": {"X-Key": "{{secrets.KEY}}"}}});
    let only = bound(runtime(SECRETS), &["127.0.0.1"], false);
    let (tool, problems) = compile(&feign, &only);
    assert!(tool.is_none(), "{problems:?}");
    let upstream =
        json!({"mcp": {"url": "http://evil.example/mcp", "headers": {"X-Key": "{{secrets.KEY}}"}}});
    let (_, problems) = compile_any(&upstream, &only);
    assert_eq!(told(&problems, Severity::Error).len(), 1, "{problems:?}");
    let program = json!({"mcp": {"command": "true", "env": {"K": "{{secrets.KEY}}"}}});
    let (_, problems) = compile_any(&program, &only);
    let errors = told(&problems, Severity::Error);
    assert!(errors.len() == 1 && errors[0].1.contains("programs: true"), "{problems:?}");
    let (_, problems) = compile_any(&program, &bound(runtime(SECRETS), &[], true));
    assert_eq!(problems, []);
}

fn compile_any(definition: &Value, runtime: &Runtime) -> (bool, Vec<Problem>) {
    let mut definition = definition.clone();
    definition["name"] = "t".into();
    let form = toolrail_core::DefinitionForm::new(toolrail_executors::kinds(runtime));
    let (compiled, problems) = form.check(&definition, |_, compiled, _| compiled);
    (compiled.is_some(), problems)
}

/// R119.
#[test]
fn a_credential_that_is_written_out_is_warned_of() {
    let definition = json!({"http": {
        "url": "http://h/x?token=0123456789", "headers": {"Authorization": "Bearer abcdef0123456789", "X-API-Key": "0123456789", "X-Team": "blue"},
        "query": {"api_key": "0123456789", "q": "sk-0123456789abcdef", "page": "1"}}});
    let (tool, problems) = compile(&definition, &runtime(&[]));
    assert!(tool.is_some());
    let warnings = told(&problems, Severity::Warning);
    let places: Vec<&str> = warnings.iter().map(|(pointer, _)| *pointer).collect();
    assert_eq!(
        places,
        [
            "/http/url",
            "/http/query/api_key",
            "/http/query/q",
            "/http/headers/Authorization",
            "/http/headers/X-API-Key"
        ]
    );
    assert!(warnings.iter().all(|(_, message)| message.contains("{{secrets.KEY}}")), "{warnings:?}");
}

/// R139: until tokens are fetched, whoever is refused for lack of one learns why.
#[tokio::test]
async fn a_call_that_lacks_its_token_says_so() {
    let echo = Echo::start().await;
    for block in [
        json!({"http": {"url": echo.url("/denied")}}),
        json!({"feign": {"baseUrl": echo.url("/"), "path": "/denied"}}),
    ] {
        let mut definition = block;
        definition["auth"] = json!({"type": "oauth2", "config": {"tokenUrl": "http://t", "clientId": "c"}});
        let tool = tool_with(&definition, &runtime(&[]));
        let warnings = told(&tool.problems, Severity::Warning);
        assert!(warnings.iter().any(|(_, message)| message.contains("not applied yet")), "{warnings:?}");
        let error = tool.refused(json!({})).await;
        assert_eq!(error.code, ErrorCode::UpstreamStatus);
        assert!(error.message.contains("no token was sent"), "{error}");
    }
}
