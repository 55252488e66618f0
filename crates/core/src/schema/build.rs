//! Compiles a schema that is known to be good into its parts. Each part becomes one node, however many references lead to
//! it; what is left to do is kept in a list, so that no schema can use up the stack.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{Check, InPlace, Node, NodeId};
use super::pattern::Patterns;
use super::place::{Address, Anchors, Place};
use super::{Dialect, Violation, escape, member};

/// The most parts of a schema; more than its values only where resources lie inside each other.
const MOST_NODES: usize = 200_000;

/// What a schema was compiled to.
pub(super) struct Built {
    /// The first one is the whole schema.
    pub(super) nodes: Vec<Node>,
    /// Where patterns stand that can only be matched by trying.
    pub(super) tried: Vec<String>,
    /// What its patterns weigh.
    pub(super) weight: u64,
}

/// Compiles it; the fault that ends it comes with its place.
pub(super) fn build(schema: &Value, dialect: Dialect) -> Result<Built, Violation> {
    let mut builder = Builder {
        dialect,
        anchors: Anchors::of(schema),
        nodes: Vec::new(),
        places: HashMap::new(),
        scopes: Scopes::default(),
        waiting: Vec::new(),
        patterns: Patterns::default(),
        tried: Vec::new(),
    };
    let scope = builder.scopes.enter(None, schema);
    builder.node_of(SchemaSpot { place: Place::root(schema), scope, pointer: String::new() })?;
    while let Some((id, spot)) = builder.waiting.pop() {
        let mut checks = builder.checks_of(&spot)?;
        checks.sort_by_key(Check::order);
        let is_compound = checks.iter_mut().any(Check::is_compound);
        if let Some(node) = builder.nodes.get_mut(id as usize) {
            *node = Node { checks, is_compound, is_looping: false };
        }
    }
    let Builder { mut nodes, tried, patterns, .. } = builder;
    shorten_references(&mut nodes);
    mark_loops(&mut nodes);
    Ok(Built { nodes, tried, weight: patterns.weight() })
}

/// A schema on its way: where it is, the resources that led to it, and where the user finds it.
#[derive(Clone)]
pub(super) struct SchemaSpot<'s> {
    pub(super) place: Place<'s>,
    scope: ScopeId,
    pub(super) pointer: String,
}

impl<'s> SchemaSpot<'s> {
    /// A value inside this one, `steps` away.
    pub(super) fn inner(&self, value: &'s Value, steps: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for step in steps {
            pointer.push('/');
            pointer.push_str(&escape(step));
        }
        Self { place: self.place.inner(value), scope: self.scope, pointer }
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> Violation {
        Violation { pointer: self.pointer.clone(), message: message.into() }
    }
}

/// Compiles one schema.
pub(super) struct Builder<'s> {
    pub(super) dialect: Dialect,
    anchors: Anchors<'s>,
    nodes: Vec<Node>,
    places: HashMap<(Address, ScopeId), NodeId>,
    scopes: Scopes<'s>,
    waiting: Vec<(NodeId, SchemaSpot<'s>)>,
    pub(super) patterns: Patterns,
    pub(super) tried: Vec<String>,
}

impl<'s> Builder<'s> {
    /// The part at that place, which is compiled later if it is new.
    pub(super) fn node_of(&mut self, mut spot: SchemaSpot<'s>) -> Result<NodeId, Violation> {
        // Beside `$ref`, draft-07 reads nothing, not even `$id`.
        if self.dialect == Dialect::Current || spot.place.value.get("$ref").is_none() {
            let entered = spot.place.entered();
            if !std::ptr::eq(entered.base, spot.place.base) {
                self.check_dialect(&spot)?;
            }
            spot.place = entered;
        }
        spot.scope = self.scopes.enter(Some(spot.scope), spot.place.base);
        let key = (std::ptr::from_ref(spot.place.value), spot.scope);
        if let Some(id) = self.places.get(&key) {
            return Ok(*id);
        }
        let next = NodeId::try_from(self.nodes.len()).ok().filter(|_| self.nodes.len() < MOST_NODES);
        let id = next.ok_or_else(|| spot.fault("the schema has too many parts; say less"))?;
        self.nodes.push(Node::default());
        self.places.insert(key, id);
        self.waiting.push((id, spot));
        Ok(id)
    }

    fn check_dialect(&self, spot: &SchemaSpot<'s>) -> Result<(), Violation> {
        let other = super::dialect_of(spot.place.value).map(|dialect| dialect != self.dialect);
        if spot.place.value.get("$schema").is_some() && other.unwrap_or(true) {
            return Err(spot.fault("a part cannot be in another dialect than the whole; remove its $schema"));
        }
        Ok(())
    }

    /// The part that a reference leads to.
    pub(super) fn target_of(&mut self, target: &str, from: &SchemaSpot<'s>) -> Result<NodeId, Violation> {
        let place = self.find(target, from)?;
        self.node_of(reached(place, target, from))
    }

