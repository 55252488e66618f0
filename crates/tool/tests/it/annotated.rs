//! Annotated functions are found by themselves, with names, descriptions and schemas (R32, R33).

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{TaskSupport, Upstream};
use toolrail_tool::{Context, Json, Offering, schemars, serde, tool, tools};

use crate::client::{Client, Era};
use crate::client::{call, call_as, entry, everything, text};

/// Adds two numbers.
///
/// Both may be negative.
#[tool(read_only, idempotent, open_world = false, category = "math", tags = ["sum", "number"])]
async fn add(
    /// The first number.
    a: i64,
    #[arg(description = "The second number.", default = 1)] b: i64,
) -> i64 {
    a + b
}

#[tool(name = "greet.somebody", title = "Greeting", description = "Greets.", task = "optional")]
fn greet(name: &str, #[arg(default = "Hello")] greeting: String, punctuation: Option<char>) -> String {
    format!("{greeting}, {name}{}", punctuation.unwrap_or('!'))
}

/// A place and a time.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Forecast {
    /// The city.
    city: String,
    /// How many days.
    #[serde(default)]
    days: u8,
    place: Option<Place>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Place {
    floor: i32,
}

/// Tells the weather.
#[tool]
async fn forecast(args: Forecast, ctx: &Context) -> Result<String, std::fmt::Error> {
    ctx.progress(0.5, 1.0).info("looking").debug("unheard");
    let floor = args.place.map(|place| place.floor);
    Ok(format!("{} {} {floor:?}", args.city, args.days))
}

/// Takes its struct apart.
#[tool]
async fn apart(Forecast { city, .. }: Forecast, ctx: Context) -> String {
    format!("{} {city}", ctx.name())
}

#[tool(input_schema = json!({"type": "object", "$defs": {"x": {"$anchor": "y"}}}))]
fn raw(ctx: &Context<'_>) -> Value {
    json!(ctx.argument_map())
}

#[tool]
fn header(#[arg(header = "Region", name = "the-region")] region: String) -> String {
    region
}

/// A counter, kept from call to call.
#[derive(Default)]
struct Counter {
    count: Mutex<u32>,
}

#[tools(state = Counter::default())]
impl Counter {
    /// Counts on.
    #[tool(destructive = false)]
    async fn count(&self, by: u32) -> Json<u32> {
        Json(self.add(by))
    }

    #[tool(name = "version")]
    fn version() -> &'static str {
        "1"
    }

    fn add(&self, by: u32) -> u32 {
        let mut count = self.count.lock().unwrap();
        *count += by;
        *count
    }
}

#[test]
fn an_annotated_function_is_listed_with_its_name_description_and_schema() {
    let found = entry(everything(), "add");
    let expected = json!({
        "name": "add",
        "description": "Adds two numbers.\n\nBoth may be negative.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"description": "The first number.", "type": "integer", "format": "int64"},
                "b": {"description": "The second number.", "type": "integer", "format": "int64", "default": 1},
            },
            "required": ["a"],
        },
        "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
        "_meta": {"toolrail/category": "math", "toolrail/tags": ["sum", "number"]},
    });
    assert_eq!(found, expected, "{found:#}");
}

#[tokio::test]
async fn an_annotated_function_is_called_with_its_arguments() {
    assert_eq!(text(call(everything(), "add", json!({"a": 2, "b": 40})).await), "42");
    assert_eq!(text(call(everything(), "add", json!({"a": 2})).await), "3");
    let greeting = call(everything(), "greet.somebody", json!({"name": "Ada", "punctuation": "?"})).await;
    assert_eq!(text(greeting), "Hello, Ada?");
}

#[test]
fn the_options_of_the_attribute_take_effect() {
    let found = entry(everything(), "greet.somebody");
    assert_eq!(found["title"], "Greeting");
    assert_eq!(found["description"], "Greets.");
    assert_eq!(found["inputSchema"]["required"], json!(["name"]));
    let offer = everything().offer();
    let tool = offer.tools.iter().find(|tool| tool.name.as_str() == "greet.somebody").unwrap();
    assert_eq!(tool.tasks, TaskSupport::Optional);
    assert_eq!(entry(everything(), "raw")["inputSchema"]["$defs"], json!({"x": {"$anchor": "y"}}));
    let region = &entry(everything(), "header")["inputSchema"]["properties"]["the-region"];
    assert_eq!(region["x-mcp-header"], "Region");
}

#[test]
fn a_tool_without_arguments_says_so() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(entry(everything(), "version")["inputSchema"], schema);
}

#[tokio::test]
async fn a_struct_of_arguments_gives_its_fields_and_their_descriptions() {
    let schema = &entry(everything(), "forecast")["inputSchema"];
    assert_eq!(schema["properties"]["city"]["description"], "The city.");
    assert_eq!(schema["required"], json!(["city"]));
    assert!(!schema.to_string().contains("$ref"), "{schema:#}");
    let client = Client::new(Era::Legacy, json!({}));
    let arguments = json!({"city": "Ulm", "place": {"floor": 2}});
    assert_eq!(text(call_as(everything(), "forecast", arguments, &client).await), "Ulm 0 Some(2)");
    assert_eq!(*client.heard.lock().unwrap(), ["0.5/1.0", "forecast: info \"looking\""]);
    assert_eq!(text(call(everything(), "apart", json!({"city": "Ulm"})).await), "apart Ulm");
}

#[tokio::test]
async fn an_argument_that_cannot_be_read_is_named() {
    let arguments = json!({"city": "Ulm", "place": {"floor": "first"}});
    let result = call(everything(), "forecast", arguments).await.unwrap();
    assert!(result.is_error);
    let told = text(Ok(result));
    assert!(
        told.starts_with("the arguments of forecast cannot be used: place.floor: invalid type"),
        "{told}"
    );
}

#[tokio::test]
async fn methods_share_their_value() {
    let first = call(everything(), "count", json!({"by": 2})).await.unwrap();
    let second = call(everything(), "count", json!({"by": 3})).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(entry(everything(), "count")["outputSchema"]["type"], "integer");
    assert_eq!(text(call(everything(), "version", json!({})).await), "1");
}

#[tokio::test]
async fn a_value_is_registered_by_hand() {
    let offering = Offering::new();
    offering.register(Counter { count: Mutex::new(10) });
    let counted = call(&offering, "count", json!({"by": 1})).await.unwrap();
    assert_eq!(counted.payload, toolrail_core::Payload::Json(toolrail_core::Json::from_value(&json!(11))));
    assert_eq!(offering.failure(), None);
    offering.register(Counter::default());
    assert_eq!(
        offering.failure().unwrap(),
        "there are two native tools \"count\"; rename one; there are two native tools \"version\"; rename one"
    );
}
