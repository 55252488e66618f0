//! The account of bytes in flight: what requests, answers and whatever waits for a slow client take up together. Everybody
//! has a share of it, so that one connection or one tenant cannot take what the others need; who asks for more is refused
//! rather than served at the cost of all.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;

use crate::{CallError, ErrorCode, Principal};

/// So many bytes of a share are not counted: nearly all requests and answers are smaller, and they shall neither touch what
/// all threads share nor be refused because others are large.
const FREE: usize = 64 * 1024;
/// Smaller pieces are not worth a guard of their own.
const KEPT_FROM: usize = 16 * 1024;
/// How many times what is left free the shares of one tenant may have together. A single share may have as much as is left
/// once, so however greedy some are, there is room for the next.
const TENANT: usize = 3;

static PROCESS: Account = Account::new(512 * 1024 * 1024);

tokio::task_local! {
    static CURRENT: Share;
}

/// The bytes in flight of one process.
pub struct Account {
    most: AtomicUsize,
    held: AtomicUsize,
    refused: AtomicU64,
    tenants: Mutex<BTreeMap<Option<Arc<str>>, Weak<AtomicUsize>>>,
}

/// How an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standings {
    /// The bytes in flight.
    pub held: usize,
    /// The most there may be.
    pub most: usize,
    /// How often somebody was refused.
    pub refused: u64,
}

/// What one connection has in flight. Cloning it gives the same share.
#[derive(Clone)]
pub struct Share(Arc<SharePart>);

struct SharePart {
    account: &'static Account,
    tenant: Option<Arc<str>>,
    /// What the tenant has in flight beyond the free part; looked up when first needed.
    of_tenant: OnceLock<Arc<AtomicUsize>>,
    held: Mutex<usize>,
}

/// Bytes that count as in flight until this goes.
pub struct Held {
    share: Share,
    bytes: usize,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Everything together would be too much.
    #[error(
        "too much is under way in this gateway; try again in a moment, or give it more room with --memory"
    )]
    Account,
    /// One connection or tenant would have too much of it.
    #[error(
        "too much is under way for this connection or tenant; ask for less at once or let something end, or give the gateway more room with --memory"
    )]
    Share,
}

impl From<Full> for CallError {
    fn from(full: Full) -> Self {
        Self::new(ErrorCode::Overloaded, full.to_string())
    }
}

impl Account {
    const fn new(most: usize) -> Self {
        Self {
            most: AtomicUsize::new(most),
            held: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            tenants: Mutex::new(BTreeMap::new()),
        }
    }

    /// The account of this process.
    pub fn of_process() -> &'static Self {
        &PROCESS
    }

    /// Changes how many bytes there may be; what is in flight stays.
    pub fn allow(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// How it stands.
    pub fn standings(&self) -> Standings {
        Standings {
            held: self.held.load(Ordering::Relaxed),
            most: self.most.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Takes `bytes` for a share that then has `of_share`.
    fn take(&self, bytes: usize, of_share: usize, of_tenant: &AtomicUsize) -> Result<(), Full> {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_tenant_now = of_tenant.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let most = self.most.load(Ordering::Relaxed);
        let free = most.saturating_sub(held);
        if held <= most && of_share <= free && of_tenant_now <= free.saturating_mul(TENANT) {
            return Ok(());
        }
        self.give_back(bytes, of_tenant);
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(if held > most { Full::Account } else { Full::Share })
    }

    fn give_back(&self, bytes: usize, of_tenant: &AtomicUsize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        of_tenant.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn tenant(&self, name: Option<&Arc<str>>) -> Arc<AtomicUsize> {
        /// Names are looked over when there are more, since anybody may invent some.
        const MANY: usize = 64;
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get(&name.cloned()).and_then(Weak::upgrade) {
            return known;
        }
        if tenants.len() >= MANY {
            tenants.retain(|_, known| known.strong_count() > 0);
        }
        let fresh = Arc::<AtomicUsize>::default();
        tenants.insert(name.cloned(), Arc::downgrade(&fresh));
        fresh
    }
}

impl Share {
    /// A share of somebody's in the account of this process.
    pub fn of(principal: &Principal) -> Self {
        Self::in_account(&PROCESS, principal)
    }

    fn in_account(account: &'static Account, principal: &Principal) -> Self {
        let tenant = principal.shared_tenant().cloned();
        Self(Arc::new(SharePart { account, tenant, of_tenant: OnceLock::new(), held: Mutex::new(0) }))
    }

    /// The share on whose behalf the current task works; one of nobody in particular where none is set.
    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_else(|_| Self::of(&Principal::Anonymous))
    }

    /// Works on behalf of this share.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self, work)
    }

    /// The same for work that does not wait.
    pub fn sync_scope<T>(self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, work)
    }

    /// Whether it is a share of that principal's.
    pub fn is_of(&self, principal: &Principal) -> bool {
        self.0.tenant.as_deref() == principal.tenant()
    }

    /// A guard that holds nothing yet.
    pub fn nothing(&self) -> Held {
        Held { share: self.clone(), bytes: 0 }
    }

    /// Holds so many bytes.
    pub fn hold(&self, bytes: usize) -> Result<Held, Full> {
        let mut held = self.nothing();
        held.resize(bytes)?;
        Ok(held)
    }

    /// Holds so many bytes even if that is too much: for what takes the place of bytes that are held and about to go.
    pub fn hold_instead(&self, bytes: usize) -> Held {
        self.0.add_anyway(bytes);
        Held { share: self.clone(), bytes }
    }

    /// The same bytes, which count as in flight until the last reference to them goes.
    pub fn keep(&self, bytes: Bytes) -> Result<Bytes, Full> {
        if bytes.len() < KEPT_FROM {
            return Ok(bytes);
        }
        Ok(self.hold(bytes.len())?.keep(bytes))
    }
}

