"""Components are mounted one way: numbered data, the newest has the last word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import mounted, state
from tests.pages.apps import APP

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "pages").rglob("*.js"))


def test_only_one_module_makes_components() -> None:
    makers = [path.name for path in (ROOT / "pages").rglob("*.py") if "components.v2" in path.read_text()]
    assert makers == ["mounted.py"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_exports_on_its_own(script: Path) -> None:
    assert not re.search(r"^export\b", script.read_text(encoding="utf-8"), re.M)


def numbers(app: AppTest) -> dict[str, int]:
    """The number of what each component on the page was given."""
    orders = {
        part.proto.component_name: json.loads(part.proto.json)["order"] for part in app.get("bidi_component")
    }
    assert len({session for session, _ in orders.values()}) == 1
    return {name: number for name, (_, number) in orders.items()}


def test_only_changed_data_get_another_number() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["users"] = "2"
    first = numbers(app.run())
    same = numbers(app.run())
    assert same == first, "what did not change is not drawn again"
    app.query_params["users"] = "3"
    later = numbers(app.run())
    changed = {name for name in first if later[name] > first[name]}
    assert {"headroom.scrubber", "headroom.report"} <= changed
    assert all(later[name] >= first[name] for name in first)


def test_each_message_is_heard_once_and_sees_what_the_one_before_it_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(mounted.st, "session_state", held)
    steps: list[Any] = []
    monkeypatch.setattr(state, "catch_up", lambda: steps.append("caught up"))
    told = {"pressed": steps.append}
    messages: list[Any] = [
        {"at": 1, "name": "pressed", "value": "x"},
        {"at": 2, "name": "pressed", "value": "y"},
    ]
    mounted.hear("form", messages, told)
    assert steps == ["x", "caught up", "y"]
    strange = [None, 3, {"at": "9"}, {"at": 3, "name": "else", "value": 1}, {"at": 4, "name": "pressed"}]
    mounted.hear("form", [*messages, *strange], told)
    mounted.hear("form", "nothing", told)
    mounted.hear("form", None, told)
    assert [step for step in steps if step != "caught up"] == ["x", "y"]
    mounted.hear("form", [{"at": 5, "name": "pressed", "value": "z"}], told)
    assert steps[-1] == "z"
