"""The Fit page in a real Chromium: the live drag, the link, the frame around it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as LateError

from gpu_data.models import model_config
from tests.browser.conftest import LOADED_MS, VERDICT, opened, settled, sideways, violations
from tests.browser.server import free_port, running

pytestmark = pytest.mark.browser

CONTEXT = "input[data-scrubber=context]"
USERS = "input[data-scrubber=users]"
Profile = Callable[..., BrowserContext]


def verdict(page: Page) -> str:
    return page.locator(VERDICT).inner_text()


def numbers(page: Page) -> list[str]:
    """The component's own table, cell by cell."""
    page.locator("[data-table]").evaluate("details => { details.open = true; }")
    page.wait_for_selector("[data-table] tbody tr")
    return page.locator("[data-table] tr").all_inner_texts()


def grab(page: Page, selector: str = CONTEXT) -> tuple[float, float, float]:
    """Press the thumb; (left, width, y) of the scrubber."""
    slider = page.locator(selector)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    share = slider.evaluate("s => (s.value - s.min) / (s.max - s.min)")
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + (box["width"] - 16) * share, y)
    page.mouse.down()
    return box["x"] + 8, box["width"] - 16, y


# ---------------------------------------------------------------- the live drag


def test_the_drag_is_live_silent_and_ends_in_the_link(page: Page, server: str) -> None:
    frames: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: frames.append(frame)))
    opened(page, server)
    first = verdict(page)
    x, width, y = grab(page)
    page.evaluate(
        """() => {
          const find = (root) => root.querySelector("[data-bars]")
            ?? [...root.querySelectorAll("*")].map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
          window.redraws = 0;
          let dirty = false;
          new MutationObserver(() => { dirty = true; })
            .observe(find(document), {subtree: true, childList: true, attributes: true, characterData: true});
          const frame = () => {
            if (dirty) { window.redraws += 1; dirty = false; }
            requestAnimationFrame(frame);
          };
          requestAnimationFrame(frame);
        }"""
    )
    sent = len(frames)
    seen = set()
    for step in range(60):
        page.mouse.move(x + width * (0.3 + 0.6 * step / 60), y)
        if step % 10 == 0:
            seen.add(verdict(page))
    assert len(frames) == sent, "a message was sent while the thumb moved"
    assert len(seen) >= 4
    assert page.evaluate("window.redraws") >= 20
    dragged, table = verdict(page), numbers(page)
    assert dragged != first
    page.mouse.up()
    page.wait_for_url(re.compile(r"ctx=\d+"))
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(dragged)
    assert numbers(page) == table
    tokens = parse_qs(urlsplit(page.url).query)["ctx"][0]
    expect(page.get_by_role("spinbutton", name="Context (max_model_len)")).to_have_value(tokens)


def test_the_keyboard_moves_a_scrubber_and_sends_once_per_press(page: Page, server: str) -> None:
    frames: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: frames.append(frame)))
    opened(page, server)
    page.locator(USERS).focus()
    sent = len(frames)
    page.keyboard.down("ArrowRight")
    page.keyboard.down("ArrowRight")  # held: repeats
    page.keyboard.down("ArrowRight")
    assert len(frames) == sent
    expect(page.locator(USERS)).to_have_attribute("aria-valuetext", "4 users")
    page.keyboard.up("ArrowRight")
    page.wait_for_url("**/?users=4")
    settled(page)
    assert page.locator(USERS).evaluate("s => s === s.getRootNode().activeElement"), "the focus was lost"
    expect(page.get_by_role("spinbutton", name="Users at once")).to_have_value("4")


def test_the_same_stop_can_be_chosen_again_after_another_control(page: Page, server: str) -> None:
    opened(page, f"{server}/?ctx=16384")
    page.locator(CONTEXT).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/?ctx=20480")
    settled(page)
    box = page.get_by_role("spinbutton", name="Context (max_model_len)")
    box.fill("16384")
    box.press("Enter")
    page.wait_for_url("**/?ctx=16384")
    settled(page)
    page.locator(CONTEXT).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/?ctx=20480")


