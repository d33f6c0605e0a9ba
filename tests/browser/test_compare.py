"""The Compare page in a real Chromium: filter, click a cell, export, share, phone, dark, accessibility."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.ui.compare_choices import VIEWS
from tests.browser.conftest import cut_off, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

TABLE = "[role=grid] tbody tr"
CHART = ".chart"


def sight(view: str) -> str:
    return TABLE if view == "table" else CHART


def cell(page: Page, row: int, title: str) -> Locator:
    """A cell of the spec table by its place and the title of its column."""
    titles = page.locator("[role=grid] thead tr").last.locator("th").all_inner_texts()
    return page.locator(TABLE).nth(row).locator("th, td").nth(titles.index(title))


def test_a_pressed_cell_says_where_its_number_is_from(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    cell(page, 0, "Driver total (GiB)").click()
    said = page.get_by_role("heading", name="Where is this number from? NVIDIA H100 SXM5 80GB")
    expect(said).to_be_in_viewport()
    expect(page.locator(".board")).to_contain_text("visible_bytes / 2^30")
    expect(cell(page, 0, "Driver total (GiB)")).to_have_attribute("aria-selected", "true")
    cell(page, 1, "GPU").click()
    expect(page.get_by_role("heading", name="Every figure of the A100 SXM4 80GB")).to_be_visible()
    expect(page.get_by_text("figures, each with its source").first).to_be_visible()


def test_the_table_is_walked_and_pressed_by_keyboard(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    cell(page, 0, "GPU").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    expect(
        page.get_by_role("heading", name="Where is this number from? NVIDIA A100 SXM4 80GB")
    ).to_contain_text("Usable (GiB)")
    expect(cell(page, 1, "Usable (GiB)")).to_be_focused()


def test_the_table_is_sorted_by_its_titles(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    title = page.get_by_role("button", name="Memory bandwidth (GB/s)")
    title.click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Memory bandwidth (GB/s)")
    expect(cell(page, 0, "Memory bandwidth (GB/s)")).to_have_text("8,000")
    title.click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Memory bandwidth (GB/s)")
    first = cell(page, 0, "GPU").inner_text()
    cell(page, 0, "GPU").click()
    expect(page.get_by_role("heading", name="Every figure of the")).to_contain_text(first.split()[-1])
    title.click()
    expect(cell(page, 0, "GPU")).to_have_text("★ H100 SXM5 80GB")


def test_the_names_stay_in_sight_while_the_table_is_moved_aside(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    name = cell(page, 0, "GPU")
    start = name.bounding_box()
    page.locator(".frame").evaluate("frame => frame.scrollTo(400, 0)")
    expect(page.locator(".frame")).to_have_class(re.compile("aside"))
    assert start is not None
    assert name.bounding_box() == start


def test_other_columns_leave_those_that_stay_as_they_are(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    shown = cell(page, 3, "Board power (W)")
    power = shown.inner_text()
    shown.evaluate("cell => { cell.marked = true; }")
    for pressed in ("Power", "Power"):
        others = page.locator(TABLE).first.locator("th, td")
        count = others.count()
        page.get_by_role("button", name=pressed, exact=True).first.click()
        expect(others).not_to_have_count(count)
        expect(cell(page, 3, "Board power (W)")).to_have_text(power)
        assert cell(page, 3, "Board power (W)").evaluate("cell => cell.marked")


def test_the_pressed_card_becomes_the_baseline(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    cell(page, 1, "GPU").click()
    page.get_by_role("button", name="Compare others with it").click()
    expect(
        page.get_by_text("multiples of the NVIDIA A100 SXM4 80GB").or_(
            page.get_by_text("multiples of the A100 SXM4 80GB")
        )
    ).to_be_visible()
    expect(page).to_have_url(re.compile("base=a100-sxm4-80gb"))
    expect(cell(page, 0, "Memory bandwidth (GB/s)")).to_have_text("1.64 ×")


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


def test_only_one_view_is_drawn_at_a_time(page: Page, server: str) -> None:
    opened(page, f"{server}/compare", TABLE)
    for label in list(VIEWS.values())[1:]:
        page.get_by_role("radio", name=label, exact=True).click()
        expect(page.locator(CHART)).to_have_count(1)
        expect(page.locator(TABLE)).to_have_count(0)
        settled(page)


@pytest.mark.parametrize(("button", "ending"), [("CSV", "csv"), ("Excel", "xlsx"), ("JSON", "json")])
def test_exports_download_with_sources(page: Page, server: str, button: str, ending: str) -> None:
    opened(page, f"{server}/compare?only=1", TABLE)
    page.get_by_text("Export these 5 cards").click()
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
        cell(page, 0, "GPU").click()
        expect(page.get_by_role("heading", name="Every figure of the")).to_be_visible()
    else:
        page.get_by_text("The numbers", exact=True).click()
    page.get_by_text("Filters", exact=True).click()
    settled(page)
    page.wait_for_timeout(400)  # the expander's own animation
    assert not violations(page)
