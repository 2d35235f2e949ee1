"""`discreet text`: words and documents of people who trust nobody, and what an attacker gets of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.canvas import check_ending, check_installed, save
from discreet.cli.files import check_place, create, protect, read_text, replace_file
from discreet.cli.local.files import TaskFile, read_task_file
from discreet.cli.output import no_window
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.task import Task
    from discreet.texts import Substitute, Vocabulary
    from discreet.texts.distances import Distance

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


class Kind(StrEnum):
    """What is asked of people's texts."""

    shares = "shares"
    phrases = "phrases"
    topics = "topics"
    substitute = "substitute"


WordsOption = Annotated[Path | None, typer.Option(help="The vocabulary: a file with one word a line.")]
EnglishOption = Annotated[int | None, typer.Option(help="The vocabulary: so many of the most common English words.")]
TextsFile = Annotated[Path, typer.Argument(help="Documents, one a line; a .csv, .tsv or .parquet file; - is standard input.")]
ColumnOption = Annotated[str | None, typer.Option(help="Which column of a table.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file, which must be new.")]


@app.callback()
def _about() -> None:
    """Words and documents of people who trust nobody.

    Shares of words, phrases and topics are surveys (tasks) like all others, with texts for answers:

      discreet text task shares --english 20000 --epsilon 4 -o words.task.json

      discreet local randomize words.task.json texts.txt -o reports.jsonl

      discreet local collect words.task.json reports.jsonl -o words.state.json

      discreet local estimate words.state.json

    Documents word by word, with what that promises and what it leaves:

      discreet text task substitute --english 5000 --tree brown --epsilon 6 --length 20 -o chat.task.json

      discreet text substitute chat.task.json texts.txt -o released.txt

      discreet text attack chat.task.json
    """


@app.command("vocabulary")
def vocabulary(
    english: EnglishOption = None,
    common: Annotated[int | None, typer.Option(help="So many of the most common words of a language, from wordfreq.")] = None,
    language: Annotated[str, typer.Option(help="Of --common.")] = "en",
    output: OutputOption = None,
) -> None:
    """Write a public list of words, one a line.

    Examples:

      discreet text vocabulary --english 20000 -o words.txt

      discreet text vocabulary --common 50000 --language de -o worte.txt
    """
    from discreet.texts import Vocabulary

    if (english is None) == (common is None):
        raise ParameterError("Which words? Write --english 20000, or --common 20000 --language de.")
    made = Vocabulary.english(english) if english is not None else Vocabulary.common(common or 0, language=language)
    _write(output, "".join(f"{word}\n" for word in made.words), f"{len(made.words):,} words")


@app.command("task")
def task(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="shares: how common each word of a list is; phrases: the most common words or runs of words when nobody has "
            "a list; topics: what whole documents are about; substitute: documents, word by word.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="For a person (substitute: for a word).", show_default=False)],
    words: WordsOption = None,
    english: EnglishOption = None,
    unknown: Annotated[str, typer.Option(help="The fate of other words: mark, drop, or a listed word.")] = "mark",
    length: Annotated[
        int | None, typer.Option(help="substitute: words of a document; phrases: symbols of a phrase (10 unless told).")
    ] = None,
    tree: Annotated[
        str | None, typer.Option(help="substitute: brown, or a JSON file of classes by word: the exponential mechanism.")
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="substitute: brown, or a file of vectors (GloVe, word2vec): metric privacy.")
    ] = None,
    run_of: Annotated[int | None, typer.Option(help="phrases: so many words each (1 unless told).")] = None,
    topics: Annotated[Path | None, typer.Option(help="topics: a JSON file, as {'money': ['cash', 'prize']}.")] = None,
    question: Annotated[str, typer.Option(help="The question, in words.", show_default=False)] = "",
    period: Annotated[str, typer.Option(help="When it is asked, such as 2026-03.", show_default=False)] = "",
    people: Annotated[int | None, typer.Option(help="Say what to expect when so many people report.")] = None,
    output: OutputOption = None,
) -> None:
    """Write a task about texts, for clients and collectors to share. Its hash holds the whole vocabulary and every rule.

    Examples:

      discreet text task shares --english 20000 --epsilon 4 --people 100000 -o words.task.json

      discreet text task phrases --run-of 2 --epsilon 6 --length 12 -o pairs.task.json

      discreet text task topics --topics topics.json --epsilon 1 -o topics.task.json

      discreet text task substitute --english 5000 --epsilon 8 --length 20 -o chat.task.json

      discreet text task substitute --words words.txt --distance glove.txt --epsilon 12 --length 20 -o near.task.json
    """
    given: dict[str, object] = {
        "words": words,
        "english": english,
        "tree": tree,
        "distance": distance,
        "run_of": run_of,
        "topics": topics,
    }
    _check_options(kind, {**given, "length": length})
    common = {"question": question, "period": period}
    made = _make(kind, epsilon, common, given, unknown, length)
    said = str(made) if kind is Kind.substitute else None if people is None else str(made.plan(people))
    _write(output, made.to_json() + "\n", f"{made.kind}, epsilon {float(made.epsilon):.6g} a report")
    if said is not None:
        typer.echo(said, err=True)


