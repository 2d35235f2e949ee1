# Two commands: `make demo` and `make test`. Each sets up its own virtual environment in .venv first, and nothing outside this folder:
# Python with venv, and Node and Chromium for the tests of the JavaScript client, are there before (apt-get install python3-venv
# nodejs chromium).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench clean

demo: .venv/installed
	$(BIN)/discreet demo

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/developing
	$(BIN)/python -m benchmarks

.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; echo 'Python needs its venv module: apt-get install python3-venv'; exit 1; }

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot]'
	touch $@

.venv/developing: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis
