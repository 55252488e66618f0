//! Which crate may see which: a crate knows only lower levels, and crates of one level do not know each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Fault;
use crate::workspace::{Workspace, relative};

/// One crate of the design: its level, and what it may depend on in the product.
struct Place {
    name: &'static str,
    level: u8,
    sees: Sees,
}

enum Sees {
    Only(&'static [&'static str]),
    EveryProductCrate,
}

const PROTOCOL: &str = "toolrail-protocol";
const CORE: &str = "toolrail-core";
const SCRIPTS: &str = "toolrail-scripts";
const TESTKIT: &str = "toolrail-testkit";
const XTASK: &str = "xtask";

/// What a binary with tools of its own needs.
const EMBEDS: &[&str] = &["toolrail", "toolrail-tool"];

const PLACES: &[Place] = &[
    Place { name: PROTOCOL, level: 0, sees: Sees::Only(&[]) },
    Place { name: CORE, level: 1, sees: Sees::Only(&[PROTOCOL]) },
    Place { name: SCRIPTS, level: 0, sees: Sees::Only(&[]) },
    Place { name: "toolrail-tool-macros", level: 0, sees: Sees::Only(&[]) },
    Place { name: "toolrail-search", level: 2, sees: Sees::Only(&[CORE]) },
    Place { name: "toolrail-executors", level: 2, sees: Sees::Only(&[PROTOCOL, CORE, SCRIPTS]) },
    Place { name: "toolrail-policies", level: 2, sees: Sees::Only(&[CORE]) },
    Place { name: "toolrail-access", level: 2, sees: Sees::Only(&[CORE]) },
    Place { name: "toolrail-identity", level: 3, sees: Sees::Only(&[CORE]) },
    Place { name: "toolrail-store", level: 2, sees: Sees::Only(&[CORE]) },
    Place { name: "toolrail-tool", level: 2, sees: Sees::Only(&[CORE, "toolrail-tool-macros"]) },
    Place { name: "toolrail-registry", level: 3, sees: Sees::Only(&[PROTOCOL, CORE, "toolrail-search"]) },
    Place { name: "toolrail-mcp", level: 4, sees: Sees::Only(&[PROTOCOL, CORE, "toolrail-registry"]) },
    Place { name: "toolrail-discovery", level: 4, sees: Sees::Only(&[CORE, "toolrail-registry"]) },
    Place {
        name: "toolrail-admin",
        level: 4,
        sees: Sees::Only(&[CORE, "toolrail-access", "toolrail-registry", "toolrail-identity"]),
    },
    Place { name: "toolrail-broker", level: 4, sees: Sees::Only(&[CORE, "toolrail-identity"]) },
    Place {
        name: "toolrail-http",
        level: 5,
        sees: Sees::Only(&[CORE, "toolrail-access", "toolrail-identity", "toolrail-mcp"]),
    },
    Place { name: "toolrail", level: 6, sees: Sees::EveryProductCrate },
    Place { name: "toolrail-conformance", level: 7, sees: Sees::Only(EMBEDS) },
    Place { name: "toolrail-native-tools", level: 7, sees: Sees::Only(EMBEDS) },
    // Development only: nothing that ships may depend on these two.
    Place { name: TESTKIT, level: 0, sees: Sees::Only(&[CORE]) },
    Place { name: XTASK, level: 0, sees: Sees::Only(&[TESTKIT, "toolrail-search"]) },
];

/// A dependency of one workspace crate on another.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    is_dev: bool,
    manifest: PathBuf,
}

pub(super) fn check(workspace: &Workspace) -> Result<Vec<Fault>> {
    let packages = workspace.metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let manifests =
        packages.iter().map(|package| Ok((text(package, "name")?, manifest(package, workspace)?)));
    let manifests: BTreeMap<&str, PathBuf> = manifests.collect::<Result<_>>()?;
    let mut faults: Vec<Fault> = manifests
        .iter()
        .filter(|(name, _)| place(name).is_none())
        .map(|(name, manifest)| fault(manifest, unplaced(name)))
        .collect();
    for package in packages {
        for edge in edges(package, &manifests)? {
            faults.extend(judge(&edge).map(|text| fault(&edge.manifest, text)));
        }
    }
    Ok(faults)
}

fn edges<'a>(package: &'a Value, manifests: &BTreeMap<&str, PathBuf>) -> Result<Vec<Edge<'a>>> {
    let from = text(package, "name")?;
    let manifest = &manifests[from];
    let dependencies = package["dependencies"].as_array().context("a package lists no dependencies")?;
    let mut edges = Vec::new();
    for dependency in dependencies {
        let to = text(dependency, "name")?;
        if manifests.contains_key(to) {
            let is_dev = dependency["kind"] == "dev";
            edges.push(Edge { from, to, is_dev, manifest: manifest.clone() });
        }
    }
    Ok(edges)
}

