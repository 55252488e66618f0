//! What definitions were before: versions, and how one differs from another.

use toolrail_core::{Difference, HistoryQuery, Revision, ToolKey, Version, differences};

use super::Changes;
use super::error::WriteError;
use super::stored_form::{form_of_version, named};

/// How many versions are named when one is asked for that is not there.
const NAMED: u32 = 5;
/// The most versions that are looked through for those of one tenant.
const LOOKED_THROUGH: usize = 20_000;
/// How many are read at once for that.
const PAGE: u32 = 1_000;

/// Two versions of one definition.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The older one; none if the other is the first.
    pub from: Option<Version>,
    /// The newer one.
    pub to: Version,
    /// What became otherwise, the switch as `/enabled`.
    pub differences: Vec<Difference>,
}

impl Changes {
    /// Versions of one definition, the newest first.
    pub async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, WriteError> {
        Ok(self.store.history(query).await?)
    }

    /// Versions of all definitions of one tenant, the newest first, and before which to go on if there may be more.
    pub async fn tenant_history(
        &self,
        tenant: &str,
        query: &HistoryQuery,
    ) -> Result<(Vec<Version>, Option<Revision>), WriteError> {
        let store = &self.store;
        let most = usize::try_from(query.most).unwrap_or(usize::MAX);
        let (mut found, mut looked_through) = (Vec::new(), 0);
        let mut next = HistoryQuery { of: None, before: query.before, most: PAGE };
        while looked_through < LOOKED_THROUGH {
            let page = store.history(&next).await?;
            let Some(last) = page.last() else {
                return Ok((found, None));
            };
            next.before = Some(last.revision);
            looked_through += page.len();
            found.extend(page.into_iter().filter(|version| version.tenant.as_deref() == Some(tenant)));
            if found.len() >= most {
                found.truncate(most);
                next.before = found.last().map(|version| version.revision);
                break;
            }
        }
        Ok((found, next.before))
    }

    /// One version of a definition, with its text.
    pub async fn version(&self, key: &ToolKey, number: Revision) -> Result<Version, WriteError> {
        let before = Some(number.saturating_add(1));
        let query = HistoryQuery { of: Some(key.clone()), before, most: 1 };
        let found = self.store.history(&query).await?.pop();
        match found.filter(|version| version.revision == number) {
            Some(version) => Ok(version),
            None => Err(self.no_version(key, number).await?),
        }
    }

    async fn no_version(&self, key: &ToolKey, asked: Revision) -> Result<WriteError, WriteError> {
        let query = HistoryQuery { of: Some(key.clone()), before: None, most: NAMED };
        let newest = self.store.history(&query).await?;
        Ok(match newest.first() {
            None => WriteError::NoHistory(key.name.clone()),
            Some(version) => WriteError::NoVersion {
                name: version.name.clone(),
                asked,
                newest: newest.iter().map(|version| version.revision).collect(),
            },
        })
    }

    /// How one version differs from another: `to` is the newest and `from` the one before it, unless they are named.
    pub async fn compare(
        &self,
        key: &ToolKey,
        from: Option<Revision>,
        to: Option<Revision>,
    ) -> Result<Comparison, WriteError> {
        let to = if let Some(number) = to {
            self.version(key, number).await?
        } else {
            let newest = self.before(key, None).await?;
            newest.ok_or_else(|| WriteError::NoHistory(key.name.clone()))?
        };
        let from = match from {
            Some(number) => Some(self.version(key, number).await?),
            None => self.before(key, Some(to.revision)).await?,
        };
        let form = |version: &Version| form_of_version(version).map(|form| named(form, &version.name));
        let differences = differences(from.as_ref().and_then(form).as_ref(), form(&to).as_ref());
        Ok(Comparison { from, to, differences })
    }

    /// The newest version, or the newest before another.
    pub(crate) async fn before(
        &self,
        key: &ToolKey,
        before: Option<Revision>,
    ) -> Result<Option<Version>, WriteError> {
        let query = HistoryQuery { of: Some(key.clone()), before, most: 1 };
        Ok(self.store.history(&query).await?.pop())
    }
}
