"""Who really uses which GPU for what: planned, announced, running or trained, each with its source."""

from pages.ui import shell, use_case_cards, use_case_filters
from pages.ui.use_cases_choices import MEANINGS
from pages.ui.use_cases_views import ALT, cards, chart, selected, sentence

scenario = shell.view()
rows = selected(scenario)
use_case_filters.draw(scenario, sentence(rows), chart(rows, scenario), ALT, MEANINGS)
use_case_cards.draw(cards(rows))
