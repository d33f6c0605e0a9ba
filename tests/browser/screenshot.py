"""Takes the README's picture of the Fit page: `python -m tests.browser.screenshot`."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.server import CHROMIUM_ARGS, chromium_path, running

TARGET = Path(__file__).parent / "screenshots" / "fit.png"
VIEW = "/?model=qwen3-32b&weights=awq-int4&ctx=32768"


def main() -> None:
    """Open the view in a fresh profile and keep what the first screen shows."""
    with running() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page.goto(url + VIEW)
        page.wait_for_selector("[data-verdict]", state="visible")
        page.wait_for_selector('[data-testid=stApp][data-test-script-state="notRunning"]')
        page.wait_for_timeout(1500)
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
