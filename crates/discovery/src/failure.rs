//! What is told when something goes wrong: fixed words first, which clients may look for, and what to do about
//! it in the next line.

use toolrail_core::{CallError, ErrorCode, StoreError, shortened};
use toolrail_registry::WriteError;

use crate::discovery_call::DiscoveryCall;

/// The arguments are wrong.
pub(crate) fn invalid(message: impl Into<String>) -> CallError {
    CallError::new(ErrorCode::InvalidArguments, message)
}

/// There is no such tool, or it cannot be used.
pub(crate) async fn unknown(asked: &DiscoveryCall<'_>, name: &str) -> CallError {
    if let Some(why) = asked.snapshot.why_unusable(name) {
        return CallError::new(ErrorCode::NotFound, format!("工具不可用: {}\n{why}", shortened(name)));
    }
    let near = asked.registry.finder().no_such_tool(&asked.snapshot, name).await;
    CallError::new(ErrorCode::NotFound, format!("工具不存在: {}\n{}", shortened(name), near.message))
}

/// There is such a tool already.
pub(crate) fn exists(name: &str) -> CallError {
    let hint = "there is already a tool of that name, and names ignore case; take another, or unregister that one first if an agent registered it";
    CallError::new(ErrorCode::Conflict, format!("工具已存在: {name}\n{hint}"))
}

/// A definition that makes something else than a tool, which only an operator may register.
pub(crate) fn not_for_agents() -> CallError {
    let message = "只能注册 http、feign 或 metadata 类型的工具\n/definition/type: only tools of type \"http\", \"feign\" or \"metadata\" are registered here; an operator can register any other definition, such as a server, a resource or a prompt, over the admin API, on the command line or in a file";
    CallError::new(ErrorCode::Forbidden, message)
}

/// A tool that no agent registered.
pub(crate) fn of_operator(name: &str) -> CallError {
    let name = shortened(name);
    let message = format!(
        "不能注销管理员的工具: {name}\nthe tool {name:?} was not registered with register_tool, so it is not removed here; an operator can remove it over the admin API or with \"toolrail tools remove\""
    );
    CallError::new(ErrorCode::Forbidden, message)
}

/// A tool that the group would not have.
pub(crate) fn not_of_group(group: &str, name: &str) -> CallError {
    let message = format!(
        "the group {group:?} would not have the tool {:?}, so that nobody here could find or remove it; give it a name, a tag or a category that the group has, or register it at /mcp",
        shortened(name)
    );
    CallError::new(ErrorCode::Conflict, message)
}

/// A page from elsewhere wants to change something.
pub(crate) fn may_not_change(tool: &str) -> CallError {
    let message = format!(
        "{tool} is refused: web pages from elsewhere may call tools, but not register or remove them; if this one may, start the gateway with --allow-origin"
    );
    CallError::new(ErrorCode::Forbidden, message)
}

/// A change was not made.
pub(crate) fn not_written(error: &WriteError) -> CallError {
    let code = match error {
        WriteError::NotFound(_)
        | WriteError::NoHistory(_)
        | WriteError::NoVersion { .. }
        | WriteError::NoRevision { .. } => ErrorCode::NotFound,
        WriteError::Elsewhere { .. }
        | WriteError::Shared { .. }
        | WriteError::Conflict(_)
        | WriteError::Contradicted(_) => ErrorCode::Conflict,
        WriteError::Refused(_) | WriteError::Store(StoreError::Refused { .. }) => {
            ErrorCode::InvalidDefinition
        }
        WriteError::Store(error) => {
            tracing::error!(%error, "store failed");
            let is_unknown = matches!(error, StoreError::Unknown { .. });
            if is_unknown { ErrorCode::OutcomeUnknown } else { ErrorCode::StoreUnavailable }
        }
    };
    CallError::new(code, error.to_string())
}
