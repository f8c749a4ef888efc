"""The course of a soak: start, warm up, measure, come to rest, stop, start once more, ask the oracle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import place as places
from lab import processes
from lab.server import Server
from soak import leaks, vitals
from soak.book import Book, Counted, Crew
from soak.flatness import ANYTHING, Finding, judge
from soak.load import crew as load
from soak.load.client import SoakClient
from soak.load.kinds import KINDS, PARKED
from soak.load.living import Living
from soak.load.parked import Parked
from soak.load.receiver import Receiver
from soak.plan import Leak, Plan
from soak.quantities import QUANTITIES, Quantity, Sample
from soak.retention import keeper, settings
from soak.retention.laws import too_many
from soak.retention.seen import look
from soak.sampler import ACTIVE, TROUBLE, UNTOLD, Sampler, metrics
from soak.slope import Point

SAMPLED = 1.0
PROGRESS = 30.0
# Seconds for anything that is waited for.
REST_TIMEOUT = 180.0
# Seconds until a server has released everything: threads end after ten, conversations without a reader after a minute.
REST = 120.0
# Of descriptors and threads at rest, after the load against before: an open file of the catalog, a thread that lingers.
MORE_AT_REST = 6


@dataclass(frozen=True)
class AtRest:
    """The server without work."""

    descriptors: int
    threads: int
    open_files: Counter[str]

    def is_more_than(self, before: AtRest) -> bool:
        descriptors, threads = self.descriptors - before.descriptors, self.threads - before.threads
        return max(descriptors, threads) > MORE_AT_REST


@dataclass(frozen=True)
class Outcome:
    """What came of a soak."""

    findings: list[tuple[Quantity, Finding]]
    before: AtRest
    after: AtRest
    book: Book
    samples: list[Sample]
    # What the oracle said, last line.
    oracle: str


class Course:
    """One soak in a folder of its own."""

    def __init__(self, plan: Plan, root: Path, tell: Callable[[str], None]) -> None:
        self._plan, self._tell = plan, tell
        self._book = Book()
        self._receiver = Receiver(self._book, f"{plan.seed} receiver")
        self._ages = settings.ages(plan.warm_up)
        program = places.copy_of(plan.skillrun, root / "bin")
        webhooks = f'server.webhooks = ["{self._receiver.url}"]\nserver.webhook_private = true\n'
        self._place = places.make(root, program, (*KINDS, *PARKED), settings=webhooks + settings.settings(self._ages))
        self._said = root / "server.txt"

    def run(self) -> Outcome:
        server = Server(self._place, self._said)
        server.wait_ready()
        client = SoakClient(server, self._book)
        before = at_rest(server)
        parked = Parked(client, self._book, self._plan.seed)
        living = Living()
        samples = self._load(server, client, living, parked)
        self._to_rest(client, parked, living)
        after = self._back_at_rest(server, before)
        self._stop(server)
        self._removes_by_itself()
        self._receiver.close()
        oracle = self._ask_oracle()
        measured = [sample for sample in samples if sample.at >= self._plan.warm_up]
        findings = [(quantity, judged(quantity, measured)) for quantity in QUANTITIES]
        return Outcome(findings, before, after, self._book, samples, oracle)

    def _load(self, server: Server, client: SoakClient, living: Living, parked: Parked) -> list[Sample]:
        """All threads at work, until the time is up."""
        crew, watch = Crew(self._book), Crew(self._book)
        sampler = Sampler(server.pid, SoakClient(server, Book()), self._place.data)
        watch.repeat("sampler", sampler.take, lambda: SAMPLED)
        load.start(crew, client, living, self._book, self._plan.seed)
        crew.repeat("parked", parked.one, parked.pause)
        keeping = keeper.Keeper(self._place, client, self._ages, self._book, f"{self._plan.seed} keeper")
        unread = leaks.Unread(client)
        if self._plan.leak is not Leak.RETENTION:
            watch.repeat("keeper", keeping.one, keeping.pause)
        if self._plan.leak is Leak.FOLLOWERS:
            crew.repeat("leak", unread.one, unread.pause)
        try:
            self._watch(server, sampler)
        finally:
            watch.end(REST_TIMEOUT)
            crew.end(REST_TIMEOUT)
            unread.close()
        return sampler.samples

    def _watch(self, server: Server, sampler: Sampler) -> None:
        """Reports the progress."""
        begin = time.monotonic()
        told = begin
        while (now := time.monotonic()) < begin + self._plan.seconds:
            if not server.is_alive:
                self._book.breach(f"the server exited unexpectedly, with {server.process.returncode}")
                return
            if now >= told + PROGRESS and sampler.samples:
                told += PROGRESS
                self._tell(progress(now - begin, sampler.samples[-1], self._book))
            time.sleep(0.2)

    def _to_rest(self, client: SoakClient, parked: Parked, living: Living) -> None:
        """All runs end, all webhooks are delivered, and nothing is in progress."""
        parked.end()
        end = time.monotonic() + REST_TIMEOUT
        while any((numbers := metrics(client))[name] for name in (ACTIVE, UNTOLD)):
            if time.monotonic() > end:
                self._book.breach(f"after {REST_TIMEOUT:.0f} s: {numbers[ACTIVE]:.0f} runs, {numbers[UNTOLD]:.0f} webhooks")
                break
            time.sleep(0.5)
        if numbers[TROUBLE]:
            self._book.breach(f"{numbers[TROUBLE]:.0f} runs are in trouble")
        for run in sorted(living.all_ended() - self._receiver.ends())[:10]:
            self._book.breach(f"{run} is over, but its webhook was not delivered")

    def _back_at_rest(self, server: Server, before: AtRest) -> AtRest:
        """The server again as it was before the load, as soon as it is."""
        end = time.monotonic() + REST
        while (after := at_rest(server)).is_more_than(before):
            if time.monotonic() > end:
                more = dict((after.open_files - before.open_files).most_common(5))
                told = f"{after.descriptors} descriptors and {after.threads} threads"
                self._book.breach(f"at rest there are {told}, {before.descriptors} and {before.threads} before; {more}")
                break
            time.sleep(1)
        return after

    def _stop(self, server: Server) -> None:
        code = server.stop()
        if code != 0:
            self._book.breach(f"after SIGTERM the server ended with {code}")
        end = time.monotonic() + REST_TIMEOUT
        while left := [process for process in processes.below(os.getpid()) if process.is_alive]:
            if time.monotonic() > end:
                words = "; ".join(" ".join(process.words())[:80] for process in left[:5])
                self._book.breach(f"{len(left)} processes remain: {words}")
                break
            time.sleep(0.2)
        processes.reap(set())

    def _removes_by_itself(self) -> None:
        """A server with settings that keep a few removes the rest without being asked."""
        text = self._place.settings.read_text()
        lines = [line for line in text.splitlines(keepends=True) if not line.startswith("retention.")]
        self._place.settings.write_text(settings.few() + "".join(lines))
        server = Server(self._place, self._said)
        server.wait_ready()
        end, runs = time.monotonic() + REST_TIMEOUT, self._place.data / "runs"
        while left := too_many(look(runs), settings.FEW):
            if time.monotonic() > end:
                self._book.breach(f"retention: the server itself does not remove {len(left)} runs, such as {left[0]}")
                break
            time.sleep(0.5)
        self._stop(server)

    def _ask_oracle(self) -> str:
        """The laws, over what is left."""
        words = [sys.executable, "-m", "oracle", str(self._place.data), "--settled"]
        proof = Path(__file__).resolve().parent.parent
        asked = subprocess.run(words, cwd=proof, capture_output=True, text=True, timeout=600, check=False)
        said = (asked.stdout + asked.stderr).strip().splitlines()
        if asked.returncode != 0:
            self._book.breach("oracle: " + "\n  ".join(said[-20:]))
        return said[-1] if said else "said nothing"


def judged(quantity: Quantity, measured: list[Sample]) -> Finding:
    points = [Point(sample.at, getattr(sample, quantity.field)) for sample in measured]
    seconds = points[-1].at - points[0].at if points else 0.0
    return judge(points, quantity.bound_for(seconds) or ANYTHING)


def at_rest(server: Server) -> AtRest:
    found = vitals.look(server.pid)
    return AtRest(found.descriptors, found.threads, vitals.open_files(server.pid))


def progress(gone: float, sample: Sample, book: Book) -> str:
    """How it stands, in 80 columns."""
    return (
        f"{int(gone) // 60:3d}:{int(gone) % 60:02d} {sample.resident / 1e6:6.1f} MB {sample.descriptors:4.0f} files "
        f"{sample.hosts:3.0f} hosts {sample.runs:4.0f} runs kept, {book.counted(Counted.RUNS)} over, "
        f"{book.counted(Counted.REMOVED)} gone"
    )


def end_everything() -> None:
    """Whatever this soak has started, for when it was cut short."""
    for _ in range(50):
        left = [process for process in processes.below(os.getpid()) if process.is_alive]
        for process in left:
            processes.send(process, signal.SIGKILL)
        processes.reap(set())
        if not left:
            return
        time.sleep(0.1)