@app.command("substitute")
def substitute(
    task: TaskFile,
    texts: TextsFile = Path("-"),
    column: ColumnOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write documents and terms as one JSON object.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file, one document a line.")] = None,
) -> None:
    """Substitute the words of documents, and say what that promises. Every run costs each document its epsilon again.

    Examples:

      discreet text substitute chat.task.json texts.txt -o released.txt

      echo "see you at home" | discreet text substitute chat.task.json
    """
    from discreet.cli.local.values import read_values

    if output is not None and output != Path("-"):
        protect(check_place(output), task, texts)
    asked = _read_substitute(task)
    documents = [entry if isinstance(entry, str) else "" for piece in read_values(texts, column) for entry in piece]
    released = asked.release(documents)
    text = released.to_json() + "\n" if as_json else "".join(f"{document}\n" for document in released.documents)
    if output is None or output == Path("-"):
        typer.echo(text, nl=False)
    else:
        with replace_file(output) as file:
            file.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {output}: {len(documents):,} documents; each cost epsilon {float(asked.epsilon):.6g}.", err=True)
    typer.echo(str(released.terms), err=True)


@app.command("attack")
def attack(
    task: TaskFile,
    texts: Annotated[
        Path | None,
        typer.Option(help="Public documents like people's, to attack; without --bigrams, their first half teaches pairs."),
    ] = None,
    column: ColumnOption = None,
    bigrams: Annotated[Path | None, typer.Option(help="Public pairs of words: two words and a count a line.")] = None,
    epsilons: Annotated[str | None, typer.Option(help="Also for these epsilons, as 1,2,4,8.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the success against epsilon, as .png or .svg.")] = None,
) -> None:
    """What an attacker gets of words substituted like this: by a public prior, in context, and whether a document was the one.

    Examples:

      discreet text attack chat.task.json

      discreet text attack chat.task.json --texts public.txt --epsilons 1,2,4,8 --plot attack.png
    """
    from discreet.cli.local.values import read_values
    from discreet.texts import Bigrams
    from discreet.texts import attack as run
    from discreet.texts import plot_attacks as draw

    if plot is not None:
        check_installed()
        protect(check_place(check_ending(plot)), task)
    asked = _read_substitute(task)
    model = None if bigrams is None else Bigrams.load(bigrams, asked.vocabulary)
    documents = None
    if texts is not None:
        documents = [entry for piece in read_values(texts, column) for entry in piece if isinstance(entry, str)]
        if model is None:  # half of them teach the attacker what follows what, the others are attacked
            half = len(documents) // 2
            model, documents = Bigrams.of(documents[:half], asked.vocabulary), documents[half:]
    series = [run(one, documents, bigrams=model) for one in _at(asked, epsilons)]
    for one in series:
        typer.echo(f"{one}\n")
    if plot is not None:
        no_window()
        save(draw({asked.protocol.law: series}), plot)
        typer.echo(f"Wrote {plot}.", err=True)


