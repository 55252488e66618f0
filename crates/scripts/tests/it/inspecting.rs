//! What is found out about a script before it is called.

use std::collections::BTreeMap;

use serde_json::json;
use toolrail_scripts::{Inspector, Program};

use crate::support::WORKER;

const TOOL: &str = "import { ToolSchema } from '@modelcontextprotocol/sdk';\n\nexport const schema: ToolSchema = {\n  name: 'my_tool',\n  description: '工具功能描述',\n  type: 'object',\n  properties: { param1: { type: 'string', description: '参数描述', enum: ['a', 'b'] } },\n  required: ['param1'],\n  outputSchema: { type: 'object', properties: { content: {}, isError: {} } },\n};\nexport default async function (request: any) { return { content: [{ type: 'text', text: 'x' }] } }\nexport async function destroy() {}\n";

#[test]
fn a_tool_says_what_it_exports() {
    let inspector = Inspector::new(WORKER);
    let seen = inspector.inspect(&Program::single("my_tool.ts", TOOL)).unwrap();
    assert!(seen.has_default && seen.has_destroy);
    assert_eq!(seen.schema.as_ref().unwrap()["required"], json!(["param1"]));
}

#[test]
fn what_cannot_be_loaded_says_where() {
    let inspector = Inspector::new(WORKER);
    let fault =
        |source: &str| inspector.inspect(&Program::single("t.ts", source)).unwrap_err()[0].to_string();
    assert!(fault("export const a = ;").starts_with("t.ts:1:18: "), "{}", fault("export const a = ;"));
    assert_eq!(
        fault("\nconst x: any = null;\nexport default x.y;"),
        "t.ts:3:16: TypeError: cannot read property 'y' of null"
    );
    assert!(fault("import fs from 'fs';\nexport default fs;").contains("\"fs\" cannot be imported"));
    assert!(fault("import { a } from './gone';\nexport default a;").contains("there is no such file"));
    assert!(fault("while (true) {}").contains("takes too long"));
    assert!(fault("export default new Array(1e9) + ''").contains("takes too long"));
    assert!(fault("await new Promise(() => {})").contains("never comes"));
    assert!(fault("await fetch('https://x')").contains("in a call only"));
    // And it goes on.
    assert!(inspector.inspect(&Program::single("t.ts", TOOL)).is_ok());
}

#[test]
fn imports_are_gathered() {
    let files = BTreeMap::from([
        (
            "lib/math.ts",
            "import data from '../data.json';\nexport const twice = (n: number): number => n * data.factor;",
        ),
        ("data.json", "{\"factor\": 2}"),
    ]);
    let read = |name: &str| files.get(name).map(|text| Ok((*text).to_owned()));
    let entry = "import { twice } from './lib/math.js';\nexport const schema = { name: 'a', n: twice(4) };\nexport default async () => 1;";
    let (program, seen) = Inspector::new(WORKER).gather("tool.ts", entry.to_owned(), &read).unwrap();
    assert_eq!(program.files.keys().collect::<Vec<_>>(), ["data.json", "lib/math.ts", "tool.ts"]);
    assert_eq!(seen.schema.as_ref().unwrap()["n"], 8);
}
