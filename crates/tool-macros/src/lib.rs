//! `#[tool]` and `#[tools]`: Rust functions become tools of the gateway. Use them through the crate `toolrail-tool`, which
//! documents them; what they expand to names that crate.

mod description;
mod method;
mod options;
mod parameter;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemImpl, parse_macro_input};

/// Makes a function a tool, registered by itself; see `toolrail_tool::tool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as options::ToolOptions);
    let function = parse_macro_input!(item as ItemFn);
    finished(tool_of_function(&options, function))
}

/// Makes the methods of an `impl` block that carry `#[tool]` tools; see `toolrail_tool::tools`.
#[proc_macro_attribute]
pub fn tools(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as options::ToolsOptions);
    let block = parse_macro_input!(item as ItemImpl);
    finished(method::tools_of_block(&options, block))
}

fn finished(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

fn tool_of_function(
    options: &options::ToolOptions,
    mut function: ItemFn,
) -> syn::Result<proc_macro2::TokenStream> {
    let parameters = parameter::take(&mut function.sig)?;
    let name = &function.sig.ident;
    let described = description::Described {
        options,
        attributes: &function.attrs,
        signature: &function.sig,
        parameters: &parameters,
        callee: quote!(#name),
        receiver: None,
    };
    let (items, tool) = description::expand(&described)?;
    Ok(quote! {
        #function
        const _: () = {
            #items
            fn described() -> ::toolrail_tool::Tool {
                #tool
            }
            ::toolrail_tool::__private::inventory::submit! {
                ::toolrail_tool::__private::Annotated::tool(described)
            }
        };
    })
}
