//! Who there is, what there is, and what each may see and do with it: a few lines that know nothing of how the gateway decides.

use serde_json::{Value, json};

/// Somebody, as the oracle knows him.
pub(super) struct Somebody {
    pub(super) name: &'static str,
    pub(super) role: &'static str,
    pub(super) tenant: Option<&'static str>,
    pub(super) tools: &'static [&'static str],
    pub(super) group: Option<&'static str>,
    /// Whether he shows a token of an issuer rather than a key.
    pub(super) by_token: bool,
}

const fn somebody(name: &'static str, role: &'static str) -> Somebody {
    Somebody { name, role, tenant: None, tools: &[], group: None, by_token: false }
}

pub(super) const PEOPLE: &[Somebody] = &[
    somebody("reader", "read"),
    somebody("caller", "call"),
    Somebody { tools: &["weather.*"], ..somebody("weatherman", "call") },
    Somebody { tools: &["hr.?ire"], ..somebody("onlooker", "read") },
    somebody("writer", "write"),
    somebody("boss", "admin"),
    Somebody { tenant: Some("acme"), ..somebody("acme-agent", "call") },
    Somebody { tenant: Some("acme"), tools: &["acme.*"], ..somebody("acme-narrow", "call") },
    Somebody { tenant: Some("acme"), ..somebody("acme-boss", "admin") },
    Somebody { tenant: Some("globex"), ..somebody("globex-agent", "call") },
    Somebody { group: Some("outside"), ..somebody("outsider", "call") },
    Somebody { group: Some("outside"), ..somebody("outside-writer", "write") },
    Somebody { group: Some("outside"), by_token: true, ..somebody("token-outsider", "call") },
    Somebody { by_token: true, ..somebody("token-caller", "call") },
];

/// Something, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) name: &'static str,
    pub(super) owner: Option<&'static str>,
    pub(super) sort: Sort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Tool,
    Prompt,
    Resource,
    /// Many resources.
    Template,
}

const fn thing(name: &'static str, owner: Option<&'static str>, sort: Sort) -> Thing {
    Thing { name, owner, sort }
}

pub(super) const THINGS: &[Thing] = &[
    thing("weather.now", None, Sort::Tool),
    thing("hr.fire", None, Sort::Tool),
    thing("pay.refund", None, Sort::Tool),
    thing("store.wipe", None, Sort::Tool),
    thing("plan.secret", None, Sort::Tool),
    thing("acme.stock", Some("acme"), Sort::Tool),
    thing("globex.stock", Some("globex"), Sort::Tool),
    thing("up_say", None, Sort::Tool),
    thing("weather.ask", None, Sort::Prompt),
    thing("hr.ask", None, Sort::Prompt),
    thing("acme.ask", Some("acme"), Sort::Prompt),
    thing("up_greet", None, Sort::Prompt),
    thing("weather.note", None, Sort::Resource),
    thing("hr.note", None, Sort::Resource),
    thing("acme.note", Some("acme"), Sort::Resource),
    thing("inner.note", None, Sort::Resource),
    thing("weather.page", None, Sort::Template),
    thing("hr.page", None, Sort::Template),
    thing("acme.page", Some("acme"), Sort::Template),
];

/// The patterns of the group endpoint `staff`.
pub(super) const STAFF: [&str; 2] = ["hr.*", "pay.*"];

/// Rules of the configuration.
pub(super) fn configured() -> Value {
    json!({"rules": [
        {"name": "no-hr", "effect": "deny", "who": {"groups": ["outside"]}, "tools": {"names": ["hr.*"]}},
        {"name": "no-servers", "effect": "deny", "who": {"groups": ["outside"]}, "tools": {"kinds": ["mcp"]}},
        {"name": "small-sums", "effect": "deny", "who": {"roles": ["call"]}, "tools": {"names": ["pay.*"]},
         "when": "args.amount > 100", "reason": "large sums need finance"},
    ]})
}

/// Rules of the store.
pub(super) fn stored() -> Value {
    json!({"rules": [
        {"name": "no-plans", "effect": "deny", "who": {"roles": ["call"]}, "tools": {"names": ["plan.*"]}},
        {"name": "no-destruction", "effect": "deny", "who": {"roles": ["read", "call"]}, "tools": {"tags": ["danger"], "destructive": true}},
    ]})
}

/// What comes of a call, of getting a prompt and of reading a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    /// As if there were no such thing.
    Hidden,
    /// By its arguments.
    Refused,
    /// The role does not suffice.
    Role,
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern {
        "hr.?ire" => name == "hr.fire",
        pattern => name.starts_with(pattern.trim_end_matches('*')),
    }
}

impl Thing {
    pub(super) fn is_tool(&self) -> bool {
        self.sort == Sort::Tool
    }

    /// Whether another MCP server has it.
    pub(super) fn is_foreign(&self) -> bool {
        self.name.starts_with("up_") || self.name == "inner.note"
    }

    /// Groups choose tools; prompts and resources are at every endpoint.
    pub(super) fn is_of_staff(&self) -> bool {
        !self.is_tool() || STAFF.iter().any(|pattern| fits(pattern, self.name))
    }
}

impl Somebody {
    pub(super) fn sees(&self, thing: &Thing) -> bool {
        let within = self.tools.is_empty() || self.tools.iter().any(|pattern| fits(pattern, thing.name));
        let hidden = match thing.name {
            "hr.fire" | "hr.ask" | "hr.note" | "hr.page" | "up_say" | "up_greet" | "inner.note" => {
                self.group == Some("outside")
            }
            "plan.secret" => self.role == "call",
            "store.wipe" => !self.may_write(),
            _ => false,
        };
        within && !hidden && (thing.owner.is_none() || thing.owner == self.tenant)
    }

    pub(super) fn may(&self, thing: &Thing, amount: u32) -> Verdict {
        if !self.sees(thing) {
            Verdict::Hidden
        } else if self.role == "read" {
            Verdict::Role
        } else if thing.name == "pay.refund" && self.role == "call" && amount > 100 {
            Verdict::Refused
        } else {
            Verdict::Done
        }
    }

    pub(super) fn may_write(&self) -> bool {
        matches!(self.role, "write" | "admin")
    }

    /// Whether nothing is kept from him.
    pub(super) fn sees_all(&self) -> bool {
        self.tenant.is_none() && self.group.is_none() && self.may_write()
    }

    /// The tools that he sees and that are among these.
    pub(super) fn seen_tools(&self, among: impl Fn(&Thing) -> bool) -> Vec<&'static str> {
        let seen = THINGS.iter().filter(|thing| thing.is_tool() && among(thing) && self.sees(thing));
        seen.map(|thing| thing.name).collect()
    }
}

/// Which of these a text names.
pub(super) fn named_in(text: &str, among: impl Fn(&Thing) -> bool) -> Vec<&'static str> {
    let named = THINGS.iter().filter(|thing| among(thing) && text.contains(thing.name));
    named.map(|thing| thing.name).collect()
}
