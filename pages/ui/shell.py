"""The frame around every page: menu, link, notices, title, controls. The only caller of `st.navigation`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calculators.scenario import Scenario
from pages.ui import (
    controls,
    copy_link,
    cost_controls,
    cost_fields,
    fit_numbers,
    recommend_draw,
    recommend_fields,
    state,
    training_controls,
    use_cases_choices,
    warm,
)

PAGES_FOLDER = Path(__file__).parents[1]

# Parameters by page that its own controls change.
COMPARE = (
    "show", "prec", "base", "sparse", "mem", "memto", "year", "yearto", "vendor", "arch", "form", "cols",
    "priced", "only",
)  # fmt: skip
BENCHMARKS = (
    "lane", "bmodel", "bformat", "btest", "bcount", "bgpus", "doubt", "infer", "scen", "ishow", "train",
    "tshow", "rounds", "mcount", "by", "cat", "avail",
)  # fmt: skip
ACCURACY = ("est", "qty", "off")

# The owners of the link are never seen; the title leaves the first place to the answer.
STYLE = """<style>
.st-key-link-owners, .st-key-link-live-run, .st-key-link-last { display: none; }
.st-key-config-paste [data-testid="InputInstructions"] { display: none; }
[data-testid="stMainBlockContainer"] { padding-top: 4.5rem; }
[class*="st-key-change-"] { max-width: 40rem; }
:is(.st-key-ui-task, .st-key-ui-compare_view, .st-key-ui-bench_lane, .st-key-ui-accuracy_kind)
  > [data-testid="stButtonGroup"] { display: flex; flex-wrap: wrap; align-items: center; gap: 0.3rem 0.75rem }
:is(.st-key-ui-task, .st-key-ui-compare_view, .st-key-ui-bench_lane, .st-key-ui-accuracy_kind)
  [data-testid="stWidgetLabel"] { width: auto; margin: 0; min-height: 0; }
.st-key-page-head h1 { font-size: 1.25rem; padding: 0; font-weight: 600; }
[data-testid="stMain"] h2 { font-size: 1.35rem; padding: 1rem 0 0.25rem; }
[data-testid="stMain"] h3 { font-size: 1.1rem; }
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding: 3.75rem 1rem 2rem; } }
</style>"""


# The browser keeps the panel of the page before when the next one draws nothing in it.
NO_SIDEBAR = """<style>
:is([data-testid="stSidebar"], [data-testid="stExpandSidebarButton"]) { display: none !important; }
</style>"""


@dataclass(frozen=True, slots=True)
class PageSpec:
    """One page: `pages/<name>.py` is its file and its address; `sidebar` draws its part of the sidebar,
    None where it has none. shares: whether its address opens on the same view.

    top: what stands above the page and changes it whole.
    """

    name: str
    menu: str
    title: str
    help: str
    sidebar: Callable[[Scenario], None] | None
    live: Callable[[Scenario], Collection[str]] = lambda _: ()  # parameters that a fragment of it owns
    top: Callable[[], None] = lambda: None
    shares: bool = True


PAGES: tuple[PageSpec, ...] = (
    PageSpec(
        "fit",
        menu="Fit",
        title="Does my model fit?",
        help="Memory per GPU for a model, a context and a number of users",
        sidebar=training_controls.fit_sidebar,
        live=fit_numbers.live,
        top=training_controls.task_switch,
    ),
    PageSpec(
        "compare",
        menu="Compare",
        title="Compare GPUs",
        help="Specifications side by side, each figure with its source",
        sidebar=controls.compare_sidebar,
        live=lambda _: COMPARE,
    ),
    PageSpec(
        "recommend",
        menu="Recommend",
        title="Which GPU should I take?",
        help="Every GPU, count and format ranked for your task, with reasons; training or inference; duel",
        sidebar=recommend_draw.sidebar,
        live=recommend_fields.live,
    ),
    PageSpec(
        "cost",
        menu="Cost",
        title="What does it cost?",
        help="Cost per token, month, fine-tune and training run; rent or buy",
        sidebar=cost_controls.sidebar,
        live=cost_fields.live,
    ),
    PageSpec(
        "benchmarks",
        menu="Benchmarks",
        title="What others measured",
        help="llama.cpp and MLPerf results, each with its source",
        sidebar=controls.compare_sidebar,
        live=lambda _: BENCHMARKS,
    ),
    PageSpec(
        "use_cases",
        menu="Use cases",
        title="Who uses which GPU?",
        help="Real deployments: planned, announced, running or trained, each with its source",
        sidebar=None,
        live=lambda _: use_cases_choices.LIVE,
    ),
    PageSpec(
        "learn",
        menu="Learn",
        title="What decides fit and speed?",
        help="Six short lessons, each with a picture to drag, and every term in one sentence",
        sidebar=None,
        shares=False,  # where its sliders stand is nowhere kept
    ),
    PageSpec(
        "accuracy",
        menu="How far off?",
        title="How far off are we?",
        help="Every estimate beside what others measured",
        sidebar=controls.compare_sidebar,
        live=lambda _: ACCURACY,
    ),
)


def navigation() -> PageSpec:
    """Declare the pages; the one that the address asks for. The first page is the landing page.

    Streamlit serves the landing page at the root alone, so its own name is declared a second time, hidden.
    """
    first, *others = PAGES
    pages = [
        st.Page(f"pages/{first.name}.py", title=first.menu, url_path="home", default=True),
        *(st.Page(f"pages/{spec.name}.py", title=spec.menu) for spec in others),
        st.Page(f"pages/{first.name}.py", title=first.menu, url_path=first.name, visibility="hidden"),
    ]
    chosen = st.navigation(pages, position="top")
    return next(spec for spec in PAGES if spec.menu == chosen.title)


def view() -> Scenario:
    """The reader's scenario. Every page starts with it; one opened without the shell goes back through it."""
    scenario = state.held()
    if scenario is None:
        navigation()
        st.rerun()
    return scenario


