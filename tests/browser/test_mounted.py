"""A component's script in a real Chromium: answers in the wrong order, presses in quick succession."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from pages.ui.mounted import IN_ORDER

pytestmark = pytest.mark.browser

# What a script draws of calls that each bring [session, number]; a third says in which of two places.
DRAWN = """
async ([script, calls]) => {
  const own = "export const drawn = []; const mount = ({ data }) => { drawn.push(data.order[1]); };";
  const source = `${own}\n${script}`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: call, drawn } = await import(address);
  const places = [document.createElement("i"), document.createElement("i")];
  for (const [session, number, place = 0] of calls) {
    call({ parentElement: places[place], data: { order: [session, number], heard: 0 } });
  }
  return drawn;
}
"""


@pytest.mark.parametrize(
    ("calls", "drawn"),
    [
        ([["a", 1], ["a", 2]], [1, 2]),
        ([["a", 2], ["a", 1]], [2]),
        ([["a", 1], ["a", 1]], [1, 1]),  # a theme changed: the same data again
        ([["a", 3], ["a", 1], ["a", 4], ["a", 2]], [3, 4]),
        ([["a", 7], ["b", 1]], [7, 1]),  # a server that was started again counts anew
        ([["a", 7], ["a", 1, 1]], [7, 1]),  # the same component in another place
    ],
    ids=["in order", "swapped", "the same again", "shuffled", "restarted server", "another place"],
)
def test_an_older_answer_never_replaces_a_newer_one(page: Page, calls: list, drawn: list[int]) -> None:
    page.goto("about:blank")
    assert page.evaluate(DRAWN, [IN_ORDER, calls]) == drawn


# Presses told between answers; each answer brings [session, number, heard]. What was sent every time.
SENT = """
async ([script, steps]) => {
  const own = "export let press; const mount = ({ tell }) => { press = tell; };";
  const address = URL.createObjectURL(new Blob([`${own}\n${script}`], { type: "text/javascript" }));
  const module = await import(address);
  const parentElement = document.createElement("i");
  const sent = [];
  const setStateValue = (name, list) => sent.push(list.map(({ at, value }) => `${value}${at}`).join(" "));
  for (const step of steps) {
    if (typeof step === "string") module.press("pressed", step);
    else {
      const [session, number, heard] = step;
      module.default({ parentElement, setStateValue, data: { order: [session, number], heard } });
      await new Promise((done) => setTimeout(done, 5));
    }
  }
  return sent;
}
"""


@pytest.mark.parametrize(
    ("steps", "sent"),
    [
        ([["a", 1, 0], "x", ["a", 2, 1], "y"], ["x1", "y2"]),
        ([["a", 1, 0], "x", "y", "z"], ["x1", "x1 y2", "x1 y2 z3"]),
        ([["a", 1, 0], "x", "y", ["a", 2, 1], "z"], ["x1", "x1 y2", "y2 z3"]),
        ([["a", 9, 7], "x"], ["x8"]),
        ([["a", 1, 0], "x", ["b", 1, 0], ["b", 2, 2], "y"], ["x1", "x2", "y3"]),
    ],
    ids=["one by one", "before the answer", "half heard", "the page came back", "restarted server"],
)
def test_no_press_is_lost_and_none_is_told_twice_for_long(page: Page, steps: list, sent: list[str]) -> None:
    page.goto("about:blank")
    assert page.evaluate(SENT, [IN_ORDER, steps]) == sent
