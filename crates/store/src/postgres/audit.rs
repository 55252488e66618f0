//! The audit record. Whoever appends to it holds the counter, so entries follow one another.

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgPool, PgRow};
use toolrail_core::{AuditEntry, AuditHead, Author, Revision};

use super::failure::Failure;
use super::pool::Lease;
use crate::audit::{chained, head_of, head_text};

const HEAD: &str = "SELECT value FROM toolrail_meta WHERE name = 'audit_head'";
const NEWEST: &str = "SELECT (SELECT value FROM toolrail_meta WHERE name = 'audit_head'), \
    (SELECT max(number) FROM mcp_tool_audit), (SELECT hash FROM mcp_tool_audit ORDER BY number DESC LIMIT 1)";
const READ: &str = "SELECT number, at, who, address, via, action, tenant, name, revision, changes, previous, hash \
    FROM mcp_tool_audit WHERE number > $1 ORDER BY number LIMIT $2";

// One round trip: signs the versions that the write made, if any, remembers the newest entry, and appends.
const APPEND: &str = "WITH signed AS ( \
        UPDATE mcp_tool_history SET who = $1, address = $2, via = $3 WHERE revision = ANY($14)), \
    remembered AS ( \
        INSERT INTO toolrail_meta (name, value) VALUES ('audit_head', $5) \
        ON CONFLICT (name) DO UPDATE SET value = excluded.value) \
    INSERT INTO mcp_tool_audit \
        (number, at, who, address, via, action, tenant, name, revision, changes, previous, hash) \
    SELECT number, at, $1, $2, $3, action, tenant, name, revision, changes, previous, hash \
    FROM unnest($6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $4::bigint[], $11::text[], $12::text[], \
        $13::text[]) AS entry (number, at, action, tenant, name, revision, changes, previous, hash)";

/// What entries are about.
#[derive(Clone, Copy)]
pub(super) enum About {
    /// Versions that the same author has just made.
    Versions,
    /// Nothing that has versions: their revision is that of somebody else.
    Records,
}

/// Chains the entries to the newest and appends them; signs the versions they are about. Returns the last of them.
pub(super) async fn append(
    connection: &mut PgConnection,
    author: &Author,
    entries: Vec<AuditEntry>,
    about: About,
) -> Result<Option<AuditHead>, sqlx::Error> {
    if entries.is_empty() {
        return Ok(None);
    }
    let (entries, head) = chained(entries.into_iter(), newest(connection).await?);
    let revisions: Vec<Revision> = entries.iter().map(|entry| entry.revision).collect();
    let signed: &[Revision] = match about {
        About::Versions => &revisions,
        About::Records => &[],
    };
    let texts = |of: fn(&AuditEntry) -> &String| entries.iter().map(of).collect::<Vec<_>>();
    sqlx::query(APPEND)
        .bind(&author.who)
        .bind(&author.address)
        .bind(&author.via)
        .bind(&revisions)
        .bind(head_text(&head))
        .bind(entries.iter().map(|entry| entry.number).collect::<Vec<_>>())
        .bind(texts(|entry| &entry.at))
        .bind(texts(|entry| &entry.action))
        .bind(entries.iter().map(|entry| entry.tenant.as_ref()).collect::<Vec<_>>())
        .bind(texts(|entry| &entry.name))
        .bind(texts(|entry| &entry.changes))
        .bind(texts(|entry| &entry.previous))
        .bind(texts(|entry| &entry.hash))
        .bind(signed)
        .execute(connection)
        .await?;
    Ok(Some(head))
}

/// What the next entry follows. Where somebody removed the head or entries, the record goes on and shows it.
async fn newest(connection: &mut PgConnection) -> Result<AuditHead, sqlx::Error> {
    let row = sqlx::query(NEWEST).fetch_one(connection).await?;
    let remembered = row.try_get::<Option<String>, _>(0)?.and_then(|value| head_of(&value));
    let (number, hash): (Option<i64>, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
    let last = number.zip(hash).map(|(number, hash)| AuditHead { number, hash });
    // Of equal ones the last, which is what is remembered.
    Ok([last, remembered].into_iter().flatten().max_by_key(|head| head.number).unwrap_or_default())
}

/// Entries after that number.
pub(super) async fn read(pool: &PgPool, after: i64, most: u32) -> Result<Vec<AuditEntry>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let query = sqlx::query(READ).bind(after).bind(i64::from(most));
    let rows = query.fetch_all(lease.connection()?).await?;
    lease.give_back();
    Ok(rows.iter().map(entry_of).collect::<Result<_, _>>()?)
}

/// The newest entry, as it is remembered.
pub(super) async fn head(pool: &PgPool) -> Result<Option<AuditHead>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let value: Option<String> = sqlx::query_scalar(HEAD).fetch_optional(lease.connection()?).await?;
    lease.give_back();
    Ok(value.and_then(|value| head_of(&value)))
}

fn entry_of(row: &PgRow) -> Result<AuditEntry, sqlx::Error> {
    Ok(AuditEntry {
        number: row.try_get(0)?,
        at: row.try_get(1)?,
        who: row.try_get(2)?,
        address: row.try_get(3)?,
        via: row.try_get(4)?,
        action: row.try_get(5)?,
        tenant: row.try_get(6)?,
        name: row.try_get(7)?,
        revision: row.try_get(8)?,
        changes: row.try_get(9)?,
        previous: row.try_get(10)?,
        hash: row.try_get(11)?,
    })
}