    /// The part that a `$dynamicRef` leads to: the outermost of its name among the resources that led here.
    pub(super) fn dynamic_target_of(
        &mut self,
        target: &str,
        from: &SchemaSpot<'s>,
    ) -> Result<NodeId, Violation> {
        let place = self.find(target, from)?;
        let name = target.trim_start_matches('#');
        let is_dynamic =
            |place: &Place<'s>| place.value.get("$dynamicAnchor").and_then(Value::as_str) == Some(name);
        let bases = self.scopes.chain(from.scope).filter(|_| is_dynamic(&place));
        let outermost = bases.filter_map(|base| self.anchors.named(base, name).filter(is_dynamic)).last();
        self.node_of(reached(outermost.unwrap_or(place), target, from))
    }

    fn find(&self, target: &str, from: &SchemaSpot<'s>) -> Result<Place<'s>, Violation> {
        let found = self.anchors.find(target, from.place);
        found.filter(|place| place.value.is_object() || place.value.is_boolean()).ok_or_else(|| {
            from.fault(format!("the reference {target:?} leads to nothing; correct it, or add what it means"))
        })
    }

    fn checks_of(&mut self, spot: &SchemaSpot<'s>) -> Result<Vec<Check>, Violation> {
        match spot.place.value {
            Value::Object(members) => self.checks_of_object(members, spot),
            Value::Bool(true) => Ok(Vec::new()),
            _ => Ok(vec![Check::Never]),
        }
    }

    fn checks_of_object(
        &mut self,
        members: &'s Map<String, Value>,
        spot: &SchemaSpot<'s>,
    ) -> Result<Vec<Check>, Violation> {
        let mut checks = Vec::new();
        if let Some(target) = member(members, "$ref").and_then(Value::as_str) {
            checks.push(Check::Reference(self.target_of(target, spot)?));
            if self.dialect == Dialect::Draft7 {
                return Ok(checks);
            }
        }
        self.add_assertions(members, spot, &mut checks)?;
        self.add_applicators(members, spot, &mut checks)?;
        Ok(checks)
    }
}

fn reached<'s>(place: Place<'s>, target: &str, from: &SchemaSpot<'s>) -> SchemaSpot<'s> {
    let pointer = target.strip_prefix('#').filter(|path| path.starts_with('/')).unwrap_or_default();
    SchemaSpot { place, scope: from.scope, pointer: pointer.to_owned() }
}

/// The resources through which a place was reached, each once, the outermost first.
#[derive(Default)]
struct Scopes<'s> {
    list: Vec<(Option<ScopeId>, &'s Value)>,
    known: HashMap<(Option<ScopeId>, Address), ScopeId>,
}

type ScopeId = usize;

impl<'s> Scopes<'s> {
    /// The scope inside `outer` once `base` was entered.
    fn enter(&mut self, outer: Option<ScopeId>, base: &'s Value) -> ScopeId {
        let already = outer.filter(|outer| self.chain(*outer).any(|known| std::ptr::eq(known, base)));
        if let Some(outer) = already {
            return outer;
        }
        let list = &mut self.list;
        *self.known.entry((outer, std::ptr::from_ref(base))).or_insert_with(|| {
            list.push((outer, base));
            list.len() - 1
        })
    }

    /// The resources of a scope, the innermost first.
    fn chain(&self, scope: ScopeId) -> impl Iterator<Item = &'s Value> {
        let step = |(outer, _): &&(Option<ScopeId>, &'s Value)| outer.and_then(|outer| self.list.get(outer));
        std::iter::successors(self.list.get(scope), step).map(|(_, base)| *base)
    }
}

/// Lets what names a part that is nothing but a reference name its target.
fn shorten_references(nodes: &mut [Node]) {
    let only = |node: &Node| match node.checks.as_slice() {
        [Check::Reference(target)] => Some(*target),
        _ => None,
    };
    let next: Vec<Option<NodeId>> = nodes.iter().map(only).collect();
    let end_of = |from: NodeId| {
        // A chain that never ends leads nowhere: it is left as it is.
        let mut chain = std::iter::successors(Some(from), |id| next.get(*id as usize).copied().flatten());
        chain.by_ref().take(64).last().filter(|_| chain.next().is_none()).unwrap_or(from)
    };
    for node in nodes {
        node.checks.iter_mut().for_each(|check| check.visit(&mut |id, _| *id = end_of(*id)));
    }
}

/// Marks the parts that lead back to themselves without a step into the value.
fn mark_loops(nodes: &mut [Node]) {
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (from, node) in nodes.iter_mut().enumerate() {
        let targets = &mut edges[from];
        node.checks.iter_mut().for_each(|check| {
            check.visit(&mut |id, in_place| {
                if in_place == InPlace::Yes {
                    targets.push(*id as usize);
                }
            });
        });
    }
    let mut backward: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            backward[*to].push(from);
        }
    }
    let (downstream, upstream) = (not_in_order(&edges, &backward), not_in_order(&backward, &edges));
    for (node, (down, up)) in nodes.iter_mut().zip(downstream.into_iter().zip(upstream)) {
        node.is_looping = down && up;
    }
}

/// Which ones remain when those that nothing leads to are taken away one after the other.
fn not_in_order(edges: &[Vec<usize>], backward: &[Vec<usize>]) -> Vec<bool> {
    let mut leading: Vec<usize> = backward.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..edges.len()).filter(|at| leading[*at] == 0).collect();
    let mut remains = vec![true; edges.len()];
    while let Some(at) = free.pop() {
        remains[at] = false;
        for to in &edges[at] {
            leading[*to] -= 1;
            if leading[*to] == 0 {
                free.push(*to);
            }
        }
    }
    remains
}
