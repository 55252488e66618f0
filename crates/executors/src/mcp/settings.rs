//! The block `mcp` of a definition. The doc comments are the user's documentation.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use toolrail_core::{Auth, Problems, ToolName};

use super::endpoint::LIST_AUTH;
use super::hub::Sharing;
use super::meta::Claims;
use super::pattern::NamePattern;
use super::sessions::SessionLimits;
use crate::request::RequestSettings;

/// An MCP server, reached by `url` or started by `command`. Its tools, prompts and resources are listed beside ours.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct McpSettings {
    /// Where the server listens (Streamable HTTP), such as `https://example.com/mcp`; may hold `{{secrets.KEY}}`.
    #[serde(default)]
    pub(super) url: Option<String>,
    /// Headers to send with every request to `url`, by name; values may hold `{{secrets.KEY}}`.
    #[serde(default)]
    pub(super) headers: Option<Map<String, Value>>,
    /// With `auth` of type `caller_token` or `token_exchange`: how the gateway proves itself when it lists the server, which nobody
    /// in particular asks for: an `auth` of type `apiKey`, `basic` or `bearer`; no credential when left out.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"]))]
    pub(super) list_auth: Option<Value>,
    /// A program to start that speaks MCP on its standard streams, such as `npx`. In the store only with `--allow-commands`.
    #[serde(default)]
    pub(super) command: Option<String>,
    /// The arguments of `command`.
    #[serde(default)]
    pub(super) args: Option<Vec<String>>,
    /// Environment variables of `command`, by name; values may hold `{{secrets.KEY}}`. Beside these it sees only PATH,
    /// HOME, USER, LANG, TZ, TMPDIR and the like, never the gateway's own variables.
    #[serde(default)]
    pub(super) env: Option<Map<String, Value>>,
    /// The folder in which `command` runs.
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// What is put before the names of its tools and prompts; the name of the definition and `_` when left out, and nothing
    /// with an empty text. URIs of resources are never changed.
    #[serde(default)]
    pub(super) prefix: Option<String>,
    /// Which of its tools are listed: patterns over their names there, `*` standing for any characters; all when left out.
    #[serde(default)]
    pub(super) include: Option<Vec<String>>,
    /// Which of its tools are not listed, by patterns as in `include`.
    #[serde(default)]
    pub(super) exclude: Option<Vec<String>>,
    /// How to speak to it: `modern` (2026-07-28), `legacy` (older revisions, which begin with `initialize`) or `auto`, which
    /// finds out; `auto` when left out.
    #[serde(default)]
    #[schemars(extend("enum" = ["auto", "modern", "legacy"]))]
    pub(super) protocol: Option<Protocol>,
    /// Whether all clients share one session, or process, with it. Otherwise each conversation of a client has its own, so
    /// that what the server remembers, asks and tells concerns that client alone; false when left out.
    #[serde(default)]
    pub(super) shared: Option<bool>,
    /// The most sessions, or processes, beside the one that is listed; 16 processes or 256 sessions over HTTP when left out.
    /// When more are needed, the one goes that nobody has used for longest.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_sessions: Option<u64>,
    /// After how many milliseconds without a call a session, or process, is ended; 900000 when left out.
    #[serde(default)]
    #[schemars(range(min = 1000, max = 86_400_000))]
    pub(super) session_idle_ms: Option<u64>,
    /// The most milliseconds the server may take for an answer; a report of progress starts them again; 60000 when left
    /// out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) timeout_ms: Option<u64>,
    /// The most milliseconds connecting, or starting `command`, may take; 10000 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) connect_timeout_ms: Option<u64>,
    /// The most bytes of one message of the server; 8388608 when left out.
    #[serde(default)]
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(super) max_response_bytes: Option<u64>,
    /// After how many milliseconds its lists are asked for again where it cannot tell that they changed; 300000 when left
    /// out.
    #[serde(default)]
    #[schemars(range(min = 1000, max = 86_400_000))]
    pub(super) list_ttl_ms: Option<u64>,
}

/// How to speak to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum Protocol {
    #[default]
    Auto,
    Modern,
    Legacy,
}

/// What holds for every exchange with one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most time for an answer.
    pub(super) answer: Duration,
    /// The most time until a connection stands.
    pub(super) connect: Duration,
    /// The most bytes of one message.
    pub(super) message_bytes: usize,
    /// How old lists may grow.
    pub(super) list_ttl: Duration,
}

/// Which tools are listed, and under which names.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) prefix: String,
    include: Option<Vec<NamePattern>>,
    exclude: Vec<NamePattern>,
}

const LONGEST_PREFIX: usize = 48;
const ANSWER_MS: u64 = 60_000;
const CONNECT_MS: u64 = 10_000;
const MESSAGE_BYTES: u64 = 8 << 20;
const LIST_TTL_MS: u64 = 300_000;
/// A process of a common runtime takes some 50 MB; a session over HTTP costs little here, and somebody else there.
const MOST_PROCESSES: u64 = 16;
const MOST_HTTP_SESSIONS: u64 = 256;
/// As long as the gateway keeps the sessions of its own clients.
const SESSION_IDLE_MS: u64 = 900_000;

impl McpSettings {
    pub(super) fn limits(&self) -> Limits {
        let answer = self.timeout_ms.unwrap_or(ANSWER_MS);
        let connect = self.connect_timeout_ms.unwrap_or(CONNECT_MS.min(answer));
        let bytes = self.max_response_bytes.unwrap_or(MESSAGE_BYTES);
        Limits {
            answer: Duration::from_millis(answer),
            connect: Duration::from_millis(connect),
            message_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            list_ttl: Duration::from_millis(self.list_ttl_ms.unwrap_or(LIST_TTL_MS)),
        }
    }

