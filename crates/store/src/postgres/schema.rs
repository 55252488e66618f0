//! The schema's versions and how a database gets from one to the next. Append to `MIGRATIONS`; never change what has been
//! released. What stands in `triggers` may be changed and is made anew with every version, and whenever triggers are found
//! missing. The tables are in the schema that has them already, otherwise in the first of the search path.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;
use toolrail_core::StoreError;

use super::failure::{Failure, code, told};
use super::pool::quoted;
use super::triggers::run;
use super::{adopt, triggers};

/// What each version added beside the definitions. The third made `config_json` JSONB, see `adopt::convert`.
const MIGRATIONS: &[&[&str]] = &[
    &[include_str!("migrations/0001_tables.sql"), include_str!("migrations/0001_rows.sql")],
    &[include_str!("migrations/0002_learnt.sql")],
    &[],
    &[include_str!("migrations/0004_records.sql")],
];

const TABLE: &str = include_str!("migrations/tools.sql");

/// How long to wait for others.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// At the start: for one who is at it already, which may take as long as a large table takes.
    Start,
    /// Beside those who read and write: whoever waits for a lock on a table makes all others wait behind it.
    Running,
}

impl Patience {
    fn settings(self) -> &'static str {
        match self {
            Self::Start => {
                "SET client_min_messages = warning; SET statement_timeout = '5min'; SET lock_timeout = '60s'"
            }
            Self::Running => {
                "SET client_min_messages = warning; SET statement_timeout = '5min'; SET lock_timeout = '2s'"
            }
        }
    }
}

const TAKE_TURN: &str = "SELECT pg_advisory_lock(8390891584273738092)";
const END_TURN: &str = "SELECT pg_advisory_unlock(8390891584273738092)";

const SCHEMA: &str = "SELECT coalesce( \
    (SELECT relnamespace::regnamespace::oid FROM pg_class WHERE oid = to_regclass('mcp_tool')), \
    (SELECT relnamespace::regnamespace::oid FROM pg_class WHERE oid = to_regclass('toolrail_schema')), \
    (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))";

// What the user lacks: the right to make tables, and to be one of those who own the tables that are there.
const GRANTS: &str = "SELECT format('GRANT CREATE ON SCHEMA %I TO %I', nspname, current_user) FROM pg_namespace \
    WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'CREATE') \
    UNION ALL SELECT DISTINCT format('GRANT %I TO %I', pg_get_userbyid(relowner), current_user) FROM pg_class \
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r' \
    AND (relname LIKE 'mcp\\_tool%' OR relname LIKE 'toolrail\\_%' OR relname = 'mcp_config_version') \
    AND NOT pg_has_role(relowner, 'USAGE')";

// Rows that were here before us: each is one change, and its first version.
const ADOPT_ROWS: &str = "SELECT toolrail_reconcile('adopt', 9223372036854775807); \
    INSERT INTO toolrail_meta (name, value) \
    SELECT 'history_from', version::text FROM mcp_config_version WHERE id = 1 AND version > 0";

/// How long it may take to see what there is.
const LOOK: Duration = Duration::from_secs(10);

/// How long everything else may take: more than the server allows for one statement.
const CHANGE: Duration = Duration::from_mins(6);

/// Brings the database to the newest version and returns the schema that the tables are in. Processes that start at once
/// take turns, and what one cannot finish is not begun.
pub(super) async fn migrate(
    connection: &mut PgConnection,
    store: &str,
    patience: Patience,
) -> Result<String, Failure> {
    let looking = timeout(LOOK, look(connection, store, patience)).await;
    let Found { schema, settled } = looking.unwrap_or(Err(Failure::slow(LOOK)))?;
    if settled {
        return Ok(schema);
    }
    let changing = timeout(CHANGE, apply_in_turn(connection, store)).await;
    match changing.unwrap_or(Err(Failure::slow(CHANGE))) {
        Err(Failure::Sql(error)) if code(&error).as_deref() == Some("42501") => {
            let grants: Vec<String> = sqlx::query_scalar(GRANTS).bind(&schema).fetch_all(connection).await?;
            let way_out = match grants.as_slice() {
                [] => "see to the rights of its user".to_owned(),
                grants => format!("run as an administrator: {}", grants.join("; ")),
            };
            Err(Failure::told(format!("its tables cannot be made or adopted: {}; {way_out}", told(&error))))
        }
        other => other.map(|()| schema),
    }
}

