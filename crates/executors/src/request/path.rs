//! The path of a request: each value is one segment or a part of one, and can neither leave it nor empty it.

use toolrail_core::{CallError, ErrorCode};

use crate::template::{Compiler, Evaluated, Piece, Place, Placement, Rendering, Template};

/// A compiled path; it starts with a slash, or is empty.
#[derive(Debug)]
pub(crate) struct PathTemplate {
    pieces: Vec<PathPiece>,
    /// As the author wrote it, for messages.
    written: String,
}

#[derive(Debug)]
enum PathPiece {
    /// One or more segments without templates, slashes included.
    Literal(String),
    /// One segment, without slashes.
    Segment(Template),
}

impl PathTemplate {
    /// Compiles the pieces of a path, noting what is wrong.
    pub(super) fn compile(pieces: &[Piece<'_>], pointer: &str, compiler: &mut Compiler<'_>) -> Option<Self> {
        let mut path = Self { pieces: Vec::new(), written: written(pieces) };
        if pieces.is_empty() {
            return Some(path);
        }
        let mut whole = Some(());
        for (index, segment) in segments(pieces).iter().enumerate() {
            if index > 0 || !path.written.starts_with('/') {
                path.push_literal("/");
            }
            match compiler.pieces(segment, pointer, Place::Path) {
                Some(template) => match template.literal() {
                    Some(text) => path.push_literal(text),
                    None => path.pieces.push(PathPiece::Segment(template)),
                },
                None => whole = None,
            }
        }
        whole.map(|()| path)
    }

    /// Whether no template is in it.
    pub(super) fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, PathPiece::Literal(_)))
    }

    /// Appends the path.
    pub(super) fn write(&self, rendering: &mut Rendering<'_>, out: &mut String) -> Result<(), CallError> {
        for piece in &self.pieces {
            match piece {
                PathPiece::Literal(text) => out.push_str(text),
                PathPiece::Segment(template) => {
                    let start = out.len();
                    if template.write(rendering, out)? == Placement::Dropped {
                        return Err(self.missing(template, rendering));
                    }
                    self.check_segment(&out[start..], template)?;
                }
            }
        }
        Ok(())
    }

    fn push_literal(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(PathPiece::Literal(before)) => before.push_str(text),
            _ => self.pieces.push(PathPiece::Literal(text.to_owned())),
        }
    }

    fn missing(&self, template: &Template, rendering: &mut Rendering<'_>) -> CallError {
        let absent = template.expressions().find(|expression| {
            matches!(rendering.evaluate(expression, template.pointer()), Ok(value) if value.is_null() || matches!(value, Evaluated::Absent))
        });
        let label = absent.map_or_else(|| "a value".to_owned(), crate::template::Expression::label);
        CallError::at_field(
            ErrorCode::InvalidArguments,
            template.pointer(),
            format_args!("{label} is needed for the path {}; give it", self.written),
        )
    }

    /// Refuses a segment that would make the URL mean another place: none at all, this one or the one above.
    fn check_segment(&self, segment: &str, template: &Template) -> Result<(), CallError> {
        let fault = if segment.is_empty() {
            "is empty"
        } else if segment.len() <= 6
            && matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
        {
            "must not be \".\" or \"..\""
        } else {
            return Ok(());
        };
        let labels: Vec<_> = template.expressions().map(crate::template::Expression::label).collect();
        Err(CallError::at_field(
            ErrorCode::InvalidArguments,
            template.pointer(),
            format_args!(
                "{} {fault}, but is a segment of the path {}; give another value",
                labels.join(" and "),
                self.written
            ),
        ))
    }
}

/// The pieces between the slashes; the slash at the start separates nothing.
fn segments<'p>(pieces: &[Piece<'p>]) -> Vec<Vec<Piece<'p>>> {
    let mut segments = vec![Vec::new()];
    for piece in pieces {
        let Piece::Literal(text) = piece else {
            push(&mut segments, *piece);
            continue;
        };
        for (index, part) in text.split('/').enumerate() {
            if index > 0 {
                segments.push(Vec::new());
            }
            if !part.is_empty() {
                push(&mut segments, Piece::Literal(part));
            }
        }
    }
    segments
}

fn push<'p>(segments: &mut [Vec<Piece<'p>>], piece: Piece<'p>) {
    if let Some(segment) = segments.last_mut() {
        segment.push(piece);
    }
}

fn written(pieces: &[Piece<'_>]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Expression(source) => text.extend(["{{", source, "}}"]),
            Piece::Argument(name) => text.extend(["{", name, "}"]),
        }
    }
    text
}
