# Two commands for people: `make app` and `make test`. The rest is for contributors.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes

.PHONY: app test lint types unit browser bench chromium prices lock clean

app: $(VENV)/.runtime
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: lint types unit browser

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/ty check --error-on-warning

unit: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not browser" -n auto

browser: $(VENV)/.dev chromium
	$(BIN)/python -m pytest -m browser

bench: $(VENV)/.dev chromium
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.compute

# Debian's chromium drives the browser tests; CHROMIUM=/path/to/chrome uses another one.
chromium:
	@sh tests/browser/ensure_chromium.sh

# Appends today's rental prices to gpu_data/prices.csv; needs the network. No page load ever does this.
prices: $(VENV)/.prices
	$(BIN)/python -m gpu_data.price_refresh

# The lock files name every package with its hashes and no index host.
lock: $(VENV)/.dev
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --quiet pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --quiet pyproject.toml --group dev -o requirements-dev.txt
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --quiet --group prices -c requirements.txt -o gpu_data/price_requirements.txt

# A stamp per lock file: a second start installs nothing.
$(VENV)/.runtime: requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	$(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

$(VENV)/.prices: gpu_data/price_requirements.txt $(VENV)/.runtime
	$(PIP_INSTALL) -r gpu_data/price_requirements.txt
	@touch $@

clean:
	rm -rf $(VENV)
