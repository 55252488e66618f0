//! The order of JSON's tokens: what may come next, and the brackets that are open.

use super::super::DEEPEST;

/// What may come next, and in what: a row of the table.
const VALUE: u8 = 0;
const END: u8 = 8;
const OBJECT_BEGINS: u8 = 16;
const KEY: u8 = 24;
const COLON: u8 = 32;
const MEMBER: u8 = 40;
const MEMBER_ENDS: u8 = 48;
const ARRAY_BEGINS: u8 = 56;
const ITEM: u8 = 64;
const ITEM_ENDS: u8 = 72;
/// No rows, but what else a token does.
const OPENS_OBJECT: u8 = 80;
const OPENS_ARRAY: u8 = 81;
const CLOSES: u8 = 82;
const FAULT: u8 = 83;

/// How many tokens there are, each a column of the table.
const CLASSES: usize = 8;

/// Which column a byte belongs to; what begins no other token begins a number or literal.
const CLASS: [u8; 256] = {
    let mut classes = [7; 256];
    classes[b'{' as usize] = 0;
    classes[b'}' as usize] = 1;
    classes[b'[' as usize] = 2;
    classes[b']' as usize] = 3;
    classes[b':' as usize] = 4;
    classes[b',' as usize] = 5;
    classes[b'"' as usize] = 6;
    classes
};

/// What each row becomes with each token. It is longer than it has to be, so that no place is beyond its end.
const NEXT: [u8; 128] = {
    const NO: u8 = FAULT;
    const fn value(then: u8, closing: u8) -> [u8; CLASSES] {
        [OPENS_OBJECT, NO, OPENS_ARRAY, closing, NO, NO, then, then]
    }
    const ROWS: [[u8; CLASSES]; 10] = [
        value(END, NO),
        [NO; CLASSES],
        [NO, CLOSES, NO, NO, NO, NO, COLON, NO],
        [NO, NO, NO, NO, NO, NO, COLON, NO],
        [NO, NO, NO, NO, MEMBER, NO, NO, NO],
        value(MEMBER_ENDS, NO),
        [NO, CLOSES, NO, NO, NO, KEY, NO, NO],
        value(ITEM_ENDS, CLOSES),
        value(ITEM_ENDS, NO),
        [NO, NO, NO, CLOSES, NO, ITEM, NO, NO],
    ];
    let mut next = [NO; 128];
    let mut place = 0;
    while place < ROWS.len() * CLASSES {
        next[place] = ROWS[place / CLASSES][place % CLASSES];
        place += 1;
    }
    next
};

/// Where the tokens so far have led.
pub(super) struct Order {
    row: u8,
    /// The rows to go back to when the open brackets close, the innermost last.
    outer: [u8; DEEPEST],
    depth: usize,
}

impl Order {
    pub(super) fn new() -> Self {
        Self { row: VALUE, outer: [0; DEEPEST], depth: 0 }
    }

    /// Takes the token that begins with that byte; refuses one that cannot stand there.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) -> Option<()> {
        let next = NEXT[usize::from((self.row | CLASS[usize::from(byte)]) & 127)];
        self.row = if next < OPENS_OBJECT { next } else { self.turn(next)? };
        Some(())
    }

    /// Goes into an opening bracket or out of a closing one.
    #[inline]
    fn turn(&mut self, next: u8) -> Option<u8> {
        match next {
            OPENS_OBJECT | OPENS_ARRAY => {
                *self.outer.get_mut(self.depth)? = match self.row {
                    VALUE => END,
                    MEMBER => MEMBER_ENDS,
                    _ => ITEM_ENDS,
                };
                self.depth += 1;
                Some(if next == OPENS_OBJECT { OBJECT_BEGINS } else { ARRAY_BEGINS })
            }
            CLOSES => {
                self.depth = self.depth.checked_sub(1)?;
                self.outer.get(self.depth).copied()
            }
            _ => None,
        }
    }

    /// Whether one whole value has been seen.
    pub(super) fn is_at_end(&self) -> bool {
        self.row == END
    }
}
