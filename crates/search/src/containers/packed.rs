//! Numbers in rising order in little space: the steps between them, seven bits to a byte, four bytes to an entry.

/// Packs different numbers, in rising order, behind what is there.
pub(crate) fn pack(numbers: &[u32], into: &mut Vec<u32>) {
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    let mut last = 0;
    for number in numbers {
        // Counted from 1, so that no step is 0: that is where the numbers end.
        let next = u64::from(*number) + 1;
        let mut step = next - last;
        last = next;
        while step >= 0x80 {
            bytes.push(low_bits(step) | 0x80);
            step >>= 7;
        }
        bytes.push(low_bits(step));
    }
    into.extend(bytes.chunks(4).map(|chunk| {
        let mut four = [0; 4];
        four.iter_mut().zip(chunk).for_each(|(place, byte)| *place = *byte);
        u32::from_le_bytes(four)
    }));
}

/// The numbers that were packed.
pub(crate) fn unpack(packed: &[u32]) -> impl Iterator<Item = u32> {
    let mut bytes = packed.iter().flat_map(|four| four.to_le_bytes());
    let mut last = 0_u64;
    std::iter::from_fn(move || {
        let (mut step, mut shift) = (0, 0);
        loop {
            let byte = bytes.next()?;
            step |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift = (shift + 7) % 64;
        }
        last += step;
        if step == 0 { None } else { u32::try_from(last - 1).ok() }
    })
}

fn low_bits(step: u64) -> u8 {
    (step & 0x7f).to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_come_back() {
        let some: Vec<u32> = (0..1000).map(|number| number * number).collect();
        for numbers in [&[][..], &[0], &[u32::MAX], &[0, 1, 127, 128, 16_384, u32::MAX], &some] {
            let mut packed = vec![7];
            pack(numbers, &mut packed);
            assert_eq!(unpack(&packed[1..]).collect::<Vec<_>>(), numbers);
        }
    }
}
