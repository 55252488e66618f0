//! The schema's versions and how a database gets from one to the next. Append to `MIGRATIONS`; never change what has been
//! released. The tables are in the schema that has them already, otherwise in the first of the search path.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;
use toolrail_core::StoreError;

use super::adopt::{self, Shape};
use super::connect::quoted;
use super::fault::{Fault, code, told};

enum Step {
    Always(&'static str),
    /// What depends on the table.
    Either {
        lite: &'static str,
        full: &'static str,
    },
}

const MIGRATIONS: &[&[Step]] = &[
    &[
        Step::Always(include_str!("migrations/0001_tables.sql")),
        Step::Either {
            lite: include_str!("migrations/0001_document_lite.sql"),
            full: include_str!("migrations/0001_document_full.sql"),
        },
        Step::Always(include_str!("migrations/0001_page.sql")),
        Step::Always(include_str!("migrations/0001_rows.sql")),
        Step::Always(include_str!("migrations/0001_triggers.sql")),
        Step::Always(include_str!("migrations/0001_apply.sql")),
    ],
    &[Step::Always(include_str!("migrations/0002_learnt.sql"))],
];

// Whoever finds another at it waits for that one to finish, which may take as long as a large table takes.
const PATIENCE: &str =
    "SET client_min_messages = warning; SET statement_timeout = '5min'; SET lock_timeout = '60s'";
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

/// How long it may take to see what there is.
const LOOK: Duration = Duration::from_secs(10);

/// How long everything else may take: more than the server allows for one statement.
const CHANGE: Duration = Duration::from_mins(6);

/// Brings the database to the newest version and returns the schema that the tables are in. Processes that start at once
/// take turns, and what one cannot finish is not begun.
pub(super) async fn migrate(connection: &mut PgConnection, store: &str) -> Result<String, Fault> {
    let looking = timeout(LOOK, look(connection, store)).await;
    let Found { schema, current, settled } = looking.unwrap_or(Err(Fault::slow(LOOK)))?;
    if settled {
        return Ok(schema);
    }
    let changing = timeout(CHANGE, apply_in_turn(connection, store)).await;
    match changing.unwrap_or(Err(Fault::slow(CHANGE))) {
        Err(Fault::Sql(error)) if current && code(&error).as_deref() == Some("42501") => {
            let error = told(&error);
            tracing::warn!(%store, error, "another program made its trigger of mcp_tool anew, and it cannot be dropped");
            Ok(schema)
        }
        Err(Fault::Sql(error)) if code(&error).as_deref() == Some("42501") => {
            let grants: Vec<String> = sqlx::query_scalar(GRANTS).bind(&schema).fetch_all(connection).await?;
            let way_out = match grants.as_slice() {
                [] => "see to the rights of its user".to_owned(),
                grants => format!("run as an administrator: {}", grants.join("; ")),
            };
            Err(Fault::told(format!("its tables cannot be made or adopted: {}; {way_out}", told(&error))))
        }
        other => other.map(|()| schema),
    }
}

struct Found {
    schema: String,
    /// It has the newest version.
    current: bool,
    /// There is nothing to do.
    settled: bool,
}

async fn look(connection: &mut PgConnection, store: &str) -> Result<Found, Fault> {
    let schema = find_schema(connection).await?;
    // Temporary tables come last: nobody's may stand for ours.
    let path = format!("{PATIENCE}; SET search_path TO {}, pg_temp", quoted(&schema));
    sqlx::raw_sql(AssertSqlSafe(path)).execute(&mut *connection).await?;
    let current = applied(connection, store).await? == MIGRATIONS.len();
    let settled = current && adopt::foreign_triggers(connection).await?.is_empty();
    Ok(Found { schema, current, settled })
}

async fn find_schema(connection: &mut PgConnection) -> Result<String, Fault> {
    let query = AssertSqlSafe(format!("SELECT nspname::text FROM pg_namespace WHERE oid = ({SCHEMA})"));
    let found: Option<String> = sqlx::query_scalar(query).fetch_optional(connection).await?;
    found.ok_or_else(|| {
        Fault::told(
            "no schema of its search_path exists; create one, or name another by ?options[search_path]=NAME",
        )
    })
}

/// One process at a time. The turn is taken before the transaction begins: the names of tables that were looked up in
/// vain before the wait would still be missing within it. If this fails, the turn ends with the connection.
async fn apply_in_turn(connection: &mut PgConnection, store: &str) -> Result<(), Fault> {
    sqlx::raw_sql(TAKE_TURN).execute(&mut *connection).await?;
    apply(connection, store).await?;
    sqlx::raw_sql(END_TURN).execute(connection).await?;
    Ok(())
}

async fn apply(connection: &mut PgConnection, store: &str) -> Result<(), Fault> {
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    // Another process may have been quicker while this one waited.
    let applied = applied(&mut transaction, store).await?;
    adopt::drop_foreign_triggers(&mut transaction).await?;
    if applied == 0 {
        adopt::prepare(&mut transaction).await?;
        adopt::widen_counter(&mut transaction).await?;
    }
    let mut shape = None;
    for step in steps_after(applied) {
        let sql = match step {
            Step::Always(sql) => sql,
            Step::Either { lite, full } => {
                let known = match shape {
                    Some(known) => known,
                    None => adopt::shape(&mut transaction).await?,
                };
                shape = Some(known);
                match known {
                    Shape::Lite => lite,
                    Shape::Full => full,
                }
            }
        };
        sqlx::raw_sql(*sql).execute(&mut *transaction).await?;
    }
    let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS toolrail_schema (version BIGINT NOT NULL); DELETE FROM toolrail_schema",
    )
    .execute(&mut *transaction)
    .await?;
    sqlx::query("INSERT INTO toolrail_schema (version) VALUES ($1)")
        .bind(version)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(())
}

fn steps_after(applied: usize) -> Vec<&'static Step> {
    MIGRATIONS.iter().skip(applied).flat_map(|steps| steps.iter()).collect()
}

/// How many migrations the database has.
async fn applied(connection: &mut PgConnection, store: &str) -> Result<usize, Fault> {
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
