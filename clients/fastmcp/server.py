"""A FastMCP server of whatever release is installed, with fixtures of the conformance suite and a few things of its own.

Over Streamable HTTP on a free port, which it prints; or `stdio`.
"""

import asyncio
import base64
import socket
import sys

from fastmcp import Context, FastMCP
from fastmcp.prompts import Message
from mcp.types import ResourceLink, TextContent

try:
    from fastmcp.tools import ToolResult
except ImportError:  # FastMCP 2 has it elsewhere.
    from fastmcp.tools.tool import ToolResult

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

server = FastMCP("fixtures", instructions="Ask for the weather before you ask for anything else.")


@server.tool
def test_simple_text() -> str:
    """Answers with a text."""
    return "This is a simple text response for testing."


@server.tool
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    for step in ("started", "processing data", "completed"):
        await ctx.info(f"Tool execution {step}")
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit(message, response_type=str)
    return f"User response: {answer.action}"


@server.tool
def structured(city: str, days: int = 3) -> dict:
    """Answers with structured content."""
    return {"city": city, "days": days, "price": 1.50}


@server.tool
def linked() -> ToolResult:
    """Links a resource that is in no list."""
    link = ResourceLink(type="resource_link", uri="hidden://report/1", name="report", mimeType="text/plain")
    return ToolResult(content=[TextContent(type="text", text="see the report"), link])


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture."""
    return base64.b64decode(PIXEL)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Data by id."""
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


@server.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> list:
    """A prompt with arguments."""
    return [Message(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]


async def serve_http() -> None:
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    running = uvicorn.Server(uvicorn.Config(server.http_app(path="/mcp"), log_level="warning"))
    await running.serve(sockets=[listener])


if sys.argv[1:] == ["stdio"]:
    server.run(show_banner=False)
else:
    asyncio.run(serve_http())
