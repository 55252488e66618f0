//! `cargo xtask counts`: how many instructions the released gateway takes for one call and one search, counted by valgrind.
//! A count hardly depends on the machine or on what else it does, so that it can be compared with the one that was recorded.
//!
//! The gateway runs twice for each question, once with more requests than the other time: the difference is theirs alone.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use clap::Args;

use super::gateway::{Gateway, LARGE_TOOL, SMALL_TOOL, with_one_thread};
use super::load::Connection;
use super::process::Process;
use super::requests::{Dialect, call_tool, call_tool_with, get};
use super::ways_in::WaysIn;
use crate::packages;
use crate::workspace::{Workspace, answer_of, cargo, run as run_command};

#[derive(Args)]
pub(crate) struct CountOptions {
    /// Write down what was counted instead of comparing with it
    #[arg(long)]
    record: bool,
    /// Count this program instead of building one
    #[arg(long, value_name = "FILE")]
    toolrail: Option<PathBuf>,
}

/// Tools in the gateway.
const TOOLS: usize = 1_000;
/// Requests before the count begins, so that everything is warm.
const WARM: usize = 50;
/// Requests whose instructions are counted: so many that it hardly matters how the two starts differ.
const COUNTED: usize = 2_000;
/// How much more than recorded is still the same: other processors have other ways, and timers run meanwhile.
const TOLERANCE: f64 = 0.12;
/// What was counted when somebody last looked.
const RECORD: &str = "xtask/counts.json";

type Counts = BTreeMap<&'static str, u64>;

