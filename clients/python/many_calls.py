"""Calls one tool many times with the official Python client.

    many_calls.py [--mode auto|legacy|2026-07-28] --tool NAME [--args JSON] --count N http URL

A call whose connection was cut is made again by a client opened anew, which a replica that is dying may cut too: this one does not outlive a lost
connection. Prints how many calls were answered and how many were made again. Each answered call is told by one
line on stderr, for the test to act in the middle.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import httpx2
from mcp import MCPError

from script import main, open_client, plain


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
    told: dict[str, Any] = {"protocolVersion": None, "answered": 0, "again": 0}
    while told["answered"] < options.count:
        try:
            await call_the_rest(options, told)
        except BaseException as failure:
            # Whatever the server itself said is its answer: only a connection that was cut may be tried again.
            if told["again"] >= MOST_AGAIN or not was_cut(failure):
                raise
            told["again"] += 1
    return told


# A replica that is being killed still takes connections for a moment, and cuts them.
MOST_AGAIN = 3


def was_cut(failure: BaseException) -> bool:
    """Whether the connection broke: as the transport says it, or as the client tells the calls that were waiting."""
    if isinstance(failure, BaseExceptionGroup):
        return any(was_cut(part) for part in failure.exceptions)
    return isinstance(failure, httpx2.TransportError) or (
        isinstance(failure, MCPError) and str(failure) == "Connection closed"
    )


async def call_the_rest(options: argparse.Namespace, told: dict[str, Any]) -> None:
    async with open_client(options) as client:
        told["protocolVersion"] = client.protocol_version
        while told["answered"] < options.count:
            answer = await client.call_tool(options.tool, options.args)
            if answer.is_error:
                raise RuntimeError(f"call {told['answered']} failed: {plain(answer)}")
            told["answered"] += 1
            print(f"answered {told['answered']}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(__doc__, exchange, deadline_seconds=60)
