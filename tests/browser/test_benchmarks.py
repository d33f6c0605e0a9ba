"""The Benchmarks page in a real Chromium: ask, filter, share, phone, dark, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.ui.benchmarks_choices import LANES
from tests.browser.conftest import cut_off, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

CHART = ".chart"
TABLE = ".frame tbody tr"


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


def test_each_result_leads_to_its_source_and_the_table_can_be_saved(page: Page, server: str) -> None:
    opened(page, f"{server}/benchmarks?lane=training", TABLE)
    addresses = page.locator(".frame tbody a[href*='github.com/mlcommons/training_results_v5.1']")
    expect(addresses.nth(4)).to_be_attached()
    expect(addresses).to_have_count(page.locator(TABLE).count())
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    lines = download.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 1 + page.locator(TABLE).count()
    assert "https://github.com/mlcommons/training_results_v5.1" in lines[1]


def test_thousands_of_results_are_turned_page_by_page(page: Page, server: str) -> None:
    opened(page, f"{server}/benchmarks?lane=inference&infer=any&scen=any", TABLE)
    expect(page.get_by_text(re.compile("^1 to 100 of"))).to_be_visible()
    first = page.locator(TABLE).first.inner_text()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text(re.compile("^101 to 200 of"))).to_be_visible()
    expect(page.locator(TABLE).first).not_to_have_text(first)
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()


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
