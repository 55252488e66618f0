"""Uses everything that a server offers besides tools, with the official Python client.

    extended.py [--mode auto|legacy|2026-07-28] http URL
    extended.py [--mode auto|legacy|2026-07-28] stdio COMMAND [ARGUMENT ...]

The server must have the fixtures of the conformance suite. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import mcp_types as types
from mcp import Client

from script import main, open_client, plain

CHANGED_WITHIN_SECONDS = 5


class Told:
    """What the server told and asked while its tools ran."""

    def __init__(self) -> None:
        self.progress: list[float] = []
        self.logs = 0
        self.asked: list[str] = []
        self.changed = anyio.Event()

    async def on_progress(self, progress: float, _total: float | None, _message: str | None) -> None:
        self.progress.append(progress)

    async def on_log(self, _params: types.LoggingMessageNotificationParams) -> None:
        self.logs += 1

    async def on_elicitation(self, _context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append("elicitation")
        return types.ElicitResult(action="accept", content={"username": "ann", "email": "ann@example.com"})

    async def on_sampling(self, _context: Any, _params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.asked.append("sampling")
        text = types.TextContent(type="text", text="so be it")
        return types.CreateMessageResult(role="assistant", content=text, model="none")

    async def on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
    told = Told()
    callbacks = {
        "elicitation_callback": told.on_elicitation,
        "sampling_callback": told.on_sampling,
        "logging_callback": told.on_log,
        "message_handler": told.on_message,
        "log_level": "debug",
    }
    async with open_client(options, **callbacks) as client:
        if client.protocol_version < "2026-07-28":
            await client.set_logging_level("debug")
        answer = await look_around(client)
        await client.call_tool("test_tool_with_progress", {}, progress_callback=told.on_progress)
        await client.call_tool("test_tool_with_logging", {})
        answer["elicitation"] = plain(await client.call_tool("test_elicitation", {"message": "Who?"}))
        answer["sampling"] = plain(await client.call_tool("test_sampling", {"prompt": "Say it"}))
        answer["toolsChanged"] = await sees_a_change(client, told)
        return answer | {"progress": told.progress, "logs": told.logs, "asked": told.asked}


async def look_around(client: Client) -> dict[str, Any]:
    name = "test_prompt_with_arguments"
    prompt = await client.get_prompt(name, {"arg1": "one", "arg2": "two"})
    reference = types.PromptReference(type="ref/prompt", name=name)
    completion = await client.complete(reference, {"name": "arg1", "value": "test"})
    templates = await client.list_resource_templates()
    return {
        "protocolVersion": client.protocol_version,
        "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
        "resources": [str(resource.uri) for resource in (await client.list_resources()).resources],
        "templates": [template.uri_template for template in templates.resource_templates],
        "read": plain((await client.read_resource("test://static-text")).contents[0]),
        "filled": plain((await client.read_resource("test://template/42/data")).contents[0]),
        "prompt": plain(prompt.messages[0].content),
        "completion": completion.completion.values,
    }


async def sees_a_change(client: Client, told: Told) -> bool:
    with anyio.move_on_after(CHANGED_WITHIN_SECONDS):
        async with listening(client, told):
            await client.call_tool("test_trigger_tool_change", {})
            await told.changed.wait()
    return told.changed.is_set()


@contextlib.asynccontextmanager
async def listening(client: Client, told: Told) -> AsyncIterator[None]:
    """Sessions are told without asking; later revisions have to listen."""
    if client.protocol_version < "2026-07-28":
        yield
        return
    async with client.listen(tools_list_changed=True) as subscription, anyio.create_task_group() as group:

        async def follow() -> None:
            async for _event in subscription:
                told.changed.set()

        group.start_soon(follow)
        yield
        group.cancel_scope.cancel()


if __name__ == "__main__":
    main(__doc__, exchange)
