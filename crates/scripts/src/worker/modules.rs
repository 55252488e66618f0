//! The modules of a program: found by the names that imports use, and nowhere else.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module, Result};

use crate::program::{Fault, Program};
use crate::typescript::{JavaScript, to_javascript};
use crate::wire::Missing;

/// What the gateway offers to those who would rather import it than use the global names.
const OFFERED: &str = "toolrail";
const OFFERED_CODE: &str = "export const callToolHandler = globalThis.callToolHandler;\nexport const secrets = globalThis.secrets;\nexport const fetch = globalThis.fetch;\n";

/// A program as JavaScript; shared by all its instances.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) entry: String,
    modules: BTreeMap<String, JavaScript>,
}

impl Prepared {
    /// Erases the types of every file, or says what is wrong with them.
    pub(super) fn of(program: &Program) -> std::result::Result<Self, Vec<Fault>> {
        let mut modules = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, source) in &program.files {
            match to_javascript(name, source) {
                Ok(made) => drop(modules.insert(name.clone(), made)),
                Err(more) => faults.extend(more),
            }
        }
        if faults.is_empty() { Ok(Self { entry: program.entry.clone(), modules }) } else { Err(faults) }
    }

    /// The code of a module.
    pub(super) fn code(&self, name: &str) -> Option<&str> {
        if name == OFFERED {
            return Some(OFFERED_CODE);
        }
        self.modules.get(name).map(|module| module.code.as_str())
    }

    /// A stack as QuickJS writes it, with the places of the sources; what is not the script's own is left out.
    pub(super) fn stack_of(&self, stack: &str) -> String {
        let frames = stack.lines().filter_map(|frame| self.frame(frame));
        frames.take(20).collect::<Vec<_>>().join("\n")
    }

    fn frame(&self, frame: &str) -> Option<String> {
        let (before, place) = match frame.rsplit_once('(') {
            Some((before, place)) => (before.trim(), place.trim_end().trim_end_matches(')')),
            None => ("at", frame.trim().strip_prefix("at ")?),
        };
        let (file, line, column) = self.source_place(place)?;
        let function = before.strip_prefix("at").unwrap_or(before).trim();
        let function = if function.is_empty() || function == "<anonymous>" { "anonymous" } else { function };
        Some(format!("    at {function} ({file}:{line}:{column})"))
    }

    /// `file:line:column` of the code as a place of the source.
    pub(super) fn source_place<'p>(&self, place: &'p str) -> Option<(&'p str, u32, u32)> {
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        let (line, column) = self.modules.get(file)?.origin(line, column).unwrap_or((line, column));
        Some((file, line, column))
    }
}

/// Finds and loads the modules of one program.
pub(super) struct Modules {
    pub(super) program: Rc<Prepared>,
    /// The import that could not be found.
    pub(super) missing: Rc<RefCell<Option<Missing>>>,
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if name == OFFERED || is_handler(name) {
            return Ok(OFFERED.to_owned());
        }
        let candidates = candidates(base, name);
        if let Some(found) = candidates.iter().find(|name| self.program.modules.contains_key(*name)) {
            return Ok(found.clone());
        }
        *self.missing.borrow_mut() =
            Some(Missing { from: base.to_owned(), import: name.to_owned(), candidates });
        Err(Error::new_resolving(base, name))
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let code = self.program.code(name).ok_or_else(|| Error::new_loading(name))?;
        Module::declare(ctx.clone(), name, code)
    }
}

/// Whether an import is of the handler that calls tools, as authors of tools wrote it who had it in a file.
fn is_handler(name: &str) -> bool {
    let name = name.trim_end_matches(".ts").trim_end_matches(".js");
    name.ends_with("handler/ToolHandler")
}

/// The files that an import may mean; none for what is no file beside it.
fn candidates(base: &str, name: &str) -> Vec<String> {
    if !(name.starts_with("./") || name.starts_with("../")) {
        return Vec::new();
    }
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                if parts.pop().is_none() {
                    return Vec::new();
                }
            }
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let mut all = vec![path.clone()];
    // TypeScript imports `./a.js` where the file is `a.ts`.
    if let Some(stem) = path.strip_suffix(".js") {
        all.push(format!("{stem}.ts"));
    }
    all.extend([".ts", ".js", ".json", "/index.ts", "/index.js"].map(|ending| format!("{path}{ending}")));
    all.retain(|name| has_known_ending(name));
    all
}

fn has_known_ending(name: &str) -> bool {
    [".ts", ".mts", ".js", ".mjs", ".json"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stay_beside_the_script() {
        assert_eq!(candidates("a.ts", "./b")[..2], ["b.ts", "b.js"]);
        assert_eq!(candidates("deep/a.ts", "../b.js")[..2], ["b.js", "b.ts"]);
        assert!(candidates("a.ts", "../b").is_empty());
        assert!(candidates("a.ts", "/etc/passwd").is_empty());
        assert!(candidates("a.ts", "fs").is_empty());
        assert_eq!(candidates("a.ts", "./data.json")[0], "data.json");
    }
}
