"""The gate: the one way out, request -> reserve -> count -> noise -> commit -> result.

1. A request is priced from public facts; one that is refused has cost nothing and touched nothing.
2. If the ledger holds a result of the same request on the same data, paid at least as much, that result is given again: free.
   So is one that says what is asked among other things, where a request knows such results (``serve``). Data are the same
   when their bytes or cells are, or the rows that they become under what is declared of them, in whatever form and order (or,
   where the owner declares a version, when that is): a public fact.
3. The price is reserved in the ledger, durably. From here on it is spent, whatever happens.
4. The engine counts, exactly; what it hands back is a ``Secret``.
5. Mechanisms open the secrets and add noise, within the reserved price, as often as the request wants: what it measures next may
   depend on what came out before. What is made of noisy numbers costs nothing. A request that takes long keeps what came out in
   the ledger as it goes (``Reservation.release_kept``): whoever dies goes on from there, under the same reservation.
6. If the table's layout (columns, types, delimiter, files) changed meanwhile, persons may have been told apart by the wrong
   column: nothing leaves. That it changed is public. If only what it holds changed, the result is of neither state, and the
   ledger says that it is never given again.
7. The result is committed to the ledger, durably, and only then leaves.

Nothing else in discreet touches data and returns a number, but for an owner's look, which is noted and promises nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from discreet.curator.tables import Tables
from discreet.engine.base import Engine
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, ParameterError
from discreet.ledger.chain import Entry, Rows
from discreet.ledger.ledger import Ledger
from discreet.ledger.results import amount_at_start, amount_paid, texts_of, write_result
from discreet.mechanisms.secret import Secret
from discreet.plan.cost import Cost
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.filters import as_approximate, as_concentrated
from discreet.privacy.losses import Loss

_TORN = "The table changed while this was counted, so it is of neither state; asked again, it is paid for again."
_APART = "The same was paid for before, of data that cannot be compared with these; if they hold the same rows, ask those: free."
_DIGEST = 3  # 1 and 2 were not said: plans of entries without it may have ``former`` digests
_SPENT = "What was paid for it stays spent."
_MOVED = (
    "The columns, types or files of the table changed while it was counted, so nothing is released, and what was paid stays "
    "spent; ask again when the table is left alone."
)

Result = TypeVar("Result")
Noisy = TypeVar("Noisy", covariant=True)


@dataclass(frozen=True)
class Price:
    """What a request costs: the guarantee that the ledger adds up, and the cost as it was asked for."""

    privacy: Privacy
    cost: Cost


class Request(Protocol[Result]):
    """What is asked of the gate: it says from public facts what it costs, and then counts, adds noise and makes a result.

    ``run`` sees data through the engine alone, as secrets, and lets them out through its reservation alone. What it does next may
    depend on what was let out, on public facts, and on nothing else: a request runs the same way on neighbouring tables that gave
    the same noisy numbers.
    """

    @property
    def question(self) -> str:
        """What the ledger says was asked."""

    @property
    def digest(self) -> str:
        """A hash of the facts that make two requests the same; not of what is paid."""

    @property
    def former(self) -> Sequence[str]:
        """Digests by which older ledgers know the same request."""

    @property
    def price(self) -> Price | None:
        """What it costs, fixed before data is touched; None where its result is public."""

    def rehearse(self, engine: Engine) -> None:
        """Refuse what the engine cannot count: nothing is paid for yet, and no row is read."""

    def run(self, engine: Engine | None, reserved: Reservation) -> Result:
        """Count and release; there is no engine where the result is public."""

    def write(self, result: Result, remarks: tuple[str, ...]) -> list[str]:
        """The result, with these remarks, as texts to keep."""

    def read(self, texts: list[str]) -> Result:
        """The result that was kept."""


class Servable(Protocol[Noisy]):
    """A request whose result another request's may hold."""

    @property
    def serve(self) -> Callable[[list[str]], Noisy | None] | None:
        """What finds it in the texts that were kept of another request on the same data, where those noisy numbers say it already
        and were paid at least as much; None where no other's serves."""


class Releasable(Protocol[Noisy]):
    """A statistic with the mechanism that lets it out, as ``plan.release`` has them."""

    @property
    def privacy(self) -> Privacy | None: ...
    @property
    def let_out(self) -> Callable[..., Noisy]: ...


class _Mechanism(Protocol):
    @property
    def privacy(self) -> Privacy: ...
    @property
    def release(self) -> Callable[..., object]: ...


@dataclass(frozen=True)
class Letting:
    """A mechanism as a reservation lets it out: whole numbers of any size, for so much noise as a very small cost has is no
    number of 64 bits."""

    mechanism: _Mechanism

    @property
    def privacy(self) -> Privacy:
        return self.mechanism.privacy

    def let_out(self, secret: Secret[Any]) -> list[int]:
        return [int(one) for one in np.ravel(np.asarray(self.mechanism.release(secret)))]


