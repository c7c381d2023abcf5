# Everything a newcomer needs is `make demo` and `make test`; both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test lint types unit clean

help:
	@echo "make demo   set up, fetch MUTAG, train BR-GCN and show what it attends to"
	@echo "make test   set up, then lint, types and tests"
	@echo "make clean  remove the environment and what the demo left"

# Installed once, and again when the requirements change. The pins keep torch at a known build.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "brgcn needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/brgcn train mutag --runs 5 --out demo/mutag --overwrite
	@echo
	@echo "What to try next:"
	@echo "  $(BIN)/brgcn explain demo/mutag          what the model attends to, as a table and a figure"
	@echo "  $(BIN)/brgcn evaluate demo/mutag         confusion matrix and macro-F1"
	@echo "  $(BIN)/brgcn train mutag --model rgcn    the same without attention"
	@echo "  $(BIN)/brgcn data inspect mutag          what is in the data"
	@echo "  $(BIN)/brgcn train your.nt.gz --labels train.tsv --test-labels test.tsv"

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist loadfile

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
