//! Tasks at upstream servers. Clients have their ids sealed and bound to the principal: a server that many share counts its
//! tasks as it likes, and nobody may read or cancel those of another by guessing.

use toolrail_core::Principal;

use crate::session::tag;
use crate::sign::Signer;

/// What stands between the name of the definition and the rest of the id.
const SEPARATOR: char = '~';

/// The id for clients, of one that is the name of a definition and the server's own id.
pub(crate) fn seal(signer: &Signer, id: &str, principal: &Principal) -> Option<String> {
    let (definition, own) = id.split_once(SEPARATOR)?;
    let sealed = signer.seal_as_name(&purpose(definition, principal), own.as_bytes())?;
    Some(format!("{definition}{SEPARATOR}{sealed}"))
}

/// The definition, and the id that was sealed for that principal.
pub(crate) fn open<'i>(signer: &Signer, id: &'i str, principal: &Principal) -> Option<(&'i str, String)> {
    let (definition, sealed) = id.split_once(SEPARATOR)?;
    let own = signer.open(&purpose(definition, principal), sealed)?;
    Some((definition, format!("{definition}{SEPARATOR}{}", String::from_utf8(own).ok()?)))
}

/// Whether the id is of a task at an upstream server, whoever made it up.
pub(crate) fn is_elsewhere(id: &str) -> bool {
    id.contains(SEPARATOR)
}

fn purpose(definition: &str, principal: &Principal) -> String {
    format!("task\n{definition}\n{}", tag(principal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_for_whom_it_was_sealed_only() {
        let signer = Signer::new(&[7; 32]);
        let [acme, other] = ["acme", "other"].map(|name| Principal::of_tenant(name).unwrap());
        let id = seal(&signer, "hr~task~1", &acme).unwrap();
        assert!(id.starts_with("hr~") && !id.contains("task"), "{id}");
        assert_eq!(open(&signer, &id, &acme), Some(("hr", "hr~task~1".to_owned())));
        assert_eq!(open(&signer, &id, &other), None);
        assert_eq!(open(&signer, &id, &Principal::Anonymous), None);
        assert_eq!(open(&signer, &id.replace("hr~", "it~"), &acme), None);
        assert_eq!(open(&signer, "hr~task~1", &acme), None);
    }
}
