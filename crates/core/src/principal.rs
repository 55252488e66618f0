//! Who makes a request, and what that one may do.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{CallError, ErrorCode, NamePattern, ToolRights, ToolTraits};

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// Somebody on this machine, or anybody where authentication is switched off.
    #[default]
    Anonymous,
    /// Somebody of a tenant, who sees its definitions beside the shared ones.
    Member {
        /// Which tenant.
        tenant: Arc<str>,
    },
    /// Somebody who has proved who he is.
    Known(Arc<Identity>),
}

impl Principal {
    /// The tenant whose definitions are seen beside the shared ones.
    pub fn tenant(&self) -> Option<&str> {
        self.shared_tenant().map(|tenant| &**tenant)
    }

    /// The same, to be kept.
    pub fn shared_tenant(&self) -> Option<&Arc<str>> {
        match self {
            Self::Anonymous => None,
            Self::Member { tenant } => Some(tenant),
            Self::Known(identity) => identity.tenant.as_ref(),
        }
    }

    /// The same without what rules keep from him: those are about seeing and calling tools, not about administering them.
    #[must_use]
    pub fn unruled(&self) -> Self {
        let Self::Known(identity) = self else { return self.clone() };
        let Some(ruling) = identity.reach.as_ref().and_then(|reach| reach.ruling.as_ref()) else {
            return self.clone();
        };
        Self::Known(Arc::new(identity.with_reach(ruling.unruled())))
    }

    /// Which tools are seen at this moment, where not all are.
    pub fn reach(&self) -> Option<Arc<ToolReach>> {
        match self {
            Self::Anonymous | Self::Member { .. } => None,
            Self::Known(identity) => identity.reach.as_ref().and_then(ToolReach::now),
        }
    }

    /// Whether what needs that role may be done. Where nobody is asked who he is, everything may.
    pub fn may(&self, role: Role) -> bool {
        match self {
            Self::Anonymous | Self::Member { .. } => true,
            Self::Known(identity) => identity.role >= role,
        }
    }

    /// Refuses whoever may not do what needs that role.
    pub fn must(&self, role: Role) -> Result<(), CallError> {
        let Self::Known(identity) = self else {
            return Ok(());
        };
        if identity.role >= role {
            return Ok(());
        }
        let message = format!(
            "{:?} has the role {}, and this needs the role {}; use another key, or ask for that role",
            identity.name,
            identity.role.word(),
            role.word()
        );
        Err(CallError::new(ErrorCode::Forbidden, message))
    }

    /// The name under which the principal is known, if it is.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Anonymous | Self::Member { .. } => None,
            Self::Known(identity) => Some(&identity.name),
        }
    }

    /// Waits until this one may do nothing any more; for ever where nobody is asked who he is.
    pub async fn ended(&self) {
        match self {
            Self::Anonymous | Self::Member { .. } => std::future::pending().await,
            Self::Known(identity) => identity.ending.wait().await,
        }
    }

    /// The longest name of a tenant, in characters.
    pub const LONGEST_TENANT: usize = 64;

    /// Somebody of the tenant of that name.
    pub fn of_tenant(name: &str) -> Result<Self, WrongTenant> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.is_empty() || name.len() > Self::LONGEST_TENANT || !name.bytes().all(plain) {
            return Err(WrongTenant(name.chars().take(80).collect()));
        }
        Ok(Self::Member { tenant: name.into() })
    }
}

/// A text that names no tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a tenant; it has 1 to 64 letters, digits, dots, dashes and underscores")]
pub struct WrongTenant(String);

/// Somebody who has proved who he is.
#[derive(Debug)]
pub struct Identity {
    /// What tells it from every other, whatever its tenant, for ever: nobody who comes later gets the same. It says what
    /// proved the identity, then a colon: `key:…`.
    pub id: Arc<str>,
    /// Its name, for people.
    pub name: String,
    /// Its tenant; somebody without one administers all of them if he may administer anything.
    pub tenant: Option<Arc<str>>,
    /// What it may do.
    pub role: Role,
    /// The groups it is in, by which rules may know it.
    pub groups: Vec<String>,
    /// What it was granted, as the issuer of its token says it.
    pub scopes: Vec<String>,
    /// Which tools it sees; all of its tenant, and the shared ones, if absent.
    pub reach: Option<Arc<ToolReach>>,
    /// When all of this ends: connections that are open then are closed.
    pub ending: Ending,
}

