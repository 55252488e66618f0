//! Those who decide: what they see, and who may decide what.

use toolrail_core::{
    Author, CallError, ErrorCode, NamePattern, Principal, RecordWrite, RecordWritten, Role, author_name,
};

use super::desk::{ApprovalDesk, audit, busy, unavailable};
use super::form::reason_of;
use super::record::{ApprovalRecord, ApprovalState, KIND, asker_of, now};

/// What the id of whoever started this process begins with.
const LOCAL: &str = "local:";

/// What somebody decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may be made, once.
    Approve,
    /// It may not.
    Deny,
}

impl ApprovalDesk {
    /// What waits that this one may see, the oldest first, without the requests themselves.
    pub async fn list(&self, principal: &Principal) -> Result<Vec<ApprovalRecord>, CallError> {
        self.sweep().await?;
        let board = self.board().await;
        let seen = board.all().map(|paper| &paper.record).filter(|record| may_see(principal, record));
        let mut seen: Vec<ApprovalRecord> = seen.filter(|record| !record.is_over()).cloned().collect();
        seen.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(seen)
    }

    /// One of them, with its request.
    pub async fn find(&self, id: &str, principal: &Principal) -> Result<ApprovalRecord, CallError> {
        self.whole(id, principal).await.map(|(_, _, record)| record)
    }

    /// Decides about one, and says how it stands now.
    pub async fn decide(
        &self,
        id: &str,
        (decision, reason): (Decision, Option<&str>),
        (principal, author): (&Principal, &Author),
    ) -> Result<ApprovalRecord, CallError> {
        let (slot, number, record) = self.whole(id, principal).await?;
        check_decider(principal, &record)?;
        if record.state != ApprovalState::Pending {
            let (word, by) = (word(record.state), record.decided_by.as_deref().unwrap_or("somebody"));
            return Err(CallError::new(ErrorCode::Conflict, format!("{id} was {word} by {by} already")));
        }
        let (state, action) = match decision {
            Decision::Approve => (ApprovalState::Approved, "approval.approve"),
            Decision::Deny => (ApprovalState::Denied, "approval.deny"),
        };
        let decided = ApprovalRecord {
            state,
            decided_by: Some(author.who.clone()),
            reason: reason.and_then(reason_of),
            until: now().saturating_add(record.within),
            ..record
        };
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: slot,
            body: Some(decided.write()),
            expected: Some(number),
            audited: Some(audit(&decided, action, author.clone())),
        };
        match self.store()?.write_record(&write).await.map_err(unavailable)? {
            RecordWritten::Done(_) => {}
            RecordWritten::Otherwise | RecordWritten::NoRoom => return Err(busy()),
        }
        self.refresh().await?;
        Ok(decided)
    }

    async fn whole(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<(String, i64, ApprovalRecord), CallError> {
        let unknown = || {
            let id: String = id.chars().take(80).collect();
            let message = format!(
                "there is no approval {id:?} that waits; `toolrail approvals list` shows those that do"
            );
            CallError::new(ErrorCode::NotFound, message)
        };
        self.refresh().await?;
        let slot = self.board().await.named(id).map(|paper| paper.slot.clone()).ok_or_else(unknown)?;
        let stored = self.store()?.record(KIND, &slot).await.map_err(unavailable)?.ok_or_else(unknown)?;
        let record = ApprovalRecord::read(&stored).ok_or_else(unknown)?;
        let is_it = record.id == id && !record.is_over() && may_see(principal, &record);
        is_it.then_some((slot, stored.number, record)).ok_or_else(unknown)
    }
}

const fn word(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "denied",
    }
}

/// Whoever asked sees it, and whoever might decide.
fn may_see(principal: &Principal, record: &ApprovalRecord) -> bool {
    let is_of_tenant = principal.tenant().is_none() || principal.tenant() == record.tenant.as_deref();
    let sees_tool = principal.reach().is_none_or(|reach| reach.has(&record.tool));
    is_of_tenant && (is_own(principal, record) || (sees_tool && is_decider(principal, record)))
}

/// Whether this one is among those who decide.
fn is_decider(principal: &Principal, record: &ApprovalRecord) -> bool {
    let Principal::Known(identity) = principal else {
        // Nobody is asked who he is.
        return true;
    };
    if identity.id.starts_with(LOCAL) {
        return true;
    }
    if record.by.is_empty() {
        return identity.role >= Role::Write;
    }
    let fits = |pattern: &String| {
        let pattern = NamePattern::exact(pattern.trim());
        pattern.fits(&identity.name) || identity.groups.iter().any(|group| pattern.fits(group))
    };
    identity.role >= Role::Call && record.by.iter().any(fits)
}

