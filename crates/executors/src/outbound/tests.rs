//! The client against upstreams on loopback, the ill-mannered ones above all.

mod streamed;
mod tls;
mod upstream;

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;

use super::*;
use upstream::{Reply, Then, Upstream};

const SECRET: &str = "s3cret/value";

fn client() -> Client {
    Client::new(ClientLimits::default())
}

fn get(url: &str) -> Outgoing {
    Outgoing {
        method: Method::GET,
        uri: url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        secret_body: false,
        limits: SendLimits {
            connect: Duration::from_secs(5),
            total: Duration::from_secs(10),
            max_response_bytes: 1 << 20,
            redirects: 5,
        },
        sensitive: Sensitive::default(),
        bound: Bound::default(),
    }
}

fn post(url: &str, body: &str) -> Outgoing {
    Outgoing { method: Method::POST, body: Bytes::from(body.to_owned()), ..get(url) }
}

fn with_header(mut request: Outgoing, name: &'static str, value: &str) -> Outgoing {
    request.headers.append(name, value.parse().unwrap());
    request
}

fn with_secret(request: Outgoing) -> Outgoing {
    Outgoing { sensitive: Sensitive::of([SECRET]), ..request }
}

#[tokio::test]
async fn a_request_goes_out_as_it_was_given() {
    let upstream = Upstream::start(|_| Reply::whole("200 OK", "x-a: b\r\n", "hello")).await;
    let request = with_header(post(&upstream.url("/p/a?q=1"), "body"), "x-one", "1");
    let answer = client().send(request).await.unwrap();
    assert_eq!((answer.status, &*answer.body, answer.cut), (StatusCode::OK, &b"hello"[..], None));
    assert_eq!(answer.headers["x-a"], "b");
    assert_eq!(answer.place(), upstream.url("/p/a"));
    let received = &upstream.received()[0];
    assert_eq!(received.body, "body");
    let mut lines: Vec<_> = received.head.trim_end().lines().collect();
    lines.sort_unstable();
    let host = format!("host: {}", upstream.address);
    assert_eq!(lines, ["content-length: 4", &host, "post /p/a?q=1 http/1.1", "x-one: 1"]);
}

#[tokio::test]
async fn connections_are_reused() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let answers = [Reply::whole("200 OK", "", "x"), Reply::raw(chunked, Then::Keep)];
    for answer in answers {
        let upstream = Upstream::start(move |_| Reply::raw(answer.bytes.clone(), Then::Keep)).await;
        let client = client();
        for _ in 0..3 {
            client.send(get(&upstream.url("/"))).await.unwrap();
        }
        assert!(upstream.received().iter().all(|request| request.connection == 0));
    }
}

#[tokio::test]
async fn a_body_in_pieces_is_joined() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    let upstream = Upstream::start(move |_| Reply::raw(chunked, Then::Keep)).await;
    assert_eq!(client().send(get(&upstream.url("/"))).await.unwrap().body, "abcdefg");
    let large = "0123456789".repeat(50_000);
    let expected = large.clone();
    let upstream = Upstream::start(move |_| Reply::whole("200 OK", "", &large)).await;
    assert_eq!(client().send(get(&upstream.url("/"))).await.unwrap().body, expected);
}

