"""Compare GPUs: the spec table, one chart at a time, where each number is from, and the export."""

from pages.ui import compare_draw, shell
from pages.ui.compare_choices import PRECISIONS
from pages.ui.compare_select import Filters, choose
from pages.ui.compare_views import bandwidth_view, map_view, roofline_view, tensor_view, watt_view

scenario = shell.view()
filters = Filters.of(scenario)
choice = choose(scenario.gpus, filters, scenario.baseline)
precision = PRECISIONS[scenario.precision]

compare_draw.view_picker()
compare_draw.filter_controls()

match scenario.compare_view:
    case "table":
        compare_draw.table_controls(choice)
        compare_draw.spec_table(choice, filters, scenario.column_groups)
    case "bandwidth":
        compare_draw.chart_controls(choice)
        compare_draw.chart(choice, filters, bandwidth_view(choice))
    case "tensor":
        compare_draw.chart_controls(choice, precision=True, sparse=True)
        compare_draw.chart(choice, filters, tensor_view(choice, precision, scenario.sparse))
    case "roofline":
        compare_draw.chart_controls(choice, baseline=False, precision=True)
        compare_draw.chart(choice, filters, roofline_view(choice, precision))
    case "map":
        compare_draw.chart(choice, filters, map_view(choice))
    case "watt":
        compare_draw.chart_controls(choice, precision=True)
        compare_draw.chart(choice, filters, watt_view(choice, precision))
compare_draw.export_buttons(choice, scenario)
