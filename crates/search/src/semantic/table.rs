//! The table: a vector for every piece of a text; the text's own is their mean. No network and no model to run.

use toolrail_core::{EmbedError, Embedder, Embedding, Reach, async_trait};

use super::TableProblem;
use super::tensors::Matrix;
use super::tokenizer::Tokenizer;

/// Longer texts are cut before they are read.
const MOST_BYTES: usize = 8000;

/// An embedder that looks up vectors, such as WordLlama's.
pub struct StaticTable {
    matrix: Matrix,
    tokenizer: Tokenizer,
    model: String,
    reach: Reach,
}

impl StaticTable {
    /// Reads a table out of the content of its two files: safetensors, and `tokenizer.json`.
    pub fn read(table: Vec<u8>, tokenizer: &[u8], reach: Reach) -> Result<Self, TableProblem> {
        let tokenizer =
            Tokenizer::read(tokenizer).map_err(|problem| TableProblem(format!("tokenizer: {problem}")))?;
        let matrix = Matrix::read(table).map_err(|problem| TableProblem(format!("table: {problem}")))?;
        if matrix.columns > Embedding::MOST_DIMENSIONS {
            return Err(TableProblem(format!(
                "table: it has {} dimensions; the most are {}",
                matrix.columns,
                Embedding::MOST_DIMENSIONS
            )));
        }
        let model = format!("table of {} by {}", matrix.rows, matrix.columns);
        Ok(Self { matrix, tokenizer, model, reach })
    }

    /// How many dimensions its vectors have.
    pub fn dimensions(&self) -> usize {
        self.matrix.columns
    }

    /// The vector of a text.
    pub fn vector(&self, text: &str) -> Option<Embedding> {
        Embedding::towards(&self.sum(text))
    }

    fn sum(&self, text: &str) -> Vec<f32> {
        let text = &text[..text.floor_char_boundary(MOST_BYTES)];
        let mut sum = vec![0.0; self.matrix.columns];
        for piece in self.tokenizer.pieces_of(text) {
            let row = usize::try_from(piece).unwrap_or(usize::MAX).min(self.matrix.rows - 1);
            self.matrix.add_row(row, &mut sum);
        }
        sum
    }
}

#[async_trait]
impl Embedder for StaticTable {
    fn model(&self) -> &str {
        &self.model
    }

    fn reach(&self) -> Reach {
        self.reach
    }

    fn batch(&self) -> usize {
        32
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    async fn embed_query(&self, text: &str) -> Result<Option<Embedding>, EmbedError> {
        Ok(self.vector(text))
    }
}
