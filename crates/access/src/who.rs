//! Whom a rule concerns.

use serde_json::Value;
use toolrail_core::{Problems, Role};

use crate::facts::Subject;
use crate::reader::{Fields, choice};
use toolrail_core::NamePattern;

/// Whom a rule concerns: everybody, as far as nothing else is said.
#[derive(Debug, Default)]
pub(crate) struct Who {
    roles: Option<Vec<Role>>,
    tenants: Option<Vec<NamePattern>>,
    groups: Option<Vec<NamePattern>>,
    names: Option<Vec<NamePattern>>,
    scopes: Option<Vec<NamePattern>>,
    anonymous: Option<bool>,
}

const FIELDS: [&str; 6] = ["roles", "tenants", "groups", "names", "scopes", "anonymous"];

impl Who {
    pub(crate) fn read(value: &Value, pointer: &str, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::open(value, pointer, &FIELDS, problems)?;
        if fields.is_empty() {
            problems.error(pointer, "this says nothing; leave `who` out for everybody");
        }
        let mut patterns = |field: &str| {
            let texts = fields.texts(field, problems)?;
            Some(texts.into_iter().map(NamePattern::exact).collect())
        };
        let who = Self {
            tenants: patterns("tenants"),
            groups: patterns("groups"),
            names: patterns("names"),
            scopes: patterns("scopes"),
            roles: roles(&fields, problems),
            anonymous: fields.flag("anonymous", problems),
        };
        who.check(&fields, problems);
        Some(who)
    }

    /// Whoever has neither a name nor a tenant has nothing else to be known by.
    fn check(&self, fields: &Fields<'_>, problems: &mut Problems) {
        let proved = [
            ("roles", self.roles.is_some()),
            ("tenants", self.tenants.is_some()),
            ("groups", self.groups.is_some()),
            ("names", self.names.is_some()),
            ("scopes", self.scopes.is_some()),
        ];
        for (field, _) in proved.iter().filter(|(_, given)| *given && self.anonymous == Some(true)) {
            let told =
                format!("this never matches: somebody anonymous has no {field}; leave one of the two out");
            problems.error(fields.place(field), told);
        }
    }

    /// The first part that does not hold of somebody.
    pub(crate) fn misfit(&self, subject: &Subject) -> Option<&'static str> {
        let one = |patterns: &Option<Vec<NamePattern>>, word: Option<&str>| {
            patterns
                .as_ref()
                .is_none_or(|patterns| word.is_some_and(|word| patterns.iter().any(|glob| glob.fits(word))))
        };
        let any = |patterns: &Option<Vec<NamePattern>>, words: &[String]| {
            patterns
                .as_ref()
                .is_none_or(|patterns| words.iter().any(|word| patterns.iter().any(|glob| glob.fits(word))))
        };
        let has_role =
            self.roles.as_ref().is_none_or(|roles| subject.role.is_some_and(|role| roles.contains(&role)));
        let parts = [
            ("who.anonymous", self.anonymous.is_none_or(|wanted| wanted == subject.is_anonymous())),
            ("who.roles", has_role),
            ("who.tenants", one(&self.tenants, subject.tenant.as_deref())),
            ("who.groups", any(&self.groups, &subject.groups)),
            ("who.names", one(&self.names, subject.name.as_deref())),
            ("who.scopes", any(&self.scopes, &subject.scopes)),
        ];
        parts.into_iter().find(|(_, fits)| !fits).map(|(part, _)| part)
    }
}

fn roles(fields: &Fields<'_>, problems: &mut Problems) -> Option<Vec<Role>> {
    let given = fields.texts("roles", problems)?;
    let words = Role::ALL.map(|role| (role.word(), role));
    let place = fields.place("roles");
    let read = given
        .iter()
        .enumerate()
        .filter_map(|(at, word)| choice(&Value::from(*word), &format!("{place}/{at}"), &words, problems));
    Some(read.collect())
}
