"""The table of scenarios can be read, and a run that differs from it is seen."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from verdicts.scenario import BadTable, Outcome, differences, load


def event(kind: str, **data: object) -> dict[str, object]:
    return {"event": {"type": kind}, "data": data}


DONE = Outcome(
    "succeeded",
    {"status": "succeeded", "warnings": [], "output": {"status": "ok", "more": 1}, "next_actions": [], "error": None},
    [
        event("interaction.requested", prompt="I looked. Which one?"),
        event("parser.warning", code="DONE_MARKER_REPEATED"),
        event("attempt.ended", verdict={"turn": "completed", "reason_code": "DONE_MARKER_FOUND"}),
    ],
)


class TableTest(unittest.TestCase):
    def test_the_table_is_read_and_has_at_least_fifty(self) -> None:
        self.assertGreaterEqual(len(load()), 50)

    def test_a_word_that_is_not_understood_is_refused(self) -> None:
        for text in (
            '[[scenario]]\nname = "a"\nrule = "1"\nmodel = "auto"\nexpect = { sttus = "failed" }\n',
            '[[scenario]]\nname = "a"\nrule = "1"\nmodel = "auto"\nexpekt = {}\n',
            '[[scenario]]\nname = "a"\nrule = "1"\nexpect = {}\n',
        ):
            with tempfile.TemporaryDirectory() as folder, self.assertRaises((BadTable, TypeError)):
                path = Path(folder) / "t.toml"
                path.write_text(text)
                load(path)

    def test_what_is_as_expected_has_no_difference(self) -> None:
        expected = {
            "status": ["failed", "succeeded"],
            "turn": "completed",
            "warnings": [],
            "output": {"status": "ok"},
            "codes": ["DONE_MARKER_REPEATED"],
            "prompt": ["I looked", "Which one?"],
            "attempts": 1,
        }
        self.assertEqual(differences(expected, DONE), [])

    def test_each_member_that_differs_is_named(self) -> None:
        for key, value in (
            ("status", "failed"),
            ("turn", "failed"),
            ("reason", "OUTPUT_VALID"),
            ("error", "OUTPUT_MISSING"),
            ("category", "quota"),
            ("warnings", ["X"]),
            ("attempts", 2),
            ("output", {"status": "bad"}),
            ("codes", ["ASK_USER_MALFORMED"]),
            ("prompt", ["Which one?", "I looked"]),
            ("advice", ["--model"]),
            ("reply", ["blue"]),
        ):
            with self.subTest(key=key):
                found = differences({key: value}, DONE)
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].startswith(f"{key}: "))


if __name__ == "__main__":
    unittest.main()
