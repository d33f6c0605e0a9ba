"""The Cost page in a real Chromium: presets, prices typed in place, detail by a press, phone, axe."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import opened, settled, sideways, violations

pytestmark = pytest.mark.browser

TABLE = ".st-key-cost-report [data-prices=rent] table"
SERVE = "cost?users=20"
SLOW_MS = 15_000  # a run of the script on a busy machine


def verdict(page: Page) -> Locator:
    return page.locator("[data-testid=stMarkdown] h3").first


def price(page: Page, gpu: str) -> Locator:
    return page.get_by_role("spinbutton", name=re.compile(rf"^Price of an hour of {gpu} "))


def test_a_price_is_typed_in_place_travels_in_the_link_and_is_taken_back(
    page: Page, profile: Callable[..., BrowserContext], server: str
) -> None:
    opened(page, f"{server}/{SERVE}", TABLE)
    expect(verdict(page)).to_contain_text("Cheapest way to serve Llama 3.3 70B", timeout=SLOW_MS)
    box = price(page, "A100 SXM4 80GB")
    quoted = box.input_value()
    box.fill("0.01")
    box.press("Enter")
    expect(verdict(page)).to_contain_text("A100 SXM4 80GB", timeout=SLOW_MS)
    expect(page).to_have_url(re.compile(r"price=a100-sxm4-80gb(~|%7E)0\.01"), timeout=SLOW_MS)
    settled(page)
    other = opened(profile().new_page(), page.url, TABLE)
    expect(verdict(other)).to_have_text(verdict(page).inner_text())
    expect(price(other, "A100 SXM4 80GB")).to_have_value("0.01")
    box = price(other, "A100 SXM4 80GB")
    box.fill("")
    box.press("Enter")
    expect(price(other, "A100 SXM4 80GB")).to_have_value(quoted)
    expect(other).not_to_have_url(re.compile("price="), timeout=SLOW_MS)


def test_presets_fill_the_fields(page: Page, server: str) -> None:
    opened(page, f"{server}/cost", TABLE)
    page.get_by_role("button", name="Weekly fine-tune").click()
    expect(verdict(page)).to_contain_text("Cheapest QLoRA of Llama 3.1 8B", timeout=SLOW_MS)
    expect(page.get_by_text(re.compile("Your pinned GPUs.*RTX 4090.*H100 SXM5"))).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Train with a deadline").click()
    expect(verdict(page)).to_contain_text("done in 30 days", timeout=SLOW_MS)
    expect(page.get_by_role("spinbutton", name="finish in (days)")).to_have_value("30")
    settled(page)
    page.get_by_role("button", name="Serve 20 users").click()
    expect(verdict(page)).to_contain_text("to 20 users at 8,192 tokens", timeout=SLOW_MS)
    users = page.get_by_role("spinbutton", name="users at once")
    expect(users).to_have_value("20")
    settled(page)
    users.fill("4")
    users.press("Enter")
    expect(verdict(page)).to_contain_text("to 4 users at 8,192 tokens", timeout=SLOW_MS)
    users.fill("0")
    users.press("Enter")
    expect(users).to_have_value("4", timeout=SLOW_MS)  # not a number of users


def test_a_name_that_is_pressed_shows_how_its_cost_is_computed(page: Page, server: str) -> None:
    opened(page, f"{server}/{SERVE}", TABLE)
    terms = page.locator(".st-key-cost-report [data-terms]")
    page.locator(TABLE).get_by_role("button", name="L40S 48GB", exact=True).click()
    expect(terms).to_contain_text("L40S 48GB", timeout=SLOW_MS)
    expect(terms).to_contain_text("× 730", timeout=SLOW_MS)
    expect(page.locator(".st-key-cost-report [data-quotes]")).to_contain_text("CoreWeave")
    expect(page).to_have_url(re.compile("cgpu=l40s-48gb"), timeout=SLOW_MS)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll_and_axe_finds_nothing(
    profile: Callable[..., BrowserContext], server: str, mode: str
) -> None:
    page = profile(390, 844, color_scheme=mode).new_page()
    opened(page, f"{server}/{SERVE}", TABLE)
    page.wait_for_selector(".st-key-cost-report [data-quotes] table")
    assert sideways(page) <= 1
    assert not violations(page)
