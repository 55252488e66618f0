//! A tool's function as an expression that builds the tool, and the items which that needs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, ReturnType, Signature};

use crate::options::ToolOptions;
use crate::parameter::Parameter;

/// What a tool is made from.
pub(crate) struct Described<'a> {
    pub(crate) options: &'a ToolOptions,
    pub(crate) attributes: &'a [Attribute],
    pub(crate) signature: &'a Signature,
    pub(crate) parameters: &'a [Parameter],
    /// The path of the function.
    pub(crate) callee: TokenStream,
    /// The variable that holds an `Arc` of the value it is called on.
    pub(crate) receiver: Option<Ident>,
}

/// The items, and the expression of type `Tool`.
pub(crate) fn expand(described: &Described<'_>) -> syn::Result<(TokenStream, TokenStream)> {
    let name = name(described)?;
    let (items, read, input) = arguments(described);
    let call = call(described);
    let clone = described.receiver.as_ref().map(|receiver| {
        quote! { let #receiver = ::std::sync::Arc::clone(&#receiver); }
    });
    let settings = settings(described);
    let tool = quote! {
        ::toolrail_tool::Tool::new(#name, move |context: ::toolrail_tool::Context<'_>| {
            #clone
            ::std::boxed::Box::pin(async move {
                #read
                ::toolrail_tool::IntoToolResult::into_tool_result(#call)
            })
        })
        #input
        #settings
    };
    Ok((items, tool))
}

fn name(described: &Described<'_>) -> syn::Result<LitStr> {
    if let Some(name) = &described.options.name {
        return Ok(name.clone());
    }
    let ident = described.signature.ident.unraw();
    let text = ident.to_string();
    if !text.is_ascii() || text.len() > 64 {
        let message = "this is no name for a tool; give it one with #[tool(name = \"…\")]";
        return Err(syn::Error::new(ident.span(), message));
    }
    Ok(LitStr::new(&text, ident.span()))
}

/// The struct that the arguments are read into, the statement that reads it, and the builder call for its schema.
fn arguments(described: &Described<'_>) -> (TokenStream, TokenStream, TokenStream) {
    let mut fields = Vec::new();
    let mut functions = Vec::new();
    for parameter in described.parameters {
        match parameter {
            Parameter::Struct(ty) => {
                let read = quote! { let arguments: #ty = context.arguments()?; };
                return (quote!(), read, quote!(.input_schema_of::<#ty>()));
            }
            Parameter::Argument(argument) => {
                let (field, function) = argument.field();
                fields.push(field);
                functions.extend(function);
            }
            Parameter::Context { .. } => {}
        }
    }
    if fields.is_empty() {
        return (quote!(), quote!(), quote!());
    }
    let ident = struct_name(&described.signature.ident);
    let items = quote! {
        #[derive(
            ::toolrail_tool::__private::serde::Deserialize,
            ::toolrail_tool::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::toolrail_tool::__private::serde")]
        #[schemars(crate = "::toolrail_tool::__private::schemars")]
        struct #ident { #(#fields),* }
        #(#functions)*
    };
    let read = quote! { let arguments: #ident = context.arguments()?; };
    (items, read, quote!(.input_schema_of::<#ident>()))
}

/// A name that is free whatever the function is called.
fn struct_name(function: &Ident) -> Ident {
    let mut text = String::from("ArgumentsOf");
    for word in function.unraw().to_string().split('_') {
        let mut characters = word.chars();
        text.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        text.extend(characters);
    }
    Ident::new(&text, function.span())
}

fn call(described: &Described<'_>) -> TokenStream {
    let receiver = described.receiver.as_ref().map(|receiver| quote!(&#receiver,));
    let values = described.parameters.iter().map(|parameter| match parameter {
        Parameter::Context { borrowed: true } => quote!(&context),
        Parameter::Context { borrowed: false } => quote!(::core::clone::Clone::clone(&context)),
        Parameter::Struct(_) => quote!(arguments),
        Parameter::Argument(argument) => {
            let ident = &argument.ident;
            if argument.borrowed { quote!(&arguments.#ident) } else { quote!(arguments.#ident) }
        }
    });
    let callee = &described.callee;
    let wait = described.signature.asyncness.as_ref().map(|_| quote!(.await));
    quote! { #callee(#receiver #(#values),*) #wait }
}

/// Everything else that is known about the tool, as calls of its builder.
fn settings(described: &Described<'_>) -> TokenStream {
    let options = described.options;
    let text =
        options.description.as_ref().map(LitStr::value).or_else(|| documentation(described.attributes));
    let description = text.map(|text| quote!(.description(#text)));
    let title = options.title.as_ref().map(|title| quote!(.title(#title)));
    let category = options.category.as_ref().map(|category| quote!(.category(#category)));
    let tags = &options.tags;
    let tags = (!tags.is_empty()).then(|| quote!(.tags([#(#tags),*])));
    let hints = options.hints.iter().map(|(hint, truth)| quote!(.#hint(#truth)));
    let task = options.task.as_ref().map(|task| quote!(.task(::toolrail_tool::TaskSupport::#task)));
    let timeout = options
        .timeout_ms
        .as_ref()
        .map(|limit| quote!(.timeout(::core::time::Duration::from_millis(#limit))));
    let input = options.input_schema.as_ref().map(|schema| quote!(.input_schema(#schema)));
    let output = match (&options.output_schema, &described.signature.output) {
        (Some(schema), _) => Some(quote!(.output_schema(#schema))),
        (None, ReturnType::Type(_, ty)) => Some(quote!(.output_schema_of::<#ty>())),
        (None, ReturnType::Default) => None,
    };
    quote! { #description #title #category #tags #(#hints)* #task #timeout #input #output }
}

/// The text of the doc comments, with the space that stands behind `///` removed.
fn documentation(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> =
        lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}
