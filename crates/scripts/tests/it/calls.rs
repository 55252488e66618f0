//! What scripts can do.

use serde_json::json;
use toolrail_scripts::{Failure, Limits};

use crate::support::{Heard, adopt, call, pool, run, run_with};

#[tokio::test]
async fn a_script_answers_what_it_is_asked() {
    assert_eq!(run("return {hello: request.params.arguments.who}").await, Ok(json!({"hello": "Ann"})));
    assert_eq!(run("").await, Ok(json!(null)));
    assert_eq!(run("return await new Promise((done) => setTimeout(() => done(7), 5))").await, Ok(json!(7)));
}

#[tokio::test]
async fn an_error_says_where_in_the_typescript() {
    let source = "interface Gone { a: string }\ntype Also = Gone;\nfunction deep(): never {\n  throw new RangeError('too deep');\n}\nexport default async function () {\n  deep();\n}\n";
    let failed = call(&adopt(&pool(), source), &Heard::default(), Limits::default()).await.unwrap_err();
    let Failure::Thrown { message, stack } = failed else { panic!("{failed:?}") };
    assert_eq!(message, "RangeError: too deep");
    assert!(stack.starts_with("    at deep (tool.ts:4:"), "{stack}");
    assert!(stack.contains("(tool.ts:7:"), "{stack}");
}

