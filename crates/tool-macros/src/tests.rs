//! What the compiler says about functions that cannot be tools.

use syn::{ItemFn, ItemImpl, parse_str};

use crate::method::tools_of_block;
use crate::options::{ToolOptions, ToolsOptions};
use crate::tool_of_function;

fn tool(options: &str, function: &str) -> syn::Result<()> {
    let options: ToolOptions = parse_str(options)?;
    let function: ItemFn = parse_str(function)?;
    tool_of_function(&options, function).map(drop)
}

fn tools(block: &str) -> syn::Result<()> {
    let options: ToolsOptions = parse_str("")?;
    let block: ItemImpl = parse_str(block)?;
    tools_of_block(&options, block).map(drop)
}

fn said(result: syn::Result<()>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn what_can_be_a_tool_is_taken() {
    let cases = [
        ("", "async fn add(a: i64, b: i64) -> i64 { a + b }"),
        (
            "name = \"math.add\", read_only, tags = [\"math\"]",
            "fn add(args: Numbers, ctx: &Context) -> i64 { 0 }",
        ),
        ("task = \"optional\"", "async fn add(#[arg(default = 1)] a: i64) -> i64 { a }"),
    ];
    for (options, function) in cases {
        assert_eq!(said(tool(options, function)), "", "{function}");
    }
    assert_eq!(said(tools("impl Counter { #[tool] async fn count(&self) -> u64 { 0 } }")), "");
}

#[test]
fn what_cannot_be_a_tool_is_refused_with_what_to_do() {
    let cases = [
        ("nmae = \"a\"", "fn a() {}", "unknown option; use name, title"),
        ("name = \"a b\"", "fn a() {}", "a tool name has 1 to 64 characters"),
        ("task = \"maybe\"", "fn a() {}", "a task is \"optional\" or \"required\""),
        ("", "fn a<T>(t: T) {}", "a tool has no generic parameters"),
        ("", "fn a((b, c): (i64, i64)) {}", "an argument of a tool needs a name"),
        ("", "fn a(args: Numbers, b: i64) {}", "`args` stands for all arguments"),
        (
            "",
            "fn a(#[arg(defualt = 1)] b: i64) {}",
            "unknown option; use name, description, default or header",
        ),
        ("", "fn größe() {}", "this is no name for a tool"),
    ];
    for (options, function, expected) in cases {
        let said = said(tool(options, function));
        assert!(said.starts_with(expected), "{function}: {said}");
    }
}

#[test]
fn methods_that_cannot_be_tools_are_refused_with_what_to_do() {
    let cases = [
        ("impl<T> Counter<T> { #[tool] fn count(&self) {} }", "#[tools] stands before `impl Type { … }`"),
        ("impl Count for Counter { #[tool] fn count(&self) {} }", "#[tools] stands before `impl Type { … }`"),
        ("impl Counter { #[tool] fn count(&mut self) {} }", "a tool takes &self"),
        ("impl Counter { #[tool] fn count(self) {} }", "a tool takes &self"),
    ];
    for (block, expected) in cases {
        let said = said(tools(block));
        assert!(said.starts_with(expected), "{block}: {said}");
    }
}
