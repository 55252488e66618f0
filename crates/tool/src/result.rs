//! What a tool's function may return.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::schema::schema_of;
use crate::{Content, ResourceContents, ToolError, ToolOutput};

/// What a tool's function may return: text, numbers, content, [`Json`] of anything that serialises, a whole
/// [`ToolOutput`], nothing, or a `Result` of one of these.
///
/// ```
/// use toolrail_tool::{IntoToolResult, ToolError};
///
/// assert_eq!("Hello!".into_tool_result().map(|output| output.text()).ok().as_deref(), Some("Hello!"));
/// let failed: Result<i64, ToolError> = Err(ToolError::failed("no"));
/// assert!(failed.into_tool_result().is_err());
/// ```
pub trait IntoToolResult {
    /// The schema of the structured content it promises, if it promises any.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result, or how the call ends without one.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

/// Structured content: the client gets the value, its text, and the schema of its type.
///
/// ```
/// use toolrail_tool::schemars::JsonSchema;
/// use toolrail_tool::serde::Serialize;
/// use toolrail_tool::{Json, tool};
///
/// #[derive(Serialize, JsonSchema)]
/// #[serde(crate = "toolrail_tool::serde")]
/// #[schemars(crate = "toolrail_tool::schemars")]
/// struct Sum {
///     /// What both make together.
///     sum: i64,
/// }
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> Json<Sum> {
///     Json(Sum { sum: a + b })
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(schema_of::<T>())
    }

    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(self.0)
            .map_err(|error| ToolError::failed(format!("the result cannot be written as JSON: {error}")))?;
        Ok(ToolOutput::structured(value))
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

impl IntoToolResult for ToolOutput {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

/// Structured content without a schema.
impl IntoToolResult for Value {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::structured(self))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content(self))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content([self]))
    }
}

impl IntoToolResult for ResourceContents {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content([Content::Resource(self)]))
    }
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                Ok(ToolOutput::content([Content::Text(self.to_string())]))
            }
        }
    )*};
}

as_text!(String, &str, Cow<'_, str>, Box<str>, bool, char);
as_text!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);
