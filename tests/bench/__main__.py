"""Speed of the pages against the Streamlit floor, in a real Chromium: `make bench`.

Both apps run on the same machine in the same run and are measured alternately, because absolute times
depend on the machine. Reported are medians and their ratio to the floor; nothing here is an assertion.

- release: a slider lets go -> the last change of the page (document mutations have been quiet since)
- first: a fresh browser profile on a warm server -> first verdict (app), first chart (floor)
- drag: redraws a second of the live component while the pointer moves, and WebSocket messages sent meanwhile
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser.server import CHROMIUM_ARGS, chromium_path, running

FLOOR_APP = Path(__file__).with_name("floor_app.py")
APP = Path(__file__).resolve().parents[2] / "app.py"
QUIET_MS = 500

# Times every change of the document and of the components in it; `lastChange` is what the measurements read.
WATCH = """() => {
  window.lastChange = performance.now();
  window.watching ??= new MutationObserver(() => { window.lastChange = performance.now(); });
  const everything = {subtree: true, childList: true, attributes: true, characterData: true};
  const watch = root => root.querySelectorAll('*').forEach(e => {
    if (!e.shadowRoot) return;
    window.watching.observe(e.shadowRoot, everything);
    watch(e.shadowRoot);
  });
  window.watching.observe(document.body, everything);
  watch(document);
}"""
IDLE = """quiet => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'
  && performance.now() - window.lastChange > quiet"""


def settle(page: Page) -> None:
    """Wait until the script has ended and the document has been quiet."""
    page.wait_for_function(IDLE, arg=QUIET_MS, timeout=60_000)


def release_ms(page: Page, steps: Iterator[None]) -> float:
    """From a control's release to the last change it causes [ms]; before their yield `steps` get ready."""
    page.evaluate(WATCH)
    next(steps)
    settle(page)
    start = page.evaluate("performance.now()")
    next(steps, None)
    page.wait_for_function("start => window.lastChange > start + 1", arg=start, timeout=60_000)
    settle(page)
    return page.evaluate("window.lastChange") - start


@contextmanager
def fresh(browser: Browser) -> Iterator[Page]:
    """A page in a profile that has never seen the app."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    try:
        yield context.new_page()
    finally:
        context.close()


def first_ms(browser: Browser, url: str, selector: str) -> float:
    """From navigation to the first sight of `selector` in a fresh profile [ms]."""
    with fresh(browser) as page:
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(selector, state="visible", timeout=60_000)
        return (time.perf_counter() - start) * 1e3


def drag(page: Page, selector: str, seconds: float = 2.0) -> dict[str, float]:
    """Redraws a second and messages sent while the pointer drags the component's slider."""
    sent: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda _frame: sent.append(ws)))
    page.reload()
    slider = page.locator(selector).first
    slider.wait_for(state="visible")
    page.evaluate(WATCH)
    settle(page)
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.2, y)
    page.mouse.down()
    before = len(sent)
    page.evaluate(
        """selector => {
          const find = root => root.querySelector(selector)
            ?? [...root.querySelectorAll('*')].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
          const output = find(document).getRootNode().querySelector('[data-bars]');
          window.redraws = 0;
          let dirty = false;
          new MutationObserver(() => { dirty = true; })
            .observe(output, {subtree: true, childList: true, attributes: true, characterData: true});
          const frame = () => {
            if (dirty) { window.redraws += 1; dirty = false; }
            requestAnimationFrame(frame);
          };
          requestAnimationFrame(frame);
        }""",
        selector,
    )
    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < seconds:
        share = 0.5 + 0.4 * (2 * abs((steps / 60) % 1 - 0.5) - 0.5) * 2
        page.mouse.move(box["x"] + box["width"] * share, y)
        steps += 1
    elapsed = time.perf_counter() - start
    redraws = page.evaluate("window.redraws")
    during = len(sent) - before
    page.mouse.up()
    return {
        "redraws_per_s": redraws / elapsed,
        "moves_per_s": steps / elapsed,
        "messages_during_drag": during,
    }


Press = Callable[[Page, int], Iterator[None]]  # gets ready, yields once, lets go


