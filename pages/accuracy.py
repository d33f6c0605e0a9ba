"""How far off are we? Every estimate beside what others measured, with its error and its band."""

from pages.ui import accuracy_draw, accuracy_views, shell
from pages.ui.accuracy_choices import chosen

scenario = shell.view()
quantity = chosen(scenario.accuracy_kind, scenario.accuracy_quantity)

accuracy_draw.kind_picker()
accuracy_draw.controls(quantity)
accuracy_draw.answer(
    quantity,
    accuracy_views.summary(quantity),
    accuracy_views.view(quantity, scenario.accuracy_view, scenario.gpus),
)
accuracy_draw.rows(quantity)
