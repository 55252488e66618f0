//! How many characters the classes of a pattern name. Reading a class takes as long as it is wide, since every character has
//! to be looked up in its other case; that comes before the size of a pattern is known.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};

/// The most characters that all classes of a pattern name together.
const WIDEST: u32 = 250_000;
/// What a class that has a name counts as.
const NAMED: u32 = 10_000;

/// Whether a pattern can be read in a short time; one that is wrong can.
pub(crate) fn is_narrow(text: &str, deepest: u32) -> bool {
    let parsed = ParserBuilder::new().nest_limit(deepest).build().parse(text);
    parsed.is_err() || parsed.is_ok_and(|parsed| ast::visit(&parsed, Width(0)).is_ok())
}

struct Width(u32);

/// It is too wide.
struct TooWide;

impl Width {
    fn add(&mut self, width: u32) -> Result<(), TooWide> {
        self.0 = self.0.saturating_add(width);
        if self.0 > WIDEST { Err(TooWide) } else { Ok(()) }
    }
}

impl Visitor for Width {
    type Output = ();
    type Err = TooWide;

    fn finish(self) -> Result<(), TooWide> {
        Ok(())
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), TooWide> {
        match part {
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) => self.add(NAMED),
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), TooWide> {
        match item {
            ClassSetItem::Range(range) => {
                self.add(u32::from(range.end.c).saturating_sub(range.start.c.into()))
            }
            ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) => self.add(NAMED),
            _ => Ok(()),
        }
    }
}