/// The end of somebody's rights, which others can wait for. Copies end together.
#[derive(Clone, Debug)]
pub struct Ending(Arc<watch::Sender<bool>>);

impl Default for Ending {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Ending {
    /// It has come.
    pub fn come(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has.
    pub fn is_here(&self) -> bool {
        *self.0.borrow()
    }

    async fn wait(&self) {
        // The sender lives as long as this does.
        let _ = self.0.subscribe().wait_for(|here| *here).await;
    }
}

/// Whose session, task or connection something is does not change when that one's rights do.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Identity {}

impl Hash for Identity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// What somebody may do: each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See and find tools.
    Read,
    /// Call them, read resources and use prompts.
    Call,
    /// See how definitions stand, and change them.
    Write,
    /// Administer: keys, the audit record, reading the configuration again.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Call, Self::Write, Self::Admin];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The role of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// Says of an answer that whoever asked has too small a role, and which would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededRole(pub Role);

impl Identity {
    /// The same who sees other tools.
    #[must_use]
    pub fn with_reach(&self, reach: Option<Arc<ToolReach>>) -> Self {
        Self {
            id: Arc::clone(&self.id),
            name: self.name.clone(),
            tenant: self.tenant.clone(),
            role: self.role,
            groups: self.groups.clone(),
            scopes: self.scopes.clone(),
            reach,
            ending: self.ending.clone(),
        }
    }
}

/// The tools that somebody sees: those whose names fit any of the patterns, if there are any, and that rules let him see.
#[derive(Clone, Debug)]
pub struct ToolReach {
    patterns: Vec<NamePattern>,
    rights: Option<Arc<dyn ToolRights>>,
    /// Where the rules may change while somebody is here, they are asked for what holds now; nothing else counts then.
    ruling: Option<Arc<dyn Ruling>>,
}

/// What rules that may change leave somebody.
pub trait Ruling: std::fmt::Debug + Send + Sync {
    /// What he sees at this moment; everything if absent. The very same as long as nothing changes.
    fn reach(&self) -> Option<Arc<ToolReach>>;

    /// What he would see if there were no rules.
    fn unruled(&self) -> Option<Arc<ToolReach>>;
}

/// Rights are the same only if they are the very same.
impl PartialEq for ToolReach {
    fn eq(&self, other: &Self) -> bool {
        let same_rights = are_same(self.rights.as_ref(), other.rights.as_ref());
        same_rights
            && are_same(self.ruling.as_ref(), other.ruling.as_ref())
            && self.patterns == other.patterns
    }
}

fn are_same<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

impl Eq for ToolReach {}

impl ToolReach {
    /// Those of these patterns: `*` stands for any characters, `?` for one.
    pub fn new(patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| NamePattern::new(pattern)).collect();
        Self { patterns, rights: None, ruling: None }
    }

    /// What rules leave of that, or of everything.
    pub fn ruled(within: Option<&Self>, rights: Arc<dyn ToolRights>) -> Self {
        let patterns = within.map(|within| within.patterns.clone()).unwrap_or_default();
        Self { patterns, rights: Some(rights), ruling: None }
    }

    /// Whatever that leaves him at the moment.
    pub fn following(ruling: Arc<dyn Ruling>) -> Self {
        Self { patterns: Vec::new(), rights: None, ruling: Some(ruling) }
    }

    /// What is seen at this moment; everything if absent.
    pub fn now(self: &Arc<Self>) -> Option<Arc<Self>> {
        match &self.ruling {
            Some(ruling) => ruling.reach(),
            None => Some(Arc::clone(self)),
        }
    }

    /// What rules say, where there are any.
    pub fn rights(&self) -> Option<&dyn ToolRights> {
        self.rights.as_deref()
    }

