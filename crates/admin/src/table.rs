//! Every route of the REST face with what it is for and an example: the router, the front page, the Postman collection and the
//! curl script are all made of this one table. The examples work in this order on a new store.

use axum::routing::{MethodRouter, delete, get, post, put};
use toolrail_core::Role;

use crate::access::permit::Needs;
use crate::access::{approvals, connections, doctor, explain, keys, permissions, sessions};
use crate::{
    Admin, audit, call, definitions, export, health, history, index, learnt, list, metrics, preview, refresh,
    register, requests, rollback, search, stats, sync,
};

/// One request that is answered.
pub(crate) struct Route {
    /// Under which heading it is listed.
    pub(crate) heading: &'static str,
    pub(crate) method: &'static str,
    /// With its variables in braces.
    pub(crate) path: &'static str,
    /// What it does, for people.
    pub(crate) about: &'static str,
    /// What may stand behind the path, as an example.
    pub(crate) query: &'static str,
    /// A body that works; `{version}` stands for the first version of the example.
    pub(crate) body: Option<&'static str>,
    /// Whether the example works by itself, in a script.
    pub(crate) is_scripted: bool,
    /// Who may ask for it.
    pub(crate) needs: Needs,
    /// Carries it out.
    pub(crate) handler: fn() -> MethodRouter<Admin>,
}

/// What an example has in the place of a variable of a path.
pub(crate) fn example_of(variable: &str) -> &'static str {
    match variable {
        "name" => "example.health",
        "key" => "example-key",
        "approval" => "ap_0123456789abcdef0123",
        "connection" => "co_0123456789abcdef0123456789abcdef",
        "session" => "ann@example.com",
        _ => "1",
    }
}

const DEFINITION: &str = r#"{"name":"example.health","description":"Whether this gateway is well","type":"http","inputSchema":{"type":"object","properties":{}},"http":{"url":"http://127.0.0.1:8080/healthz"}}"#;
const PERMISSIONS: &str = r#"{"rules":[{"name":"no-guests","effect":"deny","who":{"groups":["guests"]},"tools":{"names":["example.*"]}}]}"#;
const BATCH: &str = r#"{"mode":"each","tools":[{"name":"example.ready","description":"Whether this gateway is ready","type":"http","inputSchema":{"type":"object","properties":{}},"http":{"url":"http://127.0.0.1:8080/readyz"}}]}"#;

const fn route(
    heading: &'static str,
    (method, path): (&'static str, &'static str),
    about: &'static str,
    handler: fn() -> MethodRouter<Admin>,
) -> Route {
    let needs = Needs::Role(Role::Write);
    Route { heading, method, path, about, query: "", body: None, is_scripted: true, needs, handler }
}

