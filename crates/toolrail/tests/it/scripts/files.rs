//! A file in the tools folder is a tool: when it comes, changes, breaks and goes.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use toolrail_testkit::wait_until;

use super::support::{Workshop, tool};

/// R39 to R45: as the authors of such files write them.
const MY_TOOL: &str = "import { ToolSchema } from '@modelcontextprotocol/sdk';

export const schema: ToolSchema = {
  name: 'my_tool',
  description: '工具功能描述',
  type: 'object',
  properties: {
    param1: {
      type: 'string',
      description: '参数描述',
      enum: ['选项1', '选项2']
    }
  },
  required: ['param1'],
  outputSchema: {
    type: 'object',
    properties: {
      content: { type: 'array' },
      isError: { type: 'boolean' }
    }
  }
};

export default async function (request: any) {
  const { param1 } = request.params.arguments;
  if (param1 === '选项2') throw new Error('not this one');
  return { content: [{ type: 'text', text: `${request.params.name}: ${param1}` }] };
}
";

#[tokio::test]
async fn a_file_as_people_have_it_is_a_tool() -> Result<()> {
    let shop = Workshop::with(&[("my_tool.ts", MY_TOOL)]).await?;
    let listed = shop.gateway.mcp("tools/list", json!({})).await?.json()?;
    let tool = &listed["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("my_tool"), &json!("工具功能描述")));
    assert_eq!(tool["inputSchema"]["required"], json!(["param1"]));
    assert_eq!(shop.text("my_tool", json!({"param1": "选项1"})).await?, "my_tool: 选项1");
    let failed = shop.call("my_tool", json!({"param1": "选项2"})).await?;
    assert_eq!(failed["isError"], true);
    let told = failed["content"][0]["text"].as_str().unwrap();
    assert!(told.starts_with("not this one\n    at ") && told.contains("my_tool.ts:26:"), "{told}");
    // R53: what is missing is said before the script runs.
    let refused = shop.gateway.mcp("tools/call", json!({"name": "my_tool", "arguments": {}})).await?.text();
    assert!(refused.contains("param1"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_file_goes_live_changes_breaks_heals_and_goes() -> Result<()> {
    let shop = Workshop::with(&[]).await?;
    shop.write("one.ts", &tool("one", "return 'first'"))?;
    shop.gives("one", "first").await?;
    shop.write("one.ts", &tool("one", "return 'second'"))?;
    shop.gives("one", "second").await?;
    shop.write("one.ts", "export const schema = {\nname: 'one', = };")?;
    wait_until("the problem", Duration::from_secs(20), async || {
        shop.problems().await.ok().filter(|told| told.contains("its last good version stays in place"))
    })
    .await?;
    let told = shop.problems().await?;
    assert!(told.contains("one.ts") && told.contains("\"line\":2"), "{told}");
    assert_eq!(shop.text("one", json!({})).await?, "second");
    shop.write("one.ts", &tool("one", "return 'third'"))?;
    shop.gives("one", "third").await?;
    assert!(!shop.problems().await?.contains("one.ts"));
    std::fs::remove_file(shop.folder.path().join("one.ts"))?;
    wait_until("its end", Duration::from_secs(20), async || {
        shop.call("one", json!({})).await.is_err().then_some(())
    })
    .await
}

#[tokio::test]
async fn what_a_script_imports_reloads_it() -> Result<()> {
    let main = "import { greet } from './lib/greet';\nimport words from './words.json';\nexport const schema = { name: 'main', description: 'x', type: 'object', properties: {} };\nexport default async () => greet(words.who);\n";
    let shop = Workshop::with(&[
        ("main.ts", main),
        ("lib/greet.ts", "export const greet = (who: string): string => `hello ${who}`;"),
        ("words.json", "{\"who\": \"Ann\"}"),
    ])
    .await?;
    assert_eq!(shop.text("main", json!({})).await?, "hello Ann");
    shop.write("lib/greet.ts", "export const greet = (who: string): string => `bye ${who}`;")?;
    shop.gives("main", "bye Ann").await?;
    shop.write("words.json", "{\"who\": \"Bob\"}")?;
    shop.gives("main", "bye Bob").await?;
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_no_tool_is_told_of_unless_a_tool_imports_it() -> Result<()> {
    let shop = Workshop::with(&[
        ("stray.ts", "export const helper = 1;"),
        ("half.ts", "export const schema = { name: 'half' };"),
        ("types.d.ts", "declare const x: number;"),
        ("one.test.ts", "import { it } from 'vitest';"),
        ("node_modules/x/index.ts", "garbage("),
        (
            "away.ts",
            "import fs from 'node:fs';\nexport const schema = { name: 'away' };\nexport default () => fs;",
        ),
    ])
    .await?;
    let told = shop.problems().await?;
    assert!(told.contains("stray.ts") && told.contains("export const schema"), "{told}");
    assert!(told.contains("no function to call"), "{told}");
    assert!(told.contains("\\\"node:fs\\\" cannot be imported"), "{told}");
    assert!(!told.contains("types.d.ts") && !told.contains("one.test.ts") && !told.contains("node_modules"));
    Ok(())
}
