//! What is said of a table of another program that demands more of a row than we have to give.

/// What to say about columns that rows of ours would leave empty and that may not be: each comes with its part of the
/// ALTER TABLE that lets it.
pub(crate) fn unfilled_columns(columns: impl Iterator<Item = (String, String)>) -> Option<String> {
    let (columns, changes): (Vec<String>, Vec<String>) = columns.unzip();
    (!columns.is_empty()).then(|| {
        format!(
            "its table mcp_tool demands values of {} that no tool has, so that none could be registered; \
             run: ALTER TABLE mcp_tool {}",
            columns.join(" and "),
            changes.join(", ")
        )
    })
}
