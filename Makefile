# Two commands: `make demo` and `make test`. Each sets up its own virtual environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test thorough check browsers engines bench clean

demo: .venv/installed
	$(BIN)/discreet demo

# Modules are compiled once, whatever the environment says: tests start many processes.
test: check browsers engines
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

# The same with all draws, examples and cases of every law; tests/support/depth.py says what is left out otherwise.
thorough: export DISCREET_THOROUGH = 1
thorough: test

check: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The JavaScript client is tested in Node and in a real browser; where they cannot be installed, its tests say what is missing.
browsers:
	-@{ command -v node && command -v chromium; } >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
		|| { apt-get update && apt-get install -y nodejs chromium; }

# Spark needs a Java runtime; a PostgreSQL server is started by the tests, in a folder of their own.
engines:
	@{ command -v java && { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }; } >/dev/null 2>&1 \
		|| [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
		|| { apt-get update && apt-get install -y default-jre-headless postgresql; }

bench: .venv/developing
	$(BIN)/python -m benchmarks

.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv .venv; }

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot]'
	touch $@

.venv/developing: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis
