//! What may stand in the brackets of `#[tool(…)]`, `#[tools(…)]` and `#[arg(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitBool, LitStr, Token, bracketed};

/// `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) category: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    /// The method of the builder, and its value.
    pub(crate) hints: Vec<(Ident, bool)>,
    pub(crate) task: Option<Ident>,
    pub(crate) timeout_ms: Option<Expr>,
    pub(crate) input_schema: Option<Expr>,
    pub(crate) output_schema: Option<Expr>,
}

impl Parse for ToolOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            options.read_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl ToolOptions {
    fn read_one(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let key: Ident = input.parse()?;
        match key.to_string().as_str() {
            "name" => self.name = Some(checked_name(value(input)?)?),
            "title" => self.title = Some(value(input)?),
            "description" => self.description = Some(value(input)?),
            "category" => self.category = Some(value(input)?),
            "tags" => self.tags = list(input)?,
            "read_only" | "destructive" | "idempotent" | "open_world" => {
                let truth = if input.peek(Token![=]) { value::<LitBool>(input)?.value } else { true };
                self.hints.push((key, truth));
            }
            "task" => self.task = Some(task(&value(input)?)?),
            "timeout_ms" => self.timeout_ms = Some(value(input)?),
            "input_schema" => self.input_schema = Some(value(input)?),
            "output_schema" => self.output_schema = Some(value(input)?),
            _ => {
                return Err(syn::Error::new(
                    key.span(),
                    "unknown option; use name, title, description, category, tags, read_only, destructive, idempotent, \
                     open_world, task, timeout_ms, input_schema or output_schema",
                ));
            }
        }
        Ok(())
    }
}

/// `#[tools(…)]`.
#[derive(Default)]
pub(crate) struct ToolsOptions {
    /// The value whose methods are called; the tools then register themselves.
    pub(crate) state: Option<Expr>,
}

impl Parse for ToolsOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self::default());
        }
        let key: Ident = input.parse()?;
        if key != "state" {
            return Err(syn::Error::new(key.span(), "unknown option; use state = <value>, or none"));
        }
        Ok(Self { state: Some(value(input)?) })
    }
}

/// `#[arg(…)]` on a parameter.
#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) default: Option<Expr>,
    pub(crate) header: Option<LitStr>,
}

impl Parse for ArgOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "name" => options.name = Some(value(input)?),
                "description" => options.description = Some(value(input)?),
                "default" => options.default = Some(value(input)?),
                "header" => options.header = Some(value(input)?),
                _ => {
                    let message = "unknown option; use name, description, default or header";
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn list(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    input.parse::<Token![=]>()?;
    let content;
    bracketed!(content in input);
    let items = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    Ok(items.into_iter().collect())
}

fn task(word: &LitStr) -> syn::Result<Ident> {
    match word.value().as_str() {
        "optional" => Ok(Ident::new("Optional", word.span())),
        "required" => Ok(Ident::new("Required", word.span())),
        _ => Err(syn::Error::new(word.span(), "a task is \"optional\" or \"required\"")),
    }
}

/// Refuses while compiling what the gateway would refuse at its start.
fn checked_name(name: LitStr) -> syn::Result<LitStr> {
    let text = name.value();
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) {
        return Ok(name);
    }
    Err(syn::Error::new(name.span(), "a tool name has 1 to 64 characters of A-Z a-z 0-9 _ . -"))
}
