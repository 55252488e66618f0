//! Reads one matrix out of a file of the format safetensors: eight bytes for the length of a JSON header, the header, and
//! the numbers. Nothing else of the format is needed, so no crate is.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::TableProblem;

/// The longest header that is read.
const MOST_HEADER: usize = 1 << 20;

/// Rows of numbers, kept as the file has them.
pub(crate) struct Matrix {
    bytes: Vec<u8>,
    start: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Deserialize)]
enum Kind {
    F16,
    BF16,
    F32,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: Value,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Kind {
    const fn width(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
        }
    }
}

impl Matrix {
    /// The only matrix of the file, or the one that is called an embedding.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, TableProblem> {
        let (header, start) = header_of(&bytes)?;
        let (name, tensor) = chosen(header)?;
        let kind = Kind::deserialize(&tensor.dtype).map_err(|_| {
            TableProblem(format!(
                "{name:?} has numbers of type {}; F16, BF16 and F32 can be read",
                tensor.dtype
            ))
        })?;
        let &[rows, columns] = tensor.shape.as_slice() else {
            return Err(TableProblem(format!("{name:?} is no matrix: its shape is {:?}", tensor.shape)));
        };
        let (from, to) = tensor.data_offsets;
        let wanted = rows.checked_mul(columns).and_then(|count| count.checked_mul(kind.width()));
        let is_whole = wanted.is_some() && to.checked_sub(from) == wanted;
        let end = start.checked_add(to).filter(|end| *end <= bytes.len());
        if !is_whole || end.is_none() || rows == 0 || columns == 0 {
            return Err(TableProblem(format!(
                "the numbers of {name:?} are not all there; fetch the file anew"
            )));
        }
        Ok(Self { bytes, start: start + from, rows, columns, kind })
    }

    /// Adds one row to `sum`, which is as long as a row; a row that is not there is none.
    pub(crate) fn add_row(&self, row: usize, sum: &mut [f32]) {
        let width = self.kind.width();
        let start = self.start + row * self.columns * width;
        let Some(row) = self.bytes.get(start..start + self.columns * width) else { return };
        match self.kind {
            Kind::F16 => {
                add(sum, row.chunks_exact(2).map(|pair| from_f16(u16::from_le_bytes([pair[0], pair[1]]))));
            }
            Kind::BF16 => {
                add(sum, row.chunks_exact(2).map(|pair| f32::from_le_bytes([0, 0, pair[0], pair[1]])));
            }
            Kind::F32 => {
                add(
                    sum,
                    row.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])),
                );
            }
        }
    }
}

fn header_of(bytes: &[u8]) -> Result<(Map<String, Value>, usize), TableProblem> {
    let broken = || TableProblem::new("it is no safetensors file: its header cannot be read");
    let length = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length)).ok_or_else(broken)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= MOST_HEADER).ok_or_else(broken)?;
    let header = bytes.get(8..8 + length).ok_or_else(broken)?;
    Ok((serde_json::from_slice(header).map_err(|_| broken())?, 8 + length))
}

fn chosen(header: Map<String, Value>) -> Result<(String, Tensor), TableProblem> {
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    let mut tensors: Vec<(String, Tensor)> =
        tensors.filter_map(|(name, tensor)| Some((name, serde_json::from_value(tensor).ok()?))).collect();
    if tensors.len() > 1 {
        tensors.retain(|(name, tensor)| name.contains("embedding") && tensor.shape.len() == 2);
    }
    match tensors.pop() {
        Some(tensor) if tensors.is_empty() => Ok(tensor),
        _ => Err(TableProblem::new("it must have one matrix of embeddings, and has none or several")),
    }
}

fn add(sum: &mut [f32], row: impl Iterator<Item = f32>) {
    for (sum, number) in sum.iter_mut().zip(row) {
        *sum += number;
    }
}

/// Half precision (IEEE 754 binary16).
fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // Smaller than the smallest power: a multiple of 2^-24.
        0 => f32::from_bits(sign | 0x3f80_0000) * f32::from(bits & 0x3ff) / 16_777_216.0,
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read_exactly() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0, 0.0)]
        {
            assert!(
                (from_f16(bits) - number).abs() <= f32::EPSILON * number.abs(),
                "{bits:x}: {}",
                from_f16(bits)
            );
        }
        assert!(from_f16(0x7c00).is_infinite());
    }

    #[test]
    fn a_file_that_is_cut_or_no_safetensors_is_told() {
        let header = br#"{"embedding.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        file.extend([0; 8]);
        assert!(Matrix::read(file.clone()).is_ok());
        for cut in 0..file.len() {
            assert!(Matrix::read(file[..cut].to_vec()).is_err(), "{cut}");
        }
        assert!(Matrix::read(b"PK\x03\x04 not a table at all".to_vec()).is_err());
    }
}
