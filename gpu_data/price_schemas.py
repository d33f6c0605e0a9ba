"""What a row of `gpu_data/prices.csv` may say: one dated price that one provider asked for one GPU."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from gpu_data.csv_tables import CsvRow

Text = Annotated[str, Field(min_length=1)]
Money = Annotated[float, Field(gt=0, le=10_000)]


def first_day(text: str) -> date:
    """The first day that a day, a month or a year can mean, so that an age is never understated.

    Raises ValueError when the text is none of them.
    """
    return date.fromisoformat(text + "-01-01"[len(text) - 4 :])


def _is_a_date(text: str) -> str:
    first_day(text)
    return text


Day = Annotated[str, Field(pattern=r"^20\d\d(-\d\d){0,2}$"), AfterValidator(_is_a_date)]
Tier = Literal[
    "lowest listed on-demand",
    "on-demand",
    "on-demand (Secure Cloud)",
    "on-demand (Community Cloud)",
    "marketplace",
    "marketplace (one sampled offer)",
    "marketplace median",
    "average of listed offers",
    "spot",
]
# How far an hourly price per GPU may lie from the instance's price by its GPUs: sources round.
ROUNDING = 0.006


class PriceQuote(CsvRow):
    """One quote [US dollars per hour]; `usd_per_gpu_hr` is per GPU whatever the size of the instance.

    `gpu_id` is empty where the label leaves open which card is meant. `as_of` is a day, a month or a year;
    empty means undated. `as_of_kind` says what that date is (when read, when published, last edit).
    """

    gpu_id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")] | None = None
    gpu_label: Text
    provider: Text
    tier: Tier
    instance: Text | None = None
    gpus_in_instance: Annotated[int, Field(ge=1, le=1024)]
    instance_usd_per_hr: Money | None = None
    usd_per_gpu_hr: Money
    region: Text | None = None
    as_of: Day | None = None
    as_of_kind: Text
    source: Text
    verified_by: Literal["vendor page", "vendor interface", "secondary"]
    note: Text | None = None

    @model_validator(mode="after")
    def _prices_agree(self) -> PriceQuote:
        if self.instance_usd_per_hr is not None:
            each = self.instance_usd_per_hr / self.gpus_in_instance
            if abs(each - self.usd_per_gpu_hr) > ROUNDING:
                raise ValueError(
                    f"usd_per_gpu_hr {self.usd_per_gpu_hr:g} is not instance_usd_per_hr by gpus_in_instance "
                    f"({each:.4f})"
                )
        if self.as_of is None and not re.match("undated", self.as_of_kind):
            raise ValueError("as_of is empty, so as_of_kind must begin with 'undated'")
        return self