def test_a_number_beside_the_verdict_travels_and_one_that_is_not_taken_is_named(
    page: Page, profile: Callable[..., BrowserContext], server: str
) -> None:
    opened(page, f"{server}/?weights=fp16&gpus=rtx-4090-24gb&model=qwen2.5-14b")
    expect(page.locator(VERDICT)).to_contain_text("does not fit")
    count = page.get_by_role("spinbutton", name="GPUs of each kind")
    count.fill("2")
    count.press("Enter")
    page.wait_for_url("**count=2**")
    expect(page.locator(VERDICT)).to_contain_text("2 × GeForce RTX 4090")
    prompt = page.get_by_role("spinbutton", name="Prompt tokens")
    prompt.fill("4000")
    count.fill("3")  # before the answer to the last
    count.press("Enter")
    page.wait_for_url(re.compile("count=3"))
    expect(page).to_have_url(re.compile("in=4000"))
    settled(page)
    other = opened(profile().new_page(), page.url)
    expect(other.get_by_role("spinbutton", name="GPUs of each kind")).to_have_value("3")
    expect(other.get_by_role("spinbutton", name="Prompt tokens")).to_have_value("4000")
    wrong = other.get_by_role("spinbutton", name="GPUs of each kind")
    wrong.fill("0")
    wrong.press("Enter")
    expect(other.get_by_role("status").filter(has_text="keeps its value")).to_contain_text(
        "GPUs of each kind"
    )
    expect(wrong).to_have_value("3")
    wrong.fill("")
    wrong.press("Enter")  # emptied: the default again
    expect(wrong).to_have_value("1")
    expect(other.get_by_role("status").filter(has_text="keeps its value")).to_have_count(0)


@pytest.mark.parametrize(("task", "box"), [("Fine-tune", "Samples"), ("Train", "Sequence length")])
def test_a_number_half_typed_never_lands_in_another_task(
    page: Page, server: str, task: str, box: str
) -> None:
    opened(page, f"{server}/?model=qwen2.5-14b")
    page.get_by_role("radio", name=task).click()
    typed = page.get_by_role("spinbutton", name=box, exact=True)
    expect(typed).to_be_visible()
    settled(page)
    typed.fill("54096")
    page.go_back()
    expect(page.get_by_role("spinbutton", name="Context (max_model_len)")).to_have_value("8192")
    page.wait_for_timeout(1500)  # longer than a box waits for its last step
    settled(page)
    expect(page.get_by_role("spinbutton", name="Context (max_model_len)")).to_have_value("8192")
    assert "54096" not in page.url


# ---------------------------------------------------------------- quick input


def agree(page: Page, **wanted: str) -> None:
    """The address, both scrubbers and the boxes beside them say the same."""
    query = {"users": "1", "ctx": "8192"} | wanted
    for name, slider, box in (("users", USERS, "Users at once"), ("ctx", CONTEXT, "Context (max_model_len)")):
        expect(page.get_by_role("spinbutton", name=box)).to_have_value(query[name])
        said = re.compile(f"^{int(query[name]):,} ")
        expect(page.locator(slider)).to_have_attribute("aria-valuetext", said)
    page.wait_for_function(
        """wanted => Object.entries(wanted).every(([name, value]) =>
          (new URLSearchParams(location.search).get(name) ?? {users: "1", ctx: "8192"}[name]) === value)""",
        arg=query,
    )


@pytest.mark.parametrize("pause", [20, 50, 150, 300])
def test_quick_arrow_keys_are_all_counted(page: Page, server: str, pause: int) -> None:
    opened(page, server)
    page.locator(USERS).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(pause)
    page.wait_for_timeout(1000)
    settled(page)
    agree(page, users="4")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(pause)
    page.wait_for_timeout(1000)
    settled(page)
    agree(page)


