"""The Benchmarks page in a real Chromium: ask, filter, share, phone, dark, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.ui.benchmarks_choices import LANES
from tests.browser.conftest import cut_off, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

CHART = ".js-plotly-plot .main-svg"
TABLE = "[data-testid=stDataFrame] canvas"


def test_ask_filter_and_share(page: Page, profile: Callable[..., BrowserContext], server: str) -> None:
    opened(page, f"{server}/benchmarks", CHART)
    expect(page.get_by_text("H100 PCIe 80GB has the highest speed")).to_be_visible()
    page.get_by_role("radio", name=LANES["inference"]).click()
    expect(page.get_by_text("round v6.0 (the newest with this benchmark)")).to_be_visible(timeout=10_000)
    settled(page)
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("button", name="v5.1", exact=True).click()
    expect(
        page.get_by_text("rounds v5.1", exact=False).or_(page.get_by_text("round v5.1")).first
    ).to_be_visible(timeout=10_000)
    expect(page).to_have_url(re.compile("(?=.*lane=inference)(?=.*rounds=v5-1)"))
    said = page.get_by_text(re.compile("has the highest throughput"))
    expect(said).to_contain_text("v5.1", timeout=10_000)
    expect(said).not_to_contain_text("v6.0")
    other = opened(profile().new_page(), page.url, CHART)
    expect(other.get_by_text(re.compile("has the highest throughput"))).to_have_text(said.inner_text())


def test_each_result_leads_to_its_source(page: Page, server: str) -> None:
    """The table is a canvas; its accessible copy holds the cells."""
    opened(page, f"{server}/benchmarks?lane=training", TABLE)
    # the copy is filled after the canvas: wait for it, never count once
    cells = page.locator("[data-testid=stDataFrame] [role=gridcell]").filter(
        has_text="github.com/mlcommons/training_results_v5.1"
    )
    expect(cells.nth(4)).to_be_attached(timeout=15_000)


@pytest.mark.parametrize(("mode", "lanes"), [("light", tuple(LANES)), ("dark", ("inference",))])
def test_a_phone_needs_no_sideways_scroll_and_axe_finds_nothing(
    profile: Callable[..., BrowserContext], server: str, mode: str, lanes: tuple[str, ...]
) -> None:
    page = profile(390, 844, color_scheme=mode).new_page()
    for lane in lanes:
        opened(page, f"{server}/benchmarks?lane={lane}", CHART)
        assert sideways(page) <= 1
        assert cut_off(page) == []
        page.get_by_text("Filters", exact=True).click()
        settled(page)
        page.wait_for_timeout(400)  # the expander's own animation
        assert not violations(page)
