"""Use cases and Learn in a real Chromium: filters travel, a card and a picture lead into Fit, phone, axe."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import VERDICT, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

CARDS = ".cards > li"
LESSON = "[data-lesson=memory]"
SLOW_MS = 15_000  # a run of the script on a busy machine


def test_a_filter_travels_and_a_card_leads_into_fit(
    page: Page, profile: Callable[..., BrowserContext], server: str
) -> None:
    opened(page, f"{server}/use_cases?ugpu=h800", CARDS)
    expect(page.locator(CARDS)).to_have_count(1)
    kinds = page.get_by_role("group", name="GPU")
    kinds.get_by_role("button", name="RTX A6000", exact=True).click()
    kinds.get_by_role("button", name="H800", exact=True).click()  # before the answer to the first press
    expect(page.locator(CARDS)).to_have_count(2, timeout=SLOW_MS)
    expect(page).to_have_url(re.compile(r"ugpu=rtx-a6000$"), timeout=SLOW_MS)
    settled(page)
    other = opened(profile().new_page(), page.url, CARDS)
    expect(other.locator(CARDS)).to_have_count(2)
    chosen = other.get_by_role("group", name="GPU").get_by_role("button", pressed=True)
    expect(chosen).to_have_text("RTX A6000")
    card = other.locator(CARDS).filter(has_text="Las Vegas Sphere")
    expect(card).to_contain_text("running, 2024")
    expect(card).to_contain_text("Articles differ")
    expect(card.locator("[rel~=noopener]").first).to_have_attribute("href", re.compile("^https://"))
    card.get_by_role("link", name="Serve Llama 3.1 8B on 1 such GPU in Fit").click()
    expect(other.locator(VERDICT)).to_contain_text("Llama 3.1 8B", timeout=SLOW_MS)
    expect(other.locator(VERDICT)).to_contain_text("RTX A6000 48GB")


def test_a_picture_is_dragged_without_a_message_and_leads_into_fit(page: Page, server: str) -> None:
    frames: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: frames.append(frame)))
    opened(page, f"{server}/learn", LESSON)
    lesson = page.locator(LESSON)
    slider, sentence = lesson.get_by_role("slider"), lesson.locator("[aria-live]")
    expect(slider).to_have_attribute("aria-valuetext", "8,192 tokens")
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    sent = len(frames)
    page.mouse.move(box["x"] + 0.7 * box["width"], y)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + box["width"] * (0.7 + 0.35 * step / 20), y)
    expect(sentence).to_contain_text("with 32,768 tokens")
    page.mouse.up()
    page.keyboard.press("ArrowLeft")
    expect(sentence).to_contain_text("with 16,384 tokens")
    settled(page)
    assert len(frames) == sent
    lesson.get_by_role("link", name="Open in Fit: 16 users with 16,384 tokens each").click()
    expect(page.locator(VERDICT)).to_contain_text("Llama 3.1 8B", timeout=SLOW_MS)
    expect(page.get_by_role("spinbutton", name="Context (max_model_len)")).to_have_value("16384")


@pytest.mark.parametrize(
    ("path", "sight", "width", "scheme"),
    [
        ("use_cases?ugpu=l40s", CARDS, 390, "light"),
        ("use_cases?ugpu=l40s", CARDS, 1280, "dark"),
        ("learn", LESSON, 390, "dark"),
        ("learn", LESSON, 1280, "light"),
    ],
)
def test_nothing_scrolls_sideways_and_axe_finds_nothing(
    profile: Callable[..., BrowserContext], server: str, path: str, sight: str, width: int, scheme: str
) -> None:
    page = opened(profile(width, color_scheme=scheme).new_page(), f"{server}/{path}", sight)
    assert sideways(page) <= 0
    assert not violations(page)


@pytest.mark.parametrize(("menu", "shares"), [("Use cases", 1), ("Learn", 0)])
def test_no_empty_panel_is_left_of_the_page_before(page: Page, server: str, menu: str, shares: int) -> None:
    opened(page, f"{server}/?count=3")
    panel = page.get_by_test_id("stSidebar")
    expect(panel).to_be_visible()
    page.get_by_role("link", name=menu, exact=True).click()
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="Copy link")).to_have_count(shares)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(panel).to_be_visible()


def test_both_tracks_lie_at_one_height(page: Page, server: str) -> None:
    opened(page, f"{server}/?count=3")
    tracks = page.locator("[data-scrubber]")
    expect(tracks).to_have_count(2)
    first, second = (box for box in (tracks.nth(i).bounding_box() for i in range(2)) if box)
    assert abs(first["y"] - second["y"]) < 0.5
