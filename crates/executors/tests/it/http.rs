//! Kind `http`: every field has its effect on what the upstream receives (R93, R96–R99, R135), and no argument gets out of
//! its place.

use serde_json::{Value, json};
use toolrail_core::{ErrorCode, Payload};

use crate::echo::Echo;
use crate::tool::{header, http, runtime, tool, tool_with};

#[tokio::test]
async fn methods_are_sent_as_written_in_any_case() {
    let echo = Echo::start().await;
    for method in ["GET", "POST", "put", "Patch", "DELETE", "OPTIONS"] {
        let received = http(&json!({"method": method, "url": echo.url("/m")})).call(json!({})).await;
        assert_eq!(received["method"], method.to_uppercase());
    }
    assert_eq!(http(&json!({"url": echo.url("/m")})).call(json!({})).await["method"], "GET");
    let result = http(&json!({"method": "HEAD", "url": echo.url("/m")})).outcome(json!({})).await.unwrap();
    assert!(!result.is_error, "{result:?}");
}

#[tokio::test]
async fn url_templates_are_encoded_as_path_segments_and_query_values() {
    let echo = Echo::start().await;
    let cases = [
        ("/users/{{args.a}}", json!({"a": "x"}), "/users/x", None),
        ("/users/{{args.a}}", json!({"a": "a/b"}), "/users/a%2Fb", None),
        ("/users/{{args.a}}", json!({"a": "../admin?x#y"}), "/users/..%2Fadmin%3Fx%23y", None),
        ("/users/{{args.a}}", json!({"a": "%2e%2e"}), "/users/%252e%252e", None),
        ("/users/{{args.a}}", json!({"a": "你 好"}), "/users/%E4%BD%A0%20%E5%A5%BD", None),
        ("/users/{{args.a}}/{{args.b}}.json", json!({"a": 7, "b": true}), "/users/7/true.json", None),
        ("/v{{args.a|default(2)}}/x", json!({}), "/v2/x", None),
        ("/s/{{secrets.KEY}}", json!({}), "/s/***", None),
        ("/s?a=1&b={{args.a}}&c=3", json!({"a": "x&y=z"}), "/s", Some("a=1&b=x%26y%3Dz&c=3")),
        ("/s?a=1&b={{args.a}}&c=3", json!({}), "/s", Some("a=1&c=3")),
        ("/s?b={{args.a}}", json!({}), "/s", None),
        ("/s?b={{args.a}}", json!({"a": [1, 2]}), "/s", Some("b=1&b=2")),
        ("?a=b+c%20d", json!({}), "/", Some("a=b+c%20d")),
        ("/lit eral/城?x=ü", json!({}), "/lit%20eral/%E5%9F%8E", Some("x=%C3%BC")),
        ("", json!({}), "/", None),
    ];
    for (path, arguments, expected, query) in cases {
        let received = http(&json!({"url": echo.url(path)})).call(arguments).await;
        assert_eq!(received["path"], expected, "{path}");
        assert_eq!(received["query"].as_str(), query, "{path}");
    }
}

#[tokio::test]
async fn a_path_segment_can_be_neither_absent_nor_empty_nor_a_step_upwards() {
    let echo = Echo::start().await;
    let tool = http(&json!({"url": echo.url("/users/{{args.id}}/x")}));
    for (arguments, words) in [
        (json!({}), "the argument \"id\" is needed for the path /users/{{args.id}}/x"),
        (json!({"id": null}), "the argument \"id\" is needed"),
        (json!({"id": ""}), "the argument \"id\" is empty"),
        (json!({"id": "."}), "must not be"),
        (json!({"id": ".."}), "must not be"),
    ] {
        let error = tool.refused(arguments).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        assert!(error.message.contains(words), "{error}");
    }
    let half = http(&json!({"url": echo.url("/x/.{{args.id}}")}));
    assert_eq!(half.refused(json!({"id": "."})).await.code, ErrorCode::InvalidArguments);
    assert_eq!(half.call(json!({"id": "git"})).await["path"], "/x/.git");
    assert_eq!(echo.count(), 1, "a refused call sends nothing");
}

#[tokio::test]
async fn query_values_are_data() {
    let echo = Echo::start().await;
    let cases = [
        (json!({"q": "{{args.a}}"}), json!({"a": "x&admin=1#"}), Some("q=x%26admin%3D1%23")),
        (json!({"q": "{{args.a}}"}), json!({}), None),
        (json!({"q": "{{args.a}}"}), json!({"a": null}), None),
        (json!({"q": "{{args.a}}", "r": 1}), json!({}), Some("r=1")),
        (json!({"q": "in {{args.a}}"}), json!({"a": 5}), Some("q=in%205")),
        (json!({"q": "in {{args.a}}"}), json!({}), None),
        (json!({"tag": "{{args.a}}"}), json!({"a": ["a", "b c", null, 3]}), Some("tag=a&tag=b%20c&tag=3")),
        (json!({"tag": "{{args.a}}"}), json!({"a": []}), None),
        (json!({"tag": "{{args.a|join(',')}}"}), json!({"a": ["a", 1]}), Some("tag=a%2C1")),
        (json!({"tag": ["x", "{{args.a}}", 2]}), json!({"a": "y"}), Some("tag=x&tag=y&tag=2")),
        (json!({"f": "{{args.a}}"}), json!({"a": {"k": [1]}}), Some("f=%7B%22k%22%3A%5B1%5D%7D")),
        (json!({"q r&": "a+b,c"}), json!({}), Some("q%20r%26=a%2Bb,c")),
        (json!({"n": 1.5, "b": true}), json!({}), Some("n=1.5&b=true")),
        (
            json!({"d": "{{args.a.b[1].c|default('z')}}"}),
            json!({"a": {"b": [0, {"c": "deep"}]}}),
            Some("d=deep"),
        ),
        (json!({"d": "{{args.a.b[1].c|default('z')}}"}), json!({}), Some("d=z")),
    ];
    for (query, arguments, expected) in cases {
        let received = http(&json!({"url": echo.url("/q"), "query": query})).call(arguments).await;
        assert_eq!(received["query"].as_str(), expected, "{query}");
    }
    let both = http(&json!({"url": echo.url("/q?a=1"), "query": {"b": 2}})).call(json!({})).await;
    assert_eq!(both["query"], "a=1&b=2");
}

#[tokio::test]
async fn headers_and_cookies_are_sent_and_absent_ones_dropped() {
    let echo = Echo::start().await;
    let tool = http(&json!({
        "url": echo.url("/h"),
        "headers": {"X-Fixed": "f", "X-Arg": "v {{args.a}}", "X-List": ["a", "{{args.a}}"], "X-Many": "{{args.many}}", "X-N": 7},
        "cookies": {"session": "{{args.c}}", "fixed": "1", "other": "{{args.none}}"},
    }));
    let received = tool.call(json!({"a": "你", "c": "a; admin=1", "many": ["p", "q"]})).await;
    assert_eq!(header(&received, "x-fixed"), ["f"]);
    assert_eq!(header(&received, "x-arg"), ["v 你"]);
    assert_eq!(header(&received, "x-list"), ["a", "你"]);
    assert_eq!(header(&received, "x-many"), ["p", "q"]);
    assert_eq!(header(&received, "x-n"), ["7"]);
    assert_eq!(header(&received, "cookie"), ["session=a%3B%20admin=1; fixed=1"]);
    let received = tool.call(json!({})).await;
    assert_eq!(header(&received, "x-arg"), Vec::<String>::new());
    assert_eq!(header(&received, "x-list"), ["a"]);
    assert_eq!(header(&received, "cookie"), ["fixed=1"]);
}

