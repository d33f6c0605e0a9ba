"""How far off are we? Every estimate beside what others measured, with its error and its band."""

from pages.ui import accuracy_draw, accuracy_views, shell
from pages.ui.accuracy_choices import chosen

scenario = shell.view()
kind = scenario.accuracy_kind

accuracy_draw.kind_picker()
quantity = chosen(kind, scenario.accuracy_quantity)
accuracy_draw.controls(kind, quantity)
found = accuracy_views.summary(quantity)
accuracy_draw.headline(found, accuracy_views.verdict_line(kind))
accuracy_draw.view_picker()
accuracy_draw.chart(accuracy_views.view(quantity, scenario.accuracy_view, scenario.gpus))
accuracy_draw.worst(accuracy_views.worst(quantity), quantity.unit)
accuracy_draw.wrong_verdicts(accuracy_views.wrong_verdicts(kind))
accuracy_draw.apart(accuracy_views.apart(quantity), found)
accuracy_draw.rows(quantity, accuracy_views.every_row(quantity))
accuracy_draw.gaps(accuracy_views.gaps(kind))
accuracy_draw.glance()
