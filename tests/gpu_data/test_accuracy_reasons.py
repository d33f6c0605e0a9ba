"""Reasons for large errors: each is about rows that exist and that are off."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from gpu_data.accuracy import Reason, accuracy_frame, accuracy_reasons, reason_of


def rows_of(reason: Reason) -> pd.DataFrame:
    frame = accuracy_frame()
    frame = frame[frame["table"].isin(["llamacpp", "serving"]) & frame["shown"].notna()]
    for column, pattern in reason.where.items():
        texts = frame[column].astype("string").fillna("")
        frame = frame[[bool(re.search(pattern, text)) for text in texts]]
    return frame


@pytest.mark.parametrize("reason", accuracy_reasons(), ids=lambda reason: reason.text[:40])
def test_a_reason_is_about_rows_that_are_further_off_than_the_others(reason: Reason) -> None:
    rows = rows_of(reason)
    assert len(rows)
    assert reason.evidence
    off = np.abs(np.log(rows["shown"] / rows["measured"]).to_numpy(dtype=float))
    assert np.max(off) > 0.18  # 20 %


def test_the_worst_estimates_of_speed_have_a_reason_for_the_most_part() -> None:
    frame = accuracy_frame()
    frame = frame[(frame["part"] == "counted") & frame["table"].isin(["llamacpp", "serving"])]
    known = []
    for _, rows in frame[frame["shown"].notna()].groupby(["quantity", "load"]):
        off = np.abs(np.log(rows["shown"] / rows["measured"]).to_numpy(dtype=float))
        worst = rows.iloc[np.argsort(-off, kind="stable")[:10]]
        known += [bool(reason_of(row)) for row in worst.astype(object).to_dict("records")]
    assert np.mean(known) >= 0.5
