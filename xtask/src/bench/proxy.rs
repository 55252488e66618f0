//! The yardstick: a reverse proxy with nothing in it but hyper's server and client.

use std::net::SocketAddr;

use anyhow::Result;
use clap::Args;
use hyper::body::Incoming;
use hyper::http::uri::{Authority, Scheme};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::process::announce_and_accept;

#[derive(Args)]
pub(crate) struct ProxyOptions {
    /// Where to forward to
    upstream: SocketAddr,
}

type Forwarder = Client<HttpConnector, Incoming>;

/// Serves until stdin closes.
pub(crate) fn serve(options: &ProxyOptions) -> Result<()> {
    let authority: Authority = options.upstream.to_string().parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Forwarder = Client::builder(TokioExecutor::new()).build(connector);
        announce_and_accept(move |stream| {
            let (client, authority) = (client.clone(), authority.clone());
            async move {
                let service = service_fn(move |request| forward(request, client.clone(), authority.clone()));
                let connection = hyper::server::conn::http1::Builder::new();
                // A connection that breaks is the load generator's to notice and count.
                let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await
    })
}

async fn forward(
    mut request: Request<Incoming>,
    client: Forwarder,
    authority: Authority,
) -> Result<Response<Incoming>, Error> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(authority);
    // An origin-form URI with scheme and authority is always valid; the default one answers 404.
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    client.request(request).await
}
