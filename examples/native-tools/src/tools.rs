//! Functions as tools.

use std::time::Duration;

use toolrail_tool::schemars::{self, JsonSchema};
use toolrail_tool::serde::{self, Deserialize, Serialize};
use toolrail_tool::serde_json::json;
use toolrail_tool::{Context, Json, ToolError, tool};

/// Adds two numbers.
#[tool(read_only, tags = ["math"])]
fn add(
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> f64 {
    a + b
}

/// What to look for, and where.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Search {
    /// The text to look in.
    text: String,
    /// The word to look for.
    word: String,
    /// Whether capitals and small letters are the same.
    #[serde(default)]
    ignore_case: bool,
}

/// Where the word was found.
#[derive(Serialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Found {
    /// How often.
    count: usize,
    /// In which lines, counted from 1.
    lines: Vec<usize>,
}

/// Counts how often a word stands in a text.
#[tool(read_only, idempotent)]
fn count_word(args: Search) -> Json<Found> {
    let fold = |text: &str| if args.ignore_case { text.to_lowercase() } else { text.to_owned() };
    let word = fold(&args.word);
    let hits = args.text.lines().zip(1..).flat_map(|(line, number)| {
        let count = fold(line).split_whitespace().filter(|found| *found == word).count();
        std::iter::repeat_n(number, count)
    });
    let mut lines: Vec<usize> = hits.collect();
    let count = lines.len();
    lines.dedup();
    Json(Found { count, lines })
}

/// Counts down, and tells how far it has got.
#[tool]
async fn count_down(
    /// How many steps.
    #[arg(default = 3)]
    steps: u32,
    ctx: &Context,
) -> String {
    for step in 0..steps {
        ctx.progress_with(step.into(), f64::from(steps), "counting").info(format!("{} to go", steps - step));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    format!("counted {steps} steps")
}

/// Which drink it shall be.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
#[schemars(crate = "schemars")]
struct Order {
    /// The drink.
    drink: String,
    /// How many cups.
    cups: u32,
}

/// Asks the user what to drink.
#[tool]
async fn order_drink(ctx: &Context) -> Result<String, ToolError> {
    match ctx.elicit_as::<Order>("order", "What would you like to drink?").await? {
        Some(order) => Ok(format!("{} × {}", order.cups, order.drink)),
        None => Ok("Nothing, then.".to_owned()),
    }
}

/// Adds up a whole list by calling `add` again and again.
#[tool(read_only)]
async fn add_all(
    /// The numbers.
    numbers: Vec<f64>,
    ctx: &Context,
) -> Result<f64, ToolError> {
    let mut sum = 0.0;
    for number in numbers {
        sum = ctx.call("add", json!({"a": sum, "b": number})).await?.parse()?;
    }
    Ok(sum)
}
