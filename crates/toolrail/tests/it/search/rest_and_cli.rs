//! Finding tools through REST and the command line, and the semantic tier with the real binary.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolrail_testkit::Gateway;

use crate::support::{gateway, get_tool, register, run_in};

fn described(name: &str, description: &str, category: &str) -> Value {
    json!({"name": name, "type": "metadata", "description": description, "category": category,
        "tags": [category], "metadata": {}, "inputSchema": {"type": "object"}})
}

async fn with_tools(gateway: &Gateway) -> Result<()> {
    let tools = json!([
        described("mail.send", "Send a mail to somebody", "mail"),
        described("mail.read", "Read the newest mail", "mail"),
        described("sky.forecast", "Weather of tomorrow, 明天的天气", "weather"),
    ]);
    let answer = gateway.post_json("/admin/tools/batch", &json!({"tools": tools})).await?.json()?;
    ensure!(answer["ok"] == true, "{answer}");
    Ok(())
}

fn names(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().into_iter().flatten().filter_map(|hit| hit["tool_name"].as_str()).collect()
}

#[tokio::test]
async fn tools_are_found_over_rest_with_highlights_and_an_explanation() -> Result<()> {
    let gateway = gateway().start().await?;
    with_tools(&gateway).await?;
    let answer = gateway.get("/mcp/search?q=send+a+mail&limit=1").await?.json()?;
    ensure!(
        names(&answer) == ["mail.send"] && answer["count"] == 1 && answer["method"] == "bm25",
        "{answer}"
    );
    let hit = &answer["results"][0];
    ensure!(hit["match_reason"] == "bm25_keyword_similarity" && hit["callable"] == false, "{hit}");
    ensure!(hit["highlights"]["name"] == json!([[0, 4], [5, 9]]), "{hit}");
    ensure!(
        hit["explanation"][0]["field"].is_string() && hit["explanation"][0]["weight"].is_number(),
        "{hit}"
    );
    let score = hit["score"].as_f64().context("no score")?;
    ensure!(score > 0.0 && score <= 1.0, "R63: {hit}");
    let chinese = gateway.post_json("/mcp/search", &json!({"query": "天气"})).await?.json()?;
    ensure!(names(&chinese) == ["sky.forecast"], "{chinese}");
    let narrowed = gateway.get("/mcp/search?q=mail+weather&category=Weather&tag=weather").await?.json()?;
    ensure!(names(&narrowed) == ["sky.forecast"], "{narrowed}");
    let pattern =
        gateway.post_json("/mcp/search", &json!({"query": "^mail\\.", "method": "regex"})).await?.json()?;
    ensure!(
        names(&pattern).len() == 2 && pattern["results"][0]["match_reason"] == "regex_pattern_match",
        "{pattern}"
    );
    ensure!(pattern["results"][0]["highlights"]["name"] == json!([[0, 5]]), "{pattern}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_refused_in_the_shape_of_rest() -> Result<()> {
    let gateway = gateway().start().await?;
    let long = format!("/mcp/search?method=regex&q={}", "x".repeat(1001));
    for (path, told) in [
        ("/mcp/search", "empty"),
        ("/mcp/search?q=x&method=magic", "use \"bm25\", \"regex\" or \"hybrid\""),
        ("/mcp/search?q=x&limit=0", "1 to 100"),
        ("/mcp/search?q=x&limit=101", "1 to 100"),
        ("/mcp/search?q=x&limit=-1", "the limit is -1; ask for 1 to 100 tools"),
        ("/mcp/search?q=(&method=regex", "pattern"),
        ("/mcp/search?q=x&what=y", "unknown field `what`; known here: q"),
        (long.as_str(), "1001 characters"),
    ] {
        let answer = gateway.get(path).await?;
        let body = answer.json()?;
        ensure!(answer.status == 400 && body["ok"] == false, "{path}: {body}");
        let message = body["error"]["message"].as_str().unwrap_or_default();
        ensure!(message.contains(told) && body["error"]["code"] == "INVALID_REQUEST", "{path}: {body}");
    }
    Ok(())
}

#[tokio::test]
async fn hybrid_without_a_semantic_tier_says_so() -> Result<()> {
    let gateway = gateway().start().await?;
    with_tools(&gateway).await?;
    let answer = gateway.get("/mcp/search?q=send+mail&method=hybrid").await?.json()?;
    ensure!(names(&answer)[0] == "mail.send", "{answer}");
    ensure!(answer["notes"][0].as_str().is_some_and(|note| note.contains("no semantic search")), "{answer}");
    Ok(())
}

/// A table with two directions: whatever is about `zurp`, which no lexicon knows, or `sky`, and the rest.
fn write_table(folder: &std::path::Path) -> Result<()> {
    let letters =
        ["<unk>", "▁", "z", "u", "r", "p", "s", "k", "y", "zu", "rp", "zurp", "▁zurp", "sk", "sky", "▁sky"];
    let vocabulary: Value =
        letters.iter().enumerate().map(|(id, piece)| ((*piece).to_owned(), json!(id))).collect();
    let merges = ["z u", "r p", "zu rp", "▁ zurp", "s k", "sk y", "▁ sky"];
    let tokenizer = json!({
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges, "unk_token": "<unk>"}});
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
    let numbers = letters.iter().flat_map(|piece| {
        let about_weather = ["▁zurp", "▁sky", "sky", "zurp"].contains(piece);
        if about_weather { [50.0_f32, 0.0] } else { [0.0, 0.1] }
    });
    let header = format!(
        r#"{{"embedding.weight":{{"dtype":"F32","shape":[{},2],"data_offsets":[0,{}]}}}}"#,
        letters.len(),
        letters.len() * 8
    );
    let mut file = u64::try_from(header.len())?.to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(numbers.flat_map(f32::to_le_bytes));
    Ok(std::fs::write(folder.join("table.safetensors"), file)?)
}

