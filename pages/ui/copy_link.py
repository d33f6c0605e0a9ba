"""The "Copy link" button: puts the address of exactly this view on the clipboard."""

from __future__ import annotations

from collections.abc import Collection

from calculators.scenario import Scenario
from pages.ui import link, mounted, state

_HTML = """
<button type="button" data-copy>Copy link</button>
<output aria-live="polite"></output>
"""

_CSS = """
:host { font-family: var(--st-font); }
div, button, output { font-size: 0.875rem; }
button {
  background: var(--st-background-color); color: var(--st-text-color); cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
  padding: 0.35rem 0.8rem; font: inherit; font-size: 0.875rem; white-space: nowrap;
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
output { color: var(--st-text-color); margin-inline-start: 0.4rem; }
"""

_JS = """
function mount({ parentElement, data }) {
  const button = parentElement.querySelector("[data-copy]");
  const told = parentElement.querySelector("output");
  const address = () => {
    const query = new URLSearchParams(data.query);
    const now = new URLSearchParams(window.location.search);
    // What a fragment of the page changed since stands in the address alone.
    for (const name of data.live) {
      const value = now.get(name);
      if (!value) query.delete(name);
      else if (query.get(name) !== value && !data.noted.includes(name)) query.set(name, value);
    }
    const text = query.toString();
    return window.location.origin + window.location.pathname + (text ? "?" + text : "");
  };
  const copy = async (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    // Plain http has no clipboard API: select the text in a throw-away field instead.
    const field = document.createElement("textarea");
    field.value = text;
    field.style.position = "fixed";
    field.style.opacity = "0";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("copy refused");
  };
  button.onclick = async () => {
    try {
      await copy(address());
      told.textContent = data.note || "Copied";
    } catch {
      told.textContent = "The browser refused. Copy the address bar instead.";
    }
    setTimeout(() => { told.textContent = ""; }, 4000);
  };
}
"""

_component = mounted.component("copy_link", html=_HTML, css=_CSS, js=_JS)


def draw(scenario: Scenario, live: Collection[str], noted: Collection[str]) -> None:
    """The button for this scenario's link.

    `live` names parameters that change without this being drawn again, `noted` those that are not used as
    they stand in the address.
    """
    note = ""
    try:
        query = link.query_string(scenario)
    except link.LinkError:
        query = link.query_string(state.changed(scenario, config_json=""))
        note = "Copied, without your config.json: it is too large for a link"
    data = {"query": query, "note": note, "live": list(live), "noted": list(noted)}
    _component(key="copy-link", data=data, width="content")
