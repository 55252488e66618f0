//! Vectors on disk, so that a restart asks for none anew. Two files: new ones are written at the end of the first; when that
//! is full it takes the place of the second, and what nobody asked for since is gone. Several processes may use them: what
//! is read is checked against its key, and what does not fit is a vector that is not there.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use toolrail_core::Embedding;

/// The most bytes of each file.
const MOST_BYTES: u64 = 128 << 20;
/// A key, a scale, a number of dimensions, and a sum over all.
const FRAME: usize = 16 + 4 + 4 + 4;

/// What a vector belongs to: a model and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VectorKey([u8; 16]);

impl VectorKey {
    pub(super) fn of(model: &str, dimensions: Option<usize>, text: &str) -> Self {
        let whole = digest(&SHA256, format!("{model}\0{}\0{text}", dimensions.unwrap_or(0)).as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&whole.as_ref()[..16]);
        Self(key)
    }
}

/// The vectors of one model.
pub(super) struct Vault {
    path: PathBuf,
    most: u64,
    /// The newer one first.
    shelves: [Shelf; 2],
}

/// One file, and where in it what is.
struct Shelf {
    file: File,
    length: u64,
    places: HashMap<VectorKey, u64>,
}

impl Vault {
    /// Opens the files of a model, making them if need be.
    pub(super) fn open(folder: &Path, model: &str, dimensions: Option<usize>) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let name = u128::from_be_bytes(VectorKey::of(model, dimensions, "").0);
        Self::at(folder.join(format!("{name:032x}.vectors")), MOST_BYTES)
    }

    fn at(path: PathBuf, most: u64) -> io::Result<Self> {
        let shelves = [Shelf::open(&path, most)?, Shelf::open(&older(&path), most)?];
        Ok(Self { path, most, shelves })
    }

    /// The vector of a key, if it was kept.
    pub(super) fn find(&mut self, key: &VectorKey) -> Option<Embedding> {
        if let Some(vector) = self.shelves[0].find(key) {
            return Some(vector);
        }
        let vector = self.shelves[1].find(key)?;
        // In use still: it goes on with the newer ones. Whether that can be written matters little.
        let _ = self.put(&[(*key, vector.clone())]);
        Some(vector)
    }

    /// Keeps vectors.
    pub(super) fn put(&mut self, vectors: &[(VectorKey, Embedding)]) -> io::Result<()> {
        for (key, vector) in vectors {
            let record = record(key, vector);
            if self.shelves[0].length + record.len() as u64 > self.most {
                self.turn()?;
            }
            self.shelves[0].append(*key, &record)?;
        }
        Ok(())
    }

    /// The newer file becomes the older one.
    fn turn(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, older(&self.path))?;
        let empty = Shelf::open(&self.path, self.most)?;
        self.shelves[1] = std::mem::replace(&mut self.shelves[0], empty);
        Ok(())
    }
}

impl Shelf {
    fn open(path: &Path, most: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut bytes = Vec::new();
        (&mut file).take(most).read_to_end(&mut bytes)?;
        let mut places = HashMap::new();
        let mut start = 0;
        while let Some((key, length)) = head_of(&bytes[start..]) {
            if bytes.get(start..start + length).and_then(read).is_some() {
                places.insert(key, start as u64);
            }
            start += length;
        }
        // What was cut short by a crash would be in the way of what comes after it.
        file.set_len(start as u64)?;
        Ok(Self { file, length: start as u64, places })
    }

    fn find(&self, key: &VectorKey) -> Option<Embedding> {
        let place = *self.places.get(key)?;
        let mut head = [0; FRAME];
        self.file.read_exact_at(&mut head, place).ok()?;
        let (_, length) = head_of_frame(&head)?;
        let mut record = vec![0; length];
        self.file.read_exact_at(&mut record, place).ok()?;
        let (found, vector) = read(&record)?;
        (found == *key).then_some(vector)
    }

