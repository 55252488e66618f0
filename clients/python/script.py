"""What the client scripts share: their command line, their deadline, and how a client is opened."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

Exchange = Callable[[argparse.Namespace], Awaitable[dict[str, Any]]]


def main(usage: str | None, exchange: Exchange, deadline_seconds: float = 30) -> None:
    """Runs one exchange and prints what it answers as one line of JSON."""
    options = parse_arguments(usage)

    async def within_the_deadline() -> dict[str, Any]:
        with anyio.fail_after(deadline_seconds):
            return await exchange(options)

    try:
        print(json.dumps(anyio.run(within_the_deadline), ensure_ascii=False))
    except BaseException as failure:  # An exception group of a cancelled task group is not an Exception.
        sys.exit(f"{options.transport} exchange failed: {innermost(failure)!r}")


def parse_arguments(usage: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default=os.environ.get("TOOLRAIL_CLIENT_MODE"))
    parser.add_argument("--tool", default=os.environ.get("TOOLRAIL_CLIENT_TOOL"))
    parser.add_argument("--args", type=json.loads, default=os.environ.get("TOOLRAIL_CLIENT_ARGS", "{}"))
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("transport", choices=["http", "stdio"])
    parser.add_argument("target", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.target:
        parser.error("name the URL (http) or the command (stdio) to connect to")
    return options


def open_client(options: argparse.Namespace, **settings: Any) -> Client:
    """A client yet to be entered; `settings` are the client's own."""
    if options.transport == "http":
        server: Any = options.target[0]
    else:
        # By default the child sees a handful of variables; the server under test is configured by more.
        server = StdioServerParameters(command=options.target[0], args=options.target[1:], env=dict(os.environ))
    if options.mode:
        settings["mode"] = options.mode
    return Client(server, **settings)


def plain(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def innermost(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup) and failure.exceptions:
        failure = failure.exceptions[0]
    return failure