struct Found {
    schema: String,
    /// There is nothing to do.
    settled: bool,
}

async fn look(connection: &mut PgConnection, store: &str, patience: Patience) -> Result<Found, Failure> {
    let schema = find_schema(connection).await?;
    // Temporary tables come last: nobody's may stand for ours.
    let path = format!("{}; SET search_path TO {}, pg_temp", patience.settings(), quoted(&schema));
    sqlx::raw_sql(AssertSqlSafe(path)).execute(&mut *connection).await?;
    let current = applied(connection, store).await? == MIGRATIONS.len();
    let settled = current && triggers::are_there(connection).await?;
    Ok(Found { schema, settled })
}

async fn find_schema(connection: &mut PgConnection) -> Result<String, Failure> {
    let query = AssertSqlSafe(format!("SELECT nspname::text FROM pg_namespace WHERE oid = ({SCHEMA})"));
    let found: Option<String> = sqlx::query_scalar(query).fetch_optional(connection).await?;
    found.ok_or_else(|| {
        Failure::told(
            "no schema of its search_path exists; create one, or name another by ?options[search_path]=NAME",
        )
    })
}

/// One process at a time. The turn is taken before the transaction begins: the names of tables that were looked up in
/// vain before the wait would still be missing within it. If this fails, the turn ends with the connection.
async fn apply_in_turn(connection: &mut PgConnection, store: &str) -> Result<(), Failure> {
    sqlx::raw_sql(TAKE_TURN).execute(&mut *connection).await?;
    apply(connection, store).await?;
    sqlx::raw_sql(END_TURN).execute(connection).await?;
    Ok(())
}

async fn apply(connection: &mut PgConnection, store: &str) -> Result<(), Failure> {
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    // Another process may have been quicker while this one waited.
    let applied = applied(&mut transaction, store).await?;
    if applied == MIGRATIONS.len() && triggers::are_there(&mut transaction).await? {
        return Ok(transaction.rollback().await?);
    }
    adopt::prepare(&mut transaction).await?;
    if applied == 0 {
        adopt::widen_counter(&mut transaction).await?;
    }
    run(&mut transaction, TABLE).await?;
    for step in MIGRATIONS.iter().skip(applied).flat_map(|steps| steps.iter()) {
        run(&mut transaction, step).await?;
    }
    triggers::make(&mut transaction, applied).await?;
    if applied == 0 {
        run(&mut transaction, ADOPT_ROWS).await?;
    }
    let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    run(
        &mut transaction,
        "CREATE TABLE IF NOT EXISTS toolrail_schema (version BIGINT NOT NULL); DELETE FROM toolrail_schema",
    )
    .await?;
    sqlx::query("INSERT INTO toolrail_schema (version) VALUES ($1)")
        .bind(version)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// How many migrations the database has.
async fn applied(connection: &mut PgConnection, store: &str) -> Result<usize, Failure> {
    // By way of pg_class: opening a table lets the server forget what it remembers of names from before it waited its turn.
    let there: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('toolrail_schema'))")
            .fetch_one(&mut *connection)
            .await?;
    if !there {
        return Ok(0);
    }
    let query = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM toolrail_schema");
    let found: i64 = query.fetch_one(connection).await?;
    match usize::try_from(found) {
        Ok(applied) if applied <= MIGRATIONS.len() => Ok(applied),
        _ => {
            let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
            Err(StoreError::TooNew { store: store.to_owned(), found, known }.into())
        }
    }
}
