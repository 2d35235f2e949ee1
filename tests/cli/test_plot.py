"""`discreet plot`: a file for every picture, one sentence for every refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dp
from discreet.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(monkeypatch: pytest.MonkeyPatch, command: str) -> int:
    """The exit code of ``discreet plot`` with these words."""
    monkeypatch.setattr("sys.argv", ["discreet", "plot", *command.split()])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("loss --laplace 1 -o loss.png", "loss.png"),
        ("loss --gaussian 1 --mark 2 -o loss.svg", "loss.svg"),
        ("loss --leak 1e-6", "loss.png"),
        ("delta --gaussian-mu 1", "delta.png"),
        ("delta --gaussian 1 --sampled 0.01 --times 100 -o many.svg", "many.svg"),
        ("delta --pure 1 --leak 1e-6", "delta.png"),
        ("delta --zcdp 0.5", "delta.png"),
        ("delta --json saved.json", "delta.png"),
        ("tradeoff --pure 0.1 --times 100", "tradeoff.png"),
        ("composition --epsilon 0.1 --counts 1000", "composition.png"),
        ("composition --gaussian 0.1 --delta 1e-5 --counts 100 -o c.PNG", "c.PNG"),
        ("two-laplace --laplace 0.5", "two-laplace.png"),
    ],
)
def test_pictures(command: str, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("saved.json").write_text((10 * dp.pure(0.1)).to_json())
    assert run(monkeypatch, command) == 0
    assert f"Wrote {file}." in capsys.readouterr().out
    assert Path(file).read_bytes().startswith(b"<?xml" if file.endswith("svg") else b"\x89PNG")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("loss", "Which guarantee?"),
        ("loss --zcdp 1", "names no loss distribution"),
        ("loss --pure -1", "epsilon must be above 0"),
        ("loss --pure nan", "epsilon must be finite"),
        ("loss --laplace 1 --gaussian 1", "one guarantee only"),
        ("loss --laplace 1 --leak 1e-6", "one guarantee only"),
        ("loss --laplace 1 -o loss.bmp", "does not end in .png or .svg"),
        ("loss --laplace 1 -o nowhere/loss.png", "cannot be written"),
        ("delta --json missing.json", "cannot be read"),
        ("delta --json text.json", "not a guarantee"),
        ("delta --json bytes.json", "is not a text"),
        ("delta --pure 1 --counts 10", "--counts belongs to discreet plot composition"),
        ("delta --pure 1 --mark 1", "--mark belongs to discreet plot loss"),
        ("composition --pure 0.1 --counts 0", "number of uses"),
        ("two-laplace --gaussian 1", "two-laplace --laplace 1"),
        ("delta --pure 1 --sampled 2", "sampling rate"),
    ],
)
def test_refusals(command: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit code 2, no traceback and no file."""
    Path("text.json").write_text("{}")
    Path("bytes.json").write_bytes(b"\xff\xfe\xff")
    assert run(monkeypatch, command) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1
    assert not [*Path().glob("*.png"), *Path().glob("*.svg")]


def test_a_guarantee_is_not_drawn_over(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("guarantee.svg").write_text(dp.pure(1).to_json())
    assert run(monkeypatch, "delta --json guarantee.svg -o ./guarantee.svg") == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert Path("guarantee.svg").read_text() == dp.pure(1).to_json()


def test_an_unknown_picture(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "pie --pure 1") == 2
    assert "loss" in capsys.readouterr().err


def test_help_has_examples(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--help") == 0
    said = capsys.readouterr().out
    assert "discreet plot loss --laplace 1 -o loss.png" in said
    assert "--gaussian" in said


def test_a_file_s_name_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "loss --pure 1 -o [bold]a.png") == 0
    assert "Wrote [bold]a.png." in capsys.readouterr().out
