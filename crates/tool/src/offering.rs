//! Everything that is written in Rust and offered, as one upstream of the registry; it can change while running.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use toolrail_core::{Changed, Offer, Offered, Tools, Upstream};

use crate::{Prompt, Resource, ResourceTemplate, Tool};

/// What native tools, prompts and resources are offered; a handle that can be cloned.
///
/// ```
/// use toolrail_tool::{Offering, Tool};
///
/// let offering = Offering::new();
/// let greet = || Tool::new("greet", |_| Box::pin(async { "Hello!" })).description("Greets.");
/// assert!(offering.add(greet()).is_ok());
/// assert!(offering.add(greet()).is_err(), "there is one of that name");
/// assert!(offering.set(greet()).is_ok(), "which it takes the place of");
/// assert!(offering.remove_tool("greet"));
/// ```
#[derive(Clone)]
pub struct Offering(Arc<Inner>);

/// The same without keeping it alive, for what it holds itself.
#[derive(Clone)]
pub(crate) struct WeakOffering(Weak<Inner>);

#[derive(Default)]
struct Inner {
    now: Mutex<Now>,
    changed: OnceLock<Arc<dyn Fn(Changed) + Send + Sync>>,
    gateway: OnceLock<Arc<dyn Tools>>,
}

#[derive(Default)]
struct Now {
    offer: Arc<Offer>,
    refused: Vec<String>,
}

/// Why something is not offered.
///
/// ```
/// use toolrail_tool::{Offering, Tool};
///
/// let nameless = Tool::new("", |_| Box::pin(async { "Hello!" }));
/// let refused = Offering::new().add(nameless).unwrap_err();
/// assert!(!refused.to_string().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub(crate) String);

/// Tools that are the methods of one value; `#[tools]` implements it.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use toolrail_tool::{Offering, tool, tools};
///
/// struct Counter(AtomicU64);
///
/// #[tools]
/// impl Counter {
///     /// Counts one up.
///     #[tool]
///     async fn count(&self) -> u64 {
///         self.0.fetch_add(1, Ordering::Relaxed) + 1
///     }
/// }
///
/// Offering::new().register(Counter(AtomicU64::new(0)));
/// ```
pub trait ToolSet: Send + Sync + 'static {
    /// The tools.
    fn tools(self: Arc<Self>) -> Vec<Tool>;
}

/// Everything that is annotated in this binary, as the gateway takes it.
///
/// ```
/// use toolrail_tool::tool;
///
/// /// Says hello.
/// #[tool]
/// async fn hello() -> &'static str {
///     "Hello!"
/// }
///
/// let offer = toolrail_tool::native().offer();
/// assert!(offer.tools.iter().any(|tool| tool.name.as_str() == "hello"));
/// ```
pub fn native() -> Arc<dyn Upstream> {
    Arc::new(Offering::global().clone())
}

/// Adds the tools of a value to those of this binary.
pub fn register(tools: impl ToolSet) {
    Offering::global().register(tools);
}

impl Offering {
    /// An offering of nothing.
    #[expect(clippy::new_without_default, reason = "the default would be the global one")]
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// The offering of this binary: everything that is annotated, and what is added to it.
    pub fn global() -> &'static Self {
        static GLOBAL: LazyLock<Offering> = LazyLock::new(|| {
            let offering = Offering::new();
            for annotated in inventory::iter::<Annotated> {
                offering.add_all(annotated.describe());
            }
            offering
        });
        &GLOBAL
    }

    /// Adds the tools of a value. What cannot be offered is told when the gateway starts.
    pub fn register(&self, tools: impl ToolSet) {
        self.add_all(Arc::new(tools).tools());
    }

    /// Adds a tool, prompt, resource or resource template.
    pub fn add(&self, item: impl Into<Item>) -> Result<(), Refused> {
        self.put(item.into(), Taken::Refuse)?;
        self.tell(Changed::Offer);
        Ok(())
    }

    /// Adds it in place of what has the same name or URI now, if anything has.
    pub fn set(&self, item: impl Into<Item>) -> Result<(), Refused> {
        self.put(item.into(), Taken::Replace)?;
        self.tell(Changed::Offer);
        Ok(())
    }

    /// Takes a tool away; whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(|offer| remove_where(&mut offer.tools, |tool| tool.name.as_str() == name))
    }

    /// Takes a prompt away; whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(|offer| remove_where(&mut offer.prompts, |prompt| prompt.key == name))
    }

    /// Takes a resource away, or a template by its text; whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(|offer| {
            let resource = remove_where(&mut offer.resources, |resource| resource.key == uri);
            resource | remove_where(&mut offer.templates, |template| template.key == uri)
        })
    }

    /// Tells those who follow the resource that its content has changed.
    pub fn resource_changed(&self, uri: &str) {
        self.tell(Changed::Resource { uri: uri.to_owned(), conversation: None });
    }

    /// Joins the tools to the gateway they run in, so that they can call others; only the first time counts.
    pub fn connect(&self, gateway: Arc<dyn Tools>) {
        let _ = self.0.gateway.set(gateway);
    }

    pub(crate) fn gateway(&self) -> Option<&Arc<dyn Tools>> {
        self.0.gateway.get()
    }

    fn add_all(&self, tools: Vec<Tool>) {
        for tool in tools {
            if let Err(Refused(why)) = self.put(tool.into(), Taken::Refuse) {
                self.lock().refused.push(why);
            }
        }
        self.tell(Changed::Offer);
    }

    fn put(&self, item: Item, taken: Taken) -> Result<(), Refused> {
        let weak = WeakOffering(Arc::downgrade(&self.0));
        let mut now = self.lock();
        let mut offer = copy_of(&now.offer);
        match item.0 {
            ItemKind::Tool(tool) => {
                let tool = tool.offered(weak)?;
                let folded = tool.name.folded();
                let place = offer.tools.iter().position(|other| other.name.folded() == folded);
                check(place, taken, "tool", tool.name.as_str())?;
                put_at(&mut offer.tools, tool, place);
            }
            ItemKind::Prompt(prompt) => {
                put_offered(&mut offer.prompts, "prompt", prompt.offered(weak), taken)?;
            }
            ItemKind::Resource(resource) => {
                put_offered(&mut offer.resources, "resource", resource.offered(weak), taken)?;
            }
            ItemKind::Template(template) => {
                put_offered(&mut offer.templates, "template", template.offered(weak), taken)?;
            }
        }
        now.offer = Arc::new(offer);
        Ok(())
    }

    fn remove(&self, change: impl FnOnce(&mut Offer) -> bool) -> bool {
        let mut now = self.lock();
        let mut offer = copy_of(&now.offer);
        let removed = change(&mut offer);
        now.offer = Arc::new(offer);
        drop(now);
        if removed {
            self.tell(Changed::Offer);
        }
        removed
    }

    fn tell(&self, changed: Changed) {
        if let Some(tell) = self.0.changed.get() {
            tell(changed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeakOffering {
    pub(crate) fn upgrade(&self) -> Option<Offering> {
        self.0.upgrade().map(Offering)
    }
}

impl fmt::Debug for Offering {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Offering").finish_non_exhaustive()
    }
}

impl Upstream for Offering {
    fn start(&self, changed: Arc<dyn Fn(Changed) + Send + Sync>) {
        let _ = self.0.changed.set(changed);
    }

    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.lock().offer)
    }

    fn failure(&self) -> Option<String> {
        let now = self.lock();
        (!now.refused.is_empty()).then(|| now.refused.join("; "))
    }
}