@pytest.mark.parametrize("pause", [0, 100, 250])
def test_both_scrubbers_in_quick_succession(page: Page, server: str, pause: int) -> None:
    opened(page, server)
    for selector, share in ((USERS, 0.25), (CONTEXT, 0.5)):
        box = page.locator(selector).bounding_box()
        assert box
        # A click of the locator waits for the place to stand still: the sentence above may change its height.
        place = {"x": 8 + (box["width"] - 16) * share, "y": box["height"] / 2}
        page.locator(selector).click(position=place)
        page.wait_for_timeout(pause)
    page.wait_for_timeout(1000)
    settled(page)
    with suppress(LateError):  # what is lost stays lost; a slow machine is only waited for
        page.wait_for_function(
            "/users=/.test(location.search) && /ctx=/.test(location.search)", timeout=15_000
        )
    settled(page)
    query = parse_qs(urlsplit(page.url).query)
    assert set(query) == {"users", "ctx"}
    agree(page, users=query["users"][0], ctx=query["ctx"][0])


# ---------------------------------------------------------------- the link


def test_copy_link_reopens_the_same_numbers_in_a_fresh_profile(profile: Profile, server: str) -> None:
    context = profile(permissions=["clipboard-read", "clipboard-write"])
    page = opened(
        context.new_page(), f"{server}/?model=gemma-3-27b&weights=fp8&users=3&gpus=l40s-48gb.h100-sxm5-80gb"
    )
    grab(page)
    page.mouse.up()
    page.locator(CONTEXT).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("ctx="))
    settled(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(server)
    other = opened(profile().new_page(), copied)
    expect(other.locator(VERDICT)).to_have_text(verdict(page))
    assert numbers(other) == numbers(page)
    assert urlsplit(other.url).query == urlsplit(copied).query


def test_a_pasted_config_travels_in_the_link(profile: Profile, server: str, tmp_path: Path) -> None:
    context = profile(permissions=["clipboard-read", "clipboard-write"])
    page = opened(context.new_page(), server)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(model_config("qwen3-8b"), indent=2))
    page.get_by_text("Use your own config.json").click()
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_url(re.compile("config="))
    settled(page)
    expect(page.locator(VERDICT)).to_contain_text(re.compile("qwen3", re.IGNORECASE))
    page.get_by_role("button", name="Copy link").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    other = opened(profile().new_page(), copied)
    expect(other.locator(VERDICT)).to_have_text(verdict(page))
    assert numbers(other) == numbers(page)


def test_a_broken_upload_is_named_and_loses_nothing(page: Page, server: str, tmp_path: Path) -> None:
    opened(page, f"{server}/?ctx=4096")
    before = verdict(page)
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", ')
    page.get_by_text("Use your own config.json").click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("Not valid JSON")).to_be_visible(timeout=LOADED_MS)
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(before)
    assert urlsplit(page.url).query == "ctx=4096"


def test_a_hostile_link_is_named_and_harmless(page: Page, server: str) -> None:
    opened(
        page,
        f"{server}/?model=%3Cscript%3Ealert(1)%3C/script%3E&ctx=1e99&users=-3&gpus=x.l40s-48gb&config=eJx"
        "&zz=![a](http://example.invalid/p.png)&util=nan&ctx=5&kv=%00",
    )
    notice = page.locator(".st-key-link-notices")
    for name in ("model", "users", "gpus", "config", "zz", "util", "kv"):
        expect(notice.get_by_text(name, exact=True).first).to_be_visible()
    assert "more than once" in notice.inner_text()
    assert notice.locator("img").count() == 0
    page.get_by_role("button", name="Tidy the link").click()
    page.wait_for_url(re.compile(r"/\?ctx=5&gpus=l40s-48gb$|/\?gpus=l40s-48gb&ctx=5$"))
    settled(page)
    expect(notice).to_have_count(0)


