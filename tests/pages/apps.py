"""A page of the app without a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

# Expanders whose content is drawn only while they are open.
FOLDED = ("compare-filters", "compare-export", "benchmark-filters", "accuracy-rows-fold")
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


def _flat(parts: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        yield part
        yield from _flat(part["parts"] if part["kind"] == "fold" else ())


def parts(app: AppTest, *kinds: str) -> list[dict[str, Any]]:
    """The parts of the page's boards, folded ones too; of those kinds only, when any is named."""
    boards = [p.proto for p in app.get("bidi_component") if p.proto.component_name.endswith("board")]
    found = [part for proto in boards for part in _flat(json.loads(proto.json)["parts"])]
    return [part for part in found if not kinds or part["kind"] in kinds]


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The charts on its boards."""
    return parts(app, "rows", "plane")


def headings(app: AppTest) -> list[str]:
    """The headings on its boards."""
    return [part["text"] for part in parts(app, "heading")]


def column(sheet: dict[str, Any], title: str) -> list[Any]:
    """The cells of one column of a sheet, None where nothing is known."""
    (one,) = [c for c in sheet["columns"] if c["title"] == title]
    if "numbers" in one:
        return one["numbers"]
    return [None if place < 0 else one["texts"][place] for place in one["places"]]


def _words(part: dict[str, Any]) -> str:
    if part["kind"] == "text":
        spans = [span for line in part["lines"] for span in line]
        return "".join(span if isinstance(span, str) else next(iter(span.values())) for span in spans)
    return str(part.get("text", "")) + str(part.get("label", "")) + str(part.get("title", ""))


def text(app: AppTest) -> str:
    """Everything in words on it."""
    elements = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.subheader)
    return "\n".join([*(str(one.value) for one in elements), *map(_words, parts(app))])
