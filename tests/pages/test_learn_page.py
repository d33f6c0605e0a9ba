"""The Learn page: every picture from the calculators, every link into Fit works; the glossary is complete."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calculators.scenario import Scenario
from gpu_data.training import training_tables
from pages.ui import (
    accuracy_views,
    benchmarks_table,
    catalogue,
    glossary,
    link,
    plain_table,
    speed_views,
)
from pages.ui.lesson_pictures import PICTURES
from pages.ui.lesson_types import Picture
from pages.ui.lessons import lessons, prose

APP = Path(__file__).parents[2] / "app.py"
GIB = 2**30
DRAWN = {name: draw() for name, draw in PICTURES.items()}
# Set by components or by pressing a part of the page, never by a control with a label of its own.
NO_CONTROL = {"map_gpu", "cost_gpu", "config_json", "price_edits", "purchase_edits"}


def value(name: str, stop: str, bar: str) -> float:
    """What a bar shows at a stop, all parts together."""
    picture = DRAWN[name]
    return float(picture.values[picture.stops.index(stop), picture.bars.index(bar)].sum())


def test_each_lesson_has_a_picture_and_the_other_way_round() -> None:
    assert set(prose()) == set(PICTURES)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_whole(name: str) -> None:
    picture: Picture = DRAWN[name]
    stops, bars, parts = len(picture.stops), len(picture.bars), len(picture.parts)
    assert picture.values.shape == (stops, bars, parts)
    assert np.isfinite(picture.values).all()
    assert (picture.values >= 0).all()
    assert (picture.values.sum(axis=2) <= picture.scale[:, None] * (1 + 1e-9)).all()
    assert len(set(picture.stops)) == stops == len(picture.sentences) == len(picture.links)
    assert 0 <= picture.start < stops
    assert all(len(row) == bars for row in picture.said)


@pytest.mark.parametrize("name", DRAWN)
def test_every_link_opens_a_scenario_as_it_stands(name: str) -> None:
    for (_, scenario), (_, address) in zip(DRAWN[name].links, DRAWN[name].data()["links"], strict=True):
        query = parse_qs(urlsplit(address).query)
        assert link.parse(query, catalogue.known()) == (scenario, ())


# Values that others published, at one stop of a picture: (picture, stop, bar, value, tolerance, where from).
PUBLISHED = [
    ("sparse", "H100 SXM5 80GB", "With sparsity", 1979, 0.001, "NVIDIA H100 datasheet"),
    ("sparse", "H100 SXM5 80GB", "Dense", 989.4, 0.001, "NVIDIA Hopper white paper, table 2"),
    ("sparse", "A100 SXM4 80GB", "Fastest measured", 271.2, 0.001, "Bekman, ML Engineering"),
    ("gib", "RTX A6000 48GB", "If GB were 10⁹ bytes", 48e9 / GIB, 1e-6, "definition of GB and GiB"),
    ("gib", "H100 SXM5 80GB", "What a program sees", 85_028_896_768 / GIB, 1e-6, "CUDA deviceQuery"),
    ("experts", "Mixtral 8x7B", "Held in memory", 46.7e9 * 2, 0.005, "Mixtral paper, 16 bits"),
    ("experts", "DeepSeek-V3", "Held in memory", 671e9, 0.02, "DeepSeek-V3 report, FP8"),
]


@pytest.mark.parametrize(
    ("name", "stop", "bar", "expected", "tolerance", "source"), PUBLISHED, ids=[p[5] for p in PUBLISHED]
)
def test_pictures_show_what_others_published(
    name: str, stop: str, bar: str, expected: float, tolerance: float, source: str
) -> None:
    stop = next(one for one in DRAWN[name].stops if one.endswith(stop))
    assert value(name, stop, bar) == pytest.approx(expected, rel=tolerance), source


def test_the_kv_cache_of_sixteen_users_is_that_of_the_config() -> None:
    # 2 (K and V) x 32 layers x 8 KV heads x 128 wide x 2 bytes, for 16 users of 8,192 tokens
    picture = DRAWN["memory"]
    k = picture.stops.index("8,192 tokens")
    cache = picture.values[k, picture.bars.index("Serve 16 users"), picture.parts.index("KV cache")]
    assert cache == pytest.approx(2 * 32 * 8 * 128 * 2 * 16 * 8192, rel=0.01)


def test_serving_has_no_gradients_and_training_no_kv_cache() -> None:
    picture = DRAWN["memory"]
    parts = {name: picture.values[:, :, k] for k, name in enumerate(picture.parts)}
    serving, training = slice(0, 2), slice(2, 4)
    assert not parts["Gradients"][:, serving].any()
    assert not parts["Optimiser"][:, serving].any()
    assert not parts["KV cache"][:, training].any()
    assert (parts["Optimiser"][:, 2] < 0.05 * parts["Optimiser"][:, 3]).all()  # QLoRA against full


def test_bandwidth_decides_one_token_and_compute_a_thousand() -> None:
    reading, computing = DRAWN["bandwidth"].values[:, 0, 0], DRAWN["bandwidth"].values[:, 1, 0]
    assert reading[0] > 10 * computing[0]
    assert computing[-1] > reading[-1]
    assert (np.diff(computing) > 0).all()


def test_only_a_card_without_nvlink_waits_for_pcie() -> None:
    rows = {gpu: catalogue.spec_row(gpu) for gpu in ("l40s-48gb", "h100-sxm5-80gb")}
    assert not rows["l40s-48gb"]["interconnect_gb_per_s"] > 0
    assert "NVLink" in rows["h100-sxm5-80gb"]["interconnect"]
    exchange = DRAWN["split"].values[1:, :, 1]
    assert (exchange[:, 0] > exchange[:, 2]).all()  # tensor parallel: L40S against H100
    assert not exchange[:, [1, 3]].any()  # pipeline


def test_measured_rates_stay_below_the_dense_peak() -> None:
    picture = DRAWN["sparse"]
    assert (picture.values[:, 2] <= picture.values[:, 1]).all()
    assert {c.dtype for c in training_tables().ceilings} >= {"bf16"}


def test_the_page() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    app.switch_page("pages/learn.py").run()
    assert not app.exception
    assert app.title[0].value.startswith("What decides")
    assert len(lessons()) == len(prose())
    assert all(one["about"].endswith(".") for one in lessons())


def test_every_control_has_a_sentence() -> None:
    assert set(glossary.FIELDS) == set(Scenario.model_fields) - NO_CONTROL


@pytest.mark.parametrize("term", glossary.TERMS)
def test_a_term_is_one_short_sentence(term: str) -> None:
    said = glossary.TERMS[term]
    assert said.endswith(".")
    assert ". " not in said
    assert len(said) <= 120


def test_every_column_of_a_table_has_a_sentence() -> None:
    titles = {*speed_views.TITLES, *accuracy_views.TABLE_COLUMNS.values()}
    for rows in (benchmarks_table._LLAMACPP, benchmarks_table._INFERENCE, benchmarks_table._TRAINING):
        titles |= {column.title for column, _ in rows}
    assert titles <= set(glossary.COLUMNS)


def test_a_plain_table_says_what_its_columns_are() -> None:
    hints = plain_table.table("", ("GPU", "Not a known title"), [])["hints"]
    assert hints == [glossary.COLUMNS["GPU"], ""]


@pytest.mark.parametrize("title", glossary.COLUMNS)
def test_a_column_s_sentence_is_short(title: str) -> None:
    assert glossary.COLUMNS[title].endswith(".")
    assert len(glossary.COLUMNS[title]) <= 120


def test_a_control_without_help_shows_the_glossary_s() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    engine = next(box for box in app.sidebar.selectbox if box.label == "Engine")
    assert engine.help == glossary.FIELDS["engine"]
    assert all(
        box.help for box in (*app.sidebar.selectbox, *app.sidebar.number_input) if box.key != "add-gpu"
    )
