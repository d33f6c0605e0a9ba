"""The page "How far off are we?" in a real Chromium: ask, share, download, phone, dark, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.ui.accuracy_choices import KINDS, VIEWS
from tests.browser.conftest import cut_off, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

CHART = ".chart"


def test_ask_share_and_download(page: Page, profile: Callable[..., BrowserContext], server: str) -> None:
    opened(page, f"{server}/accuracy", CHART)
    expect(page.get_by_text(re.compile("^Memory needed: half of our estimates"))).to_be_visible()
    page.get_by_role("radio", name=KINDS["training"], exact=True).click()
    said = page.get_by_text(re.compile("^Training speed: half of our estimates"))
    expect(said).to_be_visible(timeout=10_000)
    settled(page)
    page.get_by_role("radio", name=VIEWS["gpu"]).click()
    expect(page.get_by_role("heading", name="Training speed: error by GPU")).to_be_visible(timeout=10_000)
    settled(page)
    assert "est=training" in page.url
    assert "off=gpu" in page.url
    page.get_by_text("Every row with its source, and as a file").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="These rows (CSV)").click()
    assert download.value.suggested_filename == "headroom-accuracy-train-speed.csv"
    text = download.value.path().read_text(encoding="utf-8-sig")
    assert "source_url" in text.splitlines()[0]
    assert len(text.splitlines()) > 200
    other = opened(profile().new_page(), page.url, CHART)
    assert other.get_by_text(re.compile("^Training speed: half")).inner_text() == said.inner_text()


@pytest.mark.parametrize(("mode", "view"), [("light", "scatter"), ("dark", "gpu")])
def test_a_phone_needs_no_sideways_scroll_and_axe_finds_nothing(
    profile: Callable[..., BrowserContext], server: str, mode: str, view: str
) -> None:
    page = profile(390, 844, color_scheme=mode).new_page()
    opened(page, f"{server}/accuracy?off={view}", CHART)
    assert sideways(page) <= 1
    assert cut_off(page) == []
    assert not violations(page)