#[tokio::test]
async fn fetch_goes_through_the_gateway() {
    let heard = Heard::default();
    let body = "const answer = await fetch('https://example.com/a?b', {method: 'POST', headers: {'X-One': '1'}, body: JSON.stringify({a: 1})});\nreturn {status: answer.status, ok: answer.ok, type: answer.headers.get('Content-Type'), it: await answer.json()}";
    let made = run_with(body, &heard, Limits::default()).await.unwrap();
    assert_eq!(made["status"], 200);
    assert_eq!(made["type"], "application/json");
    assert_eq!(made["it"]["body"], r#"{"a":1}"#);
    assert!(made["it"]["sent"].to_string().contains(r#"["x-one","1"]"#), "{made}");
    assert_eq!(*heard.asked.lock().unwrap(), [r#"POST https://example.com/a?b {"a":1}"#]);
    let refused = run("try { await fetch('https://refused') } catch (error) { return [error instanceof TypeError, error.message] }").await;
    assert_eq!(refused, Ok(json!([true, "refused"])));
}

#[tokio::test]
async fn tools_secrets_and_messages_go_through_the_gateway() {
    let heard = Heard::default();
    let body = "console.log('hi', {a: [1, 'x']}); context.progress(1, 2, 'half'); context.log('info', {b: 1});\nconst made = await callToolHandler({params: {name: 'other', arguments: {x: 1}}}, 'tool_1');\nlet refused; try { await secrets.get('NO') } catch (error) { refused = error.message }\nreturn [made.content[0].text, await secrets.get('KEY'), refused]";
    let made = run_with(body, &heard, Limits::default()).await.unwrap();
    assert_eq!(made, json!(["other ran", "hush", "no secret NO"]));
    assert_eq!(heard.asked.lock().unwrap()[0], r#"other {"x":1} Some("tool_1")"#);
    let said = heard.said.lock().unwrap().clone();
    assert_eq!(
        said,
        ["info: hi {a: [1, \"x\"]}", "progress 1 Some(2.0) Some(\"half\")", "log info {\"b\":1}"]
    );
}

#[tokio::test]
async fn what_the_web_has_is_there() {
    let cases = [
        (
            "return [...new URLSearchParams({a: '1 2', b: 'ü'})].length + new URLSearchParams('a=1&a=2').getAll('a').join()",
            json!("21,2"),
        ),
        (
            "const url = new URL('../x?y=1#z', 'https://u:p@h.example:8080/a/b/c'); url.searchParams.append('n', 'ü'); return url.href",
            json!("https://u:p@h.example:8080/a/x?y=1&n=%C3%BC#z"),
        ),
        ("return new TextDecoder().decode(new TextEncoder().encode('grün 你好 😀'))", json!("grün 你好 😀")),
        (
            "const decoder = new TextDecoder(); const bytes = new TextEncoder().encode('é😀'); return decoder.decode(bytes.slice(0, 1), {stream: true}) + decoder.decode(bytes.slice(1, 4), {stream: true}) + decoder.decode(bytes.slice(4))",
            json!("é😀"),
        ),
        ("return [btoa('hello'), atob('aGVsbG8=')]", json!(["aGVsbG8=", "hello"])),
        (
            "const a: any = {n: new Date(0), m: new Map([[1, new Set([2])]])}; a.self = a; const b = structuredClone(a); return [b !== a, b.self === b, b.n.getTime(), [...b.m.get(1)]]",
            json!([true, true, 0, [2]]),
        ),
        (
            "const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'))); return Array.from(hash.slice(0, 4))",
            json!([186, 120, 22, 191]),
        ),
        (
            "const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('key'), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign', 'verify']); const data = new TextEncoder().encode('The quick brown fox jumps over the lazy dog'); const made = await crypto.subtle.sign('HMAC', key, data); return [new Uint8Array(made)[0], await crypto.subtle.verify('HMAC', key, made, data)]",
            json!([247, true]),
        ),
        (
            "return [crypto.randomUUID().length, crypto.getRandomValues(new Uint8Array(4)).length, typeof performance.now()]",
            json!([36, 4, "number"]),
        ),
        (
            "const c = new AbortController(); const seen: any[] = []; c.signal.addEventListener('abort', () => seen.push(c.signal.reason.name)); c.abort(); c.abort(); return seen",
            json!(["AbortError"]),
        ),
        (
            "try { await fetch('https://never', {signal: AbortSignal.timeout(5)}) } catch (error) { return error.name }",
            json!("TimeoutError"),
        ),
        (
            "let n = 0; const id = setInterval(() => { n += 1; if (n === 3) clearInterval(id) }, 1); await new Promise((done) => setTimeout(done, 50)); return n",
            json!(3),
        ),
        ("try { eval('1') } catch (error) { return error.name }", json!("ReferenceError")),
        (
            "const f = async () => {}; const names: any[] = []; for (const make of [Function, f.constructor]) { try { make('return 1')() } catch (error) { names.push(error.name) } } return names",
            json!(["EvalError", "EvalError"]),
        ),
        (
            "return [typeof process, typeof require, typeof Deno, typeof globalThis.std, typeof globalThis.os]",
            json!(["undefined", "undefined", "undefined", "undefined", "undefined"]),
        ),
        (
            "const response = Response.json({a: 1}, {status: 201}); return [response.status, (await response.clone().json()).a, response.headers.get('content-type')]",
            json!([201, 1, "application/json"]),
        ),
        (
            "class Mine extends Error { constructor() { super('x'); this.name = 'Mine'; this.toString = () => 'own' } } return `${new Mine()}`",
            json!("own"),
        ),
    ];
    let pool = pool();
    for (body, expected) in cases {
        let source = format!(
            "declare const process: any, require: any, Deno: any;\nexport default async function (request: any, context: any) {{\n{body}\n}}"
        );
        let made = call(&adopt(&pool, &source), &Heard::default(), Limits::default()).await;
        assert_eq!(made, Ok(expected), "{body}");
    }
}

#[tokio::test]
async fn nothing_leaks_from_one_call_into_the_next_but_what_the_module_keeps() {
    let source = "let calls = 0;\nexport default async function () {\n  calls += 1;\n  const failed: string[] = [];\n  for (const attempt of [() => { (Array.prototype as any).leak = 1 }, () => { (globalThis as any).leak = 1 }, () => { (Object.prototype as any).leak = 1 }, () => { JSON.parse = (() => 'mine') as any }, () => { (Promise.prototype as any).then = null }, () => { (fetch as any).leak = 1 }]) {\n    try { attempt() } catch (error) { failed.push((error as Error).name) }\n  }\n  setTimeout(() => { calls += 100 }, 1);\n  void fetch('https://never').then(() => { calls += 1000 });\n  return [calls, failed.length];\n}\n";
    let pool = pool();
    let adopted = adopt(&pool, source);
    for expected in 1..=5 {
        assert_eq!(call(&adopted, &Heard::default(), Limits::default()).await, Ok(json!([expected, 6])));
    }
    let other = adopt(&pool, "export default async () => typeof (globalThis as any).leak");
    assert_eq!(call(&other, &Heard::default(), Limits::default()).await, Ok(json!("undefined")));
}

#[tokio::test]
async fn many_calls_at_once() {
    let pool = pool();
    let adopted = adopt(
        &pool,
        "export default async (request: any) => { await new Promise((done) => setTimeout(done, 20)); return (await fetch('https://x')).status }",
    );
    let heard = Heard::default();
    let calls = (0..100).map(|_| call(&adopted, &heard, Limits::default()));
    for made in futures_util::future::join_all(calls).await {
        assert_eq!(made, Ok(json!(200)));
    }
    assert!(pool.workers() <= 4, "one program has half of the workers at most");
}
