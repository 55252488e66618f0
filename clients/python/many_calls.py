"""Calls one tool many times with the official Python client.

    many_calls.py [--mode auto|legacy|2026-07-28] --tool NAME [--args JSON] --count N http URL

A call whose connection was cut is made again, once. Prints how many calls were answered and how many were made
again. Each answered call is told by one line on stderr, for the test to act in the middle.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mcp import Client, MCPError

from script import main, open_client, plain

# What the client itself says when the connection ended without an answer; a server's answer has other codes.
CONNECTION_CLOSED = -32000


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
    async with open_client(options) as client:
        told = {"protocolVersion": client.protocol_version, "answered": 0, "again": 0}
        for number in range(options.count):
            answer = await retried(client, options, told)
            if answer.is_error:
                raise RuntimeError(f"call {number} failed: {plain(answer)}")
            told["answered"] += 1
            print(f"answered {told['answered']}", file=sys.stderr, flush=True)
        return told


async def retried(client: Client, options: argparse.Namespace, told: dict[str, Any]) -> Any:
    try:
        return await client.call_tool(options.tool, options.args)
    except MCPError as error:
        if error.code != CONNECTION_CLOSED:
            raise
        told["again"] += 1
        return await client.call_tool(options.tool, options.args)


if __name__ == "__main__":
    main(__doc__, exchange, deadline_seconds=60)