def test_back_and_forward_walk_through_what_was_chosen(page: Page, server: str) -> None:
    opened(page, server)
    first = verdict(page)
    page.locator(CONTEXT).focus()
    page.keyboard.press("End")
    page.wait_for_url("**/?ctx=1048576")
    settled(page)
    last = verdict(page)
    length = page.evaluate("history.length")
    page.get_by_role("link", name="Compare").click()
    page.wait_for_url("**/compare?ctx=1048576")
    settled(page)
    assert page.evaluate("history.length") == length + 1
    page.go_back()
    page.wait_for_selector(VERDICT)
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(last)
    page.go_back()
    page.wait_for_url(f"{server}/")
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(first)
    expect(page.locator(CONTEXT)).to_have_attribute("aria-valuetext", "8,192 tokens")
    page.go_forward()
    page.wait_for_url("**/?ctx=1048576")
    settled(page)
    expect(page.locator(VERDICT)).to_have_text(last)


def test_a_link_survives_every_page(page: Page, server: str) -> None:
    """Menu clicks keep what the address carries, whichever page changed it last."""
    opened(page, f"{server}/?users=20&busy=0.5&base=l4-24gb")
    page.locator(CONTEXT).focus()
    page.keyboard.press("ArrowRight")
    wanted = {"users": "20", "busy": "0.5", "base": "l4-24gb", "ctx": "10240"}
    keeps = """wanted => Object.entries(wanted).every(
      ([name, value]) => new URLSearchParams(location.search).get(name) === value)"""
    page.wait_for_function(keeps, arg=wanted)
    for menu in ("Compare", "Learn", "Benchmarks", "Cost", "How far off?", "Fit"):
        page.get_by_role("link", name=menu, exact=True).click()
        page.wait_for_function(keeps, arg=wanted)
        settled(page)
        page.wait_for_function(keeps, arg=wanted)
    expect(page.locator(USERS)).to_have_attribute("aria-valuetext", "20 users")
    page.get_by_role("radio", name="Train").click()
    page.wait_for_url(re.compile("task=train"))
    settled(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    page.wait_for_function(keeps, arg=wanted | {"task": "train"})


def test_a_value_that_went_back_to_its_default_can_be_set_again(page: Page, server: str) -> None:
    opened(page, f"{server}/?ctx=16384")
    box = page.get_by_role("spinbutton", name="Context (max_model_len)")
    for tokens, query in (("8192", ""), ("4096", "ctx=4096"), ("8192", ""), ("2048", "ctx=2048")):
        box.fill(tokens)
        box.press("Enter")
        page.wait_for_function("query => location.search.slice(1) === query", arg=query)
        settled(page)
    for tokens, query in (("8192", ""), ("4096", "ctx=4096"), ("8192", ""), ("16384", "ctx=16384")):
        page.go_back()
        page.wait_for_function("query => location.search.slice(1) === query", arg=query)
        settled(page)
        expect(box).to_have_value(tokens)


# ---------------------------------------------------------------- the frame


@pytest.mark.parametrize("path", ["compare?ctx=4096", "fit?ctx=4096", "?ctx=4096"])
def test_a_deep_link_is_right_even_as_a_servers_first_request(browser: Browser, path: str) -> None:
    with running() as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{url}/{path}")
        title = "Compare GPUs" if path.startswith("compare") else "Does my model fit?"
        expect(page.get_by_role("heading", name=title)).to_be_visible(timeout=LOADED_MS)
        settled(page)
        assert page.get_by_role("dialog").count() == 0
        assert page.get_by_role("link", name="Compare").count() == 1
        assert "ctx=4096" in page.url
        context.close()


def test_a_slow_browser_on_a_cold_server_reports_nothing_that_was_not_chosen(browser: Browser) -> None:
    """Two runs reach a slow browser as one; no control may fall back to its own default then."""
    with running() as url:
        context = browser.new_context()
        page = context.new_page()
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        opened(page, f"{url}/?users=2")
        page.locator(CONTEXT).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_url(re.compile("ctx="))
        settled(page)
        assert parse_qs(urlsplit(page.url).query) == {"users": ["2"], "ctx": ["10240"]}
        assert page.locator("[data-bars] .row").count() == 5
        context.close()


def test_a_restart_of_the_server_restores_the_view(browser: Browser) -> None:
    port = free_port()
    context = browser.new_context()
    page = context.new_page()
    with running(port=port) as url:
        opened(page, f"{url}/?ctx=65536&users=2&model=llama-3.1-8b")
        before = verdict(page)
    with running(port=port):
        page.wait_for_timeout(3000)  # the open tab finds the server again by itself
        settled(page)
        expect(page.locator(VERDICT)).to_have_text(before)
        agree(page, model="llama-3.1-8b", ctx="65536", users="2")
        page.locator(USERS).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_url(re.compile("users=3"))
        settled(page)
        agree(page, model="llama-3.1-8b", ctx="65536", users="3")
        after = verdict(page)
        page.reload()
        page.wait_for_selector(VERDICT, timeout=LOADED_MS)
        settled(page)
        expect(page.locator(VERDICT)).to_have_text(after)
    context.close()


def test_the_landing_page_is_light(page: Page, server: str) -> None:
    """No Plotly at all on it, and the verdict comes before the large tables."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(
        """
        window.seen = {};
        const inside = (key, selector) => [...document.querySelectorAll(`.st-key-${key} *`)]
          .find((e) => e.shadowRoot)?.shadowRoot.querySelector(selector)?.textContent;
        const look = () => {
          if (inside("scrubber", "[data-verdict]")) seen.verdict ??= performance.now();
          if (inside("report", "[data-grid=matrix] [role=gridcell]")) seen.matrix ??= performance.now();
          requestAnimationFrame(look);
        };
        look();
        """
    )
    page.goto(server)
    page.wait_for_function("window.seen.verdict && window.seen.matrix", timeout=LOADED_MS)
    assert page.evaluate("seen.matrix - seen.verdict") > 0
    assert not [url for url in asked if "plotly" in url.lower()]


def test_a_cell_of_the_map_goes_there(page: Page, server: str) -> None:
    opened(page, server)
    row = page.locator("[data-grid=map] [role=row]").filter(
        has=page.locator("[role=rowheader]", has_text=re.compile("^4$"))
    )
    row.locator("[role=gridcell]").nth(4).click()
    page.wait_for_url(re.compile("ctx=16384&users=4"))
    settled(page)
    expect(page.locator(CONTEXT)).to_have_attribute("aria-valuetext", "16,384 tokens")
    expect(page.locator(USERS)).to_have_attribute("aria-valuetext", "4 users")


def test_a_cell_is_reached_and_pressed_by_keyboard(page: Page, server: str) -> None:
    opened(page, server)
    cells = page.locator("[data-grid=map] [role=gridcell]")
    assert cells.evaluate_all("cells => cells.filter((cell) => cell.tabIndex === 0).length") == 1
    page.locator("[data-grid=map] [data-here='1']").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("ctx=16384&users=2"))
    settled(page)
    agree(page, ctx="16384", users="2")


@pytest.mark.parametrize("width", [390, 820])
def test_nothing_scrolls_sideways(profile: Profile, server: str, width: int) -> None:
    page = opened(profile(width, 844, has_touch=True, is_mobile=width == 390).new_page(), server)
    assert sideways(page) <= 0
    if width == 390:
        for selector in (VERDICT, CONTEXT, USERS):
            box = page.locator(selector).bounding_box()
            assert box
            assert box["y"] + box["height"] < 844, f"{selector} is below the first screen"


def test_a_cell_of_the_matrix_pins_its_gpu(page: Page, server: str) -> None:
    opened(page, f"{server}/?gpus=l40s-48gb")
    row = page.locator("[data-grid=matrix] [role=row]", has_text="H200 SXM")
    row.scroll_into_view_if_needed()
    row.locator("[data-how=native]").first.click()
    page.wait_for_url(re.compile("gpus=l40s-48gb.h200-sxm-141gb"))
    settled(page)
    expect(page.locator("[data-bars] .row")).to_have_count(2)


# ---------------------------------------------------------------- accessibility


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(profile: Profile, server: str, scheme: str, width: int) -> None:
    """No exception is needed, not even for Streamlit's own chrome."""
    page = opened(profile(width, 900, color_scheme=scheme).new_page(), f"{server}/?ctx=banana")
    assert not violations(page)
