"""Streamlit's own colours for figures that are plain dicts.

A dict handed to `st.plotly_chart` gets the fonts but not the palette, and axis text in a grey of 3.7:1.
Plotly figure objects carry Streamlit's template, whose colours are tokens that the browser replaces by the
current mode's; the two tokens needed are taken from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

Figure = dict[str, Any]
# Colours that our theme defines. A token beyond them becomes "undefined", and Plotly drops the whole palette.
PALETTE: Final = 8


@cache
def _tokens() -> tuple[tuple[str, ...], str]:
    """The palette and the strong text colour of Streamlit's Plotly template."""
    import plotly.io  # not before a chart is drawn
    import streamlit  # noqa: F401  # registers its template

    template = plotly.io.templates["streamlit"].to_plotly_json()
    strong = template["data"]["table"][0]["cells"]["font"]["color"]
    return tuple(template["layout"]["colorway"][:PALETTE]), strong


def themed(figure: Figure) -> Figure:
    """The figure with the theme's palette and its strong text colour; the given one is not changed."""
    palette, strong = _tokens()
    layout = dict(figure["layout"])
    layout["template"] = {"layout": {"colorway": list(palette)}}
    layout["font"] = {"color": strong, **layout.get("font", {})}
    for name in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        axis = dict(layout[name])
        axis["tickfont"] = {"color": strong, **axis.get("tickfont", {})}
        if "title" in axis:
            title = axis["title"]
            axis["title"] = {**title, "font": {"color": strong, **title.get("font", {})}}
        layout[name] = axis
    return {**figure, "layout": layout}
