//! What the compiler has gathered: put aside while the templates of another request are compiled, and what it must be permitted.

use toolrail_core::{ArgumentUse, Need, Permission, Secret, ValueOrigin};

use super::{Compiler, NamedHost, NamedSecret};

/// What was gathered from the templates of one request while those of another are compiled.
#[derive(Debug)]
pub(crate) struct SetAside {
    filled: Vec<ValueOrigin>,
    arguments: Vec<ArgumentUse>,
    all_arguments: bool,
    named_secrets: Vec<NamedSecret>,
    derived_secrets: Vec<Secret>,
    named_hosts: Vec<NamedHost>,
}

impl Compiler<'_> {
    /// Forgets what was gathered so far, for another request that belongs to the first.
    pub(crate) fn set_aside(&mut self) -> SetAside {
        SetAside {
            filled: std::mem::take(&mut self.filled),
            arguments: std::mem::take(&mut self.arguments),
            all_arguments: std::mem::take(&mut self.all_arguments),
            named_secrets: std::mem::take(&mut self.named_secrets),
            derived_secrets: std::mem::take(&mut self.derived_secrets),
            named_hosts: std::mem::take(&mut self.named_hosts),
        }
    }

    /// Goes on with what was gathered before that.
    pub(crate) fn take_back(&mut self, before: SetAside) {
        self.filled = before.filled;
        self.arguments = before.arguments;
        self.all_arguments = before.all_arguments;
        self.named_secrets = before.named_secrets;
        self.derived_secrets = before.derived_secrets;
        self.named_hosts = before.named_hosts;
    }

    /// What the templates so far must be permitted to do.
    pub(crate) fn needs(&self) -> Vec<Need> {
        let need =
            |named: &NamedSecret| Need { permission: Permission::UseSecrets, pointer: named.pointer.clone() };
        let on_behalf = self.on_behalf.iter();
        let on_behalf =
            on_behalf.map(|pointer| Need { permission: Permission::UseSecrets, pointer: pointer.clone() });
        self.named_secrets.iter().map(need).chain(on_behalf).collect()
    }
}
