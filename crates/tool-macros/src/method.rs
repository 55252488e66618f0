//! The methods of an `impl` block as tools of one value.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{FnArg, ImplItem, ImplItemFn, ItemImpl, Meta, ReceiverKind, Type};

use crate::description::{self, Described};
use crate::options::{ToolOptions, ToolsOptions};
use crate::parameter;

pub(crate) fn tools_of_block(options: &ToolsOptions, mut block: ItemImpl) -> syn::Result<TokenStream> {
    if !block.generics.params.is_empty() || block.trait_.is_some() {
        let message = "#[tools] stands before `impl Type { … }`, without type parameters and without a trait";
        return Err(syn::Error::new_spanned(&block.self_ty, message));
    }
    let owner = (*block.self_ty).clone();
    let mut items = Vec::new();
    let mut tools = Vec::new();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item
            && let Some((own_items, tool)) = tool_of_method(method, &owner)?
        {
            items.push(own_items);
            tools.push(tool);
        }
    }
    let registration = options.state.as_ref().map(|state| {
        quote! {
            fn described() -> ::std::vec::Vec<::toolrail_tool::Tool> {
                let value: #owner = #state;
                ::toolrail_tool::ToolSet::tools(::std::sync::Arc::new(value))
            }
            ::toolrail_tool::__private::inventory::submit! {
                ::toolrail_tool::__private::Annotated::tools(described)
            }
        }
    });
    Ok(quote! {
        #block
        const _: () = {
            #(#items)*
            impl ::toolrail_tool::ToolSet for #owner {
                fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<::toolrail_tool::Tool> {
                    ::std::vec![#(#tools),*]
                }
            }
            #registration
        };
    })
}

fn tool_of_method(method: &mut ImplItemFn, owner: &Type) -> syn::Result<Option<(TokenStream, TokenStream)>> {
    let Some(place) = method.attrs.iter().position(|attribute| attribute.path().is_ident("tool")) else {
        return Ok(None);
    };
    let attribute = method.attrs.remove(place);
    let options = match &attribute.meta {
        Meta::Path(_) => ToolOptions::default(),
        _ => attribute.parse_args()?,
    };
    let receiver = match method.sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) if matches!(receiver.kind, ReceiverKind::Reference(_, _, None)) => {
            Some(format_ident!("owner"))
        }
        Some(FnArg::Receiver(receiver)) => {
            let message = "a tool takes &self: calls run side by side; put a Mutex around what changes";
            return Err(syn::Error::new_spanned(receiver, message));
        }
        _ => None,
    };
    let parameters = parameter::take(&mut method.sig)?;
    let name = &method.sig.ident;
    let described = Described {
        options: &options,
        attributes: &method.attrs,
        signature: &method.sig,
        parameters: &parameters,
        callee: quote!(<#owner>::#name),
        receiver: receiver.clone(),
    };
    let (items, tool) = description::expand(&described)?;
    let tool = match receiver {
        Some(receiver) => quote!({ let #receiver = ::std::sync::Arc::clone(&self); #tool }),
        None => tool,
    };
    Ok(Some((items, tool)))
}
