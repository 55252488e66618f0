//! Takes connections from a pool without the long waits of its own: the pool takes a server that refuses connections for
//! one that is starting, and goes on trying for as long as it may.

use std::io::ErrorKind;
use std::time::Duration;

use sqlx::pool::{PoolConnection, PoolOptions};
use sqlx::{ConnectOptions as _, Connection, Database, Pool};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

/// When to look why there is no connection yet. A server that restarts is back by then, or takes longer.
const DOUBT: Duration = Duration::from_millis(800);

/// A connection that does not answer within this time is replaced: nobody may have told us that it is gone.
const PING: Duration = Duration::from_millis(500);

/// How long that look may take.
const LOOK: Duration = Duration::from_secs(1);

/// Options with connections tested before each use. Neither a broken one nor a long wait is logged by the driver: a call
/// that fails says why.
pub(crate) fn quiet<DB: Database>() -> PoolOptions<DB> {
    PoolOptions::new().acquire_slow_threshold(Duration::MAX).test_before_acquire(false).before_acquire(
        |connection: &mut DB::Connection, _| {
            Box::pin(async move { Ok(timeout(PING, connection.ping()).await.is_ok_and(|ping| ping.is_ok())) })
        },
    )
}

/// A connection; soon an error, if the server refuses to be connected to.
pub(crate) async fn acquire<DB: Database>(pool: &Pool<DB>) -> Result<PoolConnection<DB>, sqlx::Error> {
    let mut acquiring = Box::pin(pool.acquire());
    tokio::select! {
        acquired = &mut acquiring => return acquired,
        () = sleep(DOUBT) => {}
    }
    tokio::select! {
        acquired = &mut acquiring => acquired,
        Some(refused) = Box::pin(refusal(pool)) => Err(refused),
        else => Err(sqlx::Error::PoolTimedOut),
    }
}

/// What the server says to a connection of its own, if that is no. One look at a time: when all connections are merely
/// busy, there is one more than the pool allows.
async fn refusal<DB: Database>(pool: &Pool<DB>) -> Option<sqlx::Error> {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    match timeout(LOOK, pool.connect_options().connect()).await {
        Ok(Err(sqlx::Error::Io(error))) if error.kind() == ErrorKind::ConnectionRefused => {
            Some(sqlx::Error::Io(error))
        }
        Ok(Ok(connection)) => {
            timeout(LOOK, connection.close()).await.ok();
            None
        }
        Ok(Err(_)) | Err(_) => None,
    }
}