#[tokio::test]
async fn a_table_finds_what_shares_no_word_and_a_broken_one_keeps_nothing_from_starting() -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_table(folder.path())?;
    let configuration = folder.path().join("toolrail.yaml");
    std::fs::write(
        &configuration,
        "search: {defaultMethod: hybrid, semantic: {table: table.safetensors, tokenizer: tokenizer.json, scripts: any}}\n",
    )?;
    let start = || gateway().arg("--config").arg(&configuration);
    let good = start().start().await?;
    with_tools(&good).await?;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let answer = good.get("/mcp/search?q=zurp").await?.json()?;
        if names(&answer) == ["sky.forecast"] && answer["notes"] == json!([]) {
            ensure!(answer["method"] == "hybrid", "{answer}");
            ensure!(answer["results"][0]["explanation"][0]["field"] == "meaning", "{answer}");
            break;
        }
        ensure!(tokio::time::Instant::now() < deadline, "{answer}");
        tokio::task::yield_now().await;
    }
    ensure!(good.get("/readyz").await?.json()?["search"] == json!({"semantic": "ok"}));
    drop(good);
    std::fs::write(folder.path().join("table.safetensors"), "no table")?;
    let broken = start().start().await?;
    with_tools(&broken).await?;
    let answer = broken.get("/mcp/search?q=mail").await?.json()?;
    ensure!(names(&answer).len() == 2, "{answer}");
    ensure!(answer["notes"][0].as_str().is_some_and(|note| note.contains("no safetensors file")), "{answer}");
    let ready = broken.get("/readyz").await?.json()?;
    let semantic = ready["search"]["semantic"].as_str().unwrap_or_default();
    ensure!(semantic.starts_with("degraded: ") && ready["status"] == "ready", "{ready}");
    Ok(())
}

