"""Which configuration to take: what is feasible, in which order, what ties, what would change the answer."""

from calculators.ranking.frontier import frontier
from calculators.ranking.options import (
    NOT,
    OBJECTIVES,
    PERHAPS,
    SURELY,
    Limit,
    Measure,
    Objective,
    Options,
    best_setups,
    first_failing,
    grades,
    meets,
    order,
    tied,
)
from calculators.ranking.switch import Switch, switch_points
from calculators.ranking.use import Use, link_share, used_shares

__all__ = [
    "NOT",
    "OBJECTIVES",
    "PERHAPS",
    "SURELY",
    "Limit",
    "Measure",
    "Objective",
    "Options",
    "Switch",
    "Use",
    "best_setups",
    "first_failing",
    "frontier",
    "grades",
    "link_share",
    "meets",
    "order",
    "switch_points",
    "tied",
    "used_shares",
]
