//! `cargo xtask lexicon`: makes `crates/search/data/generated` again, from public packages of fixed versions and from the lists
//! that we keep beside it. The same input gives the same bytes. `crates/search/data/README.md` says what is what.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "frequencies and weights are far from the ends of their types"
)]

mod cedict;
mod fetch;
mod glossary;
mod related;
mod simplified;
mod weighted;
mod words;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct LexiconOptions {
    /// Folder for the packages; those that are there already are not fetched again
    #[arg(long)]
    packages: Option<PathBuf>,
}

/// Where the lists are read and the tables are written.
pub(crate) struct Data {
    folder: PathBuf,
}

impl Data {
    /// The text of one of our lists.
    fn list(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// The lines of a list that are neither empty nor remarks.
    fn entries(&self, name: &str) -> Result<Vec<String>> {
        let text = self.list(name)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(lines.map(ToOwned::to_owned).collect())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        let path = self.folder.join("generated").join(name);
        let bytes = bytes.as_ref();
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{:>9} bytes  {name}", bytes.len());
        Ok(())
    }
}

pub(crate) fn run(options: &LexiconOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    let packages = options.packages.clone().unwrap_or_else(|| workspace.target.join("lexicon"));
    let data = Data { folder: workspace.root.join("crates/search/data") };
    fs::create_dir_all(data.folder.join("generated"))?;
    let fetched = fetch::all(&packages)?;

    let stop_words: HashSet<String> = data.list("stop-words.txt")?.lines().map(ToOwned::to_owned).collect();
    let simplified = simplified::Characters::read(&fetched.opencc)?;
    data.write("simplified.txt", simplified.pairs())?;

    let glossary = glossary::Glossary::parse(&data.entries("glossary.txt")?, &stop_words)?;
    data.write("glossary.tsv", glossary.english().to_text())?;
    data.write("glossary-reverse.tsv", glossary.chinese().to_text())?;

    let words = words::Words::read(&fetched.jieba, &simplified, glossary.heads())?;
    data.write("words.fst", words.to_fst()?)?;

    let cedict = cedict::Dictionary::read(&fetched.cedict, &words, &stop_words)?;
    data.write("cedict.tsv", cedict.english().to_text())?;
    data.write("cedict-reverse.tsv", cedict.chinese(&words).to_text())?;

    let related = related::Lists {
        synonyms: data.entries("synonyms.txt")?,
        chinese: data.entries("synonyms-zh.txt")?,
        opposites: data.entries("opposites.txt")?,
    };
    data.write("related.tsv", related.table(&glossary, &stop_words)?.to_text())
}

/// The stem that `crates/search/src/lexicon/stem.rs` would give.
fn stem(word: &str) -> String {
    if word.len() > 40 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English).stem(word).into_owned()
}