class Reservation:
    """What was reserved for one request: a total within which it may release, one after the other and adaptively.

    **Theorem.** The account of the budget holds whatever is released under a reservation. *Proof.* The account adds up prices as
    filters do (``privacy.filters``), in every currency in which the budget is kept, and is charged the prices of the reserved
    guarantee before data is touched. A reservation refuses a release that would bring the sum of its releases' prices above that
    guarantee's, in any currency in which this has one; in a currency in which it has none, the account's sum is closed by then.
    So the sum over all releases of all requests never exceeds what the account was charged, and the filters' theorem is about
    exactly such a sequence: each mechanism, and its parameters, chosen from what came before. Neighbours are those of the
    guarantee, and of every release.

    It holds through crashes where releases are kept (``release_kept``). *Proof.* Before a mechanism is run, the ledger has its
    price; after it, before anybody sees it, what came out. A run that goes on is charged for all that the ledger has, also
    for what was about to be let out and of which nobody knows whether it was. A step is kept only if it is the next, so that
    of two processes that go on one ends, before it runs a mechanism that the other knows nothing of. Where anything is released
    without being kept, nobody goes on.
    """

    def __init__(
        self, privacy: Privacy, salt: bytes = b"", keep: Callable[[int, str], None] | None = None, kept: Sequence[str] = ()
    ) -> None:
        self._keep, self._places, self._before = keep, len(kept), _read_steps(kept)
        self._about = ""  # what the ledger knows that is let out next
        self._ended = False  # whether something was let out that is not kept
        self._neighbours = privacy.neighbours
        totals = [(price, _sum(privacy, price)) for price in (as_approximate, as_concentrated)]
        self._left = [(price, total) for price, total in totals if total is not None]
        self.salt = hashlib.sha256(b"groups of a person" + salt).hexdigest()  # by which groups of a person are drawn

    def spend(self, privacy: Privacy | None) -> None:
        """Charge a release before it happens; refused, with nothing spent, where it is more than is left. None is free."""
        if privacy is not None and not self._ended:  # what is not kept could be let out twice by whoever goes on: nobody does
            if self._places:
                self._step({"ended": True})
            self._ended = True
        self._charge(privacy)

    def _charge(self, privacy: Privacy | None) -> None:
        if privacy is None:
            return
        stated = privacy if self._neighbours is None else privacy.under(self._neighbours)
        after = []
        if not self._left:
            raise ParameterError(
                "What was reserved has neither an epsilon nor a rho, so nothing is released; reserve one of them."
            )
        for price, left in self._left:
            asked = _sum(stated, price)
            if asked is None or any(cost > most for cost, most in zip(asked, left, strict=True)):
                raise ParameterError(
                    "This request was about to release more than was reserved for it, so it ends here, and what was paid stays "
                    "spent; reserve the sum of all its releases."
                )
            after.append((price, tuple(most - cost for cost, most in zip(asked, left, strict=True))))
        self._left = after

    def release(self, release: Releasable[Noisy], *given: object) -> Noisy:
        """What a mechanism lets out of a secret, charged first."""
        self.spend(release.privacy)
        return release.let_out(*given)

    def release_kept(self, release: Releasable[list[Noisy]], secret: object, then: Privacy | None = None) -> list[Noisy] | None:
        """The numbers or texts that a mechanism lets out, charged first, and kept durably before anybody sees them. ``then``:
        what is let out next, where that is known, which saves a step.

        A run that goes on after a crash gets the same again. None: that one died before this could be kept. It is spent, and
        what was let out is not known.
        """
        self._charge(release.privacy)
        price = _written(release.privacy)
        if self._before:
            before, found = self._before.pop(0)
            if before != price:
                raise ParameterError(
                    "This was begun by another version of discreet, which went another way; ask for a little more, or less."
                )
            return found
        if self._about != price:
            self._step({"about": price})
        found = release.let_out(secret)
        self._about = _written(then)
        self._step({"result": found} | ({"about": self._about} if self._about else {}))
        return found

    def _step(self, facts: Mapping[str, object]) -> None:
        if self._ended:
            return
        if self._keep is not None:
            self._keep(self._places, json.dumps(facts, allow_nan=False))
        self._places += 1


def _written(privacy: Privacy | None) -> str:
    return "" if privacy is None else privacy.to_json()


def _read_steps(kept: Sequence[str]) -> list[tuple[str, list[Any] | None]]:
    """The price of every release that a ledger knows of, and what came out; None where nobody knows."""
    found: list[tuple[str, list[Any] | None]] = []
    for text in kept:
        step = json.loads(text)
        if "result" in step:
            found[-1] = found[-1][0], list(step["result"])
        if "about" in step:
            found.append((str(step["about"]), None))
    return found


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """A result that may leave, what is left of the budget, and what is to be said of it."""

    result: Result
    left: Account
    remarks: tuple[str, ...] = ()
    repeated: bool = False


