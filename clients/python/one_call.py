"""Drives an MCP server through one whole exchange with the official Python client.

    one_call.py [--mode auto|legacy|2026-07-28] [--tool NAME] [--args JSON] http URL
    one_call.py [--mode auto|legacy|2026-07-28] [--tool NAME] [--args JSON] stdio COMMAND [ARGUMENT ...]

Connects, lists every tool, calls one tool and one that does not exist, and prints one line of JSON. Without
--mode the client negotiates as it does by default; without --tool the call is left out and `result` is null.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters

DEADLINE_SECONDS = 30
MOST_PAGES = 1000
UNKNOWN_TOOL = "no.such.tool"


def main() -> None:
    options = parse_arguments()
    try:
        print(json.dumps(anyio.run(exchange, options), ensure_ascii=False))
    except BaseException as failure:  # An exception group of a cancelled task group is not an Exception.
        sys.exit(f"{options.transport} exchange failed: {innermost(failure)!r}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default=os.environ.get("TOOLRAIL_CLIENT_MODE"))
    parser.add_argument("--tool", default=os.environ.get("TOOLRAIL_CLIENT_TOOL"))
    parser.add_argument("--args", type=json.loads, default=os.environ.get("TOOLRAIL_CLIENT_ARGS", "{}"))
    parser.add_argument("transport", choices=["http", "stdio"])
    parser.add_argument("target", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.target:
        parser.error("name the URL (http) or the command (stdio) to connect to")
    return options


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
    with anyio.fail_after(DEADLINE_SECONDS):
        async with open_client(options) as client:
            tools = await list_every_tool(client)
            result = await call(client, options.tool, options.args) if options.tool else None
            return {
                "protocolVersion": client.protocol_version,
                "serverInfo": plain(client.server_info) if client.server_info else None,
                "tools": tools,
                "result": result,
                "unknownTool": await call_unknown(client),
            }


def open_client(options: argparse.Namespace) -> Client:
    if options.transport == "http":
        server: Any = options.target[0]
    else:
        # By default the child sees a handful of variables; the server under test is configured by more.
        server = StdioServerParameters(command=options.target[0], args=options.target[1:], env=dict(os.environ))
    mode = {"mode": options.mode} if options.mode else {}
    return Client(server, **mode)


async def list_every_tool(client: Client) -> list[str]:
    names: list[str] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names
    raise RuntimeError(f"tools/list still has a cursor after {MOST_PAGES} pages")


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    return {
        "content": [plain(block) for block in answer.content],
        "structuredContent": answer.structured_content,
        "isError": answer.is_error,
    }


async def call_unknown(client: Client) -> dict[str, Any]:
    try:
        answer = await client.call_tool(UNKNOWN_TOOL, {})
    except MCPError as error:
        return {"code": error.code, "message": error.message}
    return {"isError": answer.is_error}


def plain(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def innermost(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup) and failure.exceptions:
        failure = failure.exceptions[0]
    return failure


if __name__ == "__main__":
    main()
