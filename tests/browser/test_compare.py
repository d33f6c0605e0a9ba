"""The Compare page in a real Chromium: filter, click a cell, export, share, phone, dark, accessibility."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.ui.compare_choices import VIEWS
from tests.browser.conftest import cut_off, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

TABLE = "[data-testid=stDataFrame] canvas"
CHART = ".js-plotly-plot .main-svg"
HEADER_PX, ROW_PX = 70, 35  # two header rows, then the cards


def sight(view: str) -> str:
    return TABLE if view == "table" else CHART


def cell(page: Page, row: int, x: float) -> None:
    """Click a cell of the first table: row counted from 0, `x` pixels from its left edge."""
    box = page.locator("[data-testid=stDataFrame]").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x, box["y"] + HEADER_PX + ROW_PX * row + ROW_PX / 2)


def test_a_clicked_cell_says_where_its_number_is_from(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    cell(page, 0, 300)
    panel = page.locator(".st-key-cell-sources")
    expect(panel).to_contain_text("Where is this number from?", timeout=10_000)
    expect(panel).to_contain_text("NVIDIA H100 SXM5 80GB")
    expect(panel).to_contain_text("data sheet")
    settled(page)
    cell(page, 1, 90)  # the name: every figure of the card
    expect(page.locator(".st-key-card-sources")).to_contain_text("A100 SXM4 80GB", timeout=10_000)


def test_the_selected_card_becomes_the_baseline(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    cell(page, 1, 90)
    page.get_by_role("button", name="Compare others with it").click(timeout=10_000)
    expect(page.get_by_text("multiples of the A100 SXM4 80GB")).to_be_visible(timeout=10_000)
    settled(page)
    expect(page).to_have_url(re.compile("base=a100-sxm4-80gb"))


def test_a_filter_and_a_view_travel_in_the_link(
    page: Page, profile: Callable[..., BrowserContext], server: str
) -> None:
    opened(page, f"{server}/compare", TABLE)
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("button", name="AMD", exact=True).click()
    expect(page.get_by_text("13 of 86 cards pass the filters")).to_be_visible(timeout=10_000)
    page.get_by_role("radio", name="Tensor Cores").click()
    page.wait_for_selector(CHART)
    settled(page)
    expect(page).to_have_url(re.compile("(?=.*vendor=amd)(?=.*show=tensor)"))
    takeaway = page.get_by_text("Of the cards shown").inner_text()
    other = opened(profile().new_page(), page.url, CHART)
    expect(other.get_by_text("Of the cards shown")).to_have_text(takeaway)
    expect(other.get_by_text("13 of 86 cards pass the filters")).to_be_visible()


def test_only_one_chart_is_mounted_at_a_time(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    for label in list(VIEWS.values())[1:]:
        page.get_by_role("radio", name=label, exact=True).click()
        page.wait_for_selector(CHART)
        settled(page)
        expect(page.locator(".js-plotly-plot")).to_have_count(1)
        expect(page.locator("[data-testid=stDataFrame]")).to_have_count(0)


@pytest.mark.parametrize(("button", "ending"), [("CSV", "csv"), ("Excel", "xlsx"), ("JSON", "json")])
def test_exports_download_with_sources(page: Page, server: str, button: str, ending: str) -> None:
    opened(page, f"{server}/compare?only=1", TABLE)
    with page.expect_download(timeout=20_000) as waiting:
        page.get_by_role("button", name=button, exact=True).click()
    file = Path(waiting.value.path())
    assert waiting.value.suggested_filename == f"headroom-gpus.{ending}"
    if ending == "csv":
        rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"))))
        assert rows[0]["gpu_id"] == "h100-sxm5-80gb"
        assert rows[0]["bandwidth_gb_per_s__sources"]
    elif ending == "json":
        assert len(json.loads(file.read_text())["gpus"]) == 5
    else:
        assert file.read_bytes()[:2] == b"PK"


@pytest.mark.parametrize("view", list(VIEWS))
def test_phone_width_needs_no_sideways_scroll(
    profile: Callable[..., BrowserContext], server: str, view: str
) -> None:
    page = opened(profile(390, 844).new_page(), f"{server}/compare?show={view}", sight(view))
    assert sideways(page) <= 1
    if view != "table":
        assert cut_off(page) == []


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_axe_finds_nothing_serious(
    profile: Callable[..., BrowserContext], server: str, view: str, mode: str
) -> None:
    """No exception is needed, not even for Streamlit's own chrome."""
    context = profile(1280, 1200, color_scheme=mode)
    page = opened(context.new_page(), f"{server}/compare?show={view}", sight(view))
    if view == "table":
        cell(page, 0, 300)
        page.wait_for_selector(".st-key-cell-sources", timeout=10_000)
    page.get_by_text("Filters", exact=True).click()
    settled(page)
    page.wait_for_timeout(400)  # the expander's own animation
    assert not violations(page)
