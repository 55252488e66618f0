//! The discovery tools as agents use them: finding, looking at, registering and removing tools (R59–R73).

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Stdio, WebSocket};

use crate::support::{BINARY, gateway, get_tool, register, run_in, send, standard};

/// Names that only a tool that is described may have.
const NAMES: [&str; 4] = ["天气 查询/v2", "Ant Design__get docs", "search#2 & 50%", "..é?"];

/// What makes a request one of standard MCP.
const STANDARD: (&str, &str) = ("mcp-protocol-version", "2025-11-25");

async fn started() -> Result<Gateway> {
    gateway().discovery().start().await
}

/// What a tool answers over Streamable HTTP.
async fn tool(gateway: &Gateway, name: &str, arguments: Value) -> Result<Value> {
    let reply = standard(gateway, "tools/call", json!({"name": name, "arguments": arguments})).await?;
    Ok(reply["result"].clone())
}

/// The JSON in the text of an answer (R59), which must be the only block and the structured content too.
fn answer(result: &Value) -> Value {
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

/// The text of a failure.
fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

async fn describe(gateway: &Gateway, name: &str, description: &str) -> Result<Value> {
    tool(gateway, "register_tool", json!({"name": name, "description": description})).await
}

/// R59, R65, R67, R68: whatever it is called elsewhere.
#[tokio::test]
async fn a_described_tool_of_any_name_is_found_shown_and_removed() -> Result<()> {
    let gateway = started().await?;
    for name in NAMES {
        let arguments = json!({
            "name": name, "description": "查询城市天气预报 weather forecast", "category": "Weather", "tags": ["b", "a"],
            "mcp_server": "sky", "input_schema": {"type": "dict", "properties": {"city": {"type": "float"}}},
        });
        let registered = answer(&tool(&gateway, "register_tool", arguments.clone()).await?);
        assert_eq!(registered["success"], true, "{registered}");
        assert_eq!(registered["message"], format!("工具已注册: {name}"));
        assert_eq!(
            registered["tool"],
            json!({"name": name, "description": arguments["description"], "category": "Weather", "tags": ["b", "a"]})
        );
        let found = tool(&gateway, "search_tools", json!({"query": "weather forecast"})).await?;
        let hits = answer(&found);
        assert_eq!(found["structuredContent"], json!({"result": hits}), "legacy clients take objects only");
        assert_eq!((&hits[0]["tool_name"], &hits[0]["callable"]), (&json!(name), &json!(false)), "{hits}");
        assert_eq!(hits[0]["match_reason"], "bm25_keyword_similarity");
        assert!((0.0..=1.0).contains(&hits[0]["score"].as_f64().unwrap()), "{hits}");
        let shown = answer(&tool(&gateway, "get_tool_definition", json!({"tool_name": name})).await?);
        assert_eq!(shown["name"], name);
        assert_eq!((&shown["mcp_server"], &shown["defer_loading"]), (&json!("sky"), &json!(true)));
        assert_eq!((&shown["use_frequency"], &shown["callable"]), (&json!(0), &json!(false)));
        assert_eq!((&shown["input_schema"], shown.get("last_used")), (&arguments["input_schema"], None));
        let listed = answer(&tool(&gateway, "list_tools_by_category", json!({"category": "WEATHER"})).await?);
        assert_eq!((&listed["category"], &listed["count"]), (&json!("Weather"), &json!(1)), "{listed}");
        assert_eq!(listed["tools"][0]["tags"], json!(["b", "a"]));
        assert_eq!(listed["tools"][0]["callable"], false);
        let called = tool(&gateway, "call_tool", json!({"name": name})).await?;
        assert!(failure(&called).contains("only described here"), "{called}");
        for _ in 0..2 {
            let gone = answer(&tool(&gateway, "unregister_tool", json!({"tool_name": name})).await?);
            let message = format!("工具 '{name}' 已成功注销");
            assert_eq!((&gone["success"], &gone["tool_name"]), (&json!(true), &json!(name)), "{gone}");
            assert_eq!(gone["message"], message);
            assert!(gone["note"].as_str().unwrap().contains("is removed"), "{gone}");
            answer(&describe(&gateway, name, "again").await?);
        }
        answer(&tool(&gateway, "unregister_tool", json!({"tool_name": name})).await?);
        assert_eq!(answer(&tool(&gateway, "search_tools", json!({"query": "weather"})).await?), json!([]));
    }
    Ok(())
}

#[tokio::test]
async fn names_of_described_tools_survive_files_and_paths() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut gateway = gateway().discovery().data(folder.path().join("data")).start().await?;
    for name in NAMES {
        answer(&describe(&gateway, name, "d").await?);
    }
    let shown = gateway.get("/admin/tools/%E5%A4%A9%E6%B0%94%20%E6%9F%A5%E8%AF%A2%2Fv2").await?;
    assert_eq!((shown.status, &shown.json()?["name"]), (200, &json!(NAMES[0])));
    gateway.stop().await?;
    let exported = run_in(folder.path(), &["export", "--to", "files", "--data", "data"]).await?;
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let imported = run_in(folder.path(), &["import", "files", "--data", "other"]).await?;
    assert_eq!(imported.code, Some(0), "{}{}", imported.stdout, imported.stderr);
    let stored = run_in(folder.path(), &["export", "--format", "json", "--data", "other"]).await?;
    let stored: Value = serde_json::from_str(&stored.stdout)?;
    let mut names: Vec<&str> =
        stored["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    names.sort_unstable();
    let mut expected = NAMES;
    expected.sort_unstable();
    assert_eq!(names, expected);
    let remove = ["tools", "remove", NAMES[3], "--purge", "--data", "other"];
    let removed = run_in(folder.path(), &remove).await?;
    assert_eq!(removed.code, Some(0), "{}{}", removed.stdout, removed.stderr);
    Ok(())
}

/// R69, C8: neither a tool that is there, in any case, nor one that is built in.
#[tokio::test]
async fn a_name_that_exists_is_not_registered_again() -> Result<()> {
    let gateway = started().await?;
    answer(&describe(&gateway, "one", "first").await?);
    for name in ["one", "ONE", "search_tools"] {
        let refused = describe(&gateway, name, "second").await?;
        assert!(failure(&refused).ends_with(&format!("\n工具已存在: {name}")), "{refused}");
        assert_eq!(refused["_meta"]["toolrail/code"], "CONFLICT");
    }
    let shown = answer(&tool(&gateway, "get_tool_definition", json!({"tool_name": "one"})).await?);
    assert_eq!(shown["description"], "first");
    Ok(())
}

/// English clients read English first; the documents' own words come first where that is wanted (R66).
#[tokio::test]
async fn the_language_that_is_set_comes_first() -> Result<()> {
    for (language, first) in [("en", "there is no tool \"nope\""), ("zh", "工具不存在: nope")] {
        let gateway = gateway().discovery().arg("--language").arg(language).start().await?;
        answer(&describe(&gateway, "weather.now", "The weather").await?);
        let refused = tool(&gateway, "get_tool_definition", json!({"tool_name": "nope"})).await?;
        let told = failure(&refused);
        assert!(told.starts_with(first) && told.contains("工具不存在: nope"), "{told}");
        for (name, arguments, line) in [
            ("search_tools", json!({"query": "(", "search_method": "regex"}), "无效的正则表达式"),
            ("search_tools", json!({"query": "x", "foo": 1}), "未知参数: foo"),
            ("search_tools", json!({"query": 1}), "参数类型错误: query"),
            ("register_tool", json!({"nam": "x"}), "未知参数: nam"),
        ] {
            let refused = tool(&gateway, name, arguments).await?;
            let told = failure(&refused);
            assert!(told.lines().any(|told| told == line), "{told}");
            assert_eq!(told.starts_with(line), language == "zh", "{told}");
        }
    }
    Ok(())
}

/// What finds tools costs a model a thousand tokens, for nothing where there is none to find.
#[tokio::test]
async fn nothing_to_find_means_no_tool_to_find_it_with() -> Result<()> {
    let gateway = started().await?;
    let names = async || -> Result<Vec<String>> {
        let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        Ok(tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect())
    };
    assert_eq!(names().await?, ["register_tool"]);
    answer(&describe(&gateway, "weather.now", "The weather").await?);
    assert!(names().await?.contains(&"search_tools".to_owned()));
    Ok(())
}

/// R60, R66, and the limits on texts and numbers: in the words of RegistryTools, and what to do about it.
#[tokio::test]
async fn faults_are_told_in_the_documents_words() -> Result<()> {
    let gateway = started().await?;
    answer(&describe(&gateway, "weather.now", "The weather").await?);
    let long = "x".repeat(32_001);
    for (name, arguments, told, hint) in [
        (
            "get_tool_definition",
            json!({"tool_name": "weather.noww"}),
            "工具不存在: weather.noww",
            "weather.now",
        ),
        ("unregister_tool", json!({"tool_name": "nope"}), "工具不存在: nope", "search_tools"),
        ("get_tool_definition", json!({}), "工具名称不能为空", "tool_name"),
        ("search_tools", json!({"query": "a", "search_method": "foo"}), "无效的搜索方法: foo", "\"hybrid\""),
        ("search_tools", json!({"query": long}), "查询长度超过限制 (32000 字符)", "32000"),
        (
            "search_tools",
            json!({"query": long[..1001], "search_method": "regex"}),
            "查询长度超过限制 (1000 字符)",
            "1000",
        ),
        ("search_tools", json!({"query": "a", "limit": 0}), "返回数量必须大于 0", "at least 1"),
        ("search_tools", json!({"query": "a", "limit": "101"}), "返回数量超过限制 (100)", "at most 100"),
        ("search_tools", json!({"query": "a", "limits": 5}), "unknown argument \"limits\"", "\"limit\""),
        ("register_tool", json!({"name": "a"}), "工具描述不能为空", "description"),
        ("register_tool", json!({"name": "a", "description": "d", "tags": 5}), "\"tags\"", "list of strings"),
        ("register_tool", json!({"name": "a\u{7}", "description": "d"}), "was not registered", "control"),
        (
            "register_tool",
            json!({"name": "a\u{200b}b", "description": "d"}),
            "was not registered",
            "invisible",
        ),
        (
            "register_tool",
            json!({"name": "a", "description": "d", "tags": (0..101).map(|tag| tag.to_string()).collect::<Vec<_>>()}),
            "was not registered",
            "/tags: has 101 tags",
        ),
        (
            "register_tool",
            json!({"definition": {"name": "a", "type": "metadata", "description": "x".repeat(20_001)}}),
            "工具描述长度超过限制",
            "20000",
        ),
        (
            "register_tool",
            json!({"definition": {"name": "a b", "http": {"url": "http://x"}}}),
            "was not",
            "/definition/name",
        ),
    ] {
        let result = tool(&gateway, name, arguments.clone()).await?;
        let text = failure(&result);
        assert!(text.contains(told) && text.contains(hint), "{name} {arguments}: {text}");
    }
    let none = answer(&tool(&gateway, "list_tools_by_category", json!({"category": "x"})).await?);
    assert_eq!((&none["count"], &none["categories"]), (&json!(0), &json!([])), "{none}");
    Ok(())
}

/// What is no tool of its own name could come to stand before what an operator offers.
#[tokio::test]
async fn an_agent_registers_neither_servers_nor_resources_nor_prompts() -> Result<()> {
    let gateway = started().await?;
    let operators = json!({"name": "op.book", "resource": {"uri": "docs://handbook", "text": "OPERATOR"}});
    register(&gateway, &operators).await;
    for definition in [
        json!({"name": "zzz", "type": "mcp", "mcp": {"url": "http://127.0.0.1:1/mcp", "prefix": "issues_"}}),
        json!({"name": "zzz", "transport": "mcp", "mcp": {"url": "http://127.0.0.1:1/mcp"}}),
        json!({"name": "zzz", "resource": {"uri": "docs://handbook", "text": "AGENT"}}),
        json!({"name": "zzz", "type": "prompt", "prompt": {"messages": [{"role": "user", "text": "AGENT"}]}}),
    ] {
        let refused = tool(&gateway, "register_tool", json!({"definition": definition})).await?;
        let text = failure(&refused);
        for told in ["\"http\", \"feign\" or \"metadata\"", "an operator can register", "只能注册"] {
            assert!(text.contains(told), "{definition}: {text}");
        }
        assert_eq!(refused["_meta"]["toolrail/code"], "FORBIDDEN");
        assert_eq!(gateway.get("/admin/tools/zzz").await?.status, 404);
    }
    let read = gateway.mcp("resources/read", json!({"uri": "docs://handbook"})).await?.text();
    assert!(read.contains("OPERATOR"), "{read}");
    Ok(())
}

/// Else an agent could remove an operator's tool, take its name, and be sent what others send to it.
#[tokio::test]
async fn an_agent_removes_only_what_agents_registered() -> Result<()> {
    let gateway = started().await?;
    let described = json!({"name": "listed", "type": "metadata", "description": "d", "metadata": {}});
    for definition in [get_tool("pay", "http://127.0.0.1:1/operator"), described] {
        register(&gateway, &definition).await;
        let name = &definition["name"];
        let refused = tool(&gateway, "unregister_tool", json!({"tool_name": name})).await?;
        let text = failure(&refused);
        assert!(
            text.contains("an operator can remove it") && text.contains("不能注销管理员的工具"),
            "{text}"
        );
        assert_eq!(refused["_meta"]["toolrail/code"], "FORBIDDEN");
        let again = json!({"definition": get_tool(name.as_str().unwrap(), "http://127.0.0.1:1/agent")});
        assert!(failure(&tool(&gateway, "register_tool", again).await?).contains("工具已存在"));
    }
    let own = json!({"definition": get_tool("own", "http://127.0.0.1:1/agent")});
    answer(&tool(&gateway, "register_tool", own).await?);
    answer(&tool(&gateway, "unregister_tool", json!({"tool_name": "own"})).await?);
    // Whoever registers it anew without the mark vouches for it, and so it is his.
    answer(&describe(&gateway, "taken", "d").await?);
    register(&gateway, &get_tool("taken", "http://127.0.0.1:1/operator")).await;
    let refused = tool(&gateway, "unregister_tool", json!({"tool_name": "taken"})).await?;
    assert!(failure(&refused).contains("an operator can remove it"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_long_description_is_cut_where_tools_are_found_and_whole_where_one_is_asked_for() -> Result<()> {
    let gateway = started().await?;
    let long = format!("Weather {}", "名".repeat(1000));
    answer(&describe(&gateway, "sky", &long).await?);
    let cut = format!("{}…", long.chars().take(500).collect::<String>());
    let found = answer(&tool(&gateway, "search_tools", json!({"query": "weather"})).await?);
    assert_eq!(found[0]["description"], cut);
    let rest = gateway.get("/mcp/search?q=weather").await?.json()?;
    assert_eq!(rest["results"][0]["description"], cut);
    let shown = answer(&tool(&gateway, "get_tool_definition", json!({"tool_name": "sky"})).await?);
    assert_eq!(shown["description"], long);
    Ok(())
}

/// Whoever could see it is told why it cannot be used; nobody else hears of it.
#[tokio::test]
async fn a_tool_that_is_switched_off_is_said_to_be() -> Result<()> {
    let gateway = started().await?;
    let acme = ("toolrail-tenant", "acme");
    let own =
        json!({"name": "own", "type": "metadata", "description": "d", "metadata": {}, "enabled": false});
    let registered = send(&gateway, "POST /admin/tools", &[acme], &own).await?;
    assert_eq!(registered.status, 200, "{}", registered.text());
    for (name, arguments) in
        [("get_tool_definition", json!({"tool_name": "own"})), ("call_tool", json!({"name": "own"}))]
    {
        let params = json!({"name": name, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let told = async |tenant: &str| -> Result<String> {
            let headers = [("toolrail-tenant", tenant), STANDARD];
            let reply = send(&gateway, "POST /mcp", &headers, &body).await?.json()?;
            Ok(failure(&reply["result"]).to_owned())
        };
        assert!(told("acme").await?.contains("the tool \"own\" is switched off"), "{}", told("acme").await?);
        assert!(told("other").await?.contains("there is no tool \"own\""), "{}", told("other").await?);
    }
    Ok(())
}

/// R70, R71 and one tool, each as JSON.
#[tokio::test]
async fn the_registry_can_be_read_as_resources() -> Result<()> {
    let gateway = started().await?;
    let arguments = json!({"name": "a b", "description": "d", "category": "Sky"});
    answer(&tool(&gateway, "register_tool", arguments).await?);
    let read = async |uri: &str| -> Result<Value> {
        let body = gateway.mcp("resources/read", json!({"uri": uri})).await?.json()?;
        let content = &body["result"]["contents"][0];
        assert_eq!(content["mimeType"], "application/json", "{body}");
        Ok(serde_json::from_str(content["text"].as_str().unwrap())?)
    };
    let stats = read("registry://stats").await?;
    assert_eq!((&stats["total_tools"], &stats["total_categories"]), (&json!(1), &json!(1)), "{stats}");
    assert_eq!((&stats["categories"], &stats["most_used"]), (&json!(["Sky"]), &json!([])));
    assert!(stats["context"].is_object(), "{stats}");
    assert_eq!(read("registry://categories").await?, json!({"count": 1, "categories": ["Sky"]}));
    assert_eq!(read("registry://tools/a%20b").await?["category"], "Sky");
    let missing = gateway.mcp("resources/read", json!({"uri": "registry://tools/none"})).await?.json()?;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    let listed = gateway.mcp("resources/list", json!({})).await?.json()?;
    assert_eq!(listed["result"]["resources"][1]["uri"], "registry://stats", "{listed}");
    let listed = gateway.mcp("resources/templates/list", json!({})).await?.json()?;
    assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], "registry://tools/{name}");
    Ok(())
}

#[tokio::test]
async fn a_tenant_registers_for_itself_and_cannot_hide_what_is_shared() -> Result<()> {
    let gateway = started().await?;
    answer(&describe(&gateway, "shared", "for all").await?);
    let call = async |tenant: &str, name: &str, arguments: Value| -> Result<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        let reply = send(&gateway, "POST /mcp", &[("toolrail-tenant", tenant), STANDARD], &body).await?;
        Ok(reply.json()?["result"].clone())
    };
    answer(&call("acme", "register_tool", json!({"name": "own", "description": "of acme"})).await?);
    let refused = call("acme", "register_tool", json!({"name": "shared", "description": "x"})).await?;
    assert!(failure(&refused).contains("\n工具已存在: shared"));
    let refused = call("acme", "unregister_tool", json!({"tool_name": "shared"})).await?;
    assert!(failure(&refused).contains("only the shared one"), "{refused}");
    assert!(
        failure(&call("other", "unregister_tool", json!({"tool_name": "own"})).await?).contains("工具不存在")
    );
    assert_eq!(answer(&call("other", "search_tools", json!({"query": "acme"})).await?), json!([]));
    assert_eq!(answer(&call("acme", "search_tools", json!({"query": "acme"})).await?)[0]["tool_name"], "own");
    let audit = gateway.get("/admin/audit").await?.text();
    assert!(audit.contains("\"mcp\"") && audit.contains("\"127.0.0.1\""), "{audit}");
    Ok(())
}

/// A page of another port may call tools, but not change definitions: not by any way.
#[tokio::test]
async fn pages_from_elsewhere_register_and_remove_nothing() -> Result<()> {
    let gateway = started().await?;
    answer(&describe(&gateway, "ledger", "d").await?);
    let page = ("origin", "http://localhost:3000");
    let change = json!({"name": "register_tool", "arguments": {"name": "two", "description": "d"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": change});
    let reply = send(&gateway, "POST /mcp", &[page, STANDARD], &body).await?.json()?;
    assert!(failure(&reply["result"]).contains("--allow-origin"), "{reply}");
    let inner = json!({"name": "call_tool", "arguments": {"name": "unregister_tool", "arguments": {"tool_name": "ledger"}}});
    let rest = send(&gateway, "POST /mcp/tools/call", &[page], &inner).await?;
    assert_eq!(rest.status, 403, "{}", rest.text());
    let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    let mut socket = WebSocket::connect(&url, &[page]).await?;
    let refused = socket.call("tools/call", change).await?;
    let told = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("--allow-origin"), "{refused}");
    let found =
        socket.call("tools/call", json!({"name": "search_tools", "arguments": {"query": "ledger"}})).await?;
    assert_eq!(answer(&found["result"])[0]["tool_name"], "ledger");
    Ok(())
}

/// Over HTTP+SSE whoever opened the stream may change something, but not a page that sends a message to it.
#[tokio::test]
async fn each_message_over_http_and_sse_is_judged_by_itself() -> Result<()> {
    let gateway = started().await?;
    let mut stream = RawConnection::open(gateway.url()).await?;
    stream.send(format!("GET /sse HTTP/1.1\r\nhost: {}\r\n\r\n", stream.host()).as_bytes()).await?;
    stream.until(b"data: ").await?;
    let path = String::from_utf8(stream.until(b"\n").await?)?.trim().to_owned();
    let params = json!({"name": "register_tool", "arguments": {"name": "two", "description": "d"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let page = ("origin", "http://localhost:3000");
    for (headers, told) in [(&[page][..], "--allow-origin"), (&[], "工具已注册: two")] {
        assert_eq!(send(&gateway, &format!("POST {path}"), headers, &body).await?.status, 202);
        stream.until(b"data: ").await?;
        let text = String::from_utf8(stream.until(b"\n").await?)?;
        assert!(text.contains(told), "{text}");
    }
    Ok(())
}

/// Finding and calling is left; nothing is changed by any way.
#[tokio::test]
async fn read_only_discovery_neither_registers_nor_removes() -> Result<()> {
    let gateway = gateway().arg("--discovery=read-only").args(["--listing", "search"]).start().await?;
    register(&gateway, &get_tool("ledger", "http://127.0.0.1:1/")).await;
    let listed = gateway.mcp("tools/list", json!({})).await?.text();
    assert!(listed.contains("\"search_tools\"") && listed.contains("\"call_tool\""), "{listed}");
    assert!(!listed.contains("register_tool"), "{listed}");
    let found = answer(&tool(&gateway, "search_tools", json!({"query": "ledger"})).await?);
    assert_eq!(found[0]["tool_name"], "ledger");
    for (name, arguments) in [
        ("register_tool", json!({"name": "two", "description": "d"})),
        ("unregister_tool", json!({"tool_name": "ledger"})),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        let refused = gateway.mcp("tools/call", params.clone()).await?.json()?;
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
        let through = tool(&gateway, "call_tool", params.clone()).await?;
        assert!(failure(&through).contains("there is no tool"), "{through}");
        assert_eq!(gateway.post_json("/mcp/tools/call", &params).await?.status, 404);
        let through = json!({"name": "call_tool", "arguments": params});
        assert_eq!(gateway.post_json("/mcp/tools/call", &through).await?.status, 404);
    }
    Ok(())
}

/// R72: what is registered comes back whole.
#[tokio::test]
async fn all_that_is_known_of_a_tool_is_taken_and_given() -> Result<()> {
    let gateway = started().await?;
    let arguments = json!({
        "name": "sky.now", "description": "Weather now.", "mcp_server": "sky", "defer_loading": false, "category": "sky",
        "tags": ["a", "b", "a"], "use_frequency": 7, "last_used": "2025-01-02T03:04:05Z",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
        "output_schema": {"type": "object", "properties": {"sky": {"type": "string"}}},
    });
    answer(&tool(&gateway, "register_tool", arguments.clone()).await?);
    let shown = answer(&tool(&gateway, "get_tool_definition", json!({"tool_name": "sky.now"})).await?);
    for field in [
        "name",
        "description",
        "mcp_server",
        "defer_loading",
        "category",
        "use_frequency",
        "input_schema",
        "output_schema",
    ] {
        assert_eq!(shown[field], arguments[field], "{shown}");
    }
    assert_eq!(shown["tags"], json!(["a", "b"]));
    assert!(shown["last_used"].as_str().unwrap().starts_with("2025-01-02T03:04:05"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn the_configured_method_is_the_one_where_none_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(&config, "search: {defaultMethod: hybrid}\ngroups: {all: {patterns: ['*']}}\n")?;
    let gateway = gateway().discovery().arg("--config").arg(&config).start().await?;
    answer(&describe(&gateway, "ledger", "d").await?);
    let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let search = tools.iter().find(|tool| tool["name"] == "search_tools").unwrap();
    assert_eq!(search["inputSchema"]["properties"]["search_method"]["default"], "hybrid");
    let found = tool(&gateway, "search_tools", json!({"query": "ledger"})).await?;
    assert_eq!(answer(&found)[0]["match_reason"], "hybrid_similarity", "{found}");
    assert!(found.to_string().contains("no semantic search is configured"), "{found}");
    Ok(())
}

/// Agents paste whole tasks; what is wanted stands at their beginning or end.
#[tokio::test]
async fn a_long_query_is_read_at_both_ends() -> Result<()> {
    let gateway = started().await?;
    for name in ["ledger", "invoice"] {
        answer(&describe(&gateway, name, "d").await?);
    }
    let query = format!("find the ledger {} then send the invoice", "lorem ipsum ".repeat(1_500));
    let found = tool(&gateway, "search_tools", json!({"query": query})).await?;
    assert_eq!(answer(&found).as_array().unwrap().len(), 2, "{found}");
    assert!(found.to_string().contains("the first 2000 and the last 1000 were read"), "{found}");
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_with_a_schema_is_told_when_a_tool_is_described() -> Result<()> {
    let gateway = started().await?;
    let schema = json!({"type": "object", "properties": {"a": {"type": "nonsense"}}});
    let arguments = json!({"name": "odd", "description": "d", "input_schema": schema});
    let registered = answer(&tool(&gateway, "register_tool", arguments).await?);
    assert_eq!((&registered["success"], &registered["callable"]), (&json!(true), &json!(false)));
    assert_eq!(registered["warnings"][0]["pointer"], "/inputSchema/properties/a/type", "{registered}");
    assert!(registered["note"].as_str().unwrap().contains("cannot be called here"), "{registered}");
    let plain = answer(&describe(&gateway, "plain", "d").await?);
    assert_eq!(plain.get("warnings"), None, "{plain}");
    Ok(())
}

#[tokio::test]
async fn a_definition_that_hides_a_built_in_tool_is_warned_of() -> Result<()> {
    let gateway = started().await?;
    let definition = get_tool("Search_Tools", "http://127.0.0.1:1/");
    let reply = gateway.post_json("/admin/tools", &definition).await?;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("hides the built-in discovery tool"), "{}", reply.text());
    Ok(())
}

#[tokio::test]
async fn discovery_works_on_standard_streams() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let arguments = ["stdio", "--data", data.to_str().unwrap(), "--discovery=on"];
    let mut stdio = Stdio::spawn(BINARY, arguments)?;
    let register = json!({"name": "register_tool", "arguments": {"name": "天气", "description": "查询天气"}});
    answer(&stdio.call("tools/call", register).await?["result"]);
    let search = json!({"name": "search_tools", "arguments": {"query": "天气", "limit": "3"}});
    let found = stdio.call("tools/call", search).await?;
    assert_eq!(answer(&found["result"])[0]["tool_name"], "天气", "{found}");
    assert!(stdio.finish().await?.success());
    Ok(())
}

#[tokio::test]
async fn without_discovery_there_is_none_of_it() -> Result<()> {
    let gateway = gateway().start().await?;
    let called =
        gateway.mcp("tools/call", json!({"name": "search_tools", "arguments": {"query": "a"}})).await?;
    assert_eq!(called.json()?["error"]["code"], -32601);
    let rest = gateway.post_json("/mcp/tools/call", &json!({"tool": "search_tools"})).await?;
    assert_eq!(rest.status, 404, "{}", rest.text());
    let listed = gateway.mcp("resources/list", json!({})).await?.json()?;
    assert_eq!(listed["result"]["resources"], json!([]));
    Ok(())
}
