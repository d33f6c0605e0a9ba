"""The bench of computing still runs on what the calculators hand out; what it takes is never asserted."""

from __future__ import annotations

from tests.bench.compute import Catalogue


def test_memory_and_speed_of_one_model_are_worked_out_for_every_gpu_count_and_format() -> None:
    catalogue = Catalogue()
    combinations = catalogue.run(catalogue.models[0])
    assert combinations > 0
    assert combinations % (len(catalogue.specs) * len(catalogue.counts)) == 0
