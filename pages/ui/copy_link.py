"""The "Copy link" button: puts the address of exactly this view on the clipboard."""

from __future__ import annotations

import streamlit as st

from calculators.scenario import Scenario
from pages.ui import link, state

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
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("[data-copy]");
  const told = parentElement.querySelector("output");
  const address = () =>
    window.location.origin + window.location.pathname + (data.query ? "?" + data.query : "");
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

_component = st.components.v2.component("headroom.copy_link", html=_HTML, css=_CSS, js=_JS)


def draw(scenario: Scenario) -> None:
    """The button for this scenario's link."""
    note = ""
    try:
        query = link.query_string(scenario)
    except link.LinkError:
        query = link.query_string(state.changed(scenario, config_json=""))
        note = "Copied, without your config.json: it is too large for a link"
    _component(key="copy-link", data={"query": query, "note": note}, width="content")
