# Two commands on a fresh machine: `make demo` and `make test`. Both make their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-processors test-lowest lint bench docs results clean

demo: $(VENV)/.warm
	$(BIN)/skmil bench --data musk1 --methods demo --folds 10 --out demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal
	$(MAKE) test-processors

# Part of the suite as other processors would run it: their instructions decide the last digits.
test-processors: $(VENV)/.test
	$(BIN)/python tests/processors.py

# The suite on the lowest versions that pyproject.toml declares. Old libraries call newer ones in ways that
# these deprecate, which is not ours to mend.
test-lowest: .lowest/.done
	.lowest/bin/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning -W ignore::FutureWarning

.lowest/.done: pyproject.toml tests/lowest.py
	test -x .lowest/bin/python || $(PYTHON) -m venv .lowest
	.lowest/bin/python tests/lowest.py > .lowest/requirements.txt
	.lowest/bin/python -m pip install --quiet --requirement .lowest/requirements.txt --editable .
	touch $@

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Needs the benchmark sets of the papers in the folder SKMIL_DATA; goes on where it was stopped.
results: $(VENV)/.test
	$(BIN)/python -m reproduction --jobs -1 --out docs/results
	$(BIN)/python docs/update_results.py

$(VENV)/.docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[cli,plot,exact]'
	touch $@

$(VENV)/.warm: $(VENV)/.demo
	$(BIN)/skmil warm
	touch $@

$(VENV)/.test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .processors .lowest
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
