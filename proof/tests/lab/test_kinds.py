"""Requests of all kinds say the same over HTTP and as a command, and marks are what the relay looks for."""

import random
import re
import unittest

from lab import relay
from lab.kinds import KINDS, SCENARIOS, Options, Profile, kind, mark, paced


class TestKinds(unittest.TestCase):
    def test_names_are_names_of_skills_and_used_once(self) -> None:
        names = [one.skill for one in KINDS]
        self.assertEqual(len(set(names)), len(names))
        for name in names:
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_each_plays_something(self) -> None:
        for one in KINDS:
            plays = [bool(one.script), bool(one.scenario), bool(one.prompt), one.workflow]
            self.assertEqual(plays.count(True), 1, one.name)
            self.assertTrue(not one.scenario or one.scenario in SCENARIOS, one.name)
            self.assertTrue(one.ends, one.name)

    def test_a_command_says_what_a_request_says(self) -> None:
        options = Options(timeout=1.5, linger=2, session_timeout=3, reply_needed=False, quota_retries=1)
        self.assertEqual(
            options.body(Profile.CLAUDE),
            {
                "hard_timeout_sec": 1.5, "linger_sec": 2, "session_timeout_sec": 3, "profile": "claude_stream_json",
                "interactive_require_user_reply": False, "retry": {"quota": "wait", "quota_max": 1},
            },
        )
        self.assertEqual(
            " ".join(options.words(Profile.CLAUDE)),
            "--timeout 1.5 --linger 2 --session-timeout 3 --retry-quota-max 1 --profile claude_stream_json "
            "--no-reply-needed --retry-quota wait",
        )

    def test_a_box_is_asked_for_with_its_network(self) -> None:
        options = Options(box="on", network="none")
        self.assertEqual(options.body(None), {"box": "on", "network": "none"})
        self.assertEqual(options.words(None), ["--box", "on", "--network", "none"])

    def test_a_prompt_takes_the_place_of_the_skill(self) -> None:
        body = kind("prompt").body(Profile.CODEX)
        self.assertEqual((body["prompt"], "skill" in body), ("Why is the sky blue?", False))
        self.assertEqual((kind("auto").body()["skill"], "prompt" in kind("auto").body()), ("kind-auto", False))

    def test_a_pace_is_that_of_the_pauses_alone(self) -> None:
        self.assertEqual(paced("- - say: 3\n  - sleep_ms: 200\n", 1.5), "- - say: 3\n  - sleep_ms: 300\n")

    def test_a_sticky_kind_has_the_engine_that_is_talked_to(self) -> None:
        self.assertEqual(kind("sticky").engine, "witnessed-sticky")
        self.assertEqual(kind("asks").engine, "witnessed")
        self.assertEqual(kind("leaves").engine, "witnessed-leaves")
        self.assertEqual(kind("boxed").engine, "boxed-leaves")
        self.assertEqual(kind("boxed-asks").engine, "boxed")
        self.assertEqual(kind("acp-asks").engine, "agent-question")

    def test_the_relay_finds_every_mark(self) -> None:
        dice = random.Random(1)
        for _ in range(50):
            word = mark("blue", dice).encode()
            self.assertEqual(relay.MARK.findall(b'{"text":"' + word + b'"}'), [word])
        self.assertIsNone(re.search(relay.MARK, b"blue and dark.m12"))


if __name__ == "__main__":
    unittest.main()