/// Builds the gateway as a newcomer does, counts, and compares.
pub(crate) fn run(options: &CountOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    if answer_of("valgrind", &["--version"]).is_none() {
        packages::install(&["valgrind"], "counts of instructions")?;
    }
    let toolrail = if let Some(given) = &options.toolrail {
        given.clone()
    } else {
        let mut build = cargo();
        build.args(["build", "--release", "--package", "toolrail"]);
        run_command(build.current_dir(&workspace.root))?;
        workspace.target.join("release/toolrail")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counts = runtime.block_on(count_all(&toolrail))?;
    for (question, count) in &counts {
        println!("{question}: {count} instructions");
    }
    let record = workspace.root.join(RECORD);
    if options.record {
        let text = serde_json::to_string_pretty(&counts)? + "\n";
        return fs::write(&record, text).with_context(|| format!("cannot write {RECORD}"));
    }
    let text = fs::read_to_string(&record)
        .with_context(|| format!("cannot read {RECORD}; make it with `cargo xtask counts --record`"))?;
    let recorded: BTreeMap<String, u64> = serde_json::from_str(&text)?;
    compare(&counts, &recorded)
}

fn compare(counts: &Counts, recorded: &BTreeMap<String, u64>) -> Result<()> {
    let mut worse = Vec::new();
    for (question, count) in counts {
        let before = *recorded.get(*question).with_context(|| format!("{RECORD} has no {question:?}"))?;
        #[expect(clippy::cast_precision_loss, reason = "counts of instructions of one call are small")]
        let change = *count as f64 / before as f64 - 1.0;
        if change > TOLERANCE {
            worse.push(format!("{question}: {count} instead of {before} ({:+.0} %)", change * 100.0));
        }
        if change < -TOLERANCE {
            println!("{question} takes {:.0} % less than recorded; record it", -change * 100.0);
        }
    }
    if worse.is_empty() {
        return Ok(());
    }
    bail!(
        "more instructions than recorded in {RECORD}: {}; find out why, or record them with `cargo xtask counts --record` and say why in the commit",
        worse.join(", ")
    )
}

async fn count_all(toolrail: &Path) -> Result<Counts> {
    let own_binary = std::env::current_exe().context("cannot find the running program's own path")?;
    let (_upstream, upstream) = Process::spawn_server(&own_binary, &["bench-upstream"]).await?;
    let folder = tempfile::Builder::new().prefix("toolrail-counts-").tempdir()?;
    let data = folder.path().join("data");
    fs::create_dir(&data)?;
    // Filled at full speed.
    let filled = Gateway::start_with(toolrail, &data, TOOLS, upstream).await?;
    filled.process.kill().await?;
    let log = folder.path().join("valgrind.log");
    let wrapped = wrapper(folder.path(), toolrail, &log)?;
    let ways = WaysIn::make(toolrail, folder.path(), &data).await?;
    let mut counts = Counts::new();
    for question in QUESTIONS {
        let name = question.name;
        eprintln!("counting {name}");
        let (mut totals, arguments) = (Vec::new(), (question.arguments)(&ways));
        for requests in [WARM, WARM + COUNTED] {
            let request = |address| (question.request)(address, &ways);
            totals.push(count((&wrapped, &data, &arguments), &log, (request, requests)).await.context(name)?);
        }
        counts.insert(name, totals[1].saturating_sub(totals[0]) / COUNTED as u64);
    }
    Ok(counts)
}

/// What is asked again and again, of a gateway that is started with those arguments.
struct Question {
    name: &'static str,
    arguments: fn(&WaysIn) -> Vec<String>,
    request: fn(SocketAddr, &WaysIn) -> Bytes,
}

const QUESTIONS: &[Question] = &[
    Question {
        name: "a small call",
        arguments: |_| Vec::new(),
        request: |address, _| call_tool(address, Dialect::Modern, SMALL_TOOL),
    },
    Question {
        name: "a small call of an older client",
        arguments: |_| Vec::new(),
        request: |address, _| call_tool(address, Dialect::Legacy, SMALL_TOOL),
    },
    Question {
        name: "a small call with a key",
        arguments: |_| vec!["--secure".to_owned()],
        request: |address, ways| small_call_with(address, &ways.key),
    },
    Question {
        name: "a small call with a key, under a rule with a condition",
        arguments: |ways| ways.ruled.clone(),
        request: |address, ways| small_call_with(address, &ways.key),
    },
    Question {
        name: "a small call with a token",
        arguments: |ways| ways.issued.clone(),
        request: |address, ways| small_call_with(address, &ways.token),
    },
    Question {
        name: "a call that answers 64 KB",
        arguments: |_| Vec::new(),
        request: |address, _| call_tool(address, Dialect::Modern, LARGE_TOOL),
    },
    Question {
        name: "a search",
        arguments: |_| Vec::new(),
        request: |address, _| get(address, "/mcp/search?q=weather%20in%20a%20city&limit=5"),
    },
];

fn small_call_with(address: SocketAddr, shown: &str) -> Bytes {
    call_tool_with(address, Dialect::Modern, SMALL_TOOL, Some(shown))
}

/// The instructions of a whole run with that many requests.
async fn count(
    (wrapped, data, arguments): (&Path, &Path, &[String]),
    log: &Path,
    (request, requests): (impl Fn(SocketAddr) -> Bytes, usize),
) -> Result<u64> {
    // What the gateway does by itself meanwhile is not the call's.
    let quiet = ["--poll-ms".to_owned(), "60000".to_owned()];
    let gateway = Gateway::start_as(wrapped, data, &[&quiet, arguments].concat()).await?;
    let mut connection = Connection::open(gateway.address).await?;
    let request = request(gateway.address);
    for _ in 0..requests {
        let answer = connection.ask(&request).await?;
        ensure!(!answer.is_empty(), "the answer is empty");
        ensure!(!answer.starts_with(b"{\"error\""), "{}", String::from_utf8_lossy(answer));
    }
    gateway.process.end().await?;
    let text = fs::read_to_string(log).context("valgrind left no log")?;
    // Such as `==7== I   refs:  98,112,506`, with more or fewer blanks.
    let (_, count) =
        text.lines().find_map(|line| line.split_once(" refs:")).context("valgrind counted nothing")?;
    count.trim().replace(',', "").parse().with_context(|| format!("valgrind counted {count:?}"))
}

/// A program that runs the gateway in valgrind.
fn wrapper(folder: &Path, toolrail: &Path, log: &Path) -> Result<PathBuf> {
    let valgrind = format!(
        "valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --log-file='{}'",
        log.display()
    );
    with_one_thread(folder, toolrail, &valgrind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_grew_is_an_error_and_one_that_shrank_is_not() {
        let recorded = BTreeMap::from([("a search".to_owned(), 1_000)]);
        assert!(compare(&Counts::from([("a search", 1_050)]), &recorded).is_ok());
        assert!(compare(&Counts::from([("a search", 500)]), &recorded).is_ok());
        let error = compare(&Counts::from([("a search", 1_200)]), &recorded).unwrap_err().to_string();
        assert!(error.contains("a search: 1200 instead of 1000 (+20 %)"), "{error}");
        assert!(compare(&Counts::from([("another", 1)]), &recorded).is_err(), "what was never recorded");
    }
}
