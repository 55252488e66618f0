//! What scripts do with the rest of the gateway.

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::Upstream;

use super::support::{Workshop, tool};
use crate::support::{get_tool, register, run_in};

#[tokio::test]
async fn a_script_calls_tools_of_every_kind_as_its_caller() -> Result<()> {
    let upstream = Upstream::start().await?;
    let outer = "const made = await callToolHandler({params: {name: 'inner', arguments: {}}}, 'outer_1');\nconst got = await callToolHandler({params: {name: 'fetched', arguments: {}}});\nconst gone = await callToolHandler({params: {name: 'nothing', arguments: {}}});\nreturn { made: made.content[0].text, got: got.structuredContent.path, gone: gone.isError };";
    let shop = Workshop::with(&[
        ("outer.ts", &tool("outer", outer)),
        ("inner.ts", &tool("inner", "return 'from inside'")),
        (
            "again.ts",
            &tool(
                "again",
                "return (await callToolHandler({params: {name: 'again', arguments: {}}})).content[0].text",
            ),
        ),
        (
            "a.ts",
            &tool(
                "a",
                "return (await callToolHandler({params: {name: 'b', arguments: {}}})).content[0].text",
            ),
        ),
        (
            "b.ts",
            &tool(
                "b",
                "return (await callToolHandler({params: {name: 'a', arguments: {}}})).content[0].text",
            ),
        ),
    ])
    .await?;
    register(&shop.gateway, &get_tool("fetched", &upstream.url("/echo"))).await;
    let made = shop.call("outer", json!({})).await?;
    assert_eq!(made["structuredContent"], json!({"made": "from inside", "got": "/echo", "gone": true}));
    let again = shop.text("again", json!({})).await?;
    assert!(again.contains("in a circle: again → again"), "{again}");
    let circle = shop.text("a", json!({})).await?;
    assert!(circle.contains("a → b → a"), "{circle}");
    Ok(())
}

#[tokio::test]
async fn fetch_goes_out_by_the_guarded_client() -> Result<()> {
    let upstream = Upstream::start().await?;
    let body = "const answer = await fetch(request.params.arguments.url, {method: 'POST', headers: {'X-Mine': 'yes', Host: 'evil.example', 'toolrail-hop': 'no'}, body: 'hello'});\nreturn { status: answer.status, it: await answer.json() };";
    let text = tool("ask", body)
        .replace("properties: {}", "properties: { url: { type: 'string', description: 'Where' } }");
    let shop = Workshop::with(&[("ask.ts", &text)]).await?;
    let made = shop.call("ask", json!({"url": upstream.url("/echo")})).await?["structuredContent"].clone();
    assert_eq!((&made["status"], &made["it"]["body"]), (&json!(200), &json!("hello")), "{made}");
    let headers = made["it"]["headers"].to_string();
    assert!(headers.contains("x-mine") && !headers.contains("evil.example"), "{headers}");
    for (url, words) in [
        ("file:///etc/passwd", "only http and https"),
        ("http://169.254.169.254/latest", "link-local"),
        ("http://127.0.0.1:1/", "fetch failed"),
    ] {
        let failed = shop.call("ask", json!({"url": url})).await?;
        assert_eq!(failed["isError"], true);
        assert!(failed["content"][0]["text"].as_str().unwrap().contains(words), "{url}: {failed}");
    }
    Ok(())
}

