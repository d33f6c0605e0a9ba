"""Command: measured rows against predictions, and config files against the reader.

python -m calculators.validate memory FILE.csv --configs DIR [--json]
python -m calculators.validate serving|llamacpp|training|finetune FILE.csv [--json]
python -m calculators.validate config FILE.json... [--context N] [--json]
python -m calculators.validate bands FILE.csv... --configs DIR     (prints gpu_data/error_bands.toml)
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

DEFAULT_CONTEXT = 8192
_PIPE_CLOSED = 141  # what shells report for a program that SIGPIPE ended
RUNS = {  # commands that read one table and print every row with its 80 % band
    "serving": "predict output tokens/s, time to first token and time per token of serving runs",
    "llamacpp": "predict tokens/s and out-of-memory of llama.cpp runs",
    "training": "predict speed, MFU and GPU-hours of training runs",
    "finetune": "predict the peak memory of fine-tuning runs",
}


def main(arguments: Sequence[str] | None = None, out: TextIO | None = None) -> int:
    """Run the command; returns the exit code (2 when the input file cannot be read)."""
    if out is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of models in letters the terminal lacks
    stream = out or sys.stdout
    chosen = _parser().parse_args(arguments)
    if chosen.command == "config":
        return _config(chosen.files, chosen.context, stream)
    if chosen.command == "bands":
        return _bands(chosen.files, chosen.configs, stream)
    if chosen.command in RUNS:
        return _runs(chosen.command, chosen.file, chosen.json, stream)
    return _memory(chosen.file, chosen.configs, chosen.json, stream)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m calculators.validate", description=__doc__.splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    memory = commands.add_parser("memory", help="predict every printed quantity of measured rows")
    memory.add_argument("file", type=Path, help="CSV file of measured rows")
    memory.add_argument(
        "--configs", type=Path, required=True, help="folder of config.json files, / written --"
    )
    memory.add_argument("--json", action="store_true", help="JSON lines, the summary last")
    config = commands.add_parser("config", help="count parameters and cache elements of config files")
    config.add_argument("files", type=Path, nargs="+", metavar="FILE.json")
    config.add_argument("--context", type=_tokens, default=DEFAULT_CONTEXT, help="tokens for cache_elements")
    config.add_argument(
        "--json", action="store_true", help="accepted for symmetry: the output always is JSON lines"
    )
    bands = commands.add_parser("bands", help="error bands per engine family, as TOML")
    bands.add_argument("files", type=Path, nargs="+", metavar="FILE.csv", help="measured rows")
    bands.add_argument(
        "--configs", type=Path, required=True, help="folder of config.json files, / written --"
    )
    for name, what in RUNS.items():
        runs = commands.add_parser(name, help=what)
        runs.add_argument("file", type=Path, help="CSV file of measured rows")
        runs.add_argument("--json", action="store_true", help="JSON lines, the summary last")
    return parser


def _tokens(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens")
    return value


def _print(stream: TextIO, row: dict[str, Any]) -> None:
    # ASCII only: a file may hold half a surrogate pair, which no encoding can write.
    stream.write(json.dumps(row) + "\n")


def _config(files: Sequence[Path], tokens: int, stream: TextIO) -> int:
    from calculators.validate_config import describe

    for path in files:
        _print(stream, describe(path, tokens))
    return 0


def _bands(paths: Sequence[Path], configs: Path, stream: TextIO) -> int:
    from calculators.validate_bands import as_toml, bands_of_files
    from calculators.validate_rows import RowRefused

    try:
        stream.write(as_toml(bands_of_files(paths, configs)))
    except RowRefused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _memory(path: Path, configs: Path, as_lines: bool, stream: TextIO) -> int:
    from calculators.validate_memory import as_json, predict_file, summarise
    from calculators.validate_rows import RowRefused

    results = []
    try:
        if not configs.is_dir():
            raise RowRefused(f"--configs: {configs} is not a folder")
        for result in predict_file(path, configs):
            results.append(result)
            for line in result.lines:
                if as_lines:
                    _print(stream, as_json(line))
                else:
                    stream.write(_text(line, result.part) + "\n")
            if not as_lines:
                for assumption in result.assumptions:
                    stream.write(f"       assumed: {assumption}\n")
    except RowRefused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    summary = summarise(results)
    if as_lines:
        _print(stream, {"summary": summary})
    else:
        stream.write(_summary_text(summary))
    return 0


def _runs(command: str, path: Path, as_lines: bool, stream: TextIO) -> int:
    from importlib import import_module

    from calculators.validate_rows import RowRefused
    from calculators.validate_runs import as_json, line_text, summarise, summary_text

    table = import_module(f"calculators.validate_{command}")
    results = []
    try:
        for result in table.predict_file(path):
            results.append(result)
            for line in result.lines:
                if as_lines:
                    _print(stream, as_json(line))
                else:
                    stream.write(line_text(line, result.part) + "\n")
            if not as_lines:
                for assumption in result.assumptions:
                    stream.write(f"       assumed: {assumption}\n")
    except RowRefused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    summary = getattr(table, "summarise", summarise)(results, table.QUANTITIES)
    if as_lines:
        _print(stream, {"summary": summary})
    else:
        stream.write(summary_text(summary))
        if "verdicts" in summary:
            stream.write(f"out of memory: {summary['verdicts']}\n")
    return 0


def _text(line: Any, part: str) -> str:
    mark = "" if part == "counted" else f" ({part})"
    if line.refused:
        return f"{line.id:6} {line.quantity:22} refused: {line.refused}{mark}"
    if line.error_pct is None:
        return f"{line.id:6} {line.quantity:22} {line.predicted} / measured {line.measured}{mark}"
    return (
        f"{line.id:6} {line.quantity:22} {line.predicted:>14,.3f} / measured {line.measured:>14,.3f}"
        f"  {line.error_pct:+8.2f} %{mark}"
    )


def _summary_text(summary: dict[str, Any]) -> str:
    lines = [f"\n{summary['rows']} rows"]
    parts = {"counted": summary, **summary["apart"]}
    for name, part in parts.items():
        lines.append(
            f"\n{name} rows" if name == "counted" else f"\n{name} rows, reported apart: {part['rows']}"
        )
        lines.append(f"{'quantity':24}{'n':>5}{'refused':>9}{'median':>10}{'90th pct':>10}")
        for quantity, row in part["quantities"].items():
            lines.append(
                f"{quantity:24}{row['n']:>5}{row['refused']:>9}"
                f"{_percent(row['median_abs_error_pct'])}{_percent(row['p90_abs_error_pct'])}"
            )
        verdicts = part["verdicts"]
        lines.append("verdicts: " + ", ".join(f"{key} {value}" for key, value in verdicts.items()))
        if part["band_rows"]:
            lines.append(
                f"need inside the error band: {part['band_coverage_pct']} % of {part['band_rows']} rows"
            )
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return f"{'-':>10}" if value is None else f"{value:>8.2f} %"


def command() -> int:
    """Run the command for a shell: a reader that stops early (`| head`) is no error of ours."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python would complain at exit (docs of its signal module).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    return code


if __name__ == "__main__":
    sys.exit(command())