#[tokio::test]
async fn a_body_is_cut_at_the_cap_and_not_before() {
    for (length, cap, cut) in [
        (10, 10, None),
        (11, 10, Some(Cut { cap: 10, total: Some(11) })),
        (500_000, 499_999, Some(Cut { cap: 499_999, total: Some(500_000) })),
        (500_000, 500_000, None),
    ] {
        let upstream = Upstream::start(move |_| Reply::whole("200 OK", "", "x".repeat(length))).await;
        let mut request = get(&upstream.url("/"));
        request.limits.max_response_bytes = cap;
        let answer = client().send(request).await.unwrap();
        assert_eq!((answer.body.len(), answer.cut), (length.min(cap), cut));
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let upstream =
        Upstream::start(move |_| Reply::raw(format!("{head}{}", "y".repeat(1000)), Then::Repeat)).await;
    let mut request = get(&upstream.url("/"));
    request.limits.max_response_bytes = 100_000;
    let answer = client().send(request).await.unwrap();
    assert_eq!((answer.body.len(), answer.cut), (100_000, Some(Cut { cap: 100_000, total: None })));
}

#[tokio::test]
async fn a_slow_upstream_is_reported_with_its_address_and_the_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf";
    for said in ["", head] {
        let upstream = Upstream::start(move |_| Reply::raw(said, Then::Hang)).await;
        let mut request = get(&upstream.url("/slow?key=1"));
        request.limits.total = Duration::from_millis(50);
        let failure = client().send(request).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::Timeout);
        assert_eq!(
            failure.error.message,
            format!(
                "http://{} did not answer completely within 50 ms; raise timeoutMs if it needs longer",
                upstream.address
            )
        );
        assert!(failure.connected);
    }
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_is_reported_apart() {
    // The handshake of TLS waits for an answer that never comes.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let mut request = get(&format!("https://{address}/"));
    for (total, within) in [(10_000, 50), (50, 45)] {
        request.limits.connect = Duration::from_millis(50);
        request.limits.total = Duration::from_millis(total);
        let failure = client().send(request.clone()).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::Timeout);
        assert!(!failure.connected);
        let words = format!("no connection to https://{address} within {within} ms; ");
        assert!(failure.error.message.starts_with(&words), "{failure}");
    }
}

#[tokio::test]
async fn each_request_has_its_own_connect_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let client = client();
    let send = |limit| {
        let mut request = get(&url);
        request.limits.connect = Duration::from_millis(limit);
        client.send(request)
    };
    let (short, long) = tokio::join!(send(20), send(40));
    assert!(short.unwrap_err().error.message.contains("within 20 ms"));
    assert!(long.unwrap_err().error.message.contains("within 40 ms"));
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_named_with_the_reason() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    // Too long for any name server to be asked.
    let nowhere = format!("{}.invalid", "x".repeat(64));
    for (url, words) in [
        (
            format!("http://user:pw@{free}/x?key=1"),
            format!("could not connect to http://{free}: the connection was refused"),
        ),
        (
            format!("http://{nowhere}/"),
            format!("could not connect to http://{nowhere}:80: the name {nowhere} was not found"),
        ),
    ] {
        let failure = client().send(get(&url)).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::UpstreamUnreachable);
        assert!(failure.error.message.contains(&words), "{failure}");
        assert!(!failure.error.message.contains("key") && !failure.error.message.contains("pw"), "{failure}");
        assert!(!failure.connected);
    }
}

#[tokio::test]
async fn an_upstream_that_breaks_off_is_reported_as_such() {
    for (said, code, words) in [
        ("", ErrorCode::UpstreamUnreachable, "broke the connection before it answered"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
            ErrorCode::UpstreamUnreachable,
            "in the middle of its answer, after 4 of 10 bytes",
        ),
        ("SSH-2.0-OpenSSH_9\r\n\r\n", ErrorCode::UpstreamInvalid, "not HTTP/1.1"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
            ErrorCode::UpstreamInvalid,
            "not HTTP/1.1",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
            ErrorCode::UpstreamUnreachable,
            "in the middle of its answer",
        ),
    ] {
        let upstream = Upstream::start(move |_| Reply::raw(said, Then::Close)).await;
        let failure = client().send(post(&upstream.url("/"), "x")).await.unwrap_err();
        assert_eq!(failure.error.code, code, "{failure}");
        assert!(failure.error.message.contains(words), "{failure}");
        assert!(failure.connected);
        assert_eq!(upstream.received().len(), 1, "a POST that may have arrived is never repeated");
    }
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let line = "x-filler: ".to_owned() + &"f".repeat(1000) + "\r\n";
    let upstream =
        Upstream::start(move |_| Reply::raw(format!("HTTP/1.1 200 OK\r\n{}", line.repeat(90)), Then::Repeat))
            .await;
    let failure = client().send(get(&upstream.url("/"))).await.unwrap_err();
    assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid, "{failure}");
}