    fn append(&mut self, key: VectorKey, record: &[u8]) -> io::Result<()> {
        // Another process may have written here as well.
        let place = self.file.metadata()?.len();
        self.file.write_all(record)?;
        self.places.insert(key, place);
        self.length = place + record.len() as u64;
        Ok(())
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("older")
}

fn record(key: &VectorKey, vector: &Embedding) -> Vec<u8> {
    let numbers = vector.numbers();
    let mut record = Vec::with_capacity(FRAME + numbers.len());
    record.extend(key.0);
    record.extend(vector.scale().to_le_bytes());
    record.extend(u32::try_from(numbers.len()).unwrap_or(0).to_le_bytes());
    record.extend(numbers.iter().map(|number| number.cast_unsigned()));
    record.extend(sum_of(&record).to_le_bytes());
    record
}

/// The key of a record, and how long it is, if it is all there.
fn head_of(bytes: &[u8]) -> Option<(VectorKey, usize)> {
    let (key, length) = head_of_frame(bytes.first_chunk()?)?;
    (length <= bytes.len()).then_some((key, length))
}

fn head_of_frame(frame: &[u8; FRAME]) -> Option<(VectorKey, usize)> {
    let key = VectorKey(*frame.first_chunk()?);
    let dimensions = u32::from_le_bytes(*frame[20..].first_chunk()?) as usize;
    (dimensions <= Embedding::MOST_DIMENSIONS).then_some((key, FRAME + dimensions))
}

fn read(record: &[u8]) -> Option<(VectorKey, Embedding)> {
    let (content, sum) = record.split_last_chunk()?;
    if sum_of(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    let scale = f32::from_le_bytes(*content.get(16..)?.first_chunk()?);
    let numbers = content.get(24..)?.iter().map(|byte| byte.cast_signed()).collect();
    Some((VectorKey(*content.first_chunk()?), Embedding::from_parts(scale, numbers)?))
}

/// FNV-1a: enough to notice a torn or foreign record.
fn sum_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(number: u16) -> Embedding {
        Embedding::towards(&[f32::from(number), 1.0, -3.0]).unwrap()
    }

    fn key(number: u16) -> VectorKey {
        VectorKey::of("model", None, &number.to_string())
    }

    #[test]
    fn vectors_are_there_after_a_restart_but_for_a_torn_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vectors");
        let mut vault = Vault::at(path.clone(), 1 << 20).unwrap();
        vault.put(&[(key(1), vector(1)), (key(2), vector(2))]).unwrap();
        assert_eq!(vault.find(&key(2)), Some(vector(2)));
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut vault = Vault::at(path.clone(), 1 << 20).unwrap();
            assert_eq!(vault.find(&key(1)).is_some(), cut >= whole.len() / 2);
            assert_eq!(vault.find(&key(2)), None);
            vault.put(&[(key(3), vector(3))]).unwrap();
            assert_eq!(Vault::at(path.clone(), 1 << 20).unwrap().find(&key(3)), Some(vector(3)));
        }
    }

    #[test]
    fn a_vector_that_was_changed_on_disk_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vectors");
        Vault::at(path.clone(), 1 << 20).unwrap().put(&[(key(1), vector(1))]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x41;
            std::fs::write(&path, changed).unwrap();
            assert_eq!(Vault::at(path.clone(), 1 << 20).unwrap().find(&key(1)), None, "{place}");
        }
    }

    #[test]
    fn the_files_stay_within_their_bound_and_keep_what_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vectors");
        let mut vault = Vault::at(path.clone(), 1000).unwrap();
        for number in 0..500 {
            vault.put(&[(key(number), vector(number))]).unwrap();
            assert_eq!(vault.find(&key(0)), Some(vector(0)), "{number}");
        }
        assert_eq!((vault.find(&key(499)), vault.find(&key(100))), (Some(vector(499)), None));
        let bytes = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(bytes(&path) <= 1000 && bytes(&older(&path)) <= 1000);
    }
}
