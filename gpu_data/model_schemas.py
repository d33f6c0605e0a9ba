"""What one row of the model catalogue holds, and what each field is worth.

A model is one `[[model]]` table in `gpu_data/models/<family>.toml` plus its `config.json` as
`gpu_data/models/<id>.json`. To add a model, add those two (a new family is a new file that starts with
`family = "..."`) and run the tests: `gpu_data.model_checks` names file, row and field of anything wrong.

The config is the evidence: parameters, layers and cache are computed from it, never from the row. Keys that
no calculation reads (tokens, sampling, file versions) may be left out of it.
Everything in the row is for people to read. In particular `license_label`, `gated`,
`published_params_label` and `published_active_label` are the values commonly stated; they were not looked up
one by one and nothing may be computed from them. `native_weight_dtype` says in words what the config's
`quantization_config` says in full; "bf16" stands for every release without one and was not checked for
models from before 2024, some of which are stored in FP16 or FP32.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S(.*\S)?$")]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]  # TOML has arrays, not tuples
Billions = Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)? B$")]

Kind = Literal["text", "vision-language", "encoder", "embedding", "encoder-decoder"]
WeightDtype = Literal["bf16", "fp8", "fp4 experts + fp8", "int4 experts + bf16", "mxfp4 experts + bf16"]
Grade = Literal["A", "B", "C"]

GRADES: dict[str, str] = {
    "A": "a verbatim copy of the config or the index of a checkpoint was read",
    "B": "restated by at least one framework or catalogue, or recalled and confirmed by the published size",
    "C": "class default of transformers only: re-check before quoting",
}


class Model(BaseModel):
    """One model of the catalogue. Labels only; facts come from its config."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    id: Slug
    """Name of the model in links and of its config file."""
    name: Text
    """Name for people, for example "Llama 3.3 70B Instruct"."""
    hf_id: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
    """Repository on the Hugging Face Hub, `owner/name`."""
    family: Text
    """Family of the file the row is in."""
    vendor: Text
    """Who publishes the repository."""
    kind: Kind
    """What the config describes. "encoder" and "embedding" models keep no cache for generation."""
    license_label: Text
    """Licence as commonly stated; a label, not legal advice."""
    gated: bool
    """Whether the Hub asks for a log-in before download; a label."""
    native_weight_dtype: WeightDtype
    """Number format of the released weights."""
    published_params_label: Billions | None = None
    """Total parameters as published, in billions; a label beside the count, never the count."""
    published_active_label: Billions | None = None
    """Parameters per token as published, in billions; vendors often leave embeddings out."""
    source_grade: Grade
    """How well the config is sourced: see `GRADES`."""
    sources: Annotated[Texts, Field(min_length=1)]
    """Where the config's values were read."""
    source_disagreements: Texts = ()
    """Public catalogues that say something else, and which value was used."""
    note: Text | None = None
    """What a reader must know about this model or its config."""

    @property
    def source(self) -> str:
        """All sources in one line."""
        return "; ".join(self.sources)

    @property
    def provenance(self) -> str:
        """The answer to "where is this from?", in a few lines of plain text."""
        lines = [f"Config of {self.hf_id}, source grade {self.source_grade}: {GRADES[self.source_grade]}."]
        lines += [f"Read from: {source}" for source in self.sources]
        lines += [f"Another catalogue differs: {text}" for text in self.source_disagreements]
        if self.note:
            lines.append(f"Note: {self.note}")
        lines.append("Licence, access and published size are labels as commonly stated, not checked facts.")
        return "\n".join(lines)

    @property
    def search_text(self) -> str:
        """Lower-case text to search in: each name as written, and with the separators left out."""
        words = " ".join((self.name, self.id, self.hf_id, self.family, self.vendor)).lower()
        squeezed = "".join(c for c in self.name.lower() if c.isalnum() or c == ".")
        return f"{words} {squeezed}"
