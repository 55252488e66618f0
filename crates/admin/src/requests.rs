//! The requests of the REST face for people who try it out: a Postman collection and a curl script, made of the table of
//! routes.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};
use toolrail_core::OverTls;

use crate::failure::json as json_answer;
use crate::table::{ROUTES, Route, example_of};

const COLLECTION: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
/// Where a gateway is unless somebody says otherwise.
const USUAL: &str = "http://127.0.0.1:8080";
/// What the names of the examples begin with.
const EXAMPLE: &str = "example.";
/// What stands for a version in paths and bodies.
const VERSION: &str = "{version}";

const SCRIPT_ABOUT: &str = "#!/bin/sh
# Every request of the REST interface of a Toolrail gateway, in an order that works on any store.
set -eu
";
const SCRIPT_BEGIN: &str = r#"# What the names of its tools begin with; they are removed at the end.
EXAMPLE=${EXAMPLE:-example$$}
clean() {
  for tool in "$EXAMPLE.health" "$EXAMPLE.ready"; do
    curl -sS -o /dev/null -X DELETE "$BASE/admin/tools/$tool?purge=true" || true
  done
}
trap clean EXIT
"#;
const SCRIPT_VERSION: &str = r#"VERSION=$(curl -sS "$BASE/admin/tools/$EXAMPLE.health/history?limit=1" | sed 's/.*"version":\([0-9]*\).*/\1/')
"#;

pub(crate) async fn postman(request: Request) -> Response {
    json_answer(StatusCode::OK, &postman_collection(&base_of(&request)))
}

pub(crate) async fn curl(request: Request) -> Response {
    let script = curl_script(&base_of(&request));
    ([(header::CONTENT_TYPE, "text/x-shellscript; charset=utf-8")], script).into_response()
}

/// The address under which the one who asks reaches this gateway.
fn base_of(request: &Request) -> String {
    let scheme = if request.extensions().get::<OverTls>().is_some() { "https" } else { "http" };
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let plain =
        |host: &&str| host.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter));
    host.filter(plain).map_or_else(|| USUAL.to_owned(), |host| format!("{scheme}://{host}"))
}

/// Every request as a Postman collection (version 2.1) for the gateway at `base`.
pub fn postman_collection(base: &str) -> Value {
    let mut folders: Vec<(&str, Vec<Value>)> = Vec::new();
    for route in ROUTES {
        let place = folders.iter().position(|(heading, _)| *heading == route.heading);
        let place = place.unwrap_or_else(|| {
            folders.push((route.heading, Vec::new()));
            folders.len() - 1
        });
        folders[place].1.push(item(route, base));
    }
    let folders: Vec<Value> =
        folders.into_iter().map(|(heading, items)| json!({"name": heading, "item": items})).collect();
    json!({
        "info": {"name": "Toolrail", "schema": COLLECTION, "description": "The REST interface of a Toolrail gateway."},
        "variable": [{"key": "baseUrl", "value": base}],
        "item": folders,
    })
}

fn item(route: &Route, base: &str) -> Value {
    let steps: Vec<String> = route.path.trim_start_matches('/').split('/').map(postman_step).collect();
    let variables: Vec<Value> =
        variables_of(route.path).map(|name| json!({"key": name, "value": example_of(name)})).collect();
    let query: Vec<Value> = route
        .query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| json!({"key": key, "value": value.replace('+', " ")}))
        .collect();
    let behind = if route.query.is_empty() { String::new() } else { format!("?{}", route.query) };
    let raw = format!("{{{{baseUrl}}}}/{}{behind}", steps.join("/"));
    let mut request = json!({
        "method": route.method,
        "header": [],
        "url": {"raw": raw, "host": ["{{baseUrl}}"], "path": steps, "query": query, "variable": variables},
        "description": route.about,
    });
    if let Some(body) = body_of(route, base) {
        request["header"] = json!([{"key": "Content-Type", "value": "application/json"}]);
        request["body"] = json!({"mode": "raw", "raw": body, "options": {"raw": {"language": "json"}}});
    }
    json!({"name": format!("{} {}", route.method, route.path), "request": request})
}

fn postman_step(step: &str) -> String {
    step.strip_prefix('{')
        .and_then(|step| step.strip_suffix('}'))
        .map_or_else(|| step.to_owned(), |name| format!(":{name}"))
}

fn variables_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|step| step.strip_prefix('{')?.strip_suffix('}'))
}

/// The body of an example, whose tools call the gateway itself.
fn body_of(route: &Route, base: &str) -> Option<String> {
    route.body.map(|body| body.replace(VERSION, example_of("version")).replace(USUAL, base))
}

/// Every request that works without a person, as a shell script for the gateway at `base`. Its tools have names that nobody else has, it takes the version
/// from an answer, and it removes what it registered, however it ends.
pub fn curl_script(base: &str) -> String {
    let mut script = format!("{SCRIPT_ABOUT}BASE=${{BASE:-{base}}}\n{SCRIPT_BEGIN}");
    for route in ROUTES.iter().filter(|route| route.is_scripted) {
        let mut path = route.path.replace(VERSION, "$VERSION");
        for name in variables_of(route.path) {
            path = path.replace(&format!("{{{name}}}"), example_of(name));
        }
        let query = if route.query.is_empty() { String::new() } else { format!("?{}", route.query) };
        let target = format!("{path}{query}").replace(EXAMPLE, "$EXAMPLE.");
        let body = route.body.map(|body| {
            let body = body.replace(EXAMPLE, r#"'"$EXAMPLE"'."#).replace(VERSION, r#"'"$VERSION"'"#);
            format!(" -H 'content-type: application/json' -d '{}'", body.replace(USUAL, r#"'"$BASE"'"#))
        });
        let Route { about, method, .. } = route;
        let body = body.unwrap_or_default();
        let curl = ["curl -sS --fail-with-body -X ", method, " \"$BASE", &target, "\"", &body].concat();
        script.extend(["\n# ", about, "\n", &curl, "\necho\n"]);
        if (*method, route.path) == ("POST", "/admin/tools") {
            script.push_str(SCRIPT_VERSION);
        }
    }
    script
}
