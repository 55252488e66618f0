//! Vectors from a server: what is asked, what is kept, and what happens while the server fails.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use toolrail_core::{Embedder, Reach, Secrets};
use toolrail_executors::embeddings::{Embeddings, EmbeddingsSettings};
use toolrail_executors::outbound::{Client, ClientLimits};
use toolrail_executors::{Runtime, Scripts};

/// How the server behaves.
#[derive(Clone, Debug, PartialEq)]
enum Manner {
    Good,
    Status(u16),
    Hanging,
    Dimensions(usize),
    Says(&'static str),
    /// Refuses every request with this text in it.
    Without(&'static str),
}

/// The keys and bodies that came.
type Requests = Arc<Mutex<Vec<(Option<String>, Value)>>>;

struct Server {
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    requests: Requests,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let manner = Arc::new(Mutex::new(Manner::Good));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&manner), Arc::clone(&requests)));
        Self { address, manner, requests, _tasks: tasks }
    }

    fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    /// How many texts each request had so far.
    fn sizes(&self) -> Vec<usize> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(_, body)| body["input"].as_array().unwrap().len()).collect()
    }

    fn embeddings(&self, change: impl FnOnce(&mut EmbeddingsSettings)) -> Embeddings {
        let mut settings = EmbeddingsSettings {
            url: format!("http://{}/v1", self.address),
            model: "letters".into(),
            api_key: None,
            dimensions: None,
            batch: 4,
            timeout: Duration::from_secs(20),
            query_timeout: Duration::from_secs(20),
            reach: Reach::AnyScript,
            folder: None,
        };
        change(&mut settings);
        Embeddings::new(settings, &runtime()).unwrap()
    }
}

fn runtime() -> Runtime {
    let environment = [("TOOLRAIL_SECRET_KEY".to_owned(), "hunter2-hunter2".to_owned())];
    Runtime {
        client: Arc::new(Client::new(ClientLimits::default())),
        secrets: Arc::new(Secrets::from_environment(environment, &[])),
        variables: Arc::default(),
        services: Arc::default(),
        scripts: Arc::new(Scripts::of_this_binary()),
        grants: None,
    }
}

async fn serve(listener: TcpListener, manner: Arc<Mutex<Manner>>, requests: Requests) {
    let mut tasks = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (manner, requests) = (Arc::clone(&manner), Arc::clone(&requests));
        let service = service_fn(move |request: Request<Incoming>| {
            let (manner, requests) = (Arc::clone(&manner), Arc::clone(&requests));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let body: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/v1/embeddings"));
                let key = head.headers.get("authorization").map(|key| key.to_str().unwrap().to_owned());
                requests.lock().unwrap().push((key, body.clone()));
                let manner = manner.lock().unwrap().clone();
                answer(&body, manner).await
            }
        });
        tasks.spawn(async move {
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(body: &Value, manner: Manner) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, text) = match manner {
        Manner::Dimensions(dimensions) => (200, vectors(body, dimensions)),
        Manner::Says(text) => (200, text.to_owned()),
        Manner::Status(status) => (status, "hunter2-hunter2 is over its limit".to_owned()),
        Manner::Without(text) if body.to_string().contains(text) => (400, "bad input".to_owned()),
        Manner::Good | Manner::Without(_) => (200, vectors(body, 26)),
        Manner::Hanging => std::future::pending().await,
    };
    let response = Response::builder().status(status).header("retry-after", "7");
    Ok(response.body(Full::new(Bytes::from(text))).unwrap())
}

/// Vectors that count letters, the last text's first: `index` says which is whose.
fn vectors(body: &Value, dimensions: usize) -> String {
    let texts = body["input"].as_array().unwrap().iter().enumerate().rev();
    let data: Vec<Value> = texts
        .map(|(index, text)| {
            let mut counts = vec![0.0; dimensions];
            for letter in text.as_str().unwrap().bytes() {
                counts[usize::from(letter) % dimensions] += 1.0;
            }
            json!({"object": "embedding", "index": index, "embedding": counts})
        })
        .collect();
    json!({"object": "list", "data": data, "model": "letters"}).to_string()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("text number {number}")).collect()
}

#[tokio::test]
async fn texts_are_asked_for_in_batches_and_come_back_in_their_order() {
    let server = Server::start().await;
    let embeddings = server.embeddings(|settings| settings.api_key = Some("KEY".into()));
    let many = embeddings.embed(&texts(10)).await.unwrap();
    assert_eq!(server.sizes(), [4, 4, 2]);
    assert!(server.requests.lock().unwrap().iter().all(|(key, body)| {
        key.as_deref() == Some("Bearer hunter2-hunter2") && body["model"] == "letters"
    }));
    for (text, vector) in texts(10).iter().zip(many) {
        assert_eq!(embeddings.embed_query(text).await.unwrap(), vector, "{text}");
    }
}

#[tokio::test]
async fn what_was_asked_before_is_not_asked_again_even_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start().await;
    let keep = |settings: &mut EmbeddingsSettings| settings.folder = Some(folder.path().join("vectors"));
    let first = server.embeddings(keep).embed(&texts(3)).await.unwrap();
    let restarted = server.embeddings(keep);
    let second = restarted.embed(&texts(5)).await.unwrap();
    assert_eq!(first, second[..3]);
    assert_eq!(server.sizes(), [3, 2]);
    restarted.embed_query("a").await.unwrap();
    restarted.embed_query("a").await.unwrap();
    assert_eq!(server.sizes(), [3, 2, 1]);
}

