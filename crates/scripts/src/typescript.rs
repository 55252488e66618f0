//! TypeScript to JavaScript: types are erased, and what stands where is remembered for those who read a stack.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::program::Fault;

/// The most faults of one file that are told.
const MOST_FAULTS: usize = 10;

/// A file as JavaScript.
#[derive(Debug)]
pub(crate) struct JavaScript {
    pub(crate) code: String,
    /// Where its tokens stood, in the order of the code: line and column here, line and column there, all from 0.
    places: Vec<((u32, u32), (u32, u32))>,
}

impl JavaScript {
    /// Where the TypeScript stood that became this place of the code; lines and columns count from 1.
    pub(crate) fn origin(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let place = (line.checked_sub(1)?, column.checked_sub(1)?);
        let after = self.places.partition_point(|(here, _)| *here <= place);
        let (here, there) = self.places.get(after.checked_sub(1)?)?;
        (here.0 == place.0).then_some((there.0 + 1, there.1 + 1))
    }
}

/// Erases the types of a file. JSON becomes a module that exports it.
pub(crate) fn to_javascript(file: &str, source: &str) -> Result<JavaScript, Vec<Fault>> {
    if Path::new(file).extension().is_some_and(|extension| extension == "json") {
        return json_module(file, source);
    }
    let told = |diagnostics: &mut dyn Iterator<Item = &OxcDiagnostic>| -> Vec<Fault> {
        diagnostics.take(MOST_FAULTS).map(|diagnostic| fault(file, source, diagnostic)).collect()
    };
    let allocator = Allocator::default();
    let kind = if is_typescript(file) { SourceType::ts() } else { SourceType::mjs() };
    let parsed = Parser::new(&allocator, source, kind).parse();
    if parsed.diagnostics.has_errors() || parsed.panicked {
        return Err(told(&mut parsed.diagnostics.iter()));
    }
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    if semantic.diagnostics.has_errors() {
        return Err(told(&mut semantic.diagnostics.iter()));
    }
    let scoping = semantic.semantic.into_scoping();
    let options = TransformOptions::default();
    let transformed =
        Transformer::new(&allocator, Path::new(file), &options).build_with_scoping(scoping, &mut program);
    if transformed.diagnostics.has_errors() {
        return Err(told(&mut transformed.diagnostics.iter()));
    }
    let options = CodegenOptions { source_map_path: Some(file.into()), ..CodegenOptions::default() };
    let written = Codegen::new().with_options(options).with_source_text(source).build(&program);
    let places = written.map.iter().flat_map(|map| map.get_tokens().collect::<Vec<_>>());
    let places = places
        .map(|token| {
            ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col()))
        })
        .collect();
    Ok(JavaScript { code: written.code, places })
}

fn is_typescript(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "ts" || extension == "mts")
}

fn json_module(file: &str, source: &str) -> Result<JavaScript, Vec<Fault>> {
    match serde_json::from_str::<serde::de::IgnoredAny>(source) {
        // A text in JSON is one in JavaScript, too.
        Ok(_) => Ok(JavaScript { code: format!("export default {source};"), places: Vec::new() }),
        Err(error) => {
            let place = (counted(error.line()), counted(error.column()));
            Err(vec![Fault { file: file.to_owned(), place: Some(place), message: error.to_string() }])
        }
    }
}

fn fault(file: &str, source: &str, diagnostic: &OxcDiagnostic) -> Fault {
    let help = diagnostic.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    let offset = diagnostic.labels.first().map(oxc_diagnostics::LabeledSpan::offset);
    let place = offset.map(|offset| place_of(source, offset as usize));
    Fault { file: file.to_owned(), place, message: format!("{}{help}", diagnostic.message) }
}

/// Line and column of a byte, from 1; columns count as editors do, in UTF-16.
fn place_of(source: &str, offset: usize) -> (u32, u32) {
    let before = &source.as_bytes()[..offset.min(source.len())];
    let line = memchr::memchr_iter(b'\n', before).count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).encode_utf16().count();
    (counted(line + 1), counted(column + 1))
}

fn counted(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_erased_and_places_kept() {
        let source = "import { ToolSchema } from '@modelcontextprotocol/sdk';\nenum Colour { Red = 'red' }\nnamespace Deep { export const x = 1; }\nclass Box { constructor(private readonly n: number) {} get(): number { return this.n; } }\nexport const schema: ToolSchema = { name: 'a' } as ToolSchema;\nexport default async function (request: { a?: string }): Promise<string> {\n  throw new Error(Colour.Red + Deep.x + new Box(1).get()!);\n}\n";
        let made = to_javascript("a.ts", source).unwrap();
        assert!(!made.code.contains("ToolSchema"), "{}", made.code);
        let (line, text) = made.code.lines().enumerate().find(|(_, line)| line.contains("throw")).unwrap();
        let column = text.find("new Error").unwrap();
        assert_eq!(made.origin(counted(line + 1), counted(column + 1)), Some((7, 9)));
    }

    #[test]
    fn faults_have_a_place() {
        let faults = to_javascript("ü.ts", "const ok = 1;\nconst ü = 'a', = 3;\n").unwrap_err();
        assert_eq!(faults[0].place, Some((2, 16)), "{faults:?}");
        let faults = to_javascript("x.ts", "let a = 1;\nlet a = 2;\n").unwrap_err();
        assert!(faults[0].place.is_some(), "{faults:?}");
        let faults = to_javascript("x.json", "{\n \"a\": }").unwrap_err();
        assert_eq!(faults[0].place, Some((2, 7)));
    }
}