#[tokio::test]
async fn tools_are_found_on_the_command_line_without_a_server() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let definition = described("mail.send", "Send a mail to somebody", "mail").to_string();
    std::fs::write(folder.path().join("mail.json"), definition)?;
    let run = async |arguments: &[&str]| run_in(folder.path(), arguments).await;
    let added = run(&["tools", "add", "mail.json", "--data", "data"]).await?;
    ensure!(added.code == Some(0), "{}", added.stderr);
    let found = run(&["search", "send", "mail", "--data", "data"]).await?;
    ensure!(found.stdout.contains("mail.send") && found.stdout.starts_with("SCORE"), "{}", found.stdout);
    ensure!(found.stdout.contains("(described only) Send"), "{}", found.stdout);
    let narrowed = run(&["search", "mail", "--category", "sky", "--data", "data"]).await?;
    ensure!(narrowed.stderr.contains("nothing fits"), "{}", narrowed.stderr);
    let group = run(&["search", "mail", "--group", "nope", "--data", "data"]).await?;
    ensure!(group.code != Some(0) && group.stderr.contains("no group \"nope\""), "{}", group.stderr);
    let explained = run(&["search", "send mail", "--explain", "--data", "data"]).await?;
    ensure!(explained.stdout.contains(" in name "), "{}", explained.stdout);
    let json = run(&["search", "mail", "--json", "--data", "data"]).await?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    ensure!(names(&json) == ["mail.send"], "{json}");
    let nothing = run(&["search", "zebra", "--data", "data"]).await?;
    ensure!(nothing.code == Some(0) && nothing.stderr.contains("nothing fits"), "{}", nothing.stderr);
    let stats = run(&["stats", "--data", "data"]).await?;
    ensure!(stats.stdout.contains("1 tool in 1 category"), "{}", stats.stdout);
    let context = run(&["stats", "context", "--json", "--data", "data"]).await?;
    let context: Value = serde_json::from_str(&context.stdout)?;
    ensure!(context["formats"].as_array().is_some_and(|formats| formats.len() == 4), "{context}");
    Ok(())
}

/// R75: the counts are in the store, so they are told without a gateway too; a tool that is only described has none.
#[tokio::test]
async fn use_is_told_without_a_server() -> Result<()> {
    let mut gateway = gateway().start().await?;
    let upstream = toolrail_testkit::Upstream::start().await?;
    register(&gateway, &get_tool("one", &upstream.url("/echo"))).await;
    with_tools(&gateway).await?;
    for _ in 0..3 {
        let called = gateway.post_json("/mcp/tools/call", &json!({"tool": "one"})).await?.json()?;
        ensure!(called["ok"] == true, "{called}");
        let refused = gateway.post_json("/mcp/tools/call", &json!({"tool": "mail.send"})).await?.json()?;
        ensure!(refused["ok"] == false, "{refused}");
    }
    let page = gateway.get("/metrics").await?.text();
    ensure!(page.contains("toolrail_tool_calls_total{kind=\"http\",outcome=\"ok\"} 3"), "{page}");
    gateway.stop().await?;
    let data = gateway.data().to_owned();
    let data = data.to_str().context("a path of characters")?;
    let told = run_in(gateway.data(), &["stats", "--json", "--data", data]).await?;
    let told: Value = serde_json::from_str(&told.stdout)?;
    let [most_used] = told["most_used"].as_array().map(Vec::as_slice).unwrap_or_default() else {
        anyhow::bail!("{told}");
    };
    ensure!(most_used["name"] == "one" && most_used["use_count"] == 3, "{told}");
    Ok(())
}

/// Where there are few tools, the discovery tools cost more than they save, and that is told.
#[tokio::test]
async fn a_loss_of_context_is_told_as_one() -> Result<()> {
    let gateway = gateway().discovery().start().await?;
    let upstream = toolrail_testkit::Upstream::start().await?;
    register(&gateway, &get_tool("one", &upstream.url("/echo"))).await;
    let context = &gateway.get("/admin/stats").await?.json()?["context"];
    let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
    let listed = listed["result"]["tools"].as_array().map(Vec::len);
    ensure!(
        context["tools"] == 1 && context["listed_in_full"].as_u64() == listed.map(|n| n as u64),
        "{context}"
    );
    ensure!(context["formats"][0]["saved_percent"].as_i64().is_some_and(|saved| saved < 0), "{context}");
    Ok(())
}
