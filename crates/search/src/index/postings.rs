//! Where a term occurs: documents in rising order, each with the strength of the term in it, in blocks that copies share.

use std::sync::Arc;

/// The most postings of a block.
const BLOCK: usize = 256;

/// One document that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    /// The document's slot.
    pub(crate) slot: u32,
    /// How much the document is about the term: 0 to 65535 for 0 to 1.
    pub(crate) impact: u16,
    /// The fields that have it, a bit each.
    pub(crate) fields: u16,
}

/// The documents that have a term.
#[derive(Clone)]
pub(crate) enum Postings {
    /// One block: nearly every term.
    Few(Arc<[Posting]>),
    /// Several blocks, none empty.
    Many(Arc<Vec<Arc<[Posting]>>>, u32),
}

impl Default for Postings {
    fn default() -> Self {
        Self::Few(Arc::from([]))
    }
}

impl Postings {
    /// How many documents have the term.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Few(block) => block.len(),
            Self::Many(_, count) => *count as usize,
        }
    }

    pub(crate) fn blocks(&self) -> &[Arc<[Posting]>] {
        match self {
            Self::Few(block) => std::slice::from_ref(block),
            Self::Many(blocks, _) => blocks,
        }
    }

    /// Adds documents that do not have the term yet, in rising order.
    pub(crate) fn add(&mut self, added: &[Posting]) {
        match self {
            Self::Few(block) => {
                let merged = merge(block, added);
                if merged.len() <= BLOCK {
                    *block = merged.into();
                } else {
                    let count = crate::containers::pages::index(merged.len());
                    let blocks = merged.chunks(BLOCK).map(Arc::from).collect();
                    *self = Self::Many(Arc::new(blocks), count);
                }
            }
            Self::Many(blocks, count) => {
                *count += crate::containers::pages::index(added.len());
                add_to_blocks(Arc::make_mut(blocks), added);
            }
        }
    }

    /// Removes documents, in rising order.
    pub(crate) fn remove(&mut self, slots: &[u32]) {
        match self {
            Self::Few(block) => *block = without(block, slots),
            Self::Many(blocks, count) => {
                let blocks = Arc::make_mut(blocks);
                for block in blocks.iter_mut() {
                    let (Some(first), Some(last)) = (block.first(), block.last()) else { continue };
                    let from = slots.partition_point(|slot| *slot < first.slot);
                    let to = slots.partition_point(|slot| *slot <= last.slot);
                    if from < to {
                        *block = without(block, slots.get(from..to).unwrap_or_default());
                    }
                }
                blocks.retain(|block| !block.is_empty());
                *count = crate::containers::pages::index(blocks.iter().map(|block| block.len()).sum());
                if *count as usize <= BLOCK / 2 {
                    *self = Self::Few(blocks.iter().flat_map(|block| block.iter().copied()).collect());
                }
            }
        }
    }
}

fn without(block: &[Posting], slots: &[u32]) -> Arc<[Posting]> {
    block.iter().filter(|posting| slots.binary_search(&posting.slot).is_err()).copied().collect()
}

/// Puts each posting into the block whose range it belongs to, and splits blocks that grow too long.
fn add_to_blocks(blocks: &mut Vec<Arc<[Posting]>>, mut added: &[Posting]) {
    let mut at = 0;
    while !added.is_empty() {
        let next = blocks.get(at + 1).and_then(|block| block.first()).map_or(u32::MAX, |first| first.slot);
        let here = added.partition_point(|posting| posting.slot < next);
        let here = if at + 1 >= blocks.len() { added.len() } else { here };
        let (mine, rest) = added.split_at(here);
        added = rest;
        if !mine.is_empty() {
            let merged = merge(blocks.get(at).map_or(&[], |block| block), mine);
            // A full block that grows at its end stays full: slots mostly come in rising order.
            let parts: Vec<Arc<[Posting]>> = merged.chunks(BLOCK).map(Arc::from).collect();
            let grown = parts.len();
            blocks.splice(at..(at + 1).min(blocks.len()), parts);
            at += grown.saturating_sub(1);
        }
        at += 1;
    }
}

fn merge(one: &[Posting], another: &[Posting]) -> Vec<Posting> {
    let mut merged = Vec::with_capacity(one.len() + another.len());
    let (mut one, mut another) = (one, another);
    while let ([first, rest_one @ ..], [second, rest_another @ ..]) = (one, another) {
        if first.slot <= second.slot {
            merged.push(*first);
            one = rest_one;
        } else {
            merged.push(*second);
            another = rest_another;
        }
    }
    merged.extend_from_slice(one);
    merged.extend_from_slice(another);
    merged
}