/// Whether it is the call of this one himself, also where he names a tenant.
fn is_own(principal: &Principal, record: &ApprovalRecord) -> bool {
    let id = asker_of(principal);
    let without = principal.tenant().and_then(|tenant| id.strip_suffix(tenant)?.strip_suffix('@'));
    // Somebody may come in by several ways, and has one name.
    let has_name = principal.name().is_some_and(|name| author_name(name) == record.asked_by);
    id == record.asker || without == Some(record.asker.as_str()) || has_name
}

/// Nobody decides about his own call, but for whoever runs the gateway on this machine, and where nobody is known.
fn check_decider(principal: &Principal, record: &ApprovalRecord) -> Result<(), CallError> {
    let refused = |message: &str| Err(CallError::new(ErrorCode::Forbidden, message));
    if !is_decider(principal, record) {
        return refused(
            "this call is not for you to decide: it needs the role write, or what the tool names under \"by\"",
        );
    }
    let is_known = matches!(principal, Principal::Known(identity) if !identity.id.starts_with(LOCAL));
    if is_known && is_own(principal, record) {
        return refused("nobody decides about his own call; have somebody else look at it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolrail_core::{Ending, Identity};

    use super::*;

    fn known(id: &str, (name, tenant): (&str, Option<&str>), role: Role, groups: &[&str]) -> Principal {
        Principal::Known(Arc::new(Identity {
            id: id.into(),
            name: name.to_owned(),
            tenant: tenant.map(Into::into),
            role,
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            scopes: Vec::new(),
            reach: None,
            ending: Ending::default(),
        }))
    }

    fn record(asker: &str, tenant: Option<&str>, by: &[&str]) -> ApprovalRecord {
        ApprovalRecord {
            id: "ap_1".into(),
            tool: "pay".into(),
            tenant: tenant.map(str::to_owned),
            asker: asker.into(),
            asked_by: "agent".into(),
            call: String::new(),
            version: String::new(),
            arguments: String::new(),
            message: None,
            by: by.iter().map(|pattern| (*pattern).to_owned()).collect(),
            created: 0,
            until: 0,
            within: 300,
            state: ApprovalState::Pending,
            decided_by: None,
            reason: None,
            shown: None,
        }
    }

    #[test]
    fn others_of_the_same_tenant_decide_and_never_whoever_asked() {
        let may = |principal: &Principal, record: &ApprovalRecord| {
            may_see(principal, record) && check_decider(principal, record).is_ok()
        };
        let asked = record("key:1", Some("acme"), &[]);
        let of = |id, tenant, role| known(id, ("anna", tenant), role, &[]);
        assert!(may(&of("key:2", Some("acme"), Role::Write), &asked));
        assert!(may(&of("key:2", None, Role::Admin), &asked), "of no tenant, for all of them");
        assert!(!may(&of("key:2", Some("acme"), Role::Call), &asked), "the role is too small");
        assert!(!may_see(&of("key:2", Some("acme"), Role::Call), &asked));
        assert!(!may_see(&of("key:2", Some("globex"), Role::Admin), &asked), "of another tenant");
        for own in [of("key:1", Some("acme"), Role::Admin), of("key:1@acme", Some("acme"), Role::Admin)] {
            assert!(may_see(&own, &asked) && !may(&own, &asked), "his own call");
        }
        assert!(!may_see(&of("key:2", Some("acme"), Role::Admin), &record("key:1", None, &[])));
        let local = record("local:x", None, &[]);
        assert!(may(&of("local:x", None, Role::Admin), &local), "whoever runs the gateway");
        assert!(may(&Principal::Anonymous, &record("", None, &[])), "nobody is known");
    }

    #[test]
    fn where_somebody_is_named_only_those_decide() {
        let asked = record("key:1", None, &["finance-*", "boss"]);
        let decides = |name, role, groups: &[&str]| {
            let principal = known("key:2", (name, None), role, groups);
            assert_eq!(may_see(&principal, &asked), check_decider(&principal, &asked).is_ok());
            may_see(&principal, &asked)
        };
        assert!(decides("boss", Role::Call, &[]) && decides("finance-eu", Role::Call, &[]));
        assert!(decides("anna", Role::Call, &["staff", "finance-us"]));
        assert!(!decides("anna", Role::Admin, &["staff"]) && !decides("Boss", Role::Admin, &[]));
        assert!(!decides("boss", Role::Read, &[]), "whoever may only read decides nothing");
    }
}
