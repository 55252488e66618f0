//! The demonstration's REST service: weather, users, orders, notes, an echo and a picture. Its data is made up and
//! always the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Path, Query, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::picture;

/// What the service remembers while it runs.
#[derive(Clone, Default)]
struct DemoMemory {
    notes: Arc<AtomicUsize>,
    orders: Arc<AtomicUsize>,
}

pub(super) fn routes() -> Router {
    Router::new()
        .route("/weather", get(weather))
        .route("/forecast", get(forecast))
        .route("/users", get(users))
        .route("/users/{id}", get(user))
        .route("/orders", post(order))
        .route("/notes", post(note))
        .route("/echo", post(echo))
        .route("/chart.png", get(chart))
        .with_state(DemoMemory::default())
}

#[derive(Deserialize)]
struct WeatherQuery {
    city: String,
    #[serde(default)]
    units: String,
    #[serde(default)]
    days: Option<u32>,
}

const SKIES: [&str; 4] = ["clear", "cloudy", "rain", "wind"];

/// A number that depends on nothing but the text.
fn number_for(text: &str) -> u32 {
    text.bytes().fold(7, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 1_000
}

async fn weather(Query(place): Query<WeatherQuery>) -> Response {
    let number = number_for(&place.city);
    let celsius = f64::from(number % 35) - 5.0;
    let fahrenheit = place.units == "fahrenheit";
    let temperature = if fahrenheit { celsius * 1.8 + 32.0 } else { celsius };
    good(json!({
        "city": place.city,
        "temperature": temperature,
        "units": if fahrenheit { "fahrenheit" } else { "celsius" },
        "wind": {"speed": number % 40, "direction": "NW"},
        "sky": SKIES[number as usize % SKIES.len()],
    }))
}

async fn forecast(Query(place): Query<WeatherQuery>) -> Response {
    let number = number_for(&place.city);
    let days: Vec<Value> = (1..=place.days.unwrap_or(3).min(7))
        .map(|day| {
            let low = (number + day * 3) % 20;
            json!({
                "date": format!("2026-06-{day:02}"),
                "sky": SKIES[(number + day) as usize % SKIES.len()],
                "low": low,
                "high": low + 4 + day,
            })
        })
        .collect();
    good(json!({"city": place.city, "days": days}))
}

fn all_users() -> Vec<Value> {
    [
        (1, "Ada Lovelace", "London", &["admin", "buyer"][..]),
        (2, "王小明", "北京", &["buyer"]),
        (3, "Grace Hopper", "New York", &["clerk"]),
        (4, "李华", "上海", &["clerk", "buyer"]),
        (5, "Alan Turing", "Manchester", &["admin"]),
    ]
    .into_iter()
    .map(|(id, name, city, roles)| json!({"id": id, "name": name, "address": {"city": city}, "roles": roles}))
    .collect()
}

async fn user(Path(id): Path<String>) -> Response {
    let found = all_users().into_iter().find(|user| user["id"].as_i64() == id.parse().ok());
    match found {
        Some(user) => good(user),
        None => answer(StatusCode::NOT_FOUND, json!({"message": format!("no user {id}")})),
    }
}

async fn users(RawQuery(query): RawQuery) -> Response {
    let pairs = pairs_of(query.as_deref().unwrap_or_default());
    let name = pairs
        .iter()
        .find(|(key, _)| key == "name")
        .map(|(_, value)| value.to_lowercase())
        .unwrap_or_default();
    let roles: Vec<&str> =
        pairs.iter().filter(|(key, _)| key == "role").map(|(_, value)| value.as_str()).collect();
    let found: Vec<Value> = all_users()
        .into_iter()
        .filter(|user| user["name"].as_str().is_some_and(|known| known.to_lowercase().contains(&name)))
        .filter(|user| {
            let mut known = user["roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
            roles.is_empty() || known.any(|role| roles.contains(&role))
        })
        .collect();
    good(json!({"count": found.len(), "users": found}))
}

async fn order(State(memory): State<DemoMemory>, body: Bytes) -> Response {
    let order: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(lines) = order["lines"].as_array().filter(|lines| !lines.is_empty()) else {
        return answer(StatusCode::BAD_REQUEST, json!({"message": "an order needs lines"}));
    };
    let pieces: i64 = lines.iter().filter_map(|line| line["quantity"].as_i64()).sum();
    let number = memory.orders.fetch_add(1, Ordering::Relaxed) + 1;
    let body = json!({"orderId": format!("O-{number:04}"), "pieces": pieces, "received": order});
    answer(StatusCode::CREATED, body)
}

async fn note(State(memory): State<DemoMemory>, body: String) -> Response {
    let pairs = pairs_of(&body);
    let count = memory.notes.fetch_add(1, Ordering::Relaxed) + 1;
    let labels: Vec<&str> =
        pairs.iter().filter(|(key, _)| key == "label").map(|(_, value)| value.as_str()).collect();
    let text = pairs.iter().find(|(key, _)| key == "text").map(|(_, value)| value.as_str());
    good(json!({"count": count, "text": text, "labels": labels}))
}

async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let headers: BTreeMap<&str, String> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into()));
    good(
        json!({"method": method.as_str(), "path": uri.path(), "query": uri.query(), "headers": headers, "body": body}),
    )
}

async fn chart(RawQuery(query): RawQuery) -> Response {
    let pairs = pairs_of(query.as_deref().unwrap_or_default());
    let values: Vec<f64> = pairs
        .iter()
        .filter(|(key, _)| key == "value")
        .filter_map(|(_, value)| value.parse().ok())
        .take(20)
        .collect();
    ([(header::CONTENT_TYPE, "image/png")], picture::bar_chart(&values)).into_response()
}

fn good(body: Value) -> Response {
    answer(StatusCode::OK, body)
}

fn answer(status: StatusCode, body: Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn pairs_of(form: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}
