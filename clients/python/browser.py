"""A person with a browser, as far as signing in needs one: follows redirects, keeps cookies, fills in forms and agrees to
everything, until it is sent to the address that the application waits at. That one it does not open."""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin, urlsplit

import httpx2

MOST_STEPS = 30


async def sign_in(start: str, redirect: str) -> str:
    async with httpx2.AsyncClient(follow_redirects=False, timeout=20) as browser:
        answer = await browser.get(start)
        for _ in range(MOST_STEPS):
            if "location" in answer.headers:
                to = urljoin(str(answer.url), answer.headers["location"])
                if to.startswith(redirect):
                    return to
                answer = await browser.get(to)
            else:
                answer = await submit(browser, answer)
    raise RuntimeError(f"not signed in after {MOST_STEPS} steps")


async def submit(browser: httpx2.AsyncClient, page: httpx2.Response) -> httpx2.Response:
    """Sends the form of a page, filled in, with its first button."""
    form = re.search(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL)
    if form is None:
        raise RuntimeError(f"no form at {page.url}, but {page.status_code}: {page.text[:2000]}")
    button = re.search(r"<button[^>]*>", form[2])
    fields = re.findall(r"<input[^>]*>", form[2])
    said = {name: attribute(field, "value") or "ann" for field in fields if (name := attribute(field, "name"))}
    if button and (name := attribute(button[0], "name")):
        said[name] = attribute(button[0], "value") or ""
    here = urlsplit(str(page.url))
    action = urljoin(str(page.url), html.unescape(form[1]))
    return await browser.post(action, data=said, headers={"origin": f"{here.scheme}://{here.netloc}"})


def attribute(tag: str, name: str) -> str | None:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else None