#[tokio::test]
async fn a_header_cannot_bring_in_another_line() {
    let echo = Echo::start().await;
    let tool = http(&json!({"url": echo.url("/h"), "headers": {"X-A": "{{args.a}}"}}));
    for bad in ["x\r\nX-Evil: 1", "x\ny", "x\0"] {
        let error = tool.refused(json!({"a": bad})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        assert!(error.message.contains("\"a\""), "{error}");
    }
    assert_eq!(echo.count(), 0);
}

#[tokio::test]
async fn toolrail_names_itself_unless_the_definition_does() {
    let echo = Echo::start().await;
    let received = http(&json!({"url": echo.url("/h")})).call(json!({})).await;
    assert_eq!(header(&received, "user-agent"), [format!("toolrail/{}", env!("CARGO_PKG_VERSION"))]);
    assert_eq!(header(&received, "accept"), ["application/json, */*;q=0.8"]);
    assert_eq!(header(&received, "host"), [echo.address.to_string()]);
    let tool = http(&json!({
        "url": echo.url("/h"), "headers": {"User-Agent": "me", "accept": "{{args.a}}", "Host": "other.example"}
    }));
    let received = tool.call(json!({"a": "text/csv"})).await;
    assert_eq!(header(&received, "user-agent"), ["me"]);
    assert_eq!(header(&received, "accept"), ["text/csv"]);
    assert_eq!(header(&received, "host"), ["other.example"]);
    assert_eq!(header(&tool.call(json!({})).await, "accept"), ["application/json, */*;q=0.8"]);
}

#[tokio::test]
async fn json_bodies_keep_types_and_escape_values() {
    let echo = Echo::start().await;
    let quote = "\"},{\"admin\":true,\"x\":\"";
    let cases = [
        (
            json!({"a": "{{args.a}}", "b": ["{{args.b}}", "n{{args.b}}"]}),
            json!({"a": quote, "b": 1}),
            json!({"a": quote, "b": [1, "n1"]}),
        ),
        (json!({"a": "{{args.a}}", "k": 1}), json!({}), json!({"k": 1})),
        (json!({"a": "{{args.a}}"}), json!({"a": null}), json!({"a": null})),
        (json!("{{args}}"), json!({"x": [1, {"y": 2}]}), json!({"x": [1, {"y": 2}]})),
        (json!("{{args.a}}"), json!({"a": [1]}), json!([1])),
        (
            json!("{\"q\":\"{{args.a}}\",\"n\":{{args.b}}}"),
            json!({"a": quote, "b": 5}),
            json!({"q": quote, "n": 5}),
        ),
        (json!("{{args.a}}"), json!({"a": 9_007_199_254_740_993_u64}), json!(9_007_199_254_740_993_u64)),
        (json!({"fixed": [1, 2.5, null]}), json!({}), json!({"fixed": [1, 2.5, null]})),
        (json!("hello"), json!({}), json!("hello")),
    ];
    for (body, arguments, expected) in cases {
        let received =
            http(&json!({"method": "POST", "url": echo.url("/b"), "body": body})).call(arguments).await;
        let sent: Value = serde_json::from_str(received["body"].as_str().unwrap()).unwrap();
        assert_eq!(sent, expected, "{body}");
        assert_eq!(header(&received, "content-type"), ["application/json"]);
    }
    let received = http(&json!({"method": "POST", "url": echo.url("/b"), "body": "{{args.none}}"}))
        .call(json!({}))
        .await;
    assert_eq!(received["body"], "");
    assert_eq!(header(&received, "content-type"), Vec::<String>::new());
}

#[tokio::test]
async fn form_text_and_binary_bodies_are_sent_in_their_form() {
    let echo = Echo::start().await;
    let cases = [
        (
            "form",
            json!({"a": "{{args.a}}", "b": "x y", "c": "{{args.none}}", "d": ["1", "{{args.l}}"]}),
            "a=%26%3D%C3%BC&b=x%20y&d=1&d=p&d=q",
            "application/x-www-form-urlencoded",
        ),
        ("text", json!("say {{args.a}}!"), "say &=ü!", "text/plain; charset=utf-8"),
        ("binary", json!("{{args.bin}}"), "hi\n", "application/octet-stream"),
        ("json", json!({"a": "{{args.a}}"}), "{\"a\":\"&=ü\"}", "application/json"),
    ];
    for (kind, body, expected, mime) in cases {
        let tool = http(&json!({"method": "PUT", "url": echo.url("/b"), "bodyType": kind, "body": body}));
        let received = tool.call(json!({"a": "&=ü", "bin": "aGkK", "l": ["p", "q"]})).await;
        assert_eq!(received["body"], expected, "{kind}");
        assert_eq!(header(&received, "content-type"), [mime], "{kind}");
    }
    let own = http(&json!({
        "method": "POST", "url": echo.url("/b"), "bodyType": "text", "body": "<x/>", "headers": {"content-type": "application/xml"}
    }));
    assert_eq!(header(&own.call(json!({})).await, "content-type"), ["application/xml"]);
    let binary =
        http(&json!({"method": "POST", "url": echo.url("/b"), "bodyType": "binary", "body": "{{args.bin}}"}));
    for base64 in ["-_8=", "+/8", "+/\r\n8="] {
        assert_eq!(binary.call(json!({"bin": base64})).await["bytes"], json!([0xfb, 0xff]), "{base64}");
    }
    let error = binary.refused(json!({"bin": "no base64!"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.starts_with("/http/body: the argument \"bin\" is not base64"), "{error}");
}

fn multipart(echo: &Echo, body: &Value) -> crate::tool::Tool {
    http(&json!({"method": "POST", "url": echo.url("/up"), "bodyType": "multipart", "body": body}))
}

/// The parts of a received multipart body, head and content each.
fn parts(received: &Value) -> Vec<(String, String)> {
    let content_type = header(received, "content-type").remove(0);
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = received["body"].as_str().unwrap();
    let body = body.strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
    body.split(&format!("--{boundary}\r\n"))
        .skip(1)
        .map(|part| {
            let (head, content) = part.split_once("\r\n\r\n").unwrap();
            (head.to_owned(), content.strip_suffix("\r\n").unwrap().to_owned())
        })
        .collect()
}

#[tokio::test]
async fn multipart_bodies_carry_fields_and_files() {
    let echo = Echo::start().await;
    let tool = multipart(
        &echo,
        &json!({
            "title": "T {{args.t}}", "n": 3, "none": "{{args.none}}", "tags": "{{args.tags}}", "meta": "{{args.meta}}",
            "file": {"filename": "{{args.name}}", "contentType": "text/csv", "base64": "{{args.data}}"},
            "gone": {"base64": "{{args.none}}"},
            "plain": {"base64": "aGk="},
        }),
    );
    let received = tool.call(json!({"t": "x\r\n--", "tags": ["a", "b"], "meta": {"k": 1}, "name": "a\"b\r\n.csv", "data": "YSxi"})).await;
    let expected = [
        ("Content-Disposition: form-data; name=\"title\"", "T x\r\n--"),
        ("Content-Disposition: form-data; name=\"n\"", "3"),
        ("Content-Disposition: form-data; name=\"tags\"", "a"),
        ("Content-Disposition: form-data; name=\"tags\"", "b"),
        ("Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json", "{\"k\":1}"),
        (
            "Content-Disposition: form-data; name=\"file\"; filename=\"a%22b%0D%0A.csv\"\r\nContent-Type: text/csv",
            "a,b",
        ),
        (
            "Content-Disposition: form-data; name=\"plain\"; filename=\"plain\"\r\nContent-Type: application/octet-stream",
            "hi",
        ),
    ];
    let parts = parts(&received);
    let parts: Vec<_> = parts.iter().map(|(head, content)| (head.as_str(), content.as_str())).collect();
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn multipart_files_come_from_resources() {
    let echo = Echo::start().await;
    let host = echo.address.to_string();
    let tool = multipart(&echo, &json!({"f": {"resource": "{{args.f}}", "hosts": [host]}}));
    let link = echo.url("/file.bin");
    let png = "name=\"f\"; filename=\"file.bin\"";
    let cases = [
        (json!("data:text/plain;base64,aGk="), "filename=\"f\"\r\nContent-Type: text/plain", "hi"),
        (json!("data:,a%20b"), "Content-Type: text/plain", "a b"),
        (json!(link), png, "\u{fffd}PNG"),
        (
            json!({"type": "resource_link", "uri": link, "name": "n.png", "mimeType": "image/png"}),
            "filename=\"n.png\"\r\nContent-Type: image/png",
            "\u{fffd}PNG",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "file:///x/y.txt", "text": "body"}}),
            "filename=\"y.txt\"",
            "body",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "x", "blob": "aGk=", "mimeType": "a/b"}}),
            "Content-Type: a/b",
            "hi",
        ),
        (json!({"type": "image", "data": "aGk=", "mimeType": "image/gif"}), "Content-Type: image/gif", "hi"),
    ];
    for (value, head, content) in cases {
        let received = tool.call(json!({"f": value})).await;
        let parts = parts(&received);
        assert!(parts[0].0.contains(head), "{value}: {parts:?}");
        assert_eq!(parts[0].1, content, "{value}");
    }
    assert!(parts(&tool.call(json!({})).await).is_empty());
}

