//! Where definitions are kept: every sort of store and source, and what happens when one fails.

mod full_disk;
mod json_file;
mod restored;
mod sources;
mod url;
