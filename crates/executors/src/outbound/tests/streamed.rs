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
