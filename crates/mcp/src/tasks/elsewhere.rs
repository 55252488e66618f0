//! Tasks at upstream servers. Clients have their ids sealed and bound to the principal: a server that many share counts its
//! tasks as it likes, and nobody may read or cancel those of another by guessing. Tasks of 2025-11-25 are another thing than
//! those of the extension, and neither sort can be asked for as the other.

use toolrail_core::Principal;

use crate::dialect::Dialect;
use crate::sign::Signer;
use crate::stamp::tag;

/// What stands between the name of the definition and the rest of the id.
const SEPARATOR: char = '~';

/// The id for clients, of one that is the name of a definition and the server's own id.
pub(crate) fn seal(signer: &Signer, id: &str, whose: (&Principal, Dialect)) -> Option<String> {
    let (definition, own) = id.split_once(SEPARATOR)?;
    let sealed = signer.seal_as_name(&purpose(definition, whose), own.as_bytes())?;
    Some(format!("{definition}{SEPARATOR}{sealed}"))
}

/// The definition, and the id that was sealed for that principal.
pub(crate) fn open<'i>(
    signer: &Signer,
    id: &'i str,
    whose: (&Principal, Dialect),
) -> Option<(&'i str, String)> {
    let (definition, sealed) = id.split_once(SEPARATOR)?;
    let own = signer.open(&purpose(definition, whose), sealed)?;
    Some((definition, format!("{definition}{SEPARATOR}{}", String::from_utf8(own).ok()?)))
}

/// Whether the id is of a task at an upstream server, whoever made it up.
pub(crate) fn is_elsewhere(id: &str) -> bool {
    id.contains(SEPARATOR)
}

fn purpose(definition: &str, (principal, dialect): (&Principal, Dialect)) -> String {
    let sort = match dialect {
        Dialect::Modern => "task",
        Dialect::Legacy | Dialect::Plain => "task of 2025-11-25",
    };
    format!("{sort}\n{definition}\n{}", tag(principal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_for_whom_it_was_sealed_only() {
        let signer = Signer::new(&[7; 32]);
        let [acme, other] = ["acme", "other"].map(|name| Principal::of_tenant(name).unwrap());
        let modern = |principal| (principal, Dialect::Modern);
        let id = seal(&signer, "hr~task~1", modern(&acme)).unwrap();
        assert!(id.starts_with("hr~") && !id.contains("task"), "{id}");
        assert_eq!(open(&signer, &id, modern(&acme)), Some(("hr", "hr~task~1".to_owned())));
        assert_eq!(open(&signer, &id, modern(&other)), None);
        assert_eq!(open(&signer, &id, modern(&Principal::Anonymous)), None);
        assert_eq!(open(&signer, &id.replace("hr~", "it~"), modern(&acme)), None);
        assert_eq!(open(&signer, "hr~task~1", modern(&acme)), None);
        assert_eq!(open(&signer, &id, (&acme, Dialect::Legacy)), None);
    }
}