/// Answers the first request of each connection and closes when the second arrives.
async fn forgetful_upstream() -> Upstream {
    let last = AtomicUsize::new(usize::MAX);
    Upstream::start(move |request| {
        if last.swap(request.connection, Ordering::SeqCst) == request.connection {
            Reply::raw("", Then::Close)
        } else {
            Reply::whole("200 OK", "", "x")
        }
    })
    .await
}

#[tokio::test]
async fn a_get_on_a_connection_that_just_closed_is_sent_again() {
    let upstream = forgetful_upstream().await;
    let client = client();
    for _ in 0..3 {
        assert_eq!(client.send(get(&upstream.url("/"))).await.unwrap().body, "x");
    }
    let connections: Vec<_> = upstream.received().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 1, 1, 2]);
}

#[tokio::test]
async fn a_post_on_a_connection_that_just_closed_is_not_sent_again() {
    let upstream = forgetful_upstream().await;
    let client = client();
    client.send(get(&upstream.url("/"))).await.unwrap();
    let failure = client.send(post(&upstream.url("/"), "x")).await.unwrap_err();
    assert_eq!((failure.error.code, failure.connected), (ErrorCode::UpstreamUnreachable, true));
    assert_eq!(upstream.received().len(), 2);
}

#[tokio::test]
async fn redirects_change_the_method_as_the_status_says() {
    for (status, method, sent) in [
        (301, Method::POST, "get /to http/1.1 + "),
        (302, Method::PUT, "get /to http/1.1 + "),
        (303, Method::POST, "get /to http/1.1 + "),
        (303, Method::HEAD, "head /to http/1.1 + "),
        (307, Method::POST, "post /to http/1.1 + body"),
        (308, Method::PATCH, "patch /to http/1.1 + body"),
    ] {
        let upstream = Upstream::start(move |request| match request.path() {
            "/from" => Reply::redirect(status, "to#fragment"),
            _ => Reply::raw("HTTP/1.1 204 No Content\r\n\r\n", Then::Keep),
        })
        .await;
        let body = if method == Method::HEAD { "" } else { "body" };
        let request = Outgoing { method, ..post(&upstream.url("/from"), body) };
        let request =
            with_header(with_header(request, "content-type", "text/plain"), "authorization", "kept");
        let answer = client().send(request).await.unwrap();
        assert_eq!(answer.place(), upstream.url("/to"));
        let last = upstream.received().pop().unwrap();
        let line = last.head.lines().next().unwrap();
        assert_eq!(format!("{line} + {}", last.body), sent);
        assert_eq!(last.head.contains("content-type"), last.body == "body");
        assert!(last.head.contains("authorization: kept"), "the origin is the same");
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_takes_no_credentials_along() {
    let other = Upstream::start(|_| Reply::whole("200 OK", "", "x")).await;
    let target = other.url("/landed");
    let upstream = Upstream::start(move |_| Reply::redirect(307, &target)).await;
    let mut request = with_secret(post(&upstream.url("/"), "harmless"));
    for (name, value) in [
        ("authorization", "Bearer abc"),
        ("cookie", "session=1"),
        ("host", "first.example"),
        ("x-api-key", SECRET),
        ("x-plain", "stays"),
    ] {
        request = with_header(request, name, value);
    }
    assert_eq!(client().send(request).await.unwrap().body, "x");
    let received = &other.received()[0];
    assert_eq!(received.body, "harmless");
    let mut lines: Vec<_> = received.head.trim_end().lines().skip(1).collect();
    lines.sort_unstable();
    let host = format!("host: {}", other.address);
    assert_eq!(lines, ["content-length: 8", host.as_str(), "x-plain: stays"]);
}

/// B1: the binding is looked at before each hop; one that has no secret left may go anywhere.
#[tokio::test]
async fn a_bound_secret_is_not_sent_elsewhere() {
    let other = Upstream::start(|_| Reply::whole("200 OK", "", "x")).await;
    let target = other.url("/landed");
    let upstream = Upstream::start(move |_| Reply::redirect(302, &target)).await;
    let only = |host: String| {
        let hosts = vec![host.parse().unwrap()];
        Bound::new([("KEY".to_owned(), toolrail_core::Binding { hosts, programs: false })].into_iter())
    };
    let elsewhere = Outgoing { bound: only("api.shop.example".to_owned()), ..get(&upstream.url("/")) };
    let failure = client().send(elsewhere).await.unwrap_err();
    assert_eq!((failure.error.code, failure.connected), (ErrorCode::Forbidden, false));
    assert!(failure.error.message.contains("\"KEY\" must not go to"), "{failure}");
    assert!(upstream.received().is_empty());
    let bound = only(upstream.address.to_string());
    let request =
        with_header(with_secret(Outgoing { bound, ..get(&upstream.url("/")) }), "x-api-key", SECRET);
    assert_eq!(client().send(request).await.unwrap().body, "x");
    assert!(!other.received()[0].head.contains("x-api-key"));
}

/// Else whoever answers could have the credentials of the machine fetched, which clouds give out there.
#[tokio::test]
async fn no_redirect_leads_to_a_link_local_address() {
    for host in [
        "169.254.169.254",
        "169.254.169.254:8080",
        "0xA9FEA9FE",
        "2852039166",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
    ] {
        let target = format!("http://{host}/latest/meta-data/");
        let upstream = Upstream::start(move |_| Reply::redirect(302, &target)).await;
        let failure = client().send(get(&upstream.url("/"))).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid, "{host}: {failure}");
        assert!(failure.error.message.contains("link-local and not followed"), "{host}: {failure}");
    }
}

#[tokio::test]
async fn a_body_with_a_secret_is_not_redirected_to_another_origin() {
    let other = Upstream::start(|_| Reply::whole("200 OK", "", "x")).await;
    let target = other.url("/");
    let upstream = Upstream::start(move |_| Reply::redirect(308, &target)).await;
    let request = with_secret(post(&upstream.url("/"), &format!("key={SECRET}")));
    let failure = client().send(request).await.unwrap_err();
    assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid);
    assert!(failure.error.message.contains("the body holds a secret"), "{failure}");
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn a_secret_in_the_address_is_not_carried_to_another_origin() {
    let other = Upstream::start(|_| Reply::whole("200 OK", "", "x")).await;
    let target = other.url("/?key=s3cret%2Fvalue");
    let upstream = Upstream::start(move |_| Reply::redirect(302, &target)).await;
    let failure = client().send(with_secret(get(&upstream.url("/")))).await.unwrap_err();
    assert!(failure.error.message.contains("that address holds a secret"), "{failure}");
    assert!(!failure.error.message.contains("s3cret") && other.received().is_empty(), "{failure}");
}

#[tokio::test]
async fn redirects_end_at_the_limit() {
    let upstream = Upstream::start(|_| Reply::redirect(302, "/again")).await;
    let mut request = get(&upstream.url("/"));
    request.limits.redirects = 3;
    let failure = client().send(request.clone()).await.unwrap_err();
    assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid);
    assert!(failure.error.message.contains("after 3 redirects, which is the limit"), "{failure}");
    assert_eq!(upstream.received().len(), 4);
    request.limits.redirects = 0;
    let answer = client().send(request).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (302, "/again"));
}