def arrows(selector: str, stops: int = 1) -> Press:
    """A slider one stop after the other to the left, then as many to the right, by keyboard."""

    def press(page: Page, turn: int) -> Iterator[None]:
        page.locator(selector).first.focus()
        yield
        page.keyboard.press("ArrowRight" if turn // stops % 2 else "ArrowLeft")

    return press


def typed(label: str, *values: str) -> Press:
    """One number after the other, by Enter."""

    def press(page: Page, turn: int) -> Iterator[None]:
        page.get_by_role("spinbutton", name=label).first.fill(values[turn % len(values)])
        yield
        page.keyboard.press("Enter")

    return press


def _let_go(control: Locator) -> Iterator[None]:
    """The pointer goes down on a control, then up."""
    control.hover()
    control.page.mouse.down()
    yield
    control.page.mouse.up()


def buttons(*names: str) -> Press:
    """One of two buttons, then the other."""

    def press(page: Page, turn: int) -> Iterator[None]:
        yield from _let_go(page.get_by_role("button", name=names[turn % 2], exact=True).first)

    return press


def toggled(name: str) -> Press:
    """One filter on, then off."""

    def press(page: Page, turn: int) -> Iterator[None]:
        yield from _let_go(page.locator("fieldset").get_by_role("button", name=name, exact=True))

    return press


def switched(name: str) -> Press:
    """A switch on, then off."""

    def press(page: Page, _turn: int) -> Iterator[None]:
        yield from _let_go(page.get_by_text(name, exact=True).first)

    return press


def choices(*names: str) -> Press:
    """One of two buttons of a group, then the other."""

    def press(page: Page, turn: int) -> Iterator[None]:
        yield from _let_go(page.get_by_role("radio", name=names[turn % 2], exact=True).first)

    return press


SCRUBBER = "input[type=range][data-scrubber]"
CHART = ".chart"
COSTS, RANKING = ".st-key-cost-report table", ".st-key-recommend-report table"
USERS = tuple(str(users) for users in range(21, 61))
FLOOR_SLIDER = "input[type=range]"
# page: (address, what must be seen first, what is pressed); most presses ask what was not asked before
PAGES: dict[str, tuple[str, str, Press]] = {
    "fit": ("/", SCRUBBER, arrows(SCRUBBER, 12)),
    "fine-tune": ("/?task=finetune", SCRUBBER, arrows(SCRUBBER, 6)),
    "train": ("/?task=train", SCRUBBER, arrows(SCRUBBER, 8)),
    "fit, number": ("/", SCRUBBER, typed("GPUs of each kind", "2", "1")),
    "fit, sidebar": ("/", SCRUBBER, switched("Show announced GPUs")),
    "fine-tune, sidebar": ("/?task=finetune", SCRUBBER, choices("LoRA", "QLoRA")),
    "train, number": ("/?task=train", SCRUBBER, typed("Micro-batch", "2", "1")),
    "compare": ("/compare?show=tensor", CHART, choices("FP8", "FP16")),
    "compare, table": ("/compare", "[role=grid] tbody tr", buttons("Power", "Power")),
    "cost": ("/cost?users=20", COSTS, typed("users at once", *USERS)),
    "cost, price": ("/cost?users=20", COSTS, typed("Price of an hour of H100 SXM5 80GB", "2.5", "2.6")),
    "cost, view": ("/cost?users=20", COSTS, buttons("A million tokens", "A month")),
    "recommend": ("/recommend?users=20", RANKING, typed("users at once", *USERS)),
    "recommend, view": ("/recommend?users=20", RANKING, buttons("Duel", "Which to take")),
    "use cases": ("/use_cases", ".cards > li", toggled("trained")),
    "benchmarks": ("/benchmarks?lane=inference", CHART, choices("Per system", "Per GPU")),
    "accuracy": ("/accuracy?off=gpu", CHART, choices("By engine", "By GPU")),
}


def release(browser: Browser, app_url: str, floor_url: str, name: str, runs: int) -> dict[str, float]:
    """Medians of one page and of the floor, pressed alternately [ms]."""
    path, sight, press = PAGES[name]
    floor_press = arrows(FLOOR_SLIDER)
    times: dict[str, list[float]] = {"app": [], "floor": []}
    with fresh(browser) as app, fresh(browser) as floor:
        for page, url, seen in ((app, app_url + path, sight), (floor, floor_url, FLOOR_SLIDER)):
            page.goto(url)
            page.locator(seen).first.wait_for(state="attached", timeout=60_000)
            page.wait_for_timeout(2000)  # the heavy views follow the first sight
        for turn in range(runs):
            times["app"].append(release_ms(app, press(app, turn)))
            times["floor"].append(release_ms(floor, floor_press(floor, turn)))
    medians = {
        kind: statistics.median(values[2:]) for kind, values in times.items()
    }  # the first ones warm up
    return medians | {"ratio": medians["app"] / medians["floor"]}


def measure(runs: int, pages: list[str]) -> dict[str, object]:
    """All figures of the bench, alternating the app and the floor."""
    with (
        running(APP) as app_url,
        running(FLOOR_APP) as floor_url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        sights = {"app": (app_url, "[data-verdict]"), "floor": (floor_url, ".js-plotly-plot .barlayer")}
        for url, selector in sights.values():
            first_ms(browser, url, selector)  # warms the server
        times: dict[str, list[float]] = {"app": [], "floor": []}
        for _ in range(runs):
            for name, (url, selector) in sights.items():
                times[name].append(first_ms(browser, url, selector))
        first = {name: statistics.median(values) for name, values in times.items()}
        first["ratio"] = first["app"] / first["floor"]
        released = {}
        for name in pages:
            released[name] = release(browser, app_url, floor_url, name, runs * 4)
            print(name, json.dumps(released[name]), file=sys.stderr, flush=True)  # noqa: T201
        with fresh(browser) as page:
            page.goto(app_url)
            dragged = drag(page, SCRUBBER)
        browser.close()
    return {"first_ms": first, "release_ms": released, "drag": dragged}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--pages", nargs="*", default=list(PAGES), choices=list(PAGES))
    given = parser.parse_args()
    print(json.dumps(measure(given.runs, given.pages), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