#[tokio::test]
async fn a_link_is_fetched_only_from_listed_hosts() {
    let echo = Echo::start().await;
    let tool = multipart(&echo, &json!({"f": {"resource": "{{args.f}}", "hosts": ["files.example.com"]}}));
    let cases = [
        (json!(echo.url("/file.bin")), "may not fetch from"),
        (json!({"type": "resource_link", "uri": "http://169.254.169.254/latest"}), "may not fetch from"),
        (json!("file:///etc/passwd"), "neither"),
        (json!("https://files.example.com@127.0.0.1/"), "may not fetch from"),
        (json!("https://u:p@files.example.com/"), "user name"),
        (json!({"type": "text"}), "is not a resource"),
        (json!("data:text/plain;base64,%%%"), "not base64"),
        (json!(7), "neither"),
    ];
    for (value, words) in cases {
        let error = tool.refused(json!({"f": value})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{value}");
        assert!(error.message.starts_with("/http/body/f/resource: the argument \"f\" "), "{error}");
        assert!(error.message.contains(words), "{value}: {error}");
    }
    assert_eq!(echo.count(), 0);
}

#[tokio::test]
async fn auth_goes_where_it_belongs() {
    let echo = Echo::start().await;
    let definition = |auth: Value| json!({"http": {"url": echo.url("/a"), "query": {"q": 1}, "cookies": {"c": "1"}}, "auth": auth});
    let bearer =
        tool(&definition(json!({"type": "bearer", "token": "{{secrets.USER}}"}))).call(json!({})).await;
    assert_eq!(header(&bearer, "authorization"), ["Bearer ***"], "the echoed secret is masked");
    let basic = tool(&definition(
        json!({"type": "basic", "username": "{{args.u}}", "password": "${secrets.PASSWORD}"}),
    ));
    assert_eq!(header(&basic.call(json!({"u": "ann"})).await, "authorization"), ["Basic ***"]);
    assert_eq!(header(&basic.call(json!({})).await, "authorization"), Vec::<String>::new());
    let query = tool(&definition(
        json!({"type": "apiKey", "in": "query", "name": "key", "value": "{{args.k}}-{{secrets.USER}}"}),
    ));
    assert_eq!(query.call(json!({"k": "abcdef"})).await["query"], "q=1&key=***");
    let cookie = tool(&definition(
        json!({"type": "apiKey", "in": "cookie", "name": "sid", "value": "{{secrets.PASSWORD}}"}),
    ));
    assert_eq!(header(&cookie.call(json!({})).await, "cookie"), ["c=1; sid=***"]);
    let key = tool(&definition(json!({"type": "apiKey", "value": "literal-key"})));
    assert_eq!(header(&key.call(json!({})).await, "x-api-key"), ["***"]);
    assert!(key.problems[0].message.contains("written out"));
    let none = tool(&definition(json!({"type": "none"}))).call(json!({})).await;
    assert_eq!(header(&none, "authorization"), Vec::<String>::new());
}

#[tokio::test]
async fn a_secret_really_arrives() {
    // The upstream's answer is masked, so this one only tells whether it received what it should.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 4096];
        let length = stream.read(&mut buffer).await.unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let tool = tool(&json!({
        "http": {"url": format!("http://{address}/{{{{secrets.KEY}}}}"), "headers": {"x": "${secrets.KEY}"}},
        "auth": {"type": "basic", "username": "ann", "password": "{{secrets.PASSWORD}}"}
    }));
    let (outcome, head) = tokio::join!(tool.outcome(json!({})), upstream);
    assert_eq!(outcome.unwrap().payload, Payload::Empty);
    assert!(head.starts_with("GET /hunter2%20%26%20co HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x: hunter2 & co\r\n"), "{head}");
    assert!(
        head.to_lowercase().contains("authorization: Basic YW5uOnA6dy1sb25n".to_lowercase().as_str()),
        "{head}"
    );
}

#[tokio::test]
async fn a_missing_secret_fails_the_call_and_says_how_to_set_it() {
    let echo = Echo::start().await;
    let tool = tool_with(
        &json!({"http": {"url": echo.url("/"), "headers": {"x": "{{secrets.NOPE}}"}}}),
        &runtime(&[]),
    );
    assert!(tool.problems[0].message.contains("TOOLRAIL_SECRET_NOPE"));
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::SecretMissing);
    assert!(error.message.contains("TOOLRAIL_SECRET_NOPE"), "{error}");
}

