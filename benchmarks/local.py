"""Local privacy against pure-ldp and multi-freq-ldpy: one process, one table; a million reports at epsilon 1.

Ours: processor time of a whole batch, from values to reports with secure randomness, and from reports to estimates; the least of
several repeats. Errors are sums of squares over all values, averaged over so many surveys that they are known to a few percent
(0.3 % for the protocol that is chosen for 10,000 values). The peers have no batches and no secure randomness: some of their calls
are timed, and a million is said to take so many times longer (their servers' cost is linear in the reports, plus a fixed part).
The targets at the end are checked: exit code 1 on a miss. Among them are promises that need large simulations, or exact sums over
thousands of settings: how often intervals cover, how near the choice is to the best.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom
from timing import seconds

import discreet as dp
from discreet.local.protocols import PROTOCOLS, choose_protocol, make_protocol

N = 1_000_000
EPSILON = 1.0
SIZES = (2, 100, 10_000)
PATIENCE = 1.0  # seconds for one phase of a peer

Peer = tuple[Callable[[int], object], Callable[[list[object]], object]]


def population(size: int, count: int) -> np.ndarray:
    """People's values, the first ones far more common."""
    shares = 1 / np.arange(1, size + 1)
    edges = np.cumsum(shares / shares.sum())
    return np.searchsorted(edges, (np.arange(count) + 0.5) / count)


