//! Where secrets may go: what a request would send must fit the binding of each secret in it. What is told here when a
//! definition is registered holds for every hop of a call too: see `outbound::Bound`.

use toolrail_core::Problems;

use super::Base;
use crate::outbound::Bound;
use crate::template::{Compiler, NamedSecret};

/// Notes every secret that would go where it may not, and those that may go anywhere.
pub(crate) fn check(bases: &[Base], compiler: &mut Compiler<'_>) {
    let sent: Vec<NamedSecret> = sent(compiler).cloned().collect();
    for named in &sent {
        let key = &named.key;
        match compiler.secrets.binding(key) {
            Some(binding) => {
                let beyond = bases.iter().filter_map(Base::destination);
                let mut beyond = beyond.filter(|(host, port)| !binding.allows(host, *port));
                if beyond.next().is_some() {
                    let to = bases.iter().find_map(Base::host_shown).map(|host| format!(", not to {host}"));
                    compiler.problems.error(
                        &named.pointer,
                        format!(
                            "the secret {key:?} may go to {} only{}; use another secret, or add the host to its `hosts` in the configuration",
                            binding.places(),
                            to.unwrap_or_default()
                        ),
                    );
                }
            }
            None if compiler.secrets.find(key).is_some() => {
                let host = bases.iter().find_map(Base::host_shown).unwrap_or_else(|| "HOST".to_owned());
                unbound(key, &named.pointer, &host, compiler.problems);
            }
            None => {}
        }
    }
}

/// The bindings that hold for a request with the secrets named so far.
pub(super) fn bound(compiler: &Compiler<'_>) -> Bound {
    let binding =
        |named: &NamedSecret| Some((named.key.clone(), compiler.secrets.binding(&named.key)?.clone()));
    Bound::new(sent(compiler).filter_map(binding))
}

/// Those that are sent: what names the address alone is not.
fn sent<'c>(compiler: &'c Compiler<'_>) -> impl Iterator<Item = &'c NamedSecret> {
    compiler.named_secrets.iter().filter(|named| !named.is_address)
}

fn unbound(key: &str, pointer: &str, host: &str, problems: &mut Problems) {
    problems.warning(
        pointer,
        format!(
            "the secret {key:?} may go to any host; bind it with --secret {key}@{host}, or `secrets: {{{key}: {{hosts: [{host}]}}}}` in the configuration"
        ),
    );
}
