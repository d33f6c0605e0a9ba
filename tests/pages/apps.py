"""A page of the app without a browser."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

# Expanders whose content is drawn only while they are open.
FOLDED = (
    "compare-filters", "compare-numbers", "benchmark-filters",
    *(f"benchmark-numbers-{place}" for place in range(4)),
    "accuracy-numbers", "accuracy-wrong", "accuracy-apart", "accuracy-cards", "accuracy-rows-fold",
)  # fmt: skip
APP = Path(__file__).parents[2] / "app.py"


def opened(page: str, **query: str) -> AppTest:
    """A page other than the landing page, at a link."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    for key in FOLDED:
        app.session_state[key] = True
    app.run()
    app.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def text(app: AppTest) -> str:
    """Everything in words on it."""
    parts = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.subheader)
    return "\n".join(str(part.value) for part in parts)