def ask(request: Request[Result], ledger: Ledger, tables: Tables, rehearsed: object = None) -> Outcome[Result]:
    """The result of a request, paid for once, or the stored one.

    Tables are opened when they are needed, after everything that can be refused. ``rehearsed``: the layout of tables on which it
    was rehearsed before there was a ledger.
    """
    price = request.price
    if price is None:
        return Outcome(request.run(None, Reservation(Privacy(), ledger.salt)), ledger.account)
    table, fingerprint, rows = tables.name(ledger.salt), tables.fingerprint(ledger.salt), Rows(tables.declared)
    stored = _stored(ledger, request, fingerprint, rows, price.cost.amount)
    if stored is None:
        engine = tables.engine(fingerprint)  # what cannot be opened costs nothing
        if engine.layout != rehearsed:
            request.rehearse(engine)  # nor what cannot be counted
        rows = ledger.rows_of(fingerprint, rows.declared)
        if rows.declared and not rows.content:  # once for all questions: it is kept with what is paid for first
            rows = tables.identify(ledger.salt, fingerprint)
            stored = _stored(ledger, request, fingerprint, rows, price.cost.amount)
    if stored is not None:
        ledger.see(table, fingerprint, rows)
        return Outcome(stored, ledger.account, repeated=True)
    number, kept = _begun(ledger, request, fingerprint, rows, price)
    if number is None:
        try:
            number = ledger.reserve(
                question=request.question,
                plan=request.digest,
                data=fingerprint,
                privacy=price.privacy,
                asked=str(price.cost),
                amount=price.cost.epsilon,
                table=table,
                digest=_DIGEST,
                rows=rows,
            )
        except BudgetExceeded:
            ledger.see(table, fingerprint, rows)  # so that who has nothing left to pay with cannot have rows read again and again
            raise
    result = _run(request, engine, Reservation(price.privacy, ledger.salt, partial(ledger.keep, number), kept))
    if _layout(tables) != engine.layout:
        raise EngineError(_MOVED)
    remarks: tuple[str, ...] = ()
    if tables.changed(ledger.salt, fingerprint):
        ledger.tear(number)
        remarks = (_TORN,)
    apart = ledger.find_apart(request.digest, fingerprint, lambda: request.former, rows)
    unlike = (_APART,) if any(amount_paid(entry) >= price.cost.amount for entry in apart) else ()  # of this payment alone
    answer = write_result(price.cost.amount, request.write(result, remarks))
    return Outcome(result, ledger.commit(number, answer), (*remarks, *unlike))


def _run(request: Request[Result], engine: Engine, reserved: Reservation) -> Result:
    """The result; whatever goes wrong between data and noise, nothing of it is said."""
    try:
        with engine.reading(), np.errstate(all="ignore"):  # a warning that is made an error would end what is paid for
            return request.run(engine, reserved)
    except EngineError as problem:
        failure: DiscreetError = EngineError(f"{problem} {_SPENT}")
    except DiscreetError as refusal:
        failure = refusal
    except Exception:
        failure = EngineError(
            f"The question could not be finished; nothing more can be said without speaking of the data. {_SPENT}"
        )
    failure.__cause__ = failure.__context__ = None  # neither words nor frames travel along, nor those of what came before
    raise failure.with_traceback(None)


def _sum(privacy: Privacy, price: Callable[[Loss], tuple[Fraction, ...] | None]) -> tuple[Fraction, ...] | None:
    """What a guarantee costs in the currencies of a filter, exactly; None where it has no price in them."""
    total = (Fraction(0), Fraction(0))
    for loss, count in privacy.parts:
        one = price(loss)
        if one is None:
            return None
        total = total[0] + count * one[0], total[1] + count * one[1]
    return total


def _layout(tables: Tables) -> object:
    try:
        return tables.layout()
    except DiscreetError:
        return None  # it vanished, or cannot be read as a table any more


def _stored(ledger: Ledger, request: Request[Result], data: str, rows: Rows, amount: Fraction) -> Result | None:
    """The newest stored result that was paid at least this much; of another request, where that serves as well."""

    def is_enough(start: str) -> bool:
        return (amount_at_start(start) or amount) >= amount

    found = ledger.find(request.digest, data, lambda: request.former, rows, is_enough)
    if enough := [entry for entry in found if amount_paid(entry) >= amount]:
        return request.read(texts_of(enough[-1]))
    serve = serving_of(request)
    return None if serve is None else find_served(serve, ledger.find(None, data, rows=rows))


def _begun(ledger: Ledger, request: Request[Result], data: str, rows: Rows, price: Price) -> tuple[int | None, tuple[str, ...]]:
    """The newest reservation for the same, at the same price, whose run died on the way; and what it kept."""
    for entry, steps in reversed(ledger.begun(request.digest, data, rows)):
        ended = any("ended" in json.loads(step) for step in steps)
        if not ended and (entry.asked, entry.privacy) == (str(price.cost), price.privacy):
            return entry.number, steps
    return None, ()


def serving_of(request: Request[Result]) -> Callable[[list[str]], Result | None] | None:
    """What finds its result in those of other requests; None where no other's serves."""
    serve: Callable[[list[str]], Result | None] | None = getattr(request, "serve", None)  # which those have that are Servable
    return serve


def find_served(serve: Callable[[list[str]], Result | None], entries: Sequence[Entry]) -> Result | None:
    """The newest result of other requests that serves."""
    found = (serve(texts_of(entry)) for entry in reversed(entries) if amount_paid(entry) >= 0)
    return next((one for one in found if one is not None), None)
