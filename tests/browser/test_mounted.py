"""A component's script in a real Chromium: answers that come in the wrong order."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from pages.ui.mounted import NEWEST

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
    call({ parentElement: places[place], data: { order: [session, number] } });
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
    assert page.evaluate(DRAWN, [NEWEST, calls]) == drawn