    /// Whether a tool is seen.
    pub fn sees(&self, tool: &ToolTraits<'_>) -> bool {
        if let Some(ruling) = &self.ruling {
            return ruling.reach().is_none_or(|reach| reach.sees(tool));
        }
        self.fits(tool.name) && self.rights.as_ref().is_none_or(|rights| rights.sees(tool))
    }

    fn fits(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.fits(name))
    }

    /// Whether what has that name is seen.
    pub fn has(&self, name: &str) -> bool {
        self.sees(&ToolTraits::named(name))
    }

    /// Whether what has no name of its own is seen because of the definition that it comes from: whoever sees all tools of a
    /// server, `hr.*`, also sees its resources.
    pub fn has_things_of(&self, definition: &str) -> bool {
        if let Some(ruling) = &self.ruling {
            return ruling.reach().is_none_or(|reach| reach.has_things_of(definition));
        }
        let dotted = format!("{definition}.");
        let fits = self.fits(definition) || self.fits(&dotted);
        // Rules that hide the server, or all of its tools, hide what it has, in whatever way its tools are named.
        fits && self.rights.as_ref().is_none_or(|rights| {
            let names = [definition, &dotted, &format!("{definition}_")];
            names.into_iter().all(|name| rights.sees(&ToolTraits { kind: "mcp", ..ToolTraits::named(name) }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_short_plain_name() {
        for good in ["a", "Acme_1.eu-west", &"x".repeat(64)] {
            assert_eq!(Principal::of_tenant(good).unwrap().tenant(), Some(good));
        }
        for bad in ["", "a b", "a/b", "äcme", "a\n", &"x".repeat(65)] {
            let told = Principal::of_tenant(bad).unwrap_err().to_string();
            assert!(told.contains("1 to 64 letters"), "{told}");
        }
    }

    fn known(id: &str, tenant: Option<&str>, role: Role) -> Principal {
        let identity = Identity {
            id: id.into(),
            name: id.to_owned(),
            tenant: tenant.map(Into::into),
            role,
            groups: Vec::new(),
            scopes: Vec::new(),
            reach: None,
            ending: Ending::default(),
        };
        Principal::Known(Arc::new(identity))
    }

    #[derive(Debug)]
    struct Without(&'static str);

    impl ToolRights for Without {
        fn sees(&self, tool: &ToolTraits<'_>) -> bool {
            tool.kind != self.0 && !NamePattern::new(self.0).fits(tool.name)
        }

        fn judge(
            &self,
            _: &ToolTraits<'_>,
            _: &serde_json::Map<String, serde_json::Value>,
        ) -> Result<(), crate::Denial> {
            Ok(())
        }
    }

    #[test]
    fn what_hides_a_server_or_its_tools_hides_what_else_it_has() {
        for hidden in ["hr", "hr.*", "hr_*", "hr*", "mcp"] {
            let reach = ToolReach::ruled(None, Arc::new(Without(hidden)));
            assert!(!reach.has_things_of("hr"), "{hidden}");
            assert_eq!(reach.has_things_of("shop"), hidden != "mcp", "{hidden}");
        }
        let narrow = ToolReach::new(&["hr.*".to_owned()]);
        assert!(narrow.has_things_of("hr") && !narrow.has_things_of("shop"));
        let ruled = ToolReach::ruled(Some(&narrow), Arc::new(Without("x")));
        assert!(ruled.has_things_of("hr") && !ruled.has_things_of("shop"), "both hold");
    }

    #[test]
    fn each_role_includes_those_before_it() {
        for role in Role::ALL {
            let held = Role::ALL.into_iter().filter(|needed| known("k", None, role).may(*needed)).count();
            assert_eq!(Role::ALL.iter().position(|other| *other == role), Some(held - 1));
            assert_eq!(Role::parse(role.word()), Some(role));
        }
        assert!(Principal::Anonymous.may(Role::Admin));
        assert_eq!(Role::parse("root"), None);
    }

    #[test]
    fn somebody_stays_the_same_when_his_rights_change() {
        assert_eq!(known("k", None, Role::Read), known("k", None, Role::Admin));
        assert_ne!(known("k", None, Role::Read), known("l", None, Role::Read));
        assert_ne!(known("k", Some("a"), Role::Read), Principal::of_tenant("a").unwrap());
    }
}
