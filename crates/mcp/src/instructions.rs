//! What a model is told about using the server: the words of whoever runs it, what the group is for, how to find tools that
//! are not listed, and what upstream servers say about theirs.

use toolrail_registry::{Listing, Snapshot};

/// The most characters that one upstream may say, and all of them.
const LONGEST: usize = 4_000;
const MOST: usize = 16_000;

/// The instructions of an endpoint, if there is anything to say.
pub(crate) fn of(own: Option<&str>, snapshot: &Snapshot) -> Option<String> {
    let endpoint = snapshot.endpoint();
    let description = endpoint.and_then(|endpoint| endpoint.description.clone());
    let finds = endpoint.is_some_and(|endpoint| endpoint.discovery.finds());
    let parts = [own.map(str::to_owned), description, about(&snapshot.listing(), finds)];
    let seen = snapshot.upstreams.iter().filter(|upstream| snapshot.entry(&upstream.name).is_some());
    let said = seen.filter_map(|upstream| Some((upstream.name.as_str(), upstream.instructions.as_deref()?)));
    let parts = parts.into_iter().flatten().chain(of_upstreams(said));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// What upstreams say, each under its name, as far as there is room.
fn of_upstreams<'s>(said: impl Iterator<Item = (&'s str, &'s str)>) -> Vec<String> {
    let mut room = MOST;
    let mut parts = Vec::new();
    for (name, text) in said {
        let text = text.trim();
        let kept: String = text.chars().take(LONGEST.min(room)).collect();
        if kept.is_empty() {
            continue;
        }
        room -= kept.chars().count();
        let more = if kept.len() < text.len() { " … (shortened)" } else { "" };
        parts.push(format!("The upstream server {name:?} says about its tools:\n{kept}{more}"));
    }
    parts
}

fn about(listing: &Listing, finds: bool) -> Option<String> {
    let count = listing.hidden();
    if count == 0 {
        return None;
    }
    let are = if count == 1 { "1 tool is".to_owned() } else { format!("{count} tools are") };
    Some(if finds {
        format!(
            "{are} behind search_tools: call it with what you want to do, in words, to get the best few by name. \
             get_tool_definition shows the arguments of one; call it by its name, or with call_tool if you can only call \
             listed tools."
        )
    } else {
        format!("{are} not listed; call them by their names.")
    })
}

#[cfg(test)]
mod tests {
    use toolrail_registry::ListingMode;

    use super::*;

    #[test]
    fn upstreams_speak_under_their_names_and_not_for_long() {
        let long = "é".repeat(5_000);
        let said = [
            ("a", " Do this. "),
            ("b", ""),
            ("c", &long),
            ("d", &long),
            ("e", &long),
            ("f", &long),
            ("g", "x"),
        ];
        let parts = of_upstreams(said.into_iter());
        assert_eq!(parts[0], "The upstream server \"a\" says about its tools:\nDo this.");
        assert!(parts[1].ends_with("é … (shortened)"), "{}", parts[1]);
        assert_eq!(parts.len(), 5, "there is no room for the last");
        assert!(parts.concat().chars().count() < MOST + 1_000);
    }

    #[test]
    fn how_to_find_tools_is_told_where_some_are_hidden() {
        let mode = ListingMode::Search;
        let listing = |total, listed| Listing { total, listed, described: 0, mode, effective: mode };
        assert_eq!(about(&listing(3, 3), true), None);
        assert!(about(&listing(3, 1), true).unwrap().starts_with("2 tools are behind search_tools: "));
        assert!(about(&listing(3, 2), true).unwrap().starts_with("1 tool is behind search_tools: "));
        assert_eq!(
            about(&listing(3, 1), false).unwrap(),
            "2 tools are not listed; call them by their names."
        );
    }
}
