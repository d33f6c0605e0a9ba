"""What a reader can choose on the Compare page: views, precisions and classes of cards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

VIEWS: Final[dict[str, str]] = {
    "table": "Table",
    "bandwidth": "Bandwidth",
    "tensor": "Tensor Cores",
    "roofline": "Compute vs bandwidth",
    "map": "Memory vs bandwidth",
    "watt": "Per watt",
}


@dataclass(frozen=True)
class Precision:
    """One number type of the matrix units and where the spec frame keeps its peak.

    `column` is the dense peak with FP32 (or INT32) accumulate; `fp16acc_column` the dense peak with
    FP16 accumulate, where that exists as a separate figure.
    """

    id: str
    label: str
    column: str
    unit: str
    bits: int
    fp16acc_column: str | None = None


PRECISIONS: Final[dict[str, Precision]] = {
    p.id: p
    for p in (
        Precision("fp16", "FP16", "dense_fp16_tflops", "TFLOPS", 16, "dense_fp16_fp16acc_tflops"),
        Precision("bf16", "BF16", "dense_bf16_tflops", "TFLOPS", 16),
        Precision("tf32", "TF32", "dense_tf32_tflops", "TFLOPS", 32),
        Precision("fp8", "FP8", "dense_fp8_tflops", "TFLOPS", 8, "dense_fp8_fp16acc_tflops"),
        Precision("fp6", "FP6", "dense_fp6_tflops", "TFLOPS", 6),
        Precision("fp4", "FP4", "dense_fp4_tflops", "TFLOPS", 4),
        Precision("int8", "INT8", "dense_int8_tops", "TOPS", 8),
        Precision("int4", "INT4", "dense_int4_tops", "TOPS", 4),
    )
}

# Published form factors are free text; the first word found decides the class.
FORM_WORDS: Final[tuple[tuple[str, str], ...]] = (
    ("superchip", "superchip"),
    ("socket", "superchip"),  # CPU and GPU in the socket of a server
    ("soc", "soc"),
    ("apu", "soc"),
    ("workstation", "workstation"),
    ("consumer", "consumer"),
    ("sxm", "module"),
    ("oam", "module"),
    ("module", "module"),
    ("active", "workstation"),  # a fan of its own; cards of servers have none
    ("pcie", "server"),
)
FORMS: Final[dict[str, str]] = {
    "module": "Server module (SXM, OAM)",
    "server": "Server PCIe card",
    "workstation": "Workstation card",
    "consumer": "Consumer card",
    "superchip": "Superchip or server APU",
    "soc": "SoC or APU",
}


def form_class(form_factor: str) -> str | None:
    """The class of a published form factor (a key of `FORMS`), None when no known word is in it."""
    text = form_factor.lower()
    return next((form for word, form in FORM_WORDS if word in text), None)
