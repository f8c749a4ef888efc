"""What retention may do, on listings that were made up: what is right passes, each breach is found as what it is."""

from __future__ import annotations

import json
import tempfile
import unittest
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from soak.retention import laws, seen
from soak.retention.laws import Removal, Round, What, Why, breaches, too_many
from soak.retention.seen import Seen, Standing
from soak.retention.settings import DAY, ages, settings

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def run(standing: Standing, second: int = 0, has_evidence: bool = False) -> Seen:
    ended_at = None if standing is Standing.NOT_OVER else NOON + timedelta(seconds=second)
    return Seen(standing, ended_at, has_evidence, 1000)


BEFORE = {
    "old": run(Standing.SUCCEEDED, 1),
    "old-failed": run(Standing.FAILED, 2),
    "middle": run(Standing.SUCCEEDED, 3, has_evidence=True),
    "new-failed": run(Standing.FAILED, 4, has_evidence=True),
    "new": run(Standing.SUCCEEDED, 5, has_evidence=True),
    "waits": run(Standing.NOT_OVER),
}


def done(*removals: Removal, but: frozenset[str] = frozenset()) -> Round:
    """The result of removals that do what they report; `but` are gone too, without a report."""
    gone = {removal.run for removal in removals if removal.what is What.RUN} | but
    without = {removal.run for removal in removals if removal.what is What.EVIDENCE}
    after = {
        name: replace(found, has_evidence=False) if name in without else found
        for name, found in BEFORE.items() if name not in gone
    }
    return Round(BEFORE, list(removals), after, gone)


def of_run(name: str, why: Why = Why.AGE) -> Removal:
    return Removal(name, What.RUN, why)


class Laws(unittest.TestCase):
    def assert_breach(self, what: Round, words: str) -> None:
        found = breaches(what)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_the_oldest_may_go_and_evidence_of_others(self) -> None:
        self.assertEqual(breaches(done()), [])
        right = done(of_run("old"), of_run("old-failed"), Removal("middle", What.EVIDENCE, Why.AGE))
        self.assertEqual(breaches(right), [])

    def test_too_many_may_go_with_their_evidence(self) -> None:
        right = done(of_run("old"), of_run("old-failed"), of_run("middle", Why.COUNT))
        self.assertEqual(breaches(right), [])

    def test_one_that_is_not_over(self) -> None:
        self.assert_breach(done(of_run("waits")), "was not over")

    def test_one_that_is_not_the_oldest(self) -> None:
        self.assert_breach(done(of_run("middle", Why.COUNT)), "one that ended later")

    def test_a_failed_one_before_others(self) -> None:
        self.assert_breach(done(of_run("old-failed")), "a run that failed later was removed")

    def test_a_removal_without_a_note(self) -> None:
        self.assert_breach(replace(done(of_run("old")), noted=set()), "gone without a note")

    def test_one_that_is_said_to_be_gone(self) -> None:
        self.assert_breach(replace(done(of_run("old")), after=BEFORE), "reported as removed but exists")

    def test_evidence_that_goes_with_its_run(self) -> None:
        wrong = done(of_run("old"), of_run("old-failed"), of_run("middle"))
        self.assert_breach(wrong, "with its evidence")

    def test_evidence_that_stays(self) -> None:
        wrong = replace(done(Removal("middle", What.EVIDENCE, Why.AGE)), after=BEFORE)
        self.assert_breach(wrong, "evidence is reported as removed")

    def test_a_log_that_is_cut(self) -> None:
        right = done(Removal("middle", What.EVIDENCE, Why.AGE))
        after = right.after | {"middle": replace(right.after["middle"], log_bytes=999)}
        self.assert_breach(replace(right, after=after), "its Log had 1000 bytes")


class Few(unittest.TestCase):
    """What must be gone when this many of each end are kept."""

    def test_the_oldest_of_each(self) -> None:
        self.assertEqual(too_many(BEFORE, 5), [])
        self.assertEqual(too_many(BEFORE, 2), ["old"])
        self.assertEqual(sorted(too_many(BEFORE, 1)), ["middle", "old", "old-failed"])

    def test_failed_ones_stay_while_an_older_run_is_kept(self) -> None:
        runs = {"first": run(Standing.CANCELED, 0)} | {str(at): run(Standing.FAILED, at) for at in range(1, 5)}
        self.assertEqual(too_many(runs, 2), [])
        self.assertEqual(too_many(runs, 0), ["1", "2", "3", "4", "first"])


class Looking(unittest.TestCase):
    """What is read from the files."""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.runs = Path(self.folder.name)

    def make(self, name: str, *types: str, tail: str = "") -> Path:
        folder = self.runs / name
        (folder / ".audit").mkdir(parents=True)
        events = [{"ts": f"2026-01-01T12:00:{at:02d}.5Z", "event": {"type": kind}} for at, kind in enumerate(types)]
        (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + tail)
        return folder

    def test_how_runs_stand(self) -> None:
        self.make("over", "run.started", "run.completed")
        self.make("failed", "run.started", "run.failed")
        self.make("at-work", "run.started", "run.status")
        self.make("torn", "run.started", "run.completed", tail='{"ts"')
        self.make("empty")
        (self.runs / "removed.jsonl").write_text('{"run_id":"gone","removed_at":"x"}\n')
        (self.runs / "being-made").mkdir()
        found = seen.look(self.runs)
        self.assertEqual(set(found), {"over", "failed", "at-work", "torn", "empty"})
        self.assertIs(found["over"].standing, Standing.SUCCEEDED)
        self.assertEqual(found["over"].ended_at, NOON + timedelta(seconds=1.5))
        self.assertIs(found["failed"].standing, Standing.FAILED)
        for name in ("at-work", "torn", "empty"):
            self.assertIs(found[name].standing, Standing.NOT_OVER)
        self.assertEqual(seen.removed_notes(self.runs), {"gone"})

    def test_what_is_evidence(self) -> None:
        folder = self.make("run", "run.started")
        for name in ("meta.1.json", "host.1.json", "claim.1", "removed.json"):
            (folder / ".audit" / name).touch()
        self.assertFalse(seen.has_evidence(folder))
        (folder / ".audit" / "stdout.12.log").touch()
        self.assertTrue(seen.has_evidence(folder))


class Settings(unittest.TestCase):
    def test_evidence_goes_long_before_the_run(self) -> None:
        for warm_up in (6, 36, 120, 3600):
            kept = ages(warm_up)
            self.assertLess(kept.evidence + 2 * kept.every, kept.run)
        self.assertEqual(ages(36).run, 36 * 0.6)

    def test_days_are_read_back(self) -> None:
        lines = dict(line.split(" = ") for line in settings(ages(120)).splitlines())
        self.assertAlmostEqual(float(lines["retention.succeeded_days"]) * DAY, 60, places=2)
        self.assertAlmostEqual(float(lines["retention.evidence_days"]) * DAY, 20, places=2)


class AllLaws(unittest.TestCase):
    def test_every_law_is_asked(self) -> None:
        """A law that is written and not asked would never be broken."""
        written = {name for name, thing in vars(laws).items() if getattr(thing, "__annotations__", {}).get("return") == "Iterator[str]"}
        self.assertEqual(written, {law.__name__ for law in laws.LAWS})


if __name__ == "__main__":
    unittest.main()
