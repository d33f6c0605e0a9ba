"""Each term in the interface has a tooltip: every control, button of several and column title."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.proto.LabelVisibility_pb2 import LabelVisibility
from streamlit.testing.v1 import AppTest

from pages.ui import catalogue
from tests.pages.apps import opened

VIEWS: list[tuple[str, dict[str, str]]] = [
    ("fit", {}),
    ("fit", {"task": "finetune"}),
    ("fit", {"task": "train", "days": "30"}),
    ("recommend", {}),
    ("recommend", {"users": "20", "free": "any", "tier": "own"}),
    ("recommend", {"serving": "batch"}),
    ("recommend", {"serving": "images"}),
    ("recommend", {"task": "finetune"}),
    ("recommend", {"task": "train", "days": "30"}),
    ("recommend", {"look": "purposes"}),
    ("recommend", {"look": "duel"}),
    ("recommend", {"look": "judgements"}),
    ("cost", {}),
    ("cost", {"task": "finetune", "tier": "own"}),
    ("cost", {"task": "train"}),
    *(("compare", {"show": view}) for view in ("table", "tensor", "roofline", "map")),
    ("compare", {"base": "a100-sxm4-80gb", "cols": "memory.price.notes"}),
    *(("benchmarks", {"lane": lane}) for lane in ("llamacpp", "inference", "training")),
    *(("accuracy", {"est": kind}) for kind in ("memory", "decode", "training")),
    ("use_cases", {}),
    ("learn", {}),
]
WIDGETS = (
    "selectbox", "number_input", "text_input", "text_area", "slider", "toggle", "checkbox", "multiselect",
    "radio", "button_group",
)  # fmt: skip


def _parts(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
        data = list(data.values())
    if isinstance(data, list):
        for one in data:
            yield from _parts(one)


def _without(app: AppTest) -> Iterator[str]:
    """What is seen on a page and has no tooltip."""
    names = {catalogue.gpu_name(str(gpu)) for gpu in catalogue.gpus().index}
    for kind in WIDGETS:
        for widget in app.get(kind):
            proto: Any = widget.proto
            hidden = proto.label_visibility.value != LabelVisibility.LabelVisibilityOptions.VISIBLE
            if str(widget.key or "").startswith("ui-") and (hidden or not proto.help):
                yield f"{kind} {proto.label}"
    for component in app.get("bidi_component"):
        for part in _parts(json.loads(component.proto.json or "{}")):
            if isinstance(part.get("titles"), list) and part.get("rows"):
                hints = part.get("hints") or [""] * len(part["titles"])
                for title, hint in zip(part["titles"], hints, strict=True):
                    if isinstance(title, str) and title and not hint and title not in names:
                        yield f"column {title}"
            for column in part.get("columns", ()) if part.get("kind") == "sheet" else ():
                if not column["hint"]:
                    yield f"column {column['title']}"
            control = "label" in part and ("field" in part or "id" in part) and "kind" not in part
            if control and not (part.get("help") or part.get("hint")):
                yield f"control {part['label']}"


@pytest.mark.parametrize(("page", "query"), VIEWS, ids=str)
def test_nothing_is_without_a_tooltip(page: str, query: dict[str, str]) -> None:
    app = opened(page, **query)
    assert not app.exception
    assert sorted(set(_without(app))) == []