#[tokio::test]
async fn secrets_are_listed_masked_and_bound() -> Result<()> {
    let upstream = Upstream::start().await?;
    let body = "console.log('the key is', await secrets.get('KEY'));\nlet refused; try { await secrets.get('OTHER') } catch (error) { refused = error.message }\nlet away; try { await fetch('http://localhost:1/?' + await secrets.get('KEY')) } catch (error) { away = error.message }\nconst answer = await fetch(request.params.arguments.url, {headers: {authorization: 'Bearer ' + await secrets.get('KEY')}});\nreturn { key: await secrets.get('KEY'), refused, away, sent: (await answer.json()).headers.authorization };";
    let text = tool("ask", body).replace(
        "properties: {}",
        "properties: { url: { type: 'string', description: 'Where' } }, script: { secrets: ['KEY'] }",
    );
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(&config, "secrets: {KEY: {hosts: [127.0.0.1]}}\n")?;
    let shop = Workshop::started(&[("ask.ts", &text)], |builder| {
        let builder = builder.arg("--config").arg(&config);
        builder.env("TOOLRAIL_SECRET_KEY", "k3y-of-the-house").env("TOOLRAIL_SECRET_OTHER", "0ther-value")
    })
    .await?;
    let made = shop.call("ask", json!({"url": upstream.url("/echo")})).await?;
    let told = made["structuredContent"].clone();
    assert_eq!((&told["key"], &told["sent"]), (&json!("***"), &json!("Bearer ***")), "{made}");
    assert!(told["refused"].as_str().unwrap().contains("not listed in script.secrets"), "{told}");
    assert!(told["away"].as_str().unwrap().contains("must not go to"), "{told}");
    let log = shop.gateway.said("the key is").await?;
    assert!(!log.contains("k3y-of-the-house"), "{log}");
    assert_eq!(upstream.received("/echo")[0].headers["authorization"], "Bearer k3y-of-the-house");
    Ok(())
}

#[tokio::test]
async fn results_are_what_the_script_returned() -> Result<()> {
    let shop = Workshop::with(&[(
        "r.ts",
        &tool("r", "return JSON.parse(request.params.arguments.it)")
            .replace("properties: {}", "properties: { it: { type: 'string', description: 'JSON' } }"),
    )])
    .await?;
    let given = async |it: Value| shop.call("r", json!({"it": it.to_string()})).await;
    assert_eq!(given(json!("text")).await?["content"], json!([{"type": "text", "text": "text"}]));
    assert_eq!(given(json!({"a": 1})).await?["structuredContent"], json!({"a": 1}));
    assert_eq!(given(json!([1, 2])).await?["content"][0]["text"], "[1,2]");
    let whole = json!({"content": [{"type": "text", "text": "x"}], "_meta": {"k": 1}});
    assert_eq!(given(whole).await?["_meta"]["k"], 1);
    let failed = json!({"content": [{"type": "text", "text": "x"}], "isError": true});
    assert_eq!(given(failed).await?["isError"], true);
    assert_eq!(
        given(json!({"content": "no list"})).await?["structuredContent"],
        json!({"content": "no list"})
    );
    Ok(())
}

#[tokio::test]
async fn in_the_store_scripts_need_a_word_of_the_operator() -> Result<()> {
    let definition = json!({
        "name": "stored", "description": "A script in the store", "type": "script",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "A number"}}},
        "script": {"source": "export default async (request: any) => request.params.arguments.n * 2"}
    });
    let shop = Workshop::with(&[]).await?;
    let refused = shop.gateway.post_json("/admin/tools", &definition).await?;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("--allow-scripts"), "{}", refused.text());
    let shop = Workshop::started(&[], |builder| builder.arg("--allow-scripts")).await?;
    register(&shop.gateway, &definition).await;
    assert_eq!(shop.text("stored", json!({"n": 21})).await?, "42");
    let mut wrong = definition.clone();
    wrong["script"]["source"] = json!("export default async () => {\n  return 1 +;\n}");
    let refused = shop.gateway.post_json("/admin/tools", &wrong).await?;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("script.ts:2:13: "), "{}", refused.text());
    assert_eq!(shop.text("stored", json!({"n": 4})).await?, "8", "the good version stays");
    // Like any other kind it has versions.
    let history = run_in(shop.folder.path(), &["history", "stored", "--url", shop.gateway.url()]).await?;
    assert_eq!(history.code, Some(0), "{}", history.stderr);
    Ok(())
}
