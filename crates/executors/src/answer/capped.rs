//! A buffer that takes no more than a bound, so that a mapping stops early rather than fill the memory.

use std::io;

/// The bytes written so far.
#[derive(Debug)]
pub(super) struct Capped {
    bytes: Vec<u8>,
    most: usize,
}

impl Capped {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::Error::other(format!("the text grew beyond {} bytes", self.most)));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
