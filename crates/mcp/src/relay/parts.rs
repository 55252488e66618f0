//! Letters larger than what a store takes at once travel in parts, which are put together again in the order in which
//! they were left.

use std::collections::HashMap;

use tokio::time::Instant;
use toolrail_core::MailLimits;

const HEAD: usize = 16;
const PART: usize = MailLimits::ALL.largest - HEAD;
/// Enough for the largest message of a client or result of a task, and less than what a store keeps for one replica.
const MOST_PARTS: usize = 30;
/// The most letters that may be incomplete at once.
const MOST_BEGUN: usize = 64;

/// Tells a letter from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LetterId {
    /// Who sends it.
    pub(super) from: u32,
    /// Which of the sender's it is.
    pub(super) number: u64,
}

/// A letter in parts; nothing if it is too large.
pub(super) fn split(id: LetterId, letter: &[u8]) -> Option<Vec<Vec<u8>>> {
    let count = letter.len().div_ceil(PART);
    let last = u16::try_from(count).ok().filter(|_| count <= MOST_PARTS)?.checked_sub(1)?;
    let write = |(index, part): (u16, &[u8])| {
        let (from, number) = (id.from.to_be_bytes(), id.number.to_be_bytes());
        [&from[..], &number, &index.to_be_bytes(), &last.to_be_bytes(), part].concat()
    };
    Some((0..=last).zip(letter.chunks(PART)).map(write).collect())
}

/// Letters of which some parts are here.
#[derive(Default)]
pub(super) struct Joining {
    begun: HashMap<LetterId, PartialLetter>,
}

struct PartialLetter {
    next: u16,
    so_far: Vec<u8>,
    since: Instant,
}

impl Joining {
    /// Takes one part; gives the letter if that was the last.
    pub(super) fn take(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = part.split_first_chunk::<HEAD>()?;
        let (from, rest) = head.split_first_chunk::<4>()?;
        let (number, places) = rest.split_first_chunk::<8>()?;
        let id = LetterId { from: u32::from_be_bytes(*from), number: u64::from_be_bytes(*number) };
        let [index, last] = [[places[0], places[1]], [places[2], places[3]]].map(u16::from_be_bytes);
        if last == 0 {
            return Some(body.to_vec());
        }
        self.begun.retain(|_, begun| begun.since.elapsed() < MailLimits::ALL.kept);
        if index == 0 && self.begun.len() < MOST_BEGUN {
            let begun = PartialLetter { next: 0, so_far: Vec::new(), since: Instant::now() };
            self.begun.insert(id, begun);
        }
        let begun = self.begun.get_mut(&id)?;
        if begun.next != index || usize::from(index) >= MOST_PARTS {
            // A part was lost: the rest is worth nothing.
            self.begun.remove(&id);
            return None;
        }
        begun.so_far.extend_from_slice(body);
        begun.next += 1;
        if index < last {
            return None;
        }
        self.begun.remove(&id).map(|begun| begun.so_far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LetterId = LetterId { from: 7, number: 1 };

    fn large(bytes: usize) -> Vec<u8> {
        (0..=u8::MAX).cycle().take(bytes).collect()
    }

    #[test]
    fn a_letter_arrives_whole_whatever_its_size() {
        for size in [1, PART, PART + 1, 3 * PART + 5] {
            let letter = large(size);
            let parts = split(ID, &letter).unwrap();
            assert!(parts.iter().all(|part| part.len() <= MailLimits::ALL.largest));
            let mut joining = Joining::default();
            let arrived: Vec<_> = parts.iter().filter_map(|part| joining.take(part)).collect();
            assert!(arrived == [letter], "{size}");
            assert!(joining.begun.is_empty());
        }
    }

    #[test]
    fn letters_that_arrive_at_the_same_time_are_kept_apart() {
        let (one, other) = (large(2 * PART), large(2 * PART - 1));
        let [one_parts, other_parts] =
            [(ID, &one), (LetterId { from: 8, ..ID }, &other)].map(|(id, letter)| split(id, letter).unwrap());
        let mut joining = Joining::default();
        let mixed = one_parts.iter().zip(&other_parts).flat_map(|(one, other)| [one, other]);
        let arrived: Vec<_> = mixed.filter_map(|part| joining.take(part)).collect();
        assert!(arrived == [one, other]);
    }

    #[test]
    fn a_letter_that_lacks_a_part_or_is_none_is_dropped() {
        let parts = split(ID, &large(3 * PART)).unwrap();
        let mut joining = Joining::default();
        for part in [&parts[0], &parts[2], &parts[1]] {
            assert_eq!(joining.take(part), None);
        }
        assert!(joining.begun.is_empty());
        assert_eq!(joining.take(b"short"), None);
        assert_eq!(split(ID, b""), None);
        assert_eq!(split(ID, &vec![0; MOST_PARTS * PART + 1]), None);
    }
}
