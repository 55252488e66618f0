//! Bodies that are read line by line.

use super::*;

#[tokio::test]
async fn others_get_their_turn_while_lines_that_are_here_are_read() {
    const LINES: usize = 64 << 10;
    let upstream = Upstream::start(|_| Reply::whole("200 OK", "", "\n".repeat(LINES))).await;
    let turns = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counting.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let mut streamed = Arc::new(client()).open(get(&upstream.url("/"))).await.unwrap();
    let before = turns.load(Ordering::Relaxed);
    let mut lines = 0;
    while streamed.line(100).await.unwrap().is_some() {
        lines += 1;
    }
    other.abort();
    assert_eq!(lines, LINES);
    // One task may do 128 things in a row.
    let turns = turns.load(Ordering::Relaxed) - before;
    assert!(turns > LINES / 256, "{turns}");
}

#[tokio::test]
async fn a_stream_is_redirected_within_its_origin_only() {
    let other = Upstream::start(|_| Reply::whole("200 OK", "", "other")).await;
    let target = other.url("/");
    let upstream = Upstream::start(move |request| match request.path() {
        "/away" => Reply::redirect(307, &target),
        "/near" => Reply::redirect(307, "/here"),
        _ => Reply::whole("200 OK", "", "here"),
    })
    .await;
    let client = Arc::new(client());
    let near = client.open(post(&upstream.url("/near"), "body")).await.unwrap();
    assert_eq!(near.rest(100).await.unwrap().0, "here");
    assert_eq!(upstream.received()[1].body, "body");
    for request in [post(&upstream.url("/away"), "body"), get(&upstream.url("/away"))] {
        let refused = client.open(request).await.unwrap_err();
        assert_eq!(refused.error.code, ErrorCode::UpstreamInvalid);
        assert!(refused.error.message.contains("another origin"), "{refused}");
    }
    assert!(other.received().is_empty());
}