#[tokio::test]
async fn the_host_may_come_from_a_secret() {
    let echo = Echo::start().await;
    let address = echo.address.to_string();
    let base = format!("http://{address}/api/");
    let runtime =
        runtime(&[("BASE", &base), ("HOST", &address), ("BAD", "ftp://x"), ("USERINFO", "http://u:p@h")]);
    let call =
        async |url: &str| tool_with(&json!({"http": {"url": url}}), &runtime).outcome(json!({"id": 7})).await;
    let path = |outcome: toolrail_core::Outcome| match outcome.unwrap().payload {
        Payload::Json(json) => json.to_value()["path"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(path(call("{{secrets.BASE}}/users/{{args.id}}").await), "/api/users/7");
    assert_eq!(path(call("{{secrets.BASE}}").await), "/api/");
    assert_eq!(path(call("http://${secrets.HOST}/x").await), "/x");
    for bad in ["{{secrets.BAD}}/x", "{{secrets.USERINFO}}/x", "http://{{secrets.BASE}}/x"] {
        let error = call(bad).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidDefinition, "{bad}");
        assert!(error.message.contains("/http/url") && !error.message.contains("u:p"), "{error}");
    }
}

#[tokio::test]
async fn a_host_from_a_secret_stays_out_of_errors() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let runtime = runtime(&[("BASE", &format!("http://{address}/api"))]);
    let error = tool_with(&json!({"http": {"url": "{{secrets.BASE}}/x"}}), &runtime).refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::UpstreamUnreachable);
    assert!(!error.message.contains(&address), "{error}");
}