impl SharePart {
    fn add(&self, bytes: usize) -> Result<(), Full> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let after = held.saturating_add(bytes);
        let counted = beyond(after) - beyond(*held);
        if counted > 0 {
            self.account.take(counted, after, self.of_tenant())?;
        }
        *held = after;
        Ok(())
    }

    fn add_anyway(&self, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let after = held.saturating_add(bytes);
        let counted = beyond(after) - beyond(*held);
        if counted > 0 {
            self.account.held.fetch_add(counted, Ordering::Relaxed);
            self.of_tenant().fetch_add(counted, Ordering::Relaxed);
        }
        *held = after;
    }

    fn subtract(&self, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let after = held.saturating_sub(bytes);
        let counted = beyond(*held) - beyond(after);
        if counted > 0 {
            self.account.give_back(counted, self.of_tenant());
        }
        *held = after;
    }

    fn of_tenant(&self) -> &AtomicUsize {
        self.of_tenant.get_or_init(|| self.account.tenant(self.tenant.as_ref()))
    }
}

/// What counts of so many bytes of one share.
const fn beyond(bytes: usize) -> usize {
    bytes.saturating_sub(FREE)
}

impl Held {
    /// Holds so many bytes instead of those it held before.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => self.share.0.add(more)?,
            None => self.share.0.subtract(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// The same even if that is too much: for what is there already and must stay.
    pub fn resize_anyway(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.share.0.add_anyway(more),
            None => self.share.0.subtract(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The same bytes, held until the last reference to them goes.
    #[must_use]
    pub fn keep(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(KeptBytes { bytes, _held: self })
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Held({})", self.bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.share.0.subtract(self.bytes);
        }
    }
}

struct KeptBytes {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for KeptBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn account(most: usize) -> &'static Account {
        Box::leak(Box::new(Account::new(most)))
    }

    fn share(account: &'static Account, tenant: &str) -> Share {
        Share::in_account(account, &Principal::of_tenant(tenant).unwrap())
    }

    #[test]
    fn one_share_gets_half_one_tenant_three_quarters_and_others_still_find_room() {
        let account = account(64 * MIB);
        let taken = |share: &Share| {
            let mut held = Vec::new();
            while let Ok(more) = share.hold(MIB) {
                held.push(more);
            }
            held
        };
        let first = share(account, "a");
        let of_first = taken(&first);
        assert_eq!(of_first.len(), 32);
        assert_eq!(first.hold(MIB).err(), Some(Full::Share));
        let of_tenant: Vec<_> = (0..20).flat_map(|_| taken(&share(account, "a"))).collect();
        let all = of_first.len() + of_tenant.len();
        assert!((47..=49).contains(&all), "{all}");
        assert!(share(account, "b").hold(4 * MIB).is_ok());
        assert!(account.standings().refused > 0);
        drop((of_first, of_tenant));
        assert_eq!(account.standings().held, 0);
    }

    #[test]
    fn what_is_small_is_free_even_if_there_is_no_room_for_more() {
        let account = account(0);
        let share = share(account, "a");
        let mut held = share.hold(FREE).unwrap();
        assert_eq!(account.standings(), Standings { held: 0, most: 0, refused: 0 });
        assert_eq!(held.resize(FREE + 1), Err(Full::Account));
        assert_eq!(held.bytes(), FREE);
        account.allow(MIB);
        held.resize(FREE + 1).unwrap();
        assert_eq!(account.standings().held, 1);
        held.resize(10).unwrap();
        assert_eq!(account.standings().held, 0);
        let instead = share.hold_instead(2 * MIB);
        assert_eq!(account.standings().held, 2 * MIB + 10 - FREE);
        drop(instead);
        assert_eq!(account.standings().held, 0);
    }

    #[test]
    fn bytes_are_held_until_the_last_reference_goes() {
        let account = account(64 * MIB);
        let share = share(account, "a");
        let bytes = share.keep(Bytes::from(vec![7; MIB])).unwrap();
        let part = bytes.slice(5..9);
        drop(bytes);
        assert_eq!(account.standings().held, MIB - FREE);
        assert_eq!(part, [7; 4][..]);
        drop(part);
        assert_eq!(account.standings().held, 0);
    }

    #[tokio::test]
    async fn a_task_works_on_behalf_of_the_share_it_is_given() {
        let member = Principal::of_tenant("a").unwrap();
        assert!(Share::current().is_of(&Principal::Anonymous));
        Share::of(&member).scope(async { assert!(Share::current().is_of(&member)) }).await;
        Share::of(&member).sync_scope(|| assert!(Share::current().is_of(&member)));
    }

    #[test]
    fn tenants_that_are_gone_are_forgotten() {
        let account = account(64 * MIB);
        for number in 0..1000 {
            drop(share(account, &format!("t{number}")).hold(MIB));
        }
        assert!(account.tenants.lock().unwrap().len() <= 64);
    }
}
