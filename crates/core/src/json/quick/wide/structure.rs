//! The order of JSON's tokens, 64 at a time. Most rules look at neighbours only; whether a comma parts the members of
//! an object or of an array is what needs a stack, and that is asked bracket by bracket, not token by token.

use core::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_maskz_compress_epi8, _mm512_shuffle_epi8,
    _mm512_sub_epi8, _mm512_testn_epi8_mask,
};

use super::BLOCK;
use super::class::{ARRAY, CLOSING, COLON, COMMA, END, OBJECT, PRIMITIVE, STRING};
use super::vector::{load, splat, store, table};

/// How many tokens gather before they are checked.
const GATHERED: usize = 1024;
/// Beyond the gathered ones there is room for one more block, and for the end behind the last group.
const ROOM: usize = GATHERED + 2 * BLOCK;
/// A token is judged together with the two after it.
const AHEAD: usize = 2;
const DEEPEST: usize = super::super::DEEPEST;

/// Which tokens may follow each token, and which of those bits each token is. The end may stand where a comma may.
const FOLLOWERS: [u8; 16] = {
    let (value, member_end) = (0b1100_0011, 0b0010_1100);
    let mut followers = [0; 16];
    followers[number(OBJECT)] = bit(STRING) | bit(OBJECT + CLOSING);
    followers[number(ARRAY)] = value | bit(ARRAY + CLOSING);
    followers[number(OBJECT + CLOSING)] = member_end;
    followers[number(ARRAY + CLOSING)] = member_end;
    followers[number(COLON)] = value;
    followers[number(COMMA)] = value;
    followers[number(STRING)] = member_end | bit(COLON);
    followers[number(PRIMITIVE)] = member_end;
    followers[number(END)] = bit(COMMA);
    followers
};
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, bit(COMMA), 0, 0, 0, 0, 0, 0, 0];

/// The tokens so far, and the brackets that are open.
pub(super) struct Structure {
    tokens: [u8; ROOM],
    count: usize,
    followers: __m512i,
    bits: __m512i,
    /// The innermost open bracket; zero outside all.
    open: u8,
    outer: [u8; DEEPEST],
    depth: usize,
}

/// What 64 tokens and those after them are, one bit each.
struct Group {
    brackets: u64,
    /// Commas with a string and a colon after them.
    member_commas: u64,
    other_commas: u64,
}

impl Structure {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Self {
        let mut tokens = [END; ROOM];
        // What may follow a colon may stand at the root.
        tokens[0] = COLON;
        Self {
            tokens,
            count: 1,
            followers: table(&FOLLOWERS),
            bits: table(&BITS),
            open: 0,
            outer: [0; DEEPEST],
            depth: 0,
        }
    }

    /// Adds those of `classes` where a token begins; refuses a fault in the tokens before.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,popcnt")]
    pub(super) fn push(&mut self, classes: __m512i, begins: u64) -> Option<()> {
        let tokens = _mm512_maskz_compress_epi8(begins, classes);
        store(self.tokens.get_mut(self.count..)?.first_chunk_mut()?, tokens);
        self.count += begins.count_ones() as usize;
        if self.count < GATHERED { Some(()) } else { self.check_gathered() }
    }

    /// Refuses a fault anywhere, and brackets left open.
    #[inline]
    #[target_feature(enable = "avx512bw,bmi1")]
    pub(super) fn finish(mut self) -> Option<()> {
        self.check_gathered()?;
        self.tokens.get_mut(self.count..)?.fill(END);
        let mut start = 0;
        while start < self.count {
            self.check_group(start)?;
            start += BLOCK;
        }
        (self.depth == 0).then_some(())
    }

    #[target_feature(enable = "avx512bw,bmi1")]
    fn check_gathered(&mut self) -> Option<()> {
        let mut start = 0;
        while start + BLOCK + AHEAD <= self.count {
            self.check_group(start)?;
            start += BLOCK;
        }
        self.tokens.copy_within(start..self.count, 0);
        self.count -= start;
        Some(())
    }

    #[inline]
    #[target_feature(enable = "avx512bw,bmi1")]
    fn check_group(&mut self, start: usize) -> Option<()> {
        let group = self.look(start)?;
        let mut unseen = u64::MAX;
        let mut brackets = group.brackets;
        while brackets != 0 {
            let lowest = brackets & brackets.wrapping_neg();
            let before = unseen & (lowest - 1);
            if self.misplaced_commas(&group) & before != 0 {
                return None;
            }
            unseen &= !(lowest | (lowest - 1));
            let index = start + brackets.trailing_zeros() as usize;
            self.turn(*self.tokens.get(index)?)?;
            brackets &= brackets - 1;
        }
        (self.misplaced_commas(&group) & unseen == 0).then_some(())
    }

    /// Checks what neighbours can tell, and finds what they cannot.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn look(&self, start: usize) -> Option<Group> {
        let this = load(self.tokens.get(start..)?.first_chunk()?);
        let next = load(self.tokens.get(start + 1..)?.first_chunk()?);
        let after_next = load(self.tokens.get(start + 2..)?.first_chunk()?);
        let followers = _mm512_shuffle_epi8(self.followers, this);
        let strays = _mm512_testn_epi8_mask(followers, _mm512_shuffle_epi8(self.bits, next));
        let objects = _mm512_cmpeq_epi8_mask(this, splat(OBJECT));
        let commas = _mm512_cmpeq_epi8_mask(this, splat(COMMA));
        let before_strings = _mm512_cmpeq_epi8_mask(next, splat(STRING));
        let colons = _mm512_cmpeq_epi8_mask(after_next, splat(COLON));
        // A colon stands behind a key only, and no key stands without one.
        let colon_faults = (colons & !(objects | commas)) | (objects & before_strings & !colons);
        let brackets = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(this, splat(OBJECT)), splat(4));
        (strays | colon_faults == 0).then_some(Group {
            brackets,
            member_commas: commas & colons,
            other_commas: commas & !colons,
        })
    }

    #[inline]
    fn misplaced_commas(&self, group: &Group) -> u64 {
        match self.open {
            OBJECT => group.other_commas,
            ARRAY => group.member_commas,
            _ => group.other_commas | group.member_commas,
        }
    }

    /// Goes into an opening bracket or out of a closing one.
    #[inline]
    fn turn(&mut self, bracket: u8) -> Option<()> {
        if bracket < OBJECT + CLOSING {
            *self.outer.get_mut(self.depth)? = self.open;
            self.depth += 1;
            self.open = bracket;
        } else {
            if self.open + CLOSING != bracket {
                return None;
            }
            self.depth = self.depth.checked_sub(1)?;
            self.open = *self.outer.get(self.depth)?;
        }
        Some(())
    }
}

const fn number(token: u8) -> usize {
    (token & 0xf) as usize
}

const fn bit(token: u8) -> u8 {
    1 << number(token)
}
