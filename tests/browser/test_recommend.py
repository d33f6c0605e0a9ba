"""The Recommend page in a real Chromium: presets, fields in place, views, phone, axe."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import opened, settled

pytestmark = pytest.mark.browser

TABLE = ".st-key-recommend-report [data-part=ranking] table"
SLOW_MS = 15_000  # a run of the script on a busy machine


def verdict(page: Page) -> Locator:
    return page.locator("[data-testid=stMarkdown] h3").first


def test_a_reader_is_one_press_and_every_field_stays_open(
    page: Page, profile: Callable[..., BrowserContext], server: str
) -> None:
    opened(page, f"{server}/recommend", TABLE)
    page.get_by_role("button", name="Startup shipping an MVP").click()
    expect(verdict(page)).to_contain_text("Cheapest for 32 users of Qwen2.5 32B", timeout=SLOW_MS)
    users = page.get_by_role("spinbutton", name="users at once")
    expect(users).to_have_value("32", timeout=SLOW_MS)
    settled(page)
    users.fill("4")
    users.press("Enter")
    expect(verdict(page)).to_contain_text("Cheapest for 4 users", timeout=SLOW_MS)
    expect(page).to_have_url(re.compile(r"users=4\b"), timeout=SLOW_MS)
    settled(page)
    other = opened(profile().new_page(), page.url, TABLE)
    expect(verdict(other)).to_have_text(verdict(page).inner_text())


def test_purpose_objective_and_constraint_change_the_answer(page: Page, server: str) -> None:
    opened(page, f"{server}/recommend?model=llama-3.1-8b", TABLE)
    page.get_by_role("button", name="Fine-tune: QLoRA").click()
    expect(verdict(page)).to_contain_text("Cheapest for QLoRA of Llama 3.1 8B", timeout=SLOW_MS)
    settled(page)
    page.get_by_role("combobox", name="Take the").select_option("power")
    expect(verdict(page)).to_contain_text("Least power for QLoRA", timeout=SLOW_MS)
    settled(page)
    page.get_by_role("checkbox", name="MIG").check()
    expect(page.locator(TABLE)).not_to_contain_text("RTX 4090", timeout=SLOW_MS)
    expect(page).to_have_url(re.compile(r"mig=1"), timeout=SLOW_MS)


def test_views_and_the_duel(page: Page, server: str) -> None:
    opened(page, f"{server}/recommend?look=duel", ".st-key-recommend-report [data-part=duel] table")
    expect(verdict(page)).to_have_text("H100 SXM5 80GB or GeForce RTX 4090 24GB", timeout=SLOW_MS)
    page.get_by_role("combobox", name="Card 2").select_option("l40s-48gb")
    expect(verdict(page)).to_have_text("H100 SXM5 80GB or L40S 48GB", timeout=SLOW_MS)
    expect(page.locator("[data-part=duel] table")).to_contain_text("7 × 1g.10gb (9.75 GiB)", timeout=SLOW_MS)
    settled(page)
    page.get_by_role("button", name="Training or inference").click()
    expect(page.locator("[data-part=slices] table")).to_contain_text("1g.10gb", timeout=SLOW_MS)
    expect(page.locator("[data-part=link] table")).to_contain_text("PCIe 4", timeout=SLOW_MS)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll_and_axe_finds_nothing(
    profile: Callable[..., BrowserContext], server: str, mode: str
) -> None:
    page = profile(390, 844, color_scheme=mode).new_page()
    opened(page, f"{server}/recommend", TABLE)
    labels = page.locator(".st-key-recommend-report .chart svg[role=img] text.label")
    expect(labels.first).to_be_visible()
    inside = "es => es.every(e => e.getBBox().x >= 0 && e.getBBox().x + e.getBBox().width <= innerWidth)"
    assert labels.evaluate_all(inside), "a name is cut off at the edge of the picture"
    apart = """labels => {
      const marks = labels[0].ownerSVGElement.querySelectorAll('circle, path.best, path.unsure');
      const boxes = [...labels, ...marks].map(e => e.getBoundingClientRect());
      const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right
        && a.top + 4 < b.bottom && b.top + 4 < a.bottom;
      return labels.every((_, i) => boxes.every((box, k) => k === i || !meet(boxes[i], box)));
    }"""
    assert labels.evaluate_all(apart), "a name lies on a mark or on another name"
    assert page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    found = [
        f"{v['id']}: {json.dumps(node['html'])[:200]}"
        for v in Axe().run(page).response["violations"]
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]
    assert not found
