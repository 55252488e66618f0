//! Where secrets may go: what a request would send must fit the binding of each secret in it. What is told here when a
//! definition is registered holds for every hop of a call too: see `outbound::Bound`.

use http::uri::Authority;
use toolrail_core::{Binding, Problems};

use super::Base;
use crate::outbound::Bound;
use crate::template::{Compiler, NamedHost, NamedSecret};

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
    check_named_hosts(&sent, bases, compiler);
}

/// Notes every `Host` header that leads a bound secret elsewhere, or may in some call: virtual hosts go by it.
fn check_named_hosts(sent: &[NamedSecret], bases: &[Base], compiler: &mut Compiler<'_>) {
    for named in std::mem::take(&mut compiler.named_hosts) {
        let strays = |secret: &&NamedSecret| {
            compiler.secrets.binding(&secret.key).is_some_and(|binding| !stays(&named, binding, bases))
        };
        let Some(NamedSecret { key, .. }) = sent.iter().find(strays) else { continue };
        let places = compiler.secrets.binding(key).map(Binding::places).unwrap_or_default();
        compiler.problems.error(
            &named.pointer,
            format!(
                "the secret {key:?} may go to {places} only, and this header can lead to another host; write out one of those, or remove the header"
            ),
        );
    }
}

/// Whether a header names a host that the secret is bound to; without a port it is at that of the address.
fn stays(named: &NamedHost, binding: &Binding, bases: &[Base]) -> bool {
    let host = named.literal.as_deref().filter(|text| !text.contains('@'));
    let Some(host) = host.and_then(|text| text.parse::<Authority>().ok()) else {
        return false;
    };
    let mut ports: Vec<u16> = match host.port_u16() {
        Some(port) => vec![port],
        None => bases.iter().filter_map(Base::destination).map(|(_, port)| port).collect(),
    };
    if ports.is_empty() {
        ports.push(443);
    }
    ports.into_iter().all(|port| binding.allows(host.host(), port))
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