def _check_options(kind: Kind, given: dict[str, object]) -> None:
    """Refuse options of another kind, and name what is missing."""
    own = {
        Kind.shares: {"words", "english"},
        Kind.phrases: {"length", "run_of"},
        Kind.topics: {"topics"},
        Kind.substitute: {"words", "english", "length", "tree", "distance"},
    }[kind]
    for name, value in given.items():
        if value is not None and name not in own:
            raise ParameterError(f"--{name.replace('_', '-')} does not belong to discreet text task {kind}; leave it out.")
    if "english" in own and (given["words"] is None) == (given["english"] is None):
        raise ParameterError("Which vocabulary? Write --english 20000, or --words words.txt.")
    if kind is Kind.substitute and given["length"] is None:
        raise ParameterError("How long is a document? Write --length 20: it is cut or filled up to that, for length leaks.")
    if kind is Kind.topics and given["topics"] is None:
        raise ParameterError("Which topics? Write --topics topics.json, a file such as {'money': ['cash', 'prize']}.")


def _make(kind: Kind, epsilon: float, common: dict[str, str], given: dict[str, object], unknown: str, length: int | None) -> Task:
    from discreet.texts import Phrases, Substitute, Topics, WordShares

    question, period = common["question"], common["period"]
    if kind is Kind.phrases:
        run = 1 if given["run_of"] is None else int(str(given["run_of"]))
        return Phrases(epsilon, words=run, length=10 if length is None else length, question=question, period=period)
    if kind is Kind.topics:
        return Topics(_read_json(Path(str(given["topics"]))), epsilon, question=question, period=period)  # type: ignore[arg-type]
    listed = _read_vocabulary(given["words"], given["english"], unknown)
    if kind is Kind.shares:
        return WordShares(listed, epsilon, question=question, period=period)
    used = {name: _read_distance(given[name], listed, name) for name in ("tree", "distance")}
    made: Callable[..., Task] = Substitute
    return made(listed, epsilon, length=length, question=question, period=period, **used)


def _read_vocabulary(words: object, english: object, unknown: str) -> Vocabulary:
    from discreet.texts import Vocabulary

    if isinstance(words, Path):
        return Vocabulary.load(words, unknown=unknown)
    return Vocabulary.english(int(str(english)), unknown=unknown)


def _read_distance(text: object, vocabulary: Vocabulary, name: str) -> Distance | None:
    from discreet.texts import Tree, Vectors

    if text is None:
        return None
    if text == "brown":
        return Tree.brown(vocabulary)
    if name == "tree":
        return Tree(vocabulary, _read_json(Path(str(text))))  # type: ignore[arg-type]
    return Vectors.load(str(text), vocabulary)


def _read_json(file: Path) -> object:
    try:
        return json.loads(read_text(file))
    except (ValueError, RecursionError):
        raise ParameterError(f"{file} is not JSON; check it.") from None


def _read_substitute(file: Path) -> Substitute:
    from discreet.texts import Substitute

    asked = read_task_file(file)
    if not isinstance(asked, Substitute):
        raise ParameterError(f"{file} is a task of another kind ({asked.kind}); write discreet text task substitute.")
    return asked


def _at(asked: Substitute, epsilons: str | None) -> list[Substitute]:
    """The same substitution at other epsilons."""
    from discreet.texts import Substitute

    if epsilons is None:
        return [asked]
    try:
        numbers = [float(part) for part in epsilons.split(",")]
    except ValueError:
        raise ParameterError("--epsilons are numbers between commas; write --epsilons 1,2,4,8.") from None
    law, distance = asked.protocol.law, asked.protocol.distance
    used = {} if law == "k-ary" else {"tree" if law == "tree" else "distance": distance}
    return [Substitute(asked.vocabulary, number, length=asked.length, **used) for number in numbers]  # type: ignore[arg-type]


def _write(output: Path | None, text: str, what: str) -> None:
    if output is None or output == Path("-"):
        typer.echo(text, nl=False)
        return
    create(output, text, ", and what may be in use is not overwritten")
    typer.echo(f"Wrote {output}: {what}.", err=True)
