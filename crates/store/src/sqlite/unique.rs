//! Takes `UNIQUE (name)` off the table `mcp_tool`: with tenants, several may have the same name. SQLite can only do that
//! by making the table anew.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};

const NEW: &str = "toolrail_new_mcp_tool";

const TABLE_SQL: &str = "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = 'mcp_tool'";
// Unique over the name alone, whatever the rows: such an index, or the constraint behind it, is in the way.
const IN_THE_WAY: &str = "SELECT list.name, list.origin FROM pragma_index_list('mcp_tool') AS list \
    WHERE list.\"unique\" AND NOT list.partial AND (SELECT count(*) FROM pragma_index_info(list.name)) = 1 \
    AND (SELECT lower(name) FROM pragma_index_info(list.name)) = 'name'";
const ATTACHED: &str = "SELECT sql FROM sqlite_master \
    WHERE lower(tbl_name) = 'mcp_tool' AND type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY type, rowid";
const COLUMNS: &str = "SELECT name FROM pragma_table_xinfo('mcp_tool') WHERE hidden = 0 ORDER BY cid";
const SEQUENCE: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'mcp_tool'";

/// Why the constraint is still there.
#[derive(Debug, thiserror::Error)]
pub(super) enum UniqueError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(
        "names are unique in its table mcp_tool, so that tenants cannot have the same; take UNIQUE off its column name"
    )]
    Stays,
}

/// Whether the table stands as the first migration made it.
pub(super) async fn is_ours(
    connection: &mut SqliteConnection,
    first_migration: &str,
) -> Result<bool, sqlx::Error> {
    let sql: Option<String> = sqlx::query_scalar(TABLE_SQL).fetch_optional(connection).await?;
    let made = first_migration
        .split_once("CREATE TABLE IF NOT EXISTS mcp_tool (")
        .and_then(|(_, rest)| rest.split_once("\n);"))
        .map(|(columns, _)| format!("CREATE TABLE mcp_tool ({columns}\n)"));
    Ok(sql.is_some() && sql == made)
}

/// Takes the constraint off, in a transaction of its own. Foreign keys must not be enforced on the connection: others
/// may point to the table.
pub(super) async fn drop_in_turn(connection: &mut SqliteConnection) -> Result<(), UniqueError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    drop_unique_name(&mut transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// Takes the constraint off, within the transaction of the connection.
pub(super) async fn drop_unique_name(connection: &mut SqliteConnection) -> Result<(), UniqueError> {
    let found: Vec<(String, String)> = sqlx::query_as(IN_THE_WAY).fetch_all(&mut *connection).await?;
    for (index, _) in found.iter().filter(|(_, origin)| origin == "c") {
        run(connection, format!("DROP INDEX \"{}\"", index.replace('"', "\"\""))).await?;
    }
    if found.iter().any(|(_, origin)| origin != "c") {
        make_anew(connection).await?;
        let left: Vec<(String, String)> = sqlx::query_as(IN_THE_WAY).fetch_all(connection).await?;
        if !left.is_empty() {
            return Err(UniqueError::Stays);
        }
    }
    Ok(())
}

async fn make_anew(connection: &mut SqliteConnection) -> Result<(), UniqueError> {
    let table: String = sqlx::query_scalar(TABLE_SQL).fetch_one(&mut *connection).await?;
    let body = without_unique_name(&table).ok_or(UniqueError::Stays)?;
    let attached: Vec<String> = sqlx::query_scalar(ATTACHED).fetch_all(&mut *connection).await?;
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut *connection).await?;
    let columns: Vec<String> =
        columns.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
    let columns = columns.join(", ");
    let counted = sqlx::query_scalar::<_, i64>(SEQUENCE).fetch_optional(&mut *connection).await;

    run(connection, format!("CREATE TABLE {NEW} {body}")).await?;
    run(connection, format!("INSERT INTO {NEW} ({columns}) SELECT {columns} FROM mcp_tool ORDER BY rowid"))
        .await?;
    // Otherwise a view over the table, which is gone for a moment, would be an error.
    run(connection, "PRAGMA legacy_alter_table = ON".into()).await?;
    run(connection, "DROP TABLE mcp_tool".into()).await?;
    run(connection, format!("ALTER TABLE {NEW} RENAME TO mcp_tool")).await?;
    run(connection, "PRAGMA legacy_alter_table = OFF".into()).await?;
    for sql in attached {
        run(connection, sql).await?;
    }
    // No id is ever used again. A table without AUTOINCREMENT has no sequence, nor may the file.
    if let Ok(Some(counted)) = counted {
        let sql = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'mcp_tool'";
        sqlx::query(sql).bind(counted).execute(&mut *connection).await?;
        let sql = "INSERT INTO sqlite_sequence (name, seq) SELECT 'mcp_tool', ? \
                   WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'mcp_tool')";
        sqlx::query(sql).bind(counted).execute(connection).await?;
    }
    Ok(())
}

