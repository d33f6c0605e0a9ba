"""A real server and a real Chromium; a page that objects to console errors and to requests to other hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.server import CHROMIUM_ARGS, chromium_path, running

LOADED_MS = 30_000
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
VERDICT = "[data-verdict]"
expect.set_options(timeout=15_000)  # a run of the script on a busy machine

# The frontend first asks for the server under the page's own path and gets 404: normal on every deep link.
EXPECTED_CONSOLE = ("_stcore/health", "_stcore/host-config", "404 (Not Found)")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The app with its own settings; its address."""
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests; each test has its own profile."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@dataclass
class Watched:
    """What a profile did that it must not do."""

    host: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Record console errors, uncaught exceptions and requests to any other host."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._request(request.url))

    def _console(self, message: Any) -> None:
        if message.type == "error" and not any(text in message.text for text in EXPECTED_CONSOLE):
            self.errors.append(message.text)

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != self.host:
            self.foreign.append(url)


@pytest.fixture
def profile(browser: Browser, server: str) -> Iterator[Callable[..., BrowserContext]]:
    """Make fresh profiles; after the test none may have logged an error or called another host."""
    watched = Watched(urlsplit(server).netloc)
    contexts: list[BrowserContext] = []

    def make(width: int = 1280, height: int = 900, **options: Any) -> BrowserContext:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.on("page", watched.watch)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()
    assert not watched.errors
    assert not watched.foreign


@pytest.fixture
def page(profile: Callable[..., BrowserContext]) -> Page:
    """A page in a fresh profile."""
    return profile().new_page()


def settled(page: Page) -> None:
    """Wait until the script has ended and the page has taken in what it sent."""
    page.wait_for_selector(IDLE, timeout=LOADED_MS)
    page.wait_for_timeout(150)
    page.wait_for_selector(IDLE, timeout=LOADED_MS)


def opened(page: Page, url: str, sight: str = VERDICT) -> Page:
    """Open an address and wait for what matters on it."""
    page.goto(url)
    page.wait_for_selector(sight, timeout=LOADED_MS)
    if sight == VERDICT:  # the heavy views follow the verdict in a second run
        page.wait_for_selector("[data-grid=matrix] [role=gridcell]", timeout=LOADED_MS)
    settled(page)
    return page


def sideways(page: Page) -> float:
    """By how many pixels the page scrolls sideways."""
    return page.get_by_test_id("stMain").evaluate("e => e.scrollWidth - e.clientWidth")


def cut_off(page: Page) -> list[str]:
    """Texts of the chart that reach beyond the page's width."""
    return page.locator(".chart").evaluate(
        """chart => { const wide = document.documentElement.clientWidth;
        return [...chart.querySelectorAll('p, span')].filter(t => t.textContent.trim()).filter(t => {
          const r = t.getBoundingClientRect(); return r.left < 0 || r.right > wide;
        }).map(t => t.textContent); }"""
    )


def violations(page: Page) -> list[str]:
    """What axe finds that is serious or critical, with the element."""
    return [
        f"{rule['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
