//! The parameters of a tool's function: which are arguments of the tool, and which is the context.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Expr, ExprLit, FnArg, Ident, Lit, Pat, PatType, Signature, Type, parse_quote};

use crate::options::ArgOptions;

/// One parameter, `self` left out.
pub(crate) enum Parameter {
    /// `ctx: Context` or `ctx: &Context`.
    Context { borrowed: bool },
    /// One argument by name.
    Argument(Box<Argument>),
    /// `args: T`: all arguments in one struct.
    Struct(Box<Type>),
}

/// An argument by name.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The type of the field that is read; `String` where the function takes `&str`.
    pub(crate) ty: Type,
    pub(crate) borrowed: bool,
    attributes: Vec<Attribute>,
    options: ArgOptions,
}

/// Takes note of the parameters and removes from the signature what only the macro understands.
pub(crate) fn take(signature: &mut Signature) -> syn::Result<Vec<Parameter>> {
    if !signature.generics.params.is_empty() {
        let message = "a tool has no generic parameters: clients must know its schema";
        return Err(syn::Error::new_spanned(&signature.generics, message));
    }
    let typed = signature.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    let parameters = typed.map(take_one).collect::<syn::Result<Vec<_>>>()?;
    let has_struct = parameters.iter().any(|parameter| matches!(parameter, Parameter::Struct(_)));
    let named = parameters.iter().filter(|parameter| matches!(parameter, Parameter::Argument(_))).count();
    if has_struct && named > 0 {
        let message =
            "`args` stands for all arguments; put the others into its struct, or give it another name";
        return Err(syn::Error::new_spanned(&signature.inputs, message));
    }
    Ok(parameters)
}

fn take_one(parameter: &mut PatType) -> syn::Result<Parameter> {
    let mut options = ArgOptions::default();
    let mut attributes = Vec::new();
    let mut kept = Vec::new();
    for attribute in std::mem::take(&mut parameter.attrs) {
        if attribute.path().is_ident("arg") {
            options = attribute.parse_args()?;
        } else if ["doc", "serde", "schemars"].iter().any(|word| attribute.path().is_ident(word)) {
            attributes.push(attribute);
        } else {
            kept.push(attribute);
        }
    }
    parameter.attrs = kept;
    if let Some(borrowed) = context(&mut parameter.ty) {
        return Ok(Parameter::Context { borrowed });
    }
    let ident = match &*parameter.pat {
        Pat::Ident(ident) => ident.ident.clone(),
        Pat::Struct(_) => return Ok(Parameter::Struct(parameter.ty.clone())),
        other => return Err(syn::Error::new_spanned(other, "an argument of a tool needs a name")),
    };
    if ident == "args" {
        return Ok(Parameter::Struct(parameter.ty.clone()));
    }
    let borrowed = is_str(&parameter.ty);
    let ty = if borrowed { parse_quote!(::std::string::String) } else { (*parameter.ty).clone() };
    Ok(Parameter::Argument(Box::new(Argument { ident, ty, borrowed, attributes, options })))
}

/// Whether the type is the context, borrowed or not. Its lifetime, which an async function must name, is filled in.
fn context(ty: &mut Type) -> Option<bool> {
    match ty {
        Type::Path(path) => {
            let last = path.path.segments.last_mut()?;
            if last.ident != "Context" {
                return None;
            }
            if last.arguments.is_empty() {
                last.arguments = syn::PathArguments::AngleBracketed(parse_quote!(<'_>));
            }
            Some(false)
        }
        Type::Reference(reference) => context(&mut reference.elem).map(|_| true),
        _ => None,
    }
}

fn is_str(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    matches!(&*reference.elem, Type::Path(path) if path.path.is_ident("str"))
}

impl Argument {
    /// Its field in the struct that the arguments are read into, and the function of its default.
    pub(crate) fn field(&self) -> (TokenStream, Option<TokenStream>) {
        let Self { ident, ty, attributes, options, .. } = self;
        let rename = options.name.as_ref().map(|name| quote!(#[serde(rename = #name)]));
        let description = options.description.as_ref().map(|text| quote!(#[doc = #text]));
        let header =
            options.header.as_ref().map(|header| quote!(#[schemars(extend("x-mcp-header" = #header))]));
        let default_name = format_ident!("default_of_{}", ident);
        let default_text = default_name.to_string();
        let default = options.default.as_ref().map(|_| quote!(#[serde(default = #default_text)]));
        let field = quote! { #(#attributes)* #description #rename #header #default #ident: #ty };
        let function = options.default.as_ref().map(|value| {
            let value = default_value(value);
            quote! { fn #default_name() -> #ty { #value } }
        });
        (field, function)
    }
}

/// A text may stand for a `String`.
fn default_value(value: &Expr) -> TokenStream {
    if matches!(value, Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) {
        quote!(::core::convert::From::from(#value))
    } else {
        quote!(#value)
    }
}