#[tokio::test]
async fn a_redirect_that_leads_nowhere_is_refused() {
    for (location, words) in [
        ("ftp://127.0.0.1/x", "which is neither http nor https"),
        ("file:///etc/passwd", "which is neither http nor https"),
        ("http://", "which is not a URL"),
        ("/x?key=s3cret%2Fvalue#http://[", ""),
    ] {
        let upstream = Upstream::start(move |_| Reply::redirect(302, location)).await;
        let failure = client().send(with_secret(get(&upstream.url("/")))).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::UpstreamInvalid);
        assert!(failure.error.message.contains(words), "{failure}");
        assert!(!failure.error.message.contains("s3cret"), "{failure}");
    }
    let bare = Upstream::start(|_| Reply::whole("302 Found", "", "no location")).await;
    assert_eq!(client().send(get(&bare.url("/"))).await.unwrap().body, "no location");
}

#[tokio::test]
async fn an_echoed_secret_is_masked_everywhere() {
    let upstream = Upstream::start(|request| {
        let echo = format!(
            "{{\"auth\":\"{SECRET}\",\"escaped\":\"s3cret\\/value\",\"path\":\"{}\"}}",
            request.path()
        );
        Reply::whole("200 OK", &format!("x-echo: {SECRET}\r\n"), echo)
    })
    .await;
    let answer = client().send(with_secret(get(&upstream.url("/s3cret%2Fvalue/x")))).await.unwrap();
    assert_eq!(answer.body, "{\"auth\":\"***\",\"escaped\":\"***\",\"path\":\"/***/x\"}");
    assert_eq!(answer.headers["x-echo"], "***");
    assert_eq!(answer.place(), upstream.url("/***/x"));
}

