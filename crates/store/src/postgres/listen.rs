//! Hears of changes the moment they are committed. What may have been missed while there was no connection is told
//! like a change: whoever hears the bell looks for himself.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::failure::Failure;
use super::pool::Server;

/// Our own: on `mcp_tool_changed` other programs are told, and may tell.
const CHANNEL: &str = "toolrail_changed";

/// After so long a silence the server is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(1);

/// How long it may take to answer that.
const ANSWER: Duration = Duration::from_secs(2);

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(5);

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Rings `bell` for every change and after every gap, for ever.
pub(super) async fn ring(server: Server, bell: Arc<Notify>, store: String) {
    let mut pause = FIRST_PAUSE;
    loop {
        match connect(&server).await {
            Ok(listener) => {
                bell.notify_one();
                pause = FIRST_PAUSE;
                let failure = hear(listener, &bell).await;
                tracing::warn!(%store, fault = %failure, "lost the connection on which changes are heard; polling goes on");
            }
            Err(failure) => {
                tracing::debug!(%store, fault = %failure, "cannot listen for changes; polling goes on");
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(server: &Server) -> Result<PgListener, Failure> {
    // Each in a pool of its own: one that hangs would keep its place until the network gives it up.
    let pool = server.pool_of_one();
    let connecting = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        // A lost connection ends the listener: the next one starts with a ring.
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        Ok(listener)
    };
    timeout(CONNECT, connecting).await.unwrap_or(Err(Failure::slow(CONNECT)))
}

/// Until the connection is lost, or the server does not answer on it.
async fn hear(mut listener: PgListener, bell: &Notify) -> Failure {
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(_))) => bell.notify_one(),
            Ok(Ok(None)) => return Failure::told("the server ended it"),
            Ok(Err(error)) => return error.into(),
            Err(_) => match timeout(ANSWER, listener.execute("SELECT 1")).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return error.into(),
                Err(_) => return Failure::slow(ANSWER),
            },
        }
    }
}