/// Something that can be offered: a [`Tool`], [`Prompt`], [`Resource`] or [`ResourceTemplate`].
///
/// ```
/// use toolrail_tool::{Item, Offering, Prompt, Resource};
///
/// let prompt = Prompt::new("short", |_| Box::pin(async { "Be brief." }));
/// let resource = Resource::new("notes://today", "today", |_| Box::pin(async { "Buy milk." }));
/// let offering = Offering::new();
/// for item in [Item::from(prompt), Item::from(resource)] {
///     assert!(offering.add(item).is_ok());
/// }
/// ```
pub struct Item(ItemKind);

enum ItemKind {
    Tool(Tool),
    Prompt(Prompt),
    Resource(Resource),
    Template(ResourceTemplate),
}

impl From<Tool> for Item {
    fn from(tool: Tool) -> Self {
        Self(ItemKind::Tool(tool))
    }
}

impl From<Prompt> for Item {
    fn from(prompt: Prompt) -> Self {
        Self(ItemKind::Prompt(prompt))
    }
}

impl From<Resource> for Item {
    fn from(resource: Resource) -> Self {
        Self(ItemKind::Resource(resource))
    }
}

impl From<ResourceTemplate> for Item {
    fn from(template: ResourceTemplate) -> Self {
        Self(ItemKind::Template(template))
    }
}

fn copy_of(offer: &Offer) -> Offer {
    Offer {
        tools: offer.tools.clone(),
        prompts: offer.prompts.clone(),
        resources: offer.resources.clone(),
        templates: offer.templates.clone(),
        ..Offer::default()
    }
}

/// What happens to something that has the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Refuse,
    Replace,
}

fn put_offered(list: &mut Vec<Offered>, what: &str, item: Offered, taken: Taken) -> Result<(), Refused> {
    let place = list.iter().position(|other| other.key == item.key);
    check(place, taken, what, &item.key)?;
    put_at(list, item, place);
    Ok(())
}

fn check(place: Option<usize>, taken: Taken, what: &str, name: &str) -> Result<(), Refused> {
    if place.is_some() && taken == Taken::Refuse {
        return Err(Refused(format!("there are two native {what}s {name:?}; rename one")));
    }
    Ok(())
}

fn put_at<T>(list: &mut Vec<T>, item: T, place: Option<usize>) {
    match place {
        Some(place) => list[place] = item,
        None => list.push(item),
    }
}

fn remove_where<T>(list: &mut Vec<T>, mut wanted: impl FnMut(&T) -> bool) -> bool {
    let before = list.len();
    list.retain(|item| !wanted(item));
    list.len() < before
}

/// What `#[tool]` and `#[tools]` leave in the binary to be found.
pub struct Annotated(Described);

enum Described {
    Tool(fn() -> Tool),
    Tools(fn() -> Vec<Tool>),
}

impl Annotated {
    /// One tool.
    pub const fn tool(describe: fn() -> Tool) -> Self {
        Self(Described::Tool(describe))
    }

    /// The tools of one value.
    pub const fn tools(describe: fn() -> Vec<Tool>) -> Self {
        Self(Described::Tools(describe))
    }

    fn describe(&self) -> Vec<Tool> {
        match self.0 {
            Described::Tool(describe) => vec![describe()],
            Described::Tools(describe) => describe(),
        }
    }
}

inventory::collect!(Annotated);
