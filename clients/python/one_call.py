"""Drives an MCP server through one whole exchange with the official Python client.

    one_call.py [--mode auto|legacy|2026-07-28] [--tool NAME] [--args JSON] http URL
    one_call.py [--mode auto|legacy|2026-07-28] [--tool NAME] [--args JSON] stdio COMMAND [ARGUMENT ...]

Connects, lists every tool, calls one tool and one that does not exist, and prints one line of JSON. Without
--mode the client negotiates as it does by default; without --tool the call is left out and `result` is null.
"""

from __future__ import annotations

import argparse
from typing import Any

from mcp import Client, MCPError

from script import main, open_client, plain

MOST_PAGES = 1000
UNKNOWN_TOOL = "no.such.tool"


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
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


if __name__ == "__main__":
    main(__doc__, exchange)