def run() -> None:
    """One run of the app: menu, link, title, notices, sidebar, page."""
    spec = navigation()
    st.html(STYLE if spec.sidebar else STYLE + NO_SIDEBAR)
    last = st.container(key="link-last")
    state.start_run()
    scenario, notices = state.read(spec.live)
    state.remember(scenario)
    state.hold(scenario)
    try:
        with st.container(key="page-top"):  # one place, so that what follows keeps its own
            with st.container(
                horizontal=True,
                horizontal_alignment="distribute",
                vertical_alignment="center",
                key="page-head",
            ):
                st.title(spec.title, anchor=False, width="content")
                if spec.shares:
                    copy_link.draw(scenario, spec.live(scenario), {notice.param for notice in notices})
            if notices:
                _tell(notices)
            spec.top()
        if spec.sidebar:
            with st.sidebar:
                spec.sidebar(scenario)
        _live(spec.name)
    finally:
        state.release()
    with last:
        state.end_run()
    warm.once()


@cache
def _code(name: str) -> CodeType:
    """A page's file, compiled."""
    path = PAGES_FOLDER / f"{name}.py"
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


@st.fragment
def _live(name: str) -> None:
    """A page and the link's owners as a fragment: its own parameters change without menu, title and sidebar.

    The fragment belongs to the whole app, like the parameters: what a page binds leaves the address with it.
    A page object can run once only; a fragment runs its file again and again.
    """
    state.hold(state.read_live())
    try:
        context = get_script_run_ctx()
        own = context.run_with_active_hash(context.page_script_hash) if context else nullcontext()
        with own:
            exec(_code(name), {"__name__": "__main__"})
    finally:
        state.release()
    state.end_live()


def _tell(notices: tuple) -> None:
    """Name what in the address was not used, and offer to tidy it."""
    lines = "\n".join(f"- {notice.text()}" for notice in notices)
    with st.container(key="link-notices"):
        st.warning(f"This link holds values that were not used as they stand:\n\n{lines}")
        st.button("Tidy the link", on_click=state.clean_link, key="tidy-link")