async fn run(connection: &mut SqliteConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

/// What stands behind the name in a `CREATE TABLE`, without `UNIQUE` for the column `name` alone; `None` if that is not
/// understood.
fn without_unique_name(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    let open = tokens.iter().position(|token| token.text == "(")?;
    let close = tokens.iter().rposition(|token| token.text == ")")?;
    let mut parts: Vec<String> = Vec::new();
    let mut from = open + 1;
    for (index, token) in tokens.iter().enumerate().take(close + 1).skip(open + 1) {
        let ends = (token.text == "," && token.depth == 1) || index == close;
        if ends {
            parts.extend(kept(sql, &tokens[from - 1..=index]));
            from = index + 1;
        }
    }
    let tail = sql.get(tokens[close].end..)?;
    Some(format!("({}){tail}", parts.join(",")))
}

/// A column or constraint as it is to stand, if at all. The first and the last token are what it stands between.
fn kept(sql: &str, tokens: &[Token<'_>]) -> Option<String> {
    let [before, inner @ .., after] = tokens else { return None };
    let is = |index: usize, word: &str| inner.get(index).is_some_and(|token| token.is(word));
    let unique = if is(0, "constraint") { 2 } else { 0 };
    if is(unique, "unique") {
        let columns: Vec<&Token<'_>> =
            inner.iter().skip(unique + 1).filter(|token| token.depth == 2 && token.text != "(").collect();
        let only_name = columns.first().is_some_and(|token| token.names("name"))
            && !columns.iter().any(|token| token.text == ",");
        if only_name {
            return None;
        }
    }
    let mut text = sql.get(before.end..after.start)?.to_owned();
    let column = inner.first().is_some_and(|token| token.names("name"));
    if let Some(at) = inner.iter().position(|token| token.is("unique")).filter(|at| column && *at > 0) {
        let named = at >= 3 && is(at - 2, "constraint");
        let first = if named { at - 2 } else { at };
        let last = if is(at + 1, "on") && is(at + 2, "conflict") { at + 3 } else { at };
        let (start, end) = (inner[first].start, inner.get(last)?.end);
        text.replace_range(start - before.end..end - before.end, "");
    }
    Some(text)
}

/// A word, a quoted name or text, or one other character; comments are left out.
struct Token<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    depth: usize,
}

impl Token<'_> {
    fn is(&self, keyword: &str) -> bool {
        self.depth == 1 && self.text.eq_ignore_ascii_case(keyword)
    }

    fn names(&self, name: &str) -> bool {
        self.text.trim_matches(['"', '`', '[', ']', '\'']).eq_ignore_ascii_case(name)
    }
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    while let Some(first) = sql[start..].chars().next() {
        let rest = &sql[start..];
        let length = match first {
            '\'' | '"' | '`' => quoted(rest, first),
            '[' => rest.find(']').map_or(rest.len(), |end| end + 1),
            '-' if rest.starts_with("--") => rest.find('\n').map_or(rest.len(), |end| end + 1),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            first if in_word(first) => rest.find(|next| !in_word(next)).unwrap_or(rest.len()),
            other => other.len_utf8(),
        };
        let comment = rest.starts_with("--") || rest.starts_with("/*");
        let text = &rest[..length];
        if text == ")" {
            depth = depth.saturating_sub(1);
        }
        if !comment && !first.is_whitespace() {
            // A parenthesis stands outside of what it encloses, the outermost ones at 0.
            found.push(Token { text, start, end: start + length, depth });
        }
        if text == "(" {
            depth += 1;
        }
        start += length;
    }
    found
}

fn in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// How long a quoted text is; the quote itself stands in it twice.
fn quoted(text: &str, quote: char) -> usize {
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((index, character)) = rest.next() {
        if character == quote && rest.next_if(|(_, next)| *next == quote).is_none() {
            return index + quote.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::without_unique_name;

    fn check(sql: &str, expected: &str) {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&without_unique_name(sql).unwrap()), expected, "{sql}");
    }

    #[test]
    fn only_what_makes_the_name_alone_unique_is_taken_off() {
        check(
            "CREATE TABLE t (id INTEGER, name TEXT NOT NULL UNIQUE, x)",
            "(id INTEGER, name TEXT NOT NULL , x)",
        );
        check(
            "CREATE TABLE t (id, `Name` TEXT unique ON CONFLICT IGNORE NOT NULL)",
            "(id, `Name` TEXT NOT NULL)",
        );
        check("CREATE TABLE t (name TEXT CONSTRAINT u UNIQUE, code UNIQUE)", "(name TEXT , code UNIQUE)");
        check("CREATE TABLE t (id, name, UNIQUE (\"name\" COLLATE NOCASE)) STRICT", "(id, name) STRICT");
        check("CREATE TABLE t (id, name, CONSTRAINT u UNIQUE (name))", "(id, name)");
        check("CREATE TABLE t (id, name, UNIQUE (name, id))", "(id, name, UNIQUE (name, id))");
        check(
            "CREATE TABLE t (name DEFAULT 'a UNIQUE, (b' CHECK (name <> 'UNIQUE') UNIQUE, d DEFAULT (max(1, 2)))",
            "(name DEFAULT 'a UNIQUE, (b' CHECK (name <> 'UNIQUE') , d DEFAULT (max(1, 2)))",
        );
        check("CREATE TABLE t (a, -- UNIQUE, ) \n name /* ( */ UNIQUE)", "(a, -- UNIQUE, ) name /* ( */ )");
        check("CREATE TABLE t (name DEFAULT 'it''s' UNIQUE, ü)", "(name DEFAULT 'it''s' , ü)");
    }

    #[test]
    fn nonsense_is_not_understood_and_harms_nobody() {
        for sql in [
            "",
            "CREATE TABLE t",
            "(",
            ")",
            ")(",
            "( 'open",
            "(name UNIQUE ON CONFLICT",
            "(,)",
            "(name unique,,)",
        ] {
            without_unique_name(sql);
        }
    }
}
