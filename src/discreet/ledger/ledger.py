"""The ledger: one list that keeps the budget of some people, through crashes and between any number of processes.

A question is paid for before data is touched: ``reserve`` checks the account and appends a record in one serialisable
transaction, and returns when record and witness are on disk. ``commit`` does the same for the answer, before anybody sees it. A
reservation without an answer counts as spent for ever; nothing is refunded. Whatever fails, the ledger may count too much as
spent, never too little.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import people as register
from discreet.ledger import witness
from discreet.ledger.chain import START, UNKNOWN, Chain, Entry, Facts, Record, Rows, Terms, canonical, now, opening, seal
from discreet.ledger.people import Table, check_name
from discreet.ledger.place import Named, Place, resolve
from discreet.ledger.store import Records, store_of
from discreet.ledger.witness import Witness, distrust, resolve_real, resolve_writable
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget


class Ledger:
    """A budget on disk. Safe to share between threads, and across a fork."""

    def __init__(self, path: Place) -> None:
        self.path, self._store = path, store_of(path)
        self._chain = Chain()
        self._terms: Terms | None = None  # those it was opened with
        self._seen = True  # whether it must have been seen here before
        self._left = ""  # where it is about to go on

    @classmethod
    def open(
        cls,
        path: Named,
        budget: Budget | None = None,
        unit: str = "",
        people: str = "",
        table: Table | None = None,
        called: Callable[[bytes], str | None] = lambda _: None,
    ) -> Ledger:
        """The ledger at a path, checked from end to end, to pay from; a new one where there was never any.

        Without a budget only an existing one is opened. ``unit`` says who is protected: costs for different ones do not add up.
        Budget and unit are fixed by the first question that is paid for. ``people`` says whose budget it is, ``table`` what is
        publicly known of the table that pays, ``called`` its name under a salt: a second ledger for the same people is refused.
        """
        self = cls(resolve_writable(path))
        known, begun = witness.read(self.path), register.is_begun(self.path)
        if not self._store.exists(self.path):
            if known is not None:
                raise LedgerRefused(distrust(self.path, "is missing, but there was one"))
            if budget is None:
                raise LedgerRefused(
                    f"There is no ledger at {self.path}; check its name (the first question that is asked begins one)."
                )
        if table is not None:
            (register.check if begun else register.begin)(self.path, people, table)
        if budget is not None:
            self._store.create(self.path)
        with self._store.writing(self.path) as records:
            if records.is_empty():
                if witness.read(self.path) is not None:
                    raise LedgerRefused(distrust(self.path, "is empty, but once was not"))
                if budget is None:
                    raise LedgerRefused(f"The ledger at {self.path} is empty; ask a first question, which begins it.")
                self._append(records, opening(budget, unit) | {"people": people})
                records.lock()
            known = witness.read(self.path)  # again, now that nobody else can write it
            self._follow(records)
            if known is not None:
                known.check(self._chain, self.path)
            elif self._chain.asked or self._chain.looks:  # a ledger without entries has nothing to lose: its maker crashed
                raise LedgerRefused(distrust(self.path, "has entries, but this machine and user never saw it"))
            if budget is not None:
                self._terms = Terms(budget, unit, people)
                self._agree(records)
            self._write_witness(anew=known is None)
        if table is not None:
            for other in register.find_giving_way(self.path, table):
                self._take_over(other, called)
            register.remember(self.path, self._chain.people, table)
        return self

    @classmethod
    def view(cls, path: Named, budget: Budget, unit: str = "", people: str = "") -> Ledger | None:
        """The ledger at a path, checked from end to end, to read what was spent and asked; None where there was never any.

        Nothing is written, so it may be a file, or in a folder, that this user cannot write to, and one that this user never saw:
        whoever pays from it must first adopt it.
        """
        if not register.is_begun(resolve(path)):
            return None
        self = cls(resolve_real(path))
        if not self._store.exists(self.path):
            raise LedgerRefused(distrust(self.path, "is missing, but there was one"))
        self._terms, self._seen = Terms(budget, unit, people), False
        with self._reading():
            if self._chain.asked or self._chain.joined:
                self._insist()
        return self

    @property
    def id(self) -> str:
        """What tells this ledger, and its copies, from others."""
        return self._chain.id

    @property
    def people(self) -> str:
        """Whose budget it is; nothing where nobody said."""
        return self._chain.people

    @property
    def salt(self) -> bytes:
        """32 random bytes, for keyed hashes that belong to this ledger."""
        return self._chain.salt

    @property
    def budget(self) -> Budget:
        """The budget that was fixed when the ledger was made."""
        return self._chain.account.budget

    @property
    def account(self) -> Account:
        """What is spent and left at this moment, whoever spent it."""
        with self._reading():
            return self._chain.account if self._chain.asked or self._terms is None else self._terms.budget.open()

    def history(self) -> tuple[Entry, ...]:
        """All questions, oldest first."""
        with self._reading() as (records, _):
            stored = {record.number: record for record in records.read(0)}
            if len(stored) != len(self._chain.hashes):
                raise LedgerRefused(distrust(self.path, "has lost records while it was open"))
            chain = self._chain
            return self._chain.entries(stored, sorted(chain.answers.keys() | chain.unanswered | chain.looks.keys()))

    def find(
        self,
        plan: str | None,
        data: str,
        former: Callable[[], Sequence[str]] = tuple,
        rows: Rows = UNKNOWN,
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> tuple[Entry, ...]:
        """Answered questions with this plan (None: with any) on this data, or on others that hold the same rows, oldest first:
        their answers may be given again. ``former`` gives hashes by which older entries know the same plan, where there may be
        some. ``wanted`` says of the first letters of an answer whether it may do: others are not read."""
        with self._reading() as (records, known):
            plans = None if plan is None else (plan, *(former() if self._chain.elder else ()))
            numbers = self._chain.repeatable(plans, self._chain.same_as(data, rows))
            numbers = [number for number in numbers if wanted(self._chain.begins[number])]
            found, last = self._read(records, numbers), max((self._chain.answers[number] for number in numbers), default=-1)
        if numbers and (known is None or last > known.number):  # an answer may leave only after its witness
            with self._writing() as records:
                self._bear_witness(records)
        return found

    def rows_of(self, data: str, declared: str) -> Rows:
        """The rows that data are under what is declared of them, as far as that was known when the ledger was last read."""
        return self._chain.rows_of(data, declared)

    def find_apart(self, plan: str, data: str, former: Callable[[], Sequence[str]], rows: Rows) -> tuple[Entry, ...]:
        """Answered questions with this plan on other data, of which nobody knows whether they are the same rows, as far as the
        ledger was last read."""
        plans = (plan, *(former() if self._chain.elder else ()))
        numbers = self._chain.repeatable(plans, self._chain.apart(plans, data, rows))
        if not numbers:
            return ()
        with self._reading() as (records, _):
            return self._read(records, numbers)

    def repeats(
        self, plan: str | None, table: str | None, data: str | None = None, former: Sequence[str] = (), declared: str = ""
    ) -> tuple[tuple[Entry, ...], bool | None, bool]:
        """Answered questions with this plan (None: with any), oldest first; whether the table is still what the last of them was
        asked of; and whether the same rows in another form would be known again.

        That is decided without the table: by ``data`` where they are known, else by what the table was when it was last opened
        (None: it has no name, or never was by this one, or its rows are not known yet). If it is the same, only those that may be
        given again are listed.
        """
        with self._reading() as (records, _):
            chain, now_held = self._chain, self._chain.tables.get(table or "") if data is None else data
            plans = None if plan is None else (plan, *former)
            same = [] if now_held is None else chain.repeatable(plans, chain.same_as(now_held, Rows(declared)))
            before = {one for asked in (chain.held if plans is None else plans) for one in chain.held.get(asked, ())}
            alike = any(chain.rows_of(one, declared).content for one in before)
            unknown = now_held is None or (alike and not chain.rows_of(now_held, declared).content)
            found = self._read(records, same or chain.repeatable(plans, [*before]))
            return found, True if same else None if unknown else False, alike

    def reserve(
        self,
        *,
        question: str,
        plan: str,
        data: str,
        privacy: Privacy,
        asked: str,
        amount: Fraction | None = None,
        table: str | None = None,
        digest: int | None = None,
        rows: Rows = UNKNOWN,
    ) -> int:
        """Pay for a question, durably; its number. Raises ``BudgetExceeded``, with nothing spent, where it does not fit.

        ``asked`` says the cost as it was asked for ("epsilon=0.5"), ``amount`` the epsilon in it if there is one; ``table`` which
        table it is about, by a name that stays when its ``data`` change; ``rows`` which rows these are; ``digest`` the version
        of hashes that ``plan`` is of.
        """
        with self._writing() as records:
            account = self._chain.account.spend(privacy, amount)
            facts: Facts = {"kind": "reserved", "time": now(), "question": question, "plan": plan, "data": data, "asked": asked}
            facts |= _seen(table, rows) | ({} if digest is None else {"digest": digest})
            facts |= {"privacy": privacy.to_json(), "account": account.to_json()}
            number = self._append(records, facts)
            self._chain.know(str(facts["account"]), account)
            self._bear_witness(records)
        return number

    def keep(self, number: int, place: int, text: str) -> None:
        """Keep a step of a reservation, durably, before the next is taken: what was let out, or is about to be. ``place`` is how
        many were kept before; refused where there are others, or an answer: another process went on with it."""
        with self._writing() as records:
            if number not in self._chain.unanswered or len(self._chain.steps.get(number, ())) != place:
                raise LedgerRefused("Another process went on with this question, so this one ends here; ask it again.")
            self._append(records, {"kind": "step", "time": now(), "reservation": number, "text": text})
            self._bear_witness(records)

    def begun(self, plan: str, data: str, rows: Rows = UNKNOWN) -> tuple[tuple[Entry, tuple[str, ...]], ...]:
        """Reservations with this plan on this data, or on the same rows, that had steps and no answer when last read, oldest
        first, and the steps of each."""
        if not self._chain.unfinished(plan, self._chain.same_as(data, rows)):
            return ()
        with self._reading() as (records, _):
            numbers = self._chain.unfinished(plan, self._chain.same_as(data, rows))
            wanted = {one for number in numbers for one in (number, *self._chain.steps[number])}
            stored = {record.number: record for record in records.get(*wanted)} if numbers else {}
            steps = [tuple(str(stored[one].facts["text"]) for one in self._chain.steps[number]) for number in numbers]
            return tuple(zip(self._chain.entries(stored, numbers), steps, strict=True))

    def see(self, table: str | None, data: str, rows: Rows = UNKNOWN) -> None:
        """Keep what a table holds now, and which rows those are, where the ledger remembers something else."""
        if table is None and not rows.content:
            return
        with self._reading():
            known = table is None or self._chain.tables.get(table) == data
            known = known and rows.content in ("", self._chain.rows_of(data, rows.declared).content)
        if not known:
            self._note({"kind": "seen", "time": now(), "data": data, **_seen(table, rows)})

    def tear(self, number: int) -> None:
        """Keep that the table changed while a reservation was counted: its answer is of neither, and is never given again."""
        self._note({"kind": "torn", "time": now(), "reservation": number})

    def name(self, people: str) -> None:
        """Say whose budget it is, also in other words than before; nobody has two."""
        people = check_name(people)
        register.check(self.path, people)
        self._note({"kind": "named", "time": now(), "people": people})
        register.remember(self.path, self._chain.people)

    def note_look(self, declared: Mapping[str, str], table: str | None = None) -> None:
        """Note, durably and before it happens, that somebody looks at a table without noise, and what is declared of it now.

        It costs nothing that could be counted, and fixes neither budget nor unit: the owner may be about to correct them.
        """
        facts: Facts = {"kind": "looked", "time": now(), "declared": json.dumps(dict(declared), sort_keys=True)}
        self._note(facts | ({} if table is None else {"table": table}))

    def pay_for(self, people: str, table: Table) -> None:
        """Check and remember that a table pays from this ledger, such as a pattern that means more files than it did."""
        register.check(self.path, people, table)
        register.remember(self.path, self._chain.people, table)

    def _take_over(self, path: Place, called: Callable[[bytes], str | None]) -> None:
        """Note the looks of another ledger, under which nothing was paid, and end it."""
        other = Ledger(path)
        with register.ending(path), other._store.writing(path) as records:
            other._follow(records)
            witness.recall(path).check(other._chain, path)
            if other._chain.asked:
                raise LedgerRefused(f"{path} was paid from a moment ago, so it does not give way; ask again.")
            name = called(self.salt)
            for number, (_, declared) in other._chain.looks.items():
                if (name, declared) not in self._chain.looks.values():  # whoever died here may have noted it
                    self._note(records.get(number)[0].facts | ({} if name is None else {"table": name}))
            if not other._chain.joined:
                other._append(records, {"kind": "joined", "time": now(), "ledger": str(self.path)})
                records.lock()
                other._follow(records)
            other._write_witness(anew=True)

    @property
    def looks(self) -> tuple[tuple[str | None, Mapping[str, str]], ...]:
        """Which table was looked at (None: a frame, which has no name), and what was declared of it then, as far as was read."""
        return tuple(self._chain.looks.values())

    def commit(self, number: int, answer: str) -> Account:
        """Keep the answer of a reservation, durably; only then may anybody see it. What is then spent and left."""
        with self._writing() as records:
            if number not in self._chain.unanswered:
                state = "was answered already" if number in self._chain.answers else "does not exist"
                raise ParameterError(f"Reservation {number} {state}; commit what reserve() returned, once.")
            self._append(records, {"kind": "answered", "time": now(), "reservation": number, "answer": answer})
            self._bear_witness(records)
            return self._chain.account

    def _agree(self, records: Records) -> None:
        """Hold the ledger to our terms: change them where nothing was paid for under others, else refuse."""
        terms, chain = self._terms, self._chain
        if terms is None:
            return
        while not chain.asked and not chain.joined and not terms.held_by(chain):
            self._append(records, opening(terms.budget, terms.unit, chain) | {"people": terms.people or chain.people})
            records.lock()  # between the two, others may have changed the terms, and paid
            self._follow(records)
        self._insist()
        if terms.people and not chain.people:  # a ledger that did not say whose it is
            self._append(records, {"kind": "named", "time": now(), "people": terms.people})
            records.lock()
            self._follow(records)
            self._insist()

    def _insist(self) -> None:
        if self._terms is not None:
            self._terms.check(self._chain, self.path)

    # Transactions.

    @contextmanager
    def _reading(self) -> Iterator[tuple[Records, Witness | None]]:
        known = (witness.recall if self._seen else witness.read)(self.path)  # before the snapshot: others may go on meanwhile
        with self._store.reading(self.path) as records:
            if not self._seen and records.is_empty():
                raise LedgerRefused(distrust(self.path, "is empty, but once was not"))
            self._follow(records)
            if known is not None:
                known.check(self._chain, self.path)
            yield records, known

    @contextmanager
    def _writing(self) -> Iterator[Records]:
        with self._store.writing(self.path) as records:
            self._follow(records)
            witness.recall(self.path).check(self._chain, self.path)
            self._agree(records)
            yield records

    def _note(self, facts: Facts) -> None:
        with self._writing() as records:
            self._append(records, facts)
            self._bear_witness(records)

    def _append(self, records: Records, facts: Facts) -> int:
        """Add the next record and commit: it has this number, or the store refuses it. It may be long, and is not read again."""
        chain, text = self._chain, canonical(facts)
        record = Record(chain.head + 1, text, seal(chain.hashes[-1] if chain.hashes else START, text))
        records.add(record)
        chain.append(record, facts)
        return record.number

    def _follow(self, records: Records) -> None:
        """Verify what was added since we last looked, and that what we knew is still there."""
        chain = self._chain
        news = records.read(chain.head + 1)
        if chain.hashes and records.hash_of(chain.head) != chain.hashes[-1]:
            raise LedgerRefused(distrust(self.path, "was exchanged or rolled back while it was open"))
        chain.extend(news)
        if chain.moved not in ("", self._left):
            raise LedgerRefused(f'The ledger {self.path} was moved, and nothing is paid here; write ledger="{chain.moved}".')
        if not chain.hashes:
            raise LedgerRefused(f"{self.path} has lost its first record, so nobody knows how much was spent; restore a copy.")

    def _bear_witness(self, records: Records) -> None:
        """Write the witness under the ledger's write lock: whoever writes it last has seen the most."""
        records.lock()
        self._follow(records)
        self._write_witness()  # a server may have taken the lock from us, and others have gone on: theirs then stays

    def _write_witness(self, *, anew: bool = False) -> None:
        witness.write(self.path, Witness(self._chain.id, self._chain.head, self._chain.hashes[-1]), anew=anew)

    def _read(self, records: Records, numbers: list[int]) -> tuple[Entry, ...]:
        """Answered questions by the numbers of their reservations."""
        wanted = {*numbers, *(self._chain.answers[number] for number in numbers)}
        return self._chain.entries({record.number: record for record in records.get(*wanted)}, numbers)


def _seen(table: str | None, rows: Rows) -> Facts:
    named: Facts = {} if table is None else {"table": table}
    return named | ({"declared": rows.declared, "rows": rows.content} if rows.content else {})
