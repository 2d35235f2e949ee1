"""The one way out: plan -> price -> reserve -> count -> noise -> commit -> answer.

1. The plan is priced from public facts; a question that is refused has cost nothing and touched nothing.
2. If the ledger holds an answer to the same questions on the same data, paid at least as much, that answer is given again: free.
3. The price is reserved in the ledger, durably. From here on it is spent, whatever happens.
4. The engine counts, exactly; what it hands back is a ``Secret``.
5. Mechanisms open the secrets and add noise. Noisy numbers become estimates, which costs nothing.
6. The answer is committed to the ledger, durably, and only then leaves.

Nothing else in discreet touches data and returns a number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from discreet.curator.answer import Answer
from discreet.curator.refine import refine
from discreet.curator.releases import answer_of, noisy
from discreet.engine.counting import Groups
from discreet.engine.duckdb.engine import Found, groups_of
from discreet.errors import DiscreetError, EngineError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms import Threshold
from discreet.mechanisms.secret import Secret
from discreet.plan.expressions import Value
from discreet.plan.price import Plan
from discreet.plan.terms import Priced
from discreet.privacy.account import Account

__all__ = ["Engine", "ask"]


class Engine(Protocol):
    """Whatever counts exactly."""

    def rehearse(self, plan: Plan) -> None: ...
    def keys(self, plan: Plan, salt: str) -> Secret[Mapping[tuple[Value, ...], int]]: ...
    def count(self, plan: Plan, groups: Groups, salt: str) -> Found: ...


def ask(priced: Priced, ledger: Ledger, engine: Callable[[], Engine], data: Callable[[bytes], str]) -> list[Answer]:
    """Answers to questions that are paid for together, or the stored ones.

    ``engine`` and ``data`` (its fingerprint under a key) are opened when they are needed, after everything that can be refused.
    """
    plans, asked, amount = priced.plans, priced.asked, priced.amount
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    if not costs:
        return [_finished(_released(plan, None, ledger.salt), plan, "nothing", ledger.account) for plan in plans]
    digest = hashlib.sha256("\n".join(plan.digest for plan in plans).encode()).hexdigest()
    fingerprint = data(ledger.salt)
    stored = _stored(ledger, digest, fingerprint, amount)
    if stored is not None:
        return [
            _finished(replace(answer, repeated=True), plan, answer.cost, ledger.account)
            for answer, plan in zip(stored, plans, strict=True)
        ]
    counting = engine()  # what cannot be opened costs nothing
    for plan in plans:
        counting.rehearse(plan)  # nor what cannot be counted
    number = ledger.reserve(
        question="; ".join(str(plan.query.released) for plan in plans),
        plan=digest,
        data=fingerprint,
        privacy=sum(costs[1:], costs[0]),
        asked=asked,
        amount=amount if asked.startswith("epsilon") else None,
    )
    answers = _counted(priced, counting, ledger.salt)
    left = ledger.commit(number, json.dumps({"version": 1, "amount": str(amount), "answers": [a.to_json() for a in answers]}))
    return [_finished(answer, plan, asked, left) for answer, plan in zip(answers, plans, strict=True)]


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
        facts = json.loads(entry.answer or "{}")
        if facts.get("version") == 1 and Fraction(facts["amount"]) >= amount:
            return [Answer.from_json(text) for text in facts["answers"]]
    return None


def _finished(answer: Answer, plan: Plan, cost: str, left: Account) -> Answer:
    """What is free: HAVING, ORDER BY, LIMIT on the noisy result, and what is left of the budget."""
    return replace(refine(answer, plan.query), cost=cost, left=left, question=str(plan.query))


def _ordered(keys: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """In an order that says nothing about the data."""
    return sorted(keys, key=lambda key: tuple((str(type(value)), value) for value in key))