#[tokio::test]
async fn a_secret_echoed_in_utf_16_is_masked_and_the_answer_is_utf_8() {
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let escaped = SECRET.replace('/', "\\/");
    for (kind, text, shown) in [
        ("text/plain; charset=utf-16le", format!("<{SECRET}> 你好"), "<***> 你好"),
        ("text/plain", format!("\u{feff}<{SECRET}>"), "<***>"),
        ("application/json; charset=utf-16", format!("[\"{escaped}\"]"), "[\"***\"]"),
    ] {
        let body = little(&text);
        let head = format!("content-type: {kind}\r\n");
        let upstream = Upstream::start(move |_| Reply::whole("200 OK", &head, &body)).await;
        let answer = client().send(with_secret(get(&upstream.url("/")))).await.unwrap();
        assert_eq!(answer.body, shown, "{kind}");
        assert!(answer.headers["content-type"].to_str().unwrap().ends_with("; charset=utf-8"), "{kind}");
    }
    // Declared wrongly.
    let upstream =
        Upstream::start(|_| Reply::whole("200 OK", "content-type: text/plain; charset=utf-16\r\n", SECRET));
    let answer = client().send(with_secret(get(&upstream.await.url("/")))).await.unwrap();
    let units: Vec<u8> =
        String::from_utf8_lossy(&answer.body).encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(!units.starts_with(&SECRET.as_bytes()[..4]), "{answer:?}");
}

#[tokio::test]
async fn a_secret_at_the_cap_does_not_leak_its_beginning() {
    let upstream = Upstream::start(|_| Reply::whole("200 OK", "", format!("say {SECRET} twice"))).await;
    let mut request = with_secret(get(&upstream.url("/")));
    request.limits.max_response_bytes = 10;
    assert_eq!(client().send(request).await.unwrap().body, "say ");
}

#[tokio::test]
async fn only_absolute_http_addresses_are_sent_to() {
    for url in ["/relative", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/"] {
        let failure = client().send(get(url)).await.unwrap_err();
        assert_eq!(failure.error.code, ErrorCode::InvalidArguments);
        assert!(failure.error.message.contains("absolute http or https URL"), "{failure}");
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (closed, mut told) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::wrapped(
        |_| Reply::raw("", Then::Keep),
        move |mut stream| {
            let closed = closed.clone();
            async move {
                let mut request = [0; 1024];
                while tokio::io::AsyncReadExt::read(&mut stream, &mut request)
                    .await
                    .is_ok_and(|count| count > 0)
                {}
                let _ = closed.send(());
                None::<tokio::net::TcpStream>
            }
        },
    )
    .await;
    let client = client();
    let mut request = get(&upstream.url("/"));
    request.limits.total = Duration::from_millis(50);
    client.send(request).await.unwrap_err();
    tokio::time::timeout(Duration::from_secs(5), told.recv()).await.unwrap().unwrap();
}
