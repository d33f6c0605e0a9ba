"""Fine-tune and Train in a real Chromium: the switch, the live drag, the link, a phone, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import LOADED_MS, VERDICT, opened, settled, sideways, violations

pytestmark = pytest.mark.browser

TERMS = "[data-terms] tbody tr"  # in the second run, below the verdict
LENGTH = "input[data-scrubber=context]"
OTHER = "input[data-scrubber=users]"
Profile = Callable[..., BrowserContext]


def test_the_switch_leads_to_each_task_and_back(page: Page, server: str) -> None:
    opened(page, server)
    page.get_by_role("radio", name="Fine-tune").click()
    page.wait_for_url("**/?task=finetune")
    expect(page.locator(VERDICT)).to_have_text(re.compile("^QLoRA of Llama 3.3 70B"), timeout=LOADED_MS)
    expect(page.get_by_role("spinbutton", name="Samples")).to_be_visible()
    expect(page.get_by_role("combobox", name=re.compile("^Engine|Engine$"))).to_have_count(0)
    page.get_by_role("radio", name="Train").click()
    page.wait_for_url("**/?task=train")
    expect(page.locator(VERDICT)).to_have_text(re.compile("^Training Llama 3.3 70B"), timeout=LOADED_MS)
    expect(page.get_by_role("spinbutton", name="Tokens (billions)")).to_have_value("1000")
    expect(page.get_by_role("spinbutton", name="Samples")).to_have_count(0)
    page.go_back()
    expect(page.locator(VERDICT)).to_have_text(re.compile("^QLoRA"), timeout=LOADED_MS)
    page.get_by_role("radio", name="Serve").click()
    expect(page.locator(VERDICT)).to_have_text(re.compile("^Llama 3.3 70B"), timeout=LOADED_MS)


def test_the_lists_name_the_usual_choice_of_the_task(page: Page, server: str) -> None:
    opened(page, f"{server}/?task=finetune", TERMS)
    names = {
        "Fine-tune": ("paged AdamW (usual)", "Full (usual)"),
        "Train": ("AdamW (usual)", "Selective or full (usual)"),
    }
    starts = {"Fine-tune": "^QLoRA", "Train": "^Training"}
    for task in ("Fine-tune", "Train", "Fine-tune"):
        page.get_by_role("radio", name=task).click()
        expect(page.locator(VERDICT)).to_have_text(re.compile(starts[task]), timeout=LOADED_MS)
        settled(page)
        for list_, usual in zip(("Optimiser", "Activation checkpointing"), names[task], strict=True):
            box = page.locator(f"input[role=combobox][aria-label='{list_}'][value='{usual}']")
            expect(box).to_be_visible(timeout=LOADED_MS)
            expect(page.get_by_role("combobox", name=list_)).to_have_count(1)


def test_the_drag_is_live_and_ends_in_the_link(page: Page, server: str) -> None:
    frames: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: frames.append(frame)))
    opened(page, f"{server}/?task=train&model=llama-2-7b&gpus=h100-sxm5-80gb", TERMS)
    slider = page.locator(OTHER)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    share = slider.evaluate("s => (s.value - s.min) / (s.max - s.min)")
    x, width, y = box["x"] + 8, box["width"] - 16, box["y"] + box["height"] / 2
    page.mouse.move(x + width * share, y)
    page.mouse.down()
    sent, seen = len(frames), set()
    for step in range(30):
        page.mouse.move(x + width * (share + 0.4 * step / 30), y)
        seen.add(page.locator(VERDICT).inner_text())
    assert len(frames) == sent, "a message was sent while the thumb moved"
    assert len(seen) >= 4
    dragged = page.locator(VERDICT).inner_text()
    page.mouse.up()
    page.wait_for_url(re.compile(r"tgpus=\d+"))
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(dragged)
    gpus = re.findall(r"tgpus=(\d+)", page.url)[0]
    expect(page.get_by_role("spinbutton", name="GPUs", exact=True)).to_have_value(gpus)
    expect(page.locator("[data-published] a").first).to_have_attribute("href", re.compile("^https://"))
    expect(page.locator("[data-terms] caption")).to_contain_text(f"{int(gpus):,} × H100", timeout=LOADED_MS)


def test_a_link_opens_on_the_same_fine_tune(profile: Profile, server: str) -> None:
    link = "?task=finetune&method=lora&model=llama-3.1-8b&seq=4096&micro=2&opt=adamw-8bit&gpus=l40s-48gb"
    first = opened(profile().new_page(), f"{server}/{link}", TERMS)
    said = first.locator(VERDICT).inner_text()
    first.locator(OTHER).focus()
    first.keyboard.press("ArrowRight")
    first.wait_for_url(re.compile("micro=3"))
    settled(first)
    expect(first.locator(VERDICT)).not_to_have_text(said)
    second = opened(profile().new_page(), first.url, TERMS)
    expect(second.locator(VERDICT)).to_have_text(first.locator(VERDICT).inner_text())
    expect(second.get_by_role("spinbutton", name="Micro-batch per GPU")).to_have_value("3")
    expect(second.get_by_role("radio", name="Fine-tune")).to_be_checked()


@pytest.mark.parametrize("task", ["finetune", "train"])
def test_a_phone_shows_switch_verdict_and_scrubbers_first(profile: Profile, server: str, task: str) -> None:
    page = profile(390, 844, has_touch=True, is_mobile=True, color_scheme="dark").new_page()
    opened(page, f"{server}/?task={task}&model=llama-3.1-8b", TERMS)
    assert sideways(page) <= 0
    expect(page.get_by_role("radio", name="Train")).to_be_in_viewport()
    for selector in (VERDICT, LENGTH, OTHER):
        expect(page.locator(selector)).to_be_in_viewport()
    assert not violations(page)
