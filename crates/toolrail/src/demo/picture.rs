//! A bar chart as PNG, made by hand: a palette of two colours, rows stored uncompressed.

const WIDTH: usize = 200;
const HEIGHT: usize = 100;

/// A bar for each value, the highest as high as the picture.
pub(super) fn bar_chart(values: &[f64]) -> Vec<u8> {
    let highest = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let shares: Vec<f64> = values.iter().map(|value| (value / highest).clamp(0.0, 1.0)).collect();
    let mut rows = Vec::with_capacity(HEIGHT * (WIDTH + 1));
    for y in 0..HEIGHT {
        // The filter of the row: none.
        rows.push(0);
        rows.extend((0..WIDTH).map(|x| u8::from(is_bar(x, y, &shares))));
    }
    png(&rows)
}

fn is_bar(x: usize, y: usize, shares: &[f64]) -> bool {
    let slot = WIDTH / shares.len().max(1);
    let Some(share) = shares.get(x / slot).filter(|_| x % slot >= slot / 5) else {
        return false;
    };
    #[expect(clippy::cast_precision_loss, reason = "the numbers are at most 100")]
    let depth = (HEIGHT - y) as f64 / HEIGHT as f64;
    depth <= *share
}

fn png(rows: &[u8]) -> Vec<u8> {
    let mut header = Vec::new();
    for size in [WIDTH, HEIGHT] {
        header.extend(u32::try_from(size).unwrap_or_default().to_be_bytes());
    }
    // Eight bits a pixel, with a palette; no interlacing.
    header.extend([8, 3, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, *b"IHDR", &header);
    chunk(&mut out, *b"PLTE", &[255, 255, 255, 37, 99, 235]);
    chunk(&mut out, *b"IDAT", &stored(rows));
    chunk(&mut out, *b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    out.extend(u32::try_from(data.len()).unwrap_or_default().to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend_from_slice(data);
    let sum = crc32(&out[start..]);
    out.extend(sum.to_be_bytes());
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951 section 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or_default();
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn crc32(data: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 },
        )
    };
    !data.iter().fold(u32::MAX, step)
}

fn adler32(data: &[u8]) -> u32 {
    let (low, high) = data.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    (high << 16) | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn odd_values_still_give_a_picture() {
        for values in [&[][..], &[0.0], &[f64::NAN, f64::INFINITY, -1.0], &[1.0; 20]] {
            assert!(bar_chart(values).starts_with(b"\x89PNG"));
        }
    }
}