def ours(size: int, protocol: str | None) -> tuple[str, float, float, float]:
    """Name; nanoseconds a report on the client; seconds for a million reports on the server; error against the closed form."""
    task = dp.local.Frequencies(range(size), EPSILON, protocol=protocol)
    count = N if task.protocol.name in ("k-ary", "projective", "affine") else max(2_000, min(N, 20_000_000 // size))
    if task.protocol.name == "hashing":
        count = min(count, 10_000)
    values = population(size, count)
    batch = task.randomize(values)

    def collect() -> dp.local.Estimate:
        collector = task.collector()
        collector.add(batch)
        return collector.estimate()

    client = seconds(lambda: task.randomize(values), 3) / count
    server = seconds(collect, 3) * N / count
    few = population(size, min(count, 200_000 if size > 1000 else 10_000))
    truth = np.bincount(few, minlength=size) / few.size
    repeats = {2: 2000, 100: 100}.get(size, 20 if few.size > 10_000 else 2)
    squares = [((repeat(task, few).values - truth) ** 2).sum() for _ in range(repeats)]
    theory = sum(task.protocol.rates.variance(share) for share in truth) / few.size
    return task.protocol.name, client * 1e9, server, float(np.mean(squares) / theory)


def repeat(task: dp.local.Frequencies, values: np.ndarray) -> dp.local.Estimate:
    collector = task.collector()
    collector.add(task.randomize(values))
    return collector.estimate()


def pure_ldp(size: int) -> dict[str, Peer]:
    import pure_ldp.frequency_oracles as oracles

    def peer(client: object, server: object) -> Peer:
        def collect(reports: list[object]) -> object:
            server.reset()  # type: ignore[attr-defined]
            server.aggregate_all(reports)  # type: ignore[attr-defined]
            return server.estimate_all(range(1, size + 1), suppress_warnings=True)  # type: ignore[attr-defined]

        return lambda value: client.privatise(value + 1), collect  # type: ignore[attr-defined]

    return {
        "k-ary": peer(oracles.DEClient(EPSILON, size), oracles.DEServer(EPSILON, size)),
        "unary": peer(oracles.UEClient(EPSILON, size, True), oracles.UEServer(EPSILON, size, True)),
        "hashing": peer(oracles.LHClient(EPSILON, size, use_olh=True), oracles.LHServer(EPSILON, size, use_olh=True)),
    }


def multi_freq(size: int) -> dict[str, Peer]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    return {
        "k-ary": (lambda v: GRR.GRR_Client(v, size, EPSILON), lambda r: GRR.GRR_Aggregator_MI(r, size, EPSILON)),
        "subset": (lambda v: SS.SS_Client(v, size, EPSILON), lambda r: SS.SS_Aggregator_MI(r, size, EPSILON)),
        "unary": (lambda v: UE.UE_Client(v, size, EPSILON, True), lambda r: UE.UE_Aggregator_MI(r, EPSILON, True)),
        "hashing": (lambda v: LH.LH_Client(v, size, EPSILON), lambda r: LH.LH_Aggregator_MI(r, size, EPSILON)),
    }


def timed(peer: Peer, size: int) -> tuple[float, float]:
    """Nanoseconds a report, and seconds for a million of them on the server."""
    client, collect = peer
    reports: list[object] = [client(0)]
    start = time.process_time()
    while time.process_time() - start < PATIENCE / 4 and len(reports) < 20_000:
        reports.append(client(len(reports) % size))
    each = (time.process_time() - start) / (len(reports) - 1)
    fixed = seconds(lambda: collect(reports[:2]), 1)  # de-biasing does not depend on the number of reports
    many, took = reports[:2], fixed
    while took < PATIENCE / 2 and len(many) < 500_000:
        many = many * 4 if 4 * len(many) > len(reports) else reports[: 4 * len(many)]
        took = seconds(lambda many=many: collect(many), 1)  # type: ignore[misc]
    return each * 1e9, fixed + max(took - fixed, 0.0) / len(many) * N


def least_coverage() -> tuple[int, float]:
    """Settings of protocol, values, epsilon, people and share; and the least exact coverage of a 95 % interval among them."""
    settings, least = 0, 1.0
    for name in ("k-ary", "subset", "projective", "affine", "unary", "hashing"):
        for size in (2, 20, 100, 1000):
            for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4), Fraction(6), Fraction(8), Fraction(12)):
                rates = make_protocol(name, epsilon, size).rates
                for people in (2, 10, 50, 100, 1000, 3000):
                    counts = np.arange(people + 1)
                    low, high = dp.local.Estimate.of(range(people + 1), counts, people, rates).interval(0.95)
                    for own in sorted({0, 1, people // 20, people // 3, people - 1, people}):
                        first = binom.pmf(counts[: own + 1], own, rates.truth)
                        law = np.convolve(first, binom.pmf(counts[: people - own + 1], people - own, rates.lie))
                        settings += 1
                        least = min(least, float(law[(low <= own / people) & (own / people <= high)].sum()))
    return settings, least


def worst_choice() -> tuple[float, int, float]:
    """The variance of what is chosen beside the least over every protocol: the largest ratio, and where it is."""
    worst = (1.0, 2, 1.0)
    for size in (2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 5_000_000, 2**24):
        for half in range(1, 31):
            epsilon = Fraction(half, 2)
            offered = [
                offer for name in PROTOCOLS if name != "randomized response" for offer in PROTOCOLS[name].offers(epsilon, size)
            ]
            least = min(offer.variance for offer in offered)
            worst = max(worst, (choose_protocol(epsilon, size, 1024).variance / least, size, half / 2))
    return worst


def spikes(people: int, surveys: int) -> tuple[int, int]:
    """Of so many intervals of quantiles, among people half of whom have one number, how many cover."""
    rng, covered, asked = np.random.default_rng(1), 0, 0
    for epsilon in (1, 2, 4):
        task = dp.local.Distribution(0, 100, epsilon)
        for _ in range(surveys):
            values = np.where(rng.random(people) < 0.5, 30.0, rng.uniform(0, 100, people))
            estimate = repeat(task, values)
            for share in (0.05, 0.25, 0.4, 0.5, 0.6, 0.75, 0.95):
                low, high = estimate.quantile_interval(share)  # type: ignore[attr-defined]
                covered += low <= np.quantile(values, share, method="inverted_cdf") <= high
                asked += 1
    return covered, asked


def promises(target: Callable[[str, bool], None]) -> None:
    """What needs more work than a test suite may do."""
    number, least = least_coverage()
    target(f"95 % intervals of shares: exact coverage at least {least:.4f} over {number:,} settings, 0.94 or more", least >= 0.94)
    ratio, size, epsilon = worst_choice()
    target(
        f"the choice has at most {ratio:.3f} of the least variance ({size:,} values, epsilon {epsilon:g}), under 1.1", ratio < 1.1
    )
    million = dp.local.Frequencies(range(1_000_000), 8)
    batch = million.randomize(population(1_000_000, N))

    def collect() -> None:
        collector = million.collector()
        collector.add(batch)
        collector.estimate()

    took = seconds(collect, 1)
    target(f"{million.protocol.name}, a million reports about a million values, epsilon 8: {took:.1f} s, under 5", took < 5)
    covered, asked = spikes(20_000, 24)
    target(f"quantiles of a shape with a spike: {covered} of {asked} intervals cover, 95 %", covered >= 0.95 * asked)
    shape = repeat(dp.local.Distribution(0, 100, 1), 100 * np.random.default_rng(5).beta(2, 5, 20_000))
    took = seconds(lambda: str(shape), 1)
    target(f"printing a distribution: {took:.3f} s, under 1", took < 1)


def main() -> int:
    warnings.simplefilter("ignore")  # the peers' own
    console, misses = Console(width=130), []
    versions = f"pure-ldp {version('pure-ldp')}, multi-freq-ldpy {version('multi-freq-ldpy')}"
    table = Table(title=f"client ns a report, server seconds a million reports, epsilon {EPSILON:g}; {versions}")
    for name in ("values", "protocol", "client", "server", "error / theory", "pure-ldp", "server", "multi-freq", "server"):
        table.add_column(name, justify="right")
    found: dict[tuple[int, str], tuple[float, float, float]] = {}
    for size in SIZES:
        peers = [pure_ldp(size), multi_freq(size)]
        for protocol in ("k-ary", "subset", "projective", "affine", "unary", "hashing"):
            if protocol == "projective" and size < 10:
                continue
            name, client, server, error = ours(size, protocol)
            found[size, name] = client, server, error
            cells = [f"{size:,}", name, f"{client:,.0f}", f"{server:,.3f}", f"{error:.3f}"]
            for library in peers:
                told = timed(library[protocol], size) if protocol in library else None
                cells += ["-", "-"] if told is None else [f"{told[0]:,.0f}", f"{told[1]:,.1f}"]
            table.add_row(*cells)
    console.print(table)

    def target(text: str, held: bool) -> None:
        console.print(f"{'ok  ' if held else 'MISS'} {text}", highlight=False)
        if not held:
            misses.append(text)

    chosen = dp.local.Frequencies(range(10_000), EPSILON).protocol.name
    client, server, error = found[10_000, chosen]
    target(f"{chosen} is chosen for 10,000 values; a million reports aggregated in {server:.3f} s, under 0.2 s", server < 0.2)
    for name in ("k-ary", "projective", "affine"):
        took = found[10_000, name][0]
        target(f"{name}, 10,000 values: {took:.0f} ns a report with secure randomness, under 1,000", took < 1000)
    target(f"{chosen}: squared error {error:.3f} of the closed form, within 3 %", abs(error - 1) < 0.03)
    promises(target)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