#[tokio::test]
async fn limits_have_their_effect_r99() {
    let echo = Echo::start().await;
    let hang = http(&json!({"url": echo.url("/hang"), "timeoutMs": 50, "connectTimeoutMs": 50}))
        .refused(json!({}))
        .await;
    assert_eq!(hang.code, ErrorCode::Timeout);
    let cut =
        http(&json!({"url": echo.url("/long"), "maxResponseBytes": 10})).outcome(json!({})).await.unwrap();
    assert!(!cut.notes.is_empty(), "{cut:?}");
    let followed = http(&json!({"url": echo.url("/redirect")})).call(json!({})).await;
    assert_eq!(followed["path"], "/landed");
    let kept = http(&json!({"url": echo.url("/redirect"), "redirects": 0})).call(json!({})).await;
    assert_eq!(kept["status"], 302);
}

#[tokio::test]
async fn the_split_form_means_the_same_r110() {
    let echo = Echo::start().await;
    let tool = tool(&json!({
        "transport": "http",
        "http_spec": {"method": "POST", "url": echo.url("/s"), "queryTpl": {"q": "{{args.q}}"}, "bodyTpl": "{\"b\":{{args.b}}}", "timeoutMs": 900},
        "auth_spec": {"type": "apiKey", "config": {"in": "header", "name": "X-K", "value": "{{args.k}}"}},
        "response_mapping": {"type": "passthrough"},
    }));
    let received = tool.call(json!({"q": "x", "b": [1], "k": "kkkk"})).await;
    assert_eq!((&received["query"], &received["body"]), (&json!("q=x"), &json!("{\"b\":[1]}")));
    assert_eq!(header(&received, "x-k"), ["***"]);
}

