"""Cost: US dollars per hour, token, run and month; rent or buy; bands carried over from speed."""

from calculators.cost.bands import Money, of_time, over_rate, tied
from calculators.cost.buy import break_even_hours, break_even_share
from calculators.cost.hourly import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    ownership_usd_per_hour,
    power_usd_per_hour,
    usd_per_busy_hour,
)
from calculators.cost.people import lost_usd_per_month
from calculators.cost.runs import gpus_for_days, runs_usd_per_month, usd_per_run
from calculators.cost.serving import (
    all_tokens_per_s,
    input_output_usd_per_million,
    replicas_needed,
    usd_per_million_tokens,
    usd_per_month,
)

__all__ = [
    "HOURS_PER_MONTH",
    "HOURS_PER_YEAR",
    "Money",
    "all_tokens_per_s",
    "break_even_hours",
    "break_even_share",
    "gpus_for_days",
    "input_output_usd_per_million",
    "lost_usd_per_month",
    "of_time",
    "over_rate",
    "ownership_usd_per_hour",
    "power_usd_per_hour",
    "replicas_needed",
    "runs_usd_per_month",
    "tied",
    "usd_per_busy_hour",
    "usd_per_million_tokens",
    "usd_per_month",
    "usd_per_run",
]
