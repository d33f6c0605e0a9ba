"""Benchmarks: what others measured, each result with its source, one question and one unit at a time."""

from pages.ui import benchmarks_draw, shell
from pages.ui.benchmarks_select import select
from pages.ui.benchmarks_views import sections

scenario = shell.view()

benchmarks_draw.lane_picker()
benchmarks_draw.question(scenario.bench_lane, scenario)
selected = select(scenario)
benchmarks_draw.filters(selected)
benchmarks_draw.results(selected, scenario, sections(selected, scenario))