    /// The request that carries every message to `url`.
    pub(super) fn request(&self) -> RequestSettings<'_> {
        let answer = self.timeout_ms.unwrap_or(ANSWER_MS);
        RequestSettings {
            block: "mcp",
            service: None,
            method: Some("POST"),
            query: None,
            headers: self.headers.as_ref(),
            cookies: None,
            body: None,
            body_type: None,
            timeout_ms: Some(answer),
            connect_timeout_ms: Some(self.connect_timeout_ms.unwrap_or(CONNECT_MS.min(answer))),
            max_response_bytes: Some(self.max_response_bytes.unwrap_or(MESSAGE_BYTES)),
            redirects: None,
        }
    }

    /// How the gateway proves itself when it lists the server, where calls are made in the name of whoever calls.
    pub(super) fn list_auth(&self, is_on_behalf: bool, problems: &mut Problems) -> Option<Auth> {
        let written = self.list_auth.as_ref()?;
        if !is_on_behalf {
            problems.error(LIST_AUTH, "has an effect only where auth asks in the name of whoever calls; remove it, auth is for the lists too");
            return None;
        }
        let auth = Auth::read(written, LIST_AUTH, problems)?;
        if matches!(auth, Auth::None | Auth::ApiKey { .. } | Auth::Basic { .. } | Auth::Bearer { .. }) {
            return Some(auth);
        }
        let message = "nobody in particular asks for the lists; use none, apiKey, basic or bearer";
        problems.error(format!("{LIST_AUTH}/type"), message);
        None
    }

    /// Notes fields that have no effect, because they belong to the other way of reaching a server.
    pub(super) fn check_way(&self, problems: &mut Problems) {
        let for_command =
            [("args", self.args.is_some()), ("env", self.env.is_some()), ("cwd", self.cwd.is_some())];
        match (&self.url, &self.command) {
            (Some(_), Some(_)) => problems.error("/mcp/command", "there is url too; keep one of them"),
            (None, None) => problems.error(
                "/mcp",
                "needs url (a server to connect to) or command (a program to start); add one of them",
            ),
            (Some(_), None) => {
                for (field, _) in for_command.into_iter().filter(|(_, is_there)| *is_there) {
                    problems.error(format!("/mcp/{field}"), "has no effect with url; remove it");
                }
            }
            (None, Some(command)) => {
                if command.trim().is_empty() {
                    problems.error("/mcp/command", "is empty; name the program to start");
                }
                if has_arguments(command) {
                    problems.warning(
                        "/mcp/command",
                        "there is no program of that name, which has spaces; put the arguments into args",
                    );
                }
                if self.list_auth.is_some() {
                    problems.error(LIST_AUTH, "has no effect with command; remove it or use env");
                }
                if self.headers.is_some() {
                    problems.error("/mcp/headers", "has no effect with command; remove it or use env");
                }
            }
        }
    }

    pub(super) fn sharing(&self) -> Sharing {
        if self.shared == Some(true) { Sharing::Everybody } else { Sharing::Conversation }
    }

    /// Where all share one session, nobody in particular can be asked.
    pub(super) fn claims(&self) -> Claims {
        match self.sharing() {
            Sharing::Everybody => Claims::Nothing,
            Sharing::Conversation => Claims::Everything,
        }
    }

    pub(super) fn session_limits(&self) -> SessionLimits {
        let usual = if self.command.is_some() { MOST_PROCESSES } else { MOST_HTTP_SESSIONS };
        SessionLimits {
            most: usize::try_from(self.max_sessions.unwrap_or(usual)).unwrap_or(usize::MAX),
            idle: Duration::from_millis(self.session_idle_ms.unwrap_or(SESSION_IDLE_MS)),
            wait: self.limits().connect.max(self.limits().answer / 2),
        }
    }

    pub(super) fn selection(&self, name: &ToolName, problems: &mut Problems) -> Selection {
        let default = || match name.alias() {
            None => format!("{name}_"),
            // The names of its tools begin with it, which clients must be able to carry.
            Some(_) => format!("{}_", name.shortened_to(LONGEST_PREFIX - 1)),
        };
        let prefix = self.prefix.clone().unwrap_or_else(default);
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if let Some(bad) = prefix.chars().find(|c| !is_allowed(*c)) {
            problems.error(
                "/mcp/prefix",
                format!("{bad:?} is not allowed in a tool name; use A-Z a-z 0-9 _ . -"),
            );
        }
        if prefix.len() > LONGEST_PREFIX {
            let words =
                format!("is longer than {LONGEST_PREFIX} characters, names have 64 at most; shorten it");
            problems.error("/mcp/prefix", words);
        }
        let patterns = |list: &Vec<String>| list.iter().map(|text| NamePattern::new(text)).collect();
        Selection {
            prefix,
            include: self.include.as_ref().map(patterns),
            exclude: self.exclude.as_ref().map(patterns).unwrap_or_default(),
        }
    }
}

/// Whether a command looks like a whole line: a program and its arguments.
pub(super) fn has_arguments(command: &str) -> bool {
    command.split_whitespace().nth(1).is_some() && !std::path::Path::new(command).exists()
}

impl Selection {
    /// Whether the tool of that name there is listed.
    pub(super) fn lists(&self, name: &str) -> bool {
        self.include.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(name)))
            && !self.exclude.iter().any(|pattern| pattern.matches(name))
    }
}