impl Route {
    const fn change(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    const fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// The same, whose example needs something that is not there in a script: a person.
    const fn unscripted(self) -> Self {
        Self { is_scripted: false, ..self }
    }

    const fn sending(self, body: &'static str) -> Self {
        Self { body: Some(body), ..self }
    }
}

/// Calling a tool needs more, which the tool itself sees to.
const READING: Needs = Needs::Role(Role::Read);

/// Who decides what, the desk knows.
const DECIDING: Needs = Needs::Role(Role::Call);

/// Everybody has his own; the grants know whose they are.
const CONNECTING: Needs = Needs::Role(Role::Call);

const ADMINISTERING: Needs = Needs::Role(Role::Admin);

/// Rules hold for all tenants. No rule keeps anybody from them: he could not mend it.
const RULING: Needs = Needs::RoleOfNoTenant(Role::Admin);

const TOOLS: &str = "tools";
const ADMIN: &str = "admin";
const HEALTH: &str = "health";
const SCHEMA: &str = "schema";
const KEYS: &str = "keys";
const RULES: &str = "rules";
const APPROVALS: &str = "approvals";
const CONNECTIONS: &str = "connections";
const SESSIONS: &str = "sessions";

/// All of them.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    route(HEALTH, ("GET", "/healthz"), "Whether the process answers", || get(health::healthz)).needing(Needs::Nothing),
    route(HEALTH, ("GET", "/readyz"), "Whether it serves definitions and can store them", || get(health::readyz)).needing(Needs::Nothing),
    route(HEALTH, ("GET", "/metrics"), "Counters for Prometheus", || get(metrics::page)).needing(Needs::RoleOverAll(Role::Read)),
    route(SCHEMA, ("GET", "/schema/tool.json"), "The JSON Schema of a definition", || get(index::schema)).needing(READING),
    route(ADMIN, ("POST", "/admin/tools/validate"), "Check a definition, or a list of them; nothing is stored", || post(register::validate)).sending(DEFINITION),
    route(ADMIN, ("POST", "/admin/tools"), "Register a definition, or replace the one of that name", || post(register::one)).sending(DEFINITION),
    route(ADMIN, ("PUT", "/admin/tools"), "The same", || put(register::one)).sending(DEFINITION),
    route(ADMIN, ("POST", "/admin/tools/batch"), "Register many at once", || post(register::batch)).sending(BATCH),
    route(ADMIN, ("GET", "/admin/tools"), "List the definitions, live or not", || get(definitions::list)),
    route(ADMIN, ("GET", "/admin/tools/{name}"), "Show a definition with its problems", || get(definitions::show)),
    route(ADMIN, ("POST", "/admin/tools/{name}/preview"), "Show the request that a call would send, secrets masked", || post(preview::preview)).sending(r#"{"arguments":{}}"#),
    route(TOOLS, ("GET", "/mcp/tools"), "List the tools that can be called", || get(list::list)).change("q=health").needing(READING),
    route(TOOLS, ("POST", "/mcp/tools/call"), "Call a tool", || post(call::call)).sending(r#"{"tool":"example.health","arguments":{}}"#).needing(READING),
    route(TOOLS, ("GET", "/mcp/search"), "Find tools by what they should do", || get(search::by_query)).change("q=is+the+gateway+well&limit=3").needing(READING),
    route(TOOLS, ("POST", "/mcp/search"), "The same, with a body", || post(search::by_body)).sending(r#"{"query":"is the gateway well","limit":3}"#).needing(READING),
    route(ADMIN, ("POST", "/admin/tools/{name}/disable"), "Switch a tool off", || post(definitions::disable)),
    route(ADMIN, ("POST", "/admin/tools/{name}/enable"), "Switch a tool on", || post(definitions::enable)),
    route(ADMIN, ("GET", "/admin/tools/{name}/history"), "The versions of a definition", || get(history::of_tool)).change("limit=10"),
    route(ADMIN, ("GET", "/admin/tools/{name}/history/{version}"), "One version of a definition", || get(history::one)),
    route(ADMIN, ("GET", "/admin/tools/{name}/diff"), "How two versions of a definition differ", || get(history::diff)),
    route(ADMIN, ("POST", "/admin/tools/{name}/rollback"), "Go back to a version of a definition", || post(rollback::tool)).sending(r#"{"to":{version}}"#),
    route(ADMIN, ("GET", "/admin/history"), "The changes of all definitions", || get(history::all)).change("limit=10"),
    route(ADMIN, ("POST", "/admin/rollback"), "Go back with all definitions, here only as a plan", || post(rollback::all)).sending(r#"{"toRevision":{version},"dryRun":true}"#),
    route(KEYS, ("POST", "/admin/keys"), "Make a key; its text is told this once", || post(keys::create)).sending(r#"{"name":"example-key","role":"call","expiresIn":"90d"}"#).needing(ADMINISTERING),
    route(KEYS, ("GET", "/admin/keys"), "List the keys, without their texts", || get(keys::list)).needing(ADMINISTERING),
    route(KEYS, ("GET", "/admin/keys/{key}"), "Show a key, without its text", || get(keys::show)).needing(ADMINISTERING),
    route(KEYS, ("POST", "/admin/keys/{key}/rotate"), "Give a key a new text; the old one stays good for a while", || post(keys::rotate)).sending(r#"{"overlap":"1h"}"#).needing(ADMINISTERING),
    route(KEYS, ("POST", "/admin/explain"), "Whether a key sees and may call a tool, and what decides that", || post(explain::explain)).sending(r#"{"tool":"example.health","as":"example-key","arguments":{}}"#).needing(ADMINISTERING),
    route(KEYS, ("DELETE", "/admin/keys/{key}"), "Revoke a key", || delete(keys::revoke)).needing(ADMINISTERING),
    route(SESSIONS, ("GET", "/admin/sessions"), "Those who have signed in, the newest first", || get(sessions::list)).needing(ADMINISTERING),
    route(SESSIONS, ("DELETE", "/admin/sessions/{session}"), "End a session, or all of the person of that name", || delete(sessions::end)).needing(ADMINISTERING).unscripted(),
    route(SESSIONS, ("POST", "/admin/broker/keys/rotate"), "Have another key sign tokens; what the old one signed stays good for a while", || post(sessions::rotate)).sending(r#"{"overlap":"24h"}"#).needing(RULING).unscripted(),
    route(RULES, ("PUT", "/admin/permissions"), "Put permission rules into the store; with dryRun=true, only check them", || put(permissions::put)).change("note=a+first+rule").sending(PERMISSIONS).needing(RULING),
    route(RULES, ("GET", "/admin/permissions"), "The permission rules in force", || get(permissions::show)).needing(RULING),
    route(RULES, ("GET", "/admin/permissions/history"), "The versions of the rules in the store", || get(permissions::history)).needing(RULING),
    route(RULES, ("GET", "/admin/permissions/history/{number}"), "One version of the rules in the store", || get(permissions::version)).needing(RULING),
    route(RULES, ("POST", "/admin/permissions/rollback"), "Go back to a version of the rules in the store", || post(permissions::roll_back)).sending(r#"{"to":1}"#).needing(RULING),
    route(RULES, ("DELETE", "/admin/permissions"), "Take all permission rules out of the store", || delete(permissions::clear)).needing(RULING),
    route(APPROVALS, ("GET", "/admin/approvals"), "The calls that a person must approve of", || get(approvals::list)).needing(DECIDING),
    route(APPROVALS, ("GET", "/admin/approvals/{approval}"), "Show one, with the request that it would send", || get(approvals::show)).needing(DECIDING).unscripted(),
    route(APPROVALS, ("POST", "/admin/approvals/{approval}"), "Approve of it, or deny it", || post(approvals::decide)).sending(r#"{"decision":"approve","reason":"as agreed"}"#).needing(DECIDING).unscripted(),
    route(CONNECTIONS, ("GET", "/admin/connections"), "The accounts at upstream servers that people have connected", || get(connections::list)).needing(CONNECTING),
    route(CONNECTIONS, ("DELETE", "/admin/connections/{connection}"), "Take one back", || delete(connections::revoke)).needing(CONNECTING).unscripted(),
    route(ADMIN, ("GET", "/admin/audit"), "Who changed what", || get(audit::list)).needing(Needs::Role(Role::Admin)),
    route(ADMIN, ("GET", "/admin/audit/verify"), "Whether that record is whole", || get(audit::verify)).needing(Needs::RoleOverAll(Role::Admin)),
    route(ADMIN, ("GET", "/admin/doctor"), "What is open, and what else an operator should know", || get(doctor::doctor)).needing(Needs::RoleOverAll(Role::Admin)),
    route(ADMIN, ("GET", "/admin/export"), "All definitions of the store", || get(export::export)),
    route(ADMIN, ("POST", "/admin/sync"), "Make the store what is sent, here only as a plan", || post(sync::sync)).sending(r#"{"tools":[],"dryRun":true}"#),
    route(ADMIN, ("POST", "/admin/refresh"), "Look at the sources now", || post(refresh::refresh)).needing(Needs::RoleOverAll(Role::Admin)),
    route(ADMIN, ("GET", "/admin/stats"), "How many tools there are and which are used", || get(stats::stats)),
    route(ADMIN, ("GET", "/admin/problems"), "Everything that is wrong with definitions", || get(health::problems)),
    route(ADMIN, ("GET", "/admin/learnt"), "What was learnt from the use of tools", || get(learnt::show)),
    route(ADMIN, ("DELETE", "/admin/learnt"), "Forget what was learnt about a tool", || delete(learnt::forget)).change("tool=example.health"),
    route(ADMIN, ("GET", "/admin/postman.json"), "These requests as a Postman collection", || get(requests::postman)).needing(READING),
    route(ADMIN, ("GET", "/admin/curl.sh"), "These requests as a curl script", || get(requests::curl)).needing(READING),
    route(ADMIN, ("DELETE", "/admin/tools/{name}"), "Take a tool off line; with purge=true, remove it for good", || delete(definitions::remove)),
];
