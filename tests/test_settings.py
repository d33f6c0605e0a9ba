"""Settings and lock files: private, guarded, pinned with hashes, and naming no index host."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {
    "requirements.txt": PROJECT["project"]["dependencies"],
    "requirements-dev.txt": PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"],
    "gpu_data/price_requirements.txt": PROJECT["dependency-groups"]["prices"],
}


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("browser", "gatherUsageStats", False),
        ("browser", "serverAddress", "localhost"),  # unset, a start asks a third party for our address
        ("server", "enableCORS", True),
        ("server", "enableXsrfProtection", True),
        ("server", "maxUploadSize", 2),
        ("server", "headless", True),
        ("client", "showErrorDetails", "none"),
        ("client", "showErrorLinks", False),
    ],
)
def test_the_server_keeps_to_itself(section: str, key: str, value: object) -> None:
    assert CONFIG[section][key] == value


def test_the_theme_names_no_outside_file() -> None:
    assert "http" not in (ROOT / ".streamlit" / "config.toml").read_text()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_both_modes_have_ten_chart_colours(mode: str) -> None:
    colours = CONFIG["theme"][mode]["chartCategoricalColors"]
    assert len(set(colours)) == 10
    ground = luminance(CONFIG["theme"][mode]["backgroundColor"])
    for colour in colours:
        light, dark = sorted((luminance(colour), ground), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour  # WCAG 2.2, 1.4.11


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def name_of(requirement: str) -> str:
    """A requirement's package name, normalised."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found.group()).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_hold_every_direct_package_with_hashes_and_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "http" not in text
    blocks = re.split(r"\n(?=[a-z0-9])", text)
    pins = {name_of(block) for block in blocks if "==" in block}
    assert {name_of(requirement) for requirement in LOCKS[lock]} <= pins
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)


def test_streamlit_is_pinned_to_its_minor_version() -> None:
    (pin,) = [r for r in PROJECT["project"]["dependencies"] if name_of(r) == "streamlit"]
    assert re.fullmatch(r"streamlit~=\d+\.\d+\.0", pin)
