"""The one way out: plan -> price -> reserve -> count -> noise -> commit -> answer.

1. The plan is priced from public facts; a question that is refused has cost nothing and touched nothing.
2. If the ledger holds an answer to the same questions on the same data, paid at least as much, that answer is given again: free.
   Data are the same when their bytes or cells are (or, where the owner declares a version, when that is): a public fact.
3. The price is reserved in the ledger, durably. From here on it is spent, whatever happens.
4. The engine counts, exactly; what it hands back is a ``Secret``.
5. Mechanisms open the secrets and add noise. Noisy numbers become estimates, which costs nothing.
6. If the table's layout (columns, types, delimiter, files) changed meanwhile, persons may have been told apart by the wrong
   column: nothing leaves. That it changed is public. If only what it holds changed, the answer is of neither state, and the
   ledger says that it is never given again.
7. The answer is committed to the ledger, durably, and only then leaves.

Nothing else in discreet touches data and returns a number, but for an owner's look, which is noted and promises nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from discreet.curator.answer import Answer, refine
from discreet.curator.releases import answer_of, noisy
from discreet.engine.base import Found, Groups, groups_of
from discreet.errors import DiscreetError, EngineError
from discreet.ledger.chain import Entry
from discreet.ledger.ledger import Ledger
from discreet.mechanisms import Threshold
from discreet.mechanisms.secret import Secret
from discreet.plan.cost import Priced
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan
from discreet.privacy.account import Account

__all__ = ["Engine", "Held", "ask", "asked_before"]

_TORN = "The table changed while this was counted, so it is of neither state; asked again, it is paid for again."
_MOVED = (
    "The columns, types or files of the table changed while it was counted, so nothing is released, and what was paid stays "
    "spent; ask again when the table is left alone."
)


class Engine(Protocol):
    """Whatever counts exactly, by the layout that its table had when it was opened."""

    @property
    def layout(self) -> object: ...
    def rehearse(self, plan: Plan) -> None: ...
    def keys(self, plan: Plan, salt: str) -> Secret[Mapping[tuple[Value, ...], int]]: ...
    def count(self, plan: Plan, groups: Groups, salt: str) -> Found: ...


class Held(Protocol):
    """The tables: what they hold and what they are called, as hashes under a key, and what counts in them."""

    def fingerprint(self, salt: bytes) -> str: ...
    def declared(self, salt: bytes) -> str | None: ...
    def called(self, salt: bytes) -> str | None: ...
    def layout(self) -> object: ...
    def engine(self, fingerprint: str) -> Engine: ...


def ask(priced: Priced, ledger: Ledger, held: Held) -> list[Answer]:
    """Answers to questions that are paid for together, or the stored ones.

    What is ``held`` is opened when it is needed, after everything that can be refused.
    """
    plans, asked, amount = priced.plans, priced.asked, priced.amount
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    if not costs:
        return [_finished(_released(plan, None, ledger.salt), plan, "nothing", ledger.account) for plan in plans]
    digest, table, fingerprint = _digest(priced), held.called(ledger.salt), held.fingerprint(ledger.salt)
    stored = _stored(ledger, digest, fingerprint, amount)
    if stored is not None:
        if table is not None:
            ledger.see(table, fingerprint)
        return [
            _finished(replace(answer, repeated=True), plan, answer.cost, ledger.account)
            for answer, plan in zip(stored, plans, strict=True)
        ]
    counting = held.engine(fingerprint)  # what cannot be opened costs nothing
    for plan in plans:
        counting.rehearse(plan)  # nor what cannot be counted
    number = ledger.reserve(
        question="; ".join(str(plan.query.released) for plan in plans),
        plan=digest,
        data=fingerprint,
        privacy=sum(costs[1:], costs[0]),
        asked=asked,
        amount=amount if asked.startswith("epsilon") else None,
        table=table,
    )
    answers = _counted(priced, counting, ledger.salt)
    if _layout(held) != counting.layout:
        raise EngineError(_MOVED)
    if _changed(held, ledger.salt, fingerprint):
        ledger.tear(number)
        answers = [replace(answer, remarks=(*answer.remarks, _TORN)) for answer in answers]
    left = ledger.commit(number, json.dumps({"version": 1, "amount": str(amount), "answers": [a.to_json() for a in answers]}))
    return [_finished(answer, plan, asked, left) for answer, plan in zip(answers, plans, strict=True)]


def asked_before(priced: Priced, ledger: Ledger, held: Held) -> str:
    """What a preview says of questions that were answered before: from the ledger alone, no table is looked at."""
    if all(plan.privacy is None for plan in priced.plans):
        return ""
    declared = held.declared(ledger.salt)
    entries, same = ledger.repeats(_digest(priced), held.called(ledger.salt), declared)
    if not any(_paid(entry) >= priced.amount for entry in entries):
        return "Asked before, for less: it would be paid for again." if entries and same else ""
    if same is False:
        return "Asked before, but the table changed since: it would be paid for again."
    if same is None:
        return "Asked before: free if this table holds the same as that one did."
    return "Asked before: free." if declared else "Asked before: free, unless the table changed since it was last opened."


def _digest(priced: Priced) -> str:
    return hashlib.sha256("\n".join(plan.digest for plan in priced.plans).encode()).hexdigest()


def _layout(held: Held) -> object:
    try:
        return held.layout()
    except DiscreetError:
        return None  # it vanished, or cannot be read as a table any more


def _changed(held: Held, salt: bytes, fingerprint: str) -> bool:
    try:
        return held.fingerprint(salt) != fingerprint
    except DiscreetError:
        return True  # it vanished, or is being written


def _counted(priced: Priced, engine: Engine, salt: bytes) -> list[Answer]:
    """All answers; whatever goes wrong between data and noise, nothing of it is said."""
    try:
        return [replace(_released(plan, engine, salt), cost=priced.asked) for plan in priced.plans]
    except DiscreetError as refusal:
        failure = refusal
    except Exception:
        failure = EngineError("The question could not be finished; nothing more can be said without speaking of the data.")
    raise failure.with_traceback(None)  # here, so that neither its words nor its frames travel along


def _released(plan: Plan, engine: Engine | None, salt: bytes) -> Answer:
    """Count, and add noise."""
    chosen: list[tuple[Value, ...]] | None = None
    key_salt = hashlib.sha256(b"groups of a person" + salt).hexdigest()
    if plan.keys.size is None:
        assert engine is not None
        choice = plan.parts[0].mechanism
        assert isinstance(choice, Threshold)
        chosen = _ordered(choice.select(engine.keys(plan, key_salt)))
    groups = groups_of(plan, chosen)
    counts: Found = {}
    if engine is not None and groups.size:
        counts = engine.count(plan, groups, key_salt)
    return answer_of(plan, groups, noisy(plan, groups, counts))


def _stored(ledger: Ledger, digest: str, data: str, amount: Fraction) -> list[Answer] | None:
    """The newest stored answers that were paid at least this much."""
    for entry in reversed(ledger.find(digest, data)):
        if _paid(entry) >= amount:
            return [Answer.from_json(text) for text in json.loads(entry.answer or "{}")["answers"]]
    return None


def _paid(entry: Entry) -> Fraction:
    """What was paid for an answer that can be read; less than nothing for others."""
    facts = json.loads(entry.answer or "{}")
    return Fraction(facts["amount"]) if facts.get("version") == 1 else Fraction(-1)


def _finished(answer: Answer, plan: Plan, cost: str, left: Account) -> Answer:
    """What is free: HAVING, ORDER BY, LIMIT on the noisy result, and what is left of the budget."""
    return replace(refine(answer, plan.query), cost=cost, left=left, question=str(plan.query))


def _ordered(keys: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """In an order that says nothing about the data."""
    return sorted(keys, key=lambda key: tuple((str(type(value)), value) for value in key))