#[tokio::test]
async fn another_model_has_other_vectors_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start().await;
    let keep = |settings: &mut EmbeddingsSettings| settings.folder = Some(folder.path().to_owned());
    server.embeddings(keep).embed(&texts(2)).await.unwrap();
    let other = |settings: &mut EmbeddingsSettings| {
        keep(settings);
        settings.model = "other".into();
    };
    server.embeddings(other).embed(&texts(2)).await.unwrap();
    assert_eq!(server.sizes(), [2, 2]);
}

#[tokio::test]
async fn a_server_that_fails_is_left_alone_for_a_while_and_used_again_after() {
    let server = Server::start().await;
    let embeddings = server.embeddings(|_| ());
    server.behave(Manner::Status(503));
    let failure = embeddings.embed_query("one").await.unwrap_err();
    assert!(failure.message.contains("503"), "{failure}");
    server.behave(Manner::Good);
    let again = embeddings.embed_query("two").await.unwrap_err();
    assert!(again.message.starts_with(&failure.message), "{again}");
    assert_eq!(server.sizes(), [1], "it is not asked again at once");
    // Tools fare by themselves.
    assert!(embeddings.embed(&texts(1)).await.unwrap()[0].is_some());
    tokio::time::pause();
    tokio::time::advance(failure.retry_after).await;
    tokio::time::resume();
    assert!(embeddings.embed_query("two").await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause_gets_it_and_its_answer_has_no_secret() {
    let server = Server::start().await;
    let embeddings = server.embeddings(|settings| settings.api_key = Some("KEY".into()));
    server.behave(Manner::Status(429));
    let failure = embeddings.embed(&texts(9)).await.unwrap_err();
    assert_eq!(failure.retry_after, Duration::from_secs(7));
    assert!(failure.message.contains("429") && !failure.message.contains("hunter2"), "{failure}");
    assert_eq!(server.sizes(), [4]);
}

#[tokio::test]
async fn a_query_waits_no_longer_than_it_may() {
    let server = Server::start().await;
    let embeddings = server.embeddings(|settings| settings.query_timeout = Duration::from_millis(50));
    server.behave(Manner::Hanging);
    let failure = embeddings.embed_query("slow").await.unwrap_err();
    assert!(failure.message.contains("50 ms"), "{failure}");
    assert!(failure.message.contains("queryTimeoutMs"), "{failure}");
    assert!(embeddings.failing().is_some_and(|why| why.contains("50 ms")));
    let asked = server.sizes().len();
    let next = embeddings.embed_query("another").await.unwrap_err();
    assert!(next.message.contains("asked again in"), "{next}");
    assert!(next.retry_after > Duration::from_secs(2), "{next:?}");
    assert_eq!(server.sizes().len(), asked, "it is left alone for a while");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let server = Server::start().await;
    let embeddings = server.embeddings(|settings| settings.url = "http://127.0.0.1:9/v1/embeddings".into());
    let failure = embeddings.embed_query("nobody").await.unwrap_err();
    assert!(failure.message.starts_with("no vectors from 127.0.0.1:9"), "{failure}");
}

#[tokio::test]
async fn answers_that_are_no_vectors_are_failures() {
    let server = Server::start().await;
    for (manner, told) in [
        (Manner::Dimensions(25), "25 dimensions instead of 26"),
        (Manner::Says("<html>"), "no embeddings"),
        (Manner::Says(r#"{"data":[]}"#), "0 embeddings for 1"),
        (Manner::Says(r#"{"data":[{"embedding":["x"]}]}"#), "no embeddings"),
        (Manner::Status(401), "apiKey"),
        (Manner::Status(302), "302"),
    ] {
        let embeddings = server.embeddings(|settings| settings.dimensions = Some(26));
        server.behave(manner.clone());
        let failure = embeddings.embed_query("query").await.unwrap_err();
        assert!(failure.message.contains(told), "{manner:?}: {failure}");
    }
    let embeddings = server.embeddings(|_| ());
    server.behave(Manner::Says(r#"{"data":[{"embedding":[0,0]}]}"#));
    assert_eq!(embeddings.embed_query("of no direction").await.unwrap(), None);
}

#[tokio::test]
async fn a_text_that_is_refused_keeps_no_other_from_its_vector() {
    let server = Server::start().await;
    server.behave(Manner::Without("number 2"));
    let vectors = server.embeddings(|_| ()).embed(&texts(8)).await.unwrap();
    let missing: Vec<usize> = (0..8).filter(|place| vectors[*place].is_none()).collect();
    assert_eq!(missing, [2]);
}

#[tokio::test]
async fn a_server_that_refuses_every_text_fails() {
    let server = Server::start().await;
    server.behave(Manner::Without("number"));
    let failure = server.embeddings(|_| ()).embed(&texts(8)).await.unwrap_err();
    assert!(failure.message.contains("400"), "{failure}");
}

#[test]
fn settings_that_cannot_work_are_told() {
    let settings = |url: &str, key: Option<&str>| EmbeddingsSettings {
        url: url.into(),
        model: "m".into(),
        api_key: key.map(str::to_owned),
        dimensions: None,
        batch: 1,
        timeout: Duration::from_secs(1),
        query_timeout: Duration::from_secs(1),
        reach: Reach::AnyScript,
        folder: Some(Path::new("/dev/null/no-folder").to_owned()),
    };
    let refused = |settings| Embeddings::new(settings, &runtime()).err().unwrap_or_default();
    assert!(refused(settings("ftp://host/v1", None)).contains("http://"));
    assert!(refused(settings("http://me:pass@host/v1", None)).contains("apiKey"));
    assert!(refused(settings("http://host/v1", Some("NONE"))).contains("TOOLRAIL_SECRET_NONE"));
    assert_eq!(
        refused(settings("http://host/v1", Some("KEY"))),
        "",
        "a folder that cannot be made is no fault"
    );
}
