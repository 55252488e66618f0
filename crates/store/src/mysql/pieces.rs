//! Many rows in few statements. A statement of each size is prepared once and kept: closing one gets no answer, and what is
//! sent after it then waits for an acknowledgement, 40 ms as a rule. Hence only a few sizes.

const MOST_ROWS: usize = 128;
// Well within every server's `max_allowed_packet`.
const MOST_BYTES: usize = 1024 * 1024;

/// The items in pieces for one statement each: powers of two, of so many bytes unless a single one has more.
pub(super) fn pieces<T>(mut items: &[T], bytes: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let (piece, rest) = items.split_at(size(items, &bytes)?);
        items = rest;
        Some(piece)
    })
}

fn size<T>(items: &[T], bytes: &impl Fn(&T) -> usize) -> Option<usize> {
    let mut sum = 0;
    let fits = |item: &&T| {
        sum += bytes(item);
        sum <= MOST_BYTES
    };
    let fitting = items.iter().take(MOST_ROWS).take_while(fits).count();
    if items.is_empty() {
        return None;
    }
    Some(fitting.checked_ilog2().map_or(1, |power| 1 << power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_powers_of_two_within_the_limit() {
        let sizes =
            |lengths: &[usize]| pieces(lengths, |length| *length).map(<[usize]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[1; 7]), [4, 2, 1]);
        assert_eq!(sizes(&[1; 300]), [128, 128, 32, 8, 4]);
        assert_eq!(sizes(&[MOST_BYTES + 1, 1, MOST_BYTES, 0]), [1, 1, 2]);
    }
}