#[tokio::test]
async fn connections_are_reused() {
    let echo = Echo::start().await;
    let tool = http(&json!({"url": echo.url("/x")}));
    for _ in 0..5 {
        tool.call(json!({})).await;
    }
    assert_eq!(echo.connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_body_made_with_a_secret_stays_at_its_origin_in_whatever_form_it_is_sent() {
    let (echo, other) = (Echo::start().await, Echo::start().await);
    let away = echo.url(&format!("/away?{}", other.url("/landed")));
    let runtime = runtime(&[("KEY", "hunter2"), ("B64", "aHVudGVyMg==")]);
    for (body_type, body) in [
        ("binary", json!("{{secrets.B64}}")),
        ("multipart", json!({"file": {"base64": "{{secrets.B64}}", "filename": "f"}})),
        ("multipart", json!({"part": "{{[secrets.KEY|upper, 'x']}}"})),
        ("json", json!({"list": "{{[secrets.KEY|b64encode]}}", "n": "{{secrets.KEY|length}}"})),
        ("form", json!({"a": "{{secrets.KEY|length}}"})),
        ("text", json!("{{secrets.KEY|first}}")),
    ] {
        let tool = tool_with(
            &json!({"http": {"method": "POST", "url": away, "bodyType": body_type, "body": body}}),
            &runtime,
        );
        let error = tool.refused(json!({})).await;
        assert!(
            error.message.contains("not followed because the body holds a secret"),
            "{body_type}: {error}"
        );
    }
    assert_eq!(other.count(), 0);
    let plain = json!({"http": {"method": "POST", "url": away, "bodyType": "text", "body": "{{args.a}}"}});
    assert_eq!(tool_with(&plain, &runtime).call(json!({"a": "x"})).await["body"], "x");
}

#[tokio::test]
async fn a_secret_too_short_to_be_masked_is_not_sent() {
    let echo = Echo::start().await;
    let runtime = runtime(&[("PIN", "q7X9z")]);
    let tool = tool_with(&json!({"http": {"url": echo.url("/?pin={{secrets.PIN}}")}}), &runtime);
    assert!(tool.problems.iter().any(|problem| problem.message.contains("fewer than 6 characters")));
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::SecretMissing);
    assert!(
        error.message.starts_with("/http/url: the secret \"PIN\" has fewer than 6 characters"),
        "{error}"
    );
    assert_eq!(echo.count(), 0);
}
