"""Signs in with the official Python client and calls a tool; then comes back with a token that has expired, so that it has to be
refreshed.

    sign_in.py [--tool NAME] [--args JSON] http URL

Prints one line of JSON.
"""

from __future__ import annotations

import argparse
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from browser import sign_in
from script import main, plain

REDIRECT = "http://127.0.0.1:18091/callback"


class Person:
    """Whoever uses the client, and what the client keeps for them."""

    tokens: OAuthToken | None = None
    information: OAuthClientInformationFull | None = None
    sign_ins = 0

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.information

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.information = client_info

    async def is_sent_to(self, url: str) -> None:
        self.back = await sign_in(url, REDIRECT)
        self.sign_ins += 1

    async def comes_back(self) -> AuthorizationCodeResult:
        said = {name: values[0] for name, values in parse_qs(urlsplit(self.back).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))


async def exchange(options: argparse.Namespace) -> dict[str, Any]:
    person, url = Person(), options.target[0]
    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="toolrail-client-test",
            redirect_uris=[REDIRECT],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
            application_type="native",
        ),
        storage=person,
        redirect_handler=person.is_sent_to,
        callback_handler=person.comes_back,
    )
    answer = await converse(provider, url, options)
    before = person.tokens
    # A moment in the past: the client sees by itself that it has to refresh.
    provider.context.token_expiry_time = 1.0
    await converse(provider, url, argparse.Namespace(tool=None, args={}))
    refreshed = person.tokens is not before and person.sign_ins == 1
    return {**answer, "refreshed": refreshed, "clientId": person.information.client_id, "scope": before.scope}


async def converse(provider: OAuthClientProvider, url: str, options: argparse.Namespace) -> dict[str, Any]:
    async with httpx2.AsyncClient(auth=provider, timeout=20) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            result = None
            if options.tool:
                called = await client.call_tool(options.tool, options.args)
                result = {"content": [plain(block) for block in called.content], "isError": called.is_error}
            return {"tools": tools, "result": result}


if __name__ == "__main__":
    main(__doc__, exchange, deadline_seconds=60)