/// What is wrong with a dependency, if anything is. Crates without a place are reported on their own.
fn judge(edge: &Edge<'_>) -> Option<String> {
    let (from, to) = (place(edge.from)?, place(edge.to)?);
    let allowed = if edge.is_dev { may_test_with(from, to) } else { may_see(from, to) };
    if allowed {
        return None;
    }
    let advice = match (to.name, edge.is_dev) {
        (TESTKIT, _) => "move it to [dev-dependencies]".to_owned(),
        (XTASK, _) => "nothing depends on the chores".to_owned(),
        (_, true) => {
            format!("tests may use lower levels only (it is level {}, this is {})", to.level, from.level)
        }
        (_, false) => {
            "put what both need into a lower level, or join them in the binary's assemble.rs".to_owned()
        }
    };
    Some(format!("{} must not depend on {}: {advice}", from.name, to.name))
}

fn may_see(from: &Place, to: &Place) -> bool {
    match from.sees {
        Sees::Only(names) => names.contains(&to.name),
        Sees::EveryProductCrate => ![TESTKIT, XTASK].contains(&to.name),
    }
}

fn may_test_with(from: &Place, to: &Place) -> bool {
    match to.name {
        TESTKIT => true,
        XTASK => false,
        _ => to.level < from.level || may_see(from, to),
    }
}

fn place(name: &str) -> Option<&'static Place> {
    PLACES.iter().find(|place| place.name == name)
}

fn unplaced(name: &str) -> String {
    format!("{name} has no level: add it to PLACES in xtask/src/tidy/levels.rs and to ARCHITECTURE.md")
}

fn fault(manifest: &std::path::Path, text: String) -> Fault {
    Fault { path: manifest.to_owned(), line: 1, text }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata has no {key}"))
}

fn manifest(package: &Value, workspace: &Workspace) -> Result<PathBuf> {
    let path = PathBuf::from(text(package, "manifest_path")?);
    Ok(relative(&path, &workspace.root).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `edges`: from, to, kind.
    fn faults_of(names: &[&str], edges: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let packages: Vec<Value> = names
            .iter()
            .map(|name| {
                let own = edges.iter().filter(|edge| edge.0 == *name);
                let dependencies: Vec<Value> =
                    own.map(|edge| json!({"name": edge.1, "kind": edge.2})).collect();
                json!({"name": name, "manifest_path": format!("/r/{name}/Cargo.toml"), "dependencies": dependencies})
            })
            .collect();
        let workspace = Workspace {
            root: PathBuf::from("/r"),
            target: PathBuf::new(),
            metadata: json!({ "packages": packages }),
        };
        check(&workspace).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn dependencies_along_the_levels_are_allowed() {
        let names = PLACES.iter().map(|place| place.name).collect::<Vec<_>>();
        let edges = [
            ("toolrail-store", "toolrail-core", None),
            ("toolrail-registry", "toolrail-search", None),
            ("toolrail-mcp", "toolrail-registry", None),
            ("toolrail", "toolrail-executors", None),
            ("toolrail", "toolrail-testkit", Some("dev")),
            ("toolrail-core", "toolrail-testkit", Some("dev")),
            ("xtask", "toolrail-testkit", None),
            ("toolrail-mcp", "toolrail-executors", Some("dev")),
            ("toolrail-store", "serde", None),
        ];
        assert_eq!(faults_of(&names, &edges), Vec::<String>::new());
    }

    #[test]
    fn dependencies_across_the_levels_are_faults() {
        let names = PLACES.iter().map(|place| place.name).collect::<Vec<_>>();
        let cases = [
            ("toolrail-core", "toolrail-store", None),
            ("toolrail-executors", "toolrail-policies", None),
            ("toolrail-executors", "toolrail-policies", Some("build")),
            ("toolrail-executors", "toolrail-policies", Some("dev")),
            ("toolrail-registry", "toolrail-store", None),
            ("toolrail-mcp", "toolrail-admin", None),
            ("toolrail-mcp", "toolrail-executors", None),
            ("toolrail-store", "toolrail-testkit", None),
            ("toolrail", "toolrail-testkit", None),
            ("toolrail", "xtask", Some("dev")),
            ("xtask", "toolrail-core", None),
        ];
        for case in cases {
            let faults = faults_of(&names, &[case]);
            let expected = format!("{}/Cargo.toml:1: {} must not depend on {}", case.0, case.0, case.1);
            assert_eq!(faults.len(), 1, "{case:?}: {faults:?}");
            assert!(faults[0].starts_with(&expected), "{case:?}: {faults:?}");
        }
    }

    #[test]
    fn crate_without_a_level_is_a_fault() {
        let faults = faults_of(&["toolrail-extra"], &[]);
        assert!(faults[0].contains("toolrail-extra has no level"), "{faults:?}");
    }
}
