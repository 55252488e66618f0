//! How much a document of rules may hold, and what deciding by it may take. Whoever writes rules is trusted to decide, not to
//! make the gateway slow; whoever calls is not trusted at all.

/// Rules in a document.
pub(crate) const MOST_RULES: usize = 256;
/// Pairs of a rule and a tool that are looked at for a warning.
pub(crate) const MOST_FITTINGS: usize = 500_000;
/// Tests in a document.
pub(crate) const MOST_TESTS: usize = 1_000;
/// Entries of a list in a rule or a test.
pub(crate) const MOST_ENTRIES: usize = 64;
/// Characters of a pattern, a tag or a name.
pub(crate) const LONGEST_ENTRY: usize = 128;
/// Characters of a rule's name.
pub(crate) const LONGEST_NAME: usize = 64;
/// Characters of a reason.
pub(crate) const LONGEST_REASON: usize = 500;
/// Characters of an expression.
pub(crate) const LONGEST_EXPRESSION: usize = 2_000;
/// How deep brackets stand in one another: each takes several calls of the parser.
pub(crate) const DEEPEST_BRACKETS: usize = 24;
/// How deep the tree of an expression is: each level is a call of the evaluator.
pub(crate) const DEEPEST_TREE: usize = 64;
/// Steps that one decision may take, over all its rules: about a millisecond.
pub(crate) const MOST_STEPS: u32 = 30_000;
/// Bytes that count for one step where texts are compared or copied.
pub(crate) const BYTES_A_STEP: usize = 64;
/// Bytes of a text that an expression makes.
pub(crate) const LONGEST_TEXT: usize = 64 * 1024;
/// Bytes of the arguments as JSON.
pub(crate) const LARGEST_ARGUMENTS: usize = 64 * 1024;
/// How deep lists and objects stand in one another in arguments.
pub(crate) const DEEPEST_ARGUMENTS: usize = 64;
