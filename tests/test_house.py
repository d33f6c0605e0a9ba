"""The house rules that a test can hold: import arrows, no I/O in calculators, fixed top level."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pages", "calculators", "gpu_data")
FILES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))

# package -> what it may not import. The one door from `calculators` to the loaders is its command line.
FORBIDDEN = {
    "gpu_data": {"streamlit", "plotly", "calculators", "pages", "app"},
    "calculators": {"streamlit", "plotly", "pages", "app", "pandas"},
    "pages": {"app", "tests"},
}
IO_CALLS = {"open", "print", "input"}
LOADERS = {
    "gpu_data",
    "gpu_data.accuracy",
    "gpu_data.benchmarks",
    "gpu_data.engines",
    "gpu_data.formats",
    "gpu_data.frame",
    "gpu_data.gpus",
    "gpu_data.models",
    "gpu_data.price_refresh",
    "gpu_data.prices",
    "gpu_data.speed",
    "gpu_data.training",
    "gpu_data.use_cases",
}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, absolute."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_import_arrows_point_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & FORBIDDEN[package]


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.relative_to(ROOT).parts[0] == "calculators" and not p.stem.startswith("validate")],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_calculators_are_pure(path: Path) -> None:
    tree = ast.parse(path.read_text())
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not calls & IO_CALLS
    assert not imports(path) & LOADERS, "calculators take gpu_data's types, not its loaders"


def test_figures_know_no_streamlit() -> None:
    for path in (ROOT / "pages" / "ui").glob("figures*.py"):
        assert "streamlit" not in {name.split(".")[0] for name in imports(path)}, path


def test_pages_hold_one_file_per_page_and_one_subfolder() -> None:
    folders = {p.name for p in (ROOT / "pages").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == {"ui"}


def test_the_top_level_is_the_handbook_s() -> None:
    allowed = {
        "app.py",
        "pages",
        "gpu_data",
        "calculators",
        "tests",
        "requirements.txt",
        "requirements-dev.txt",
    }
    allowed |= {"README.md", "pyproject.toml", "Makefile", "deploy"}
    visible = {p.name for p in ROOT.iterdir() if not p.name.startswith(".") and p.name != "__pycache__"}
    assert visible <= allowed
