//! `toolrail schema`: the JSON Schema of a definition, the same as at `/schema/tool.json`.

use crate::config::ConfigFile;
use crate::{assemble, print};

pub(super) fn run() -> anyhow::Result<()> {
    let compiler = assemble::compiler(&ConfigFile::default().settle()?)?;
    print::line(serde_json::to_string_pretty(compiler.schema()).unwrap_or_default());
    Ok(())
}
