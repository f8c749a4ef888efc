"""Kinds of runs: what the engine plays, how it is asked for, what is answered, and how it may end when nothing breaks."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    AUTO = "auto"
    INTERACTIVE = "interactive"
    CONVERSATION = "conversation"


class Continuation(StrEnum):
    RESUMABLE = "resumable"
    STICKY = "sticky"


class Profile(StrEnum):
    CODEX = "codex_ndjson"
    GEMINI = "gemini_stream_json"
    GEMINI_DOCUMENT = "gemini_json"
    OPENCODE = "opencode_ndjson"
    CLAUDE = "claude_stream_json"
    QWEN = "qwen_stream_json"
    IFLOW = "iflow_text"
    PLAIN = "plain_text"


# Those that a process of several turns can speak, and that know a session.
STICKY_PROFILES = (
    Profile.CODEX, Profile.GEMINI, Profile.GEMINI_DOCUMENT, Profile.OPENCODE, Profile.CLAUDE, Profile.QWEN,
)
RESUMABLE_PROFILES = (*STICKY_PROFILES, Profile.IFLOW)

SCENARIOS = ("slow", "question", "later", "permission", "leaves", "exits", "hang")


@dataclass(frozen=True)
class Options:
    """How a run is asked for, in the words of the API and of the command line."""

    continuation: Continuation | None = None
    timeout: float | None = None
    stall: float | None = None
    linger: float | None = None
    session_timeout: float | None = None
    idle: float | None = None
    reply_needed: bool = True
    quota_retries: int | None = None
    # It may ask for other runs, within the usual limits.
    delegates: bool = False
    checks: tuple[str, ...] = ()
    box: str | None = None
    network: str | None = None

    def body(self, profile: Profile | None) -> dict[str, object]:
        """The member `options` of a request."""
        told = {
            "continuation": self.continuation,
            "hard_timeout_sec": self.timeout,
            "stall_timeout_sec": self.stall,
            "linger_sec": self.linger,
            "session_timeout_sec": self.session_timeout,
            "idle_sec": self.idle,
            "interactive_require_user_reply": None if self.reply_needed else False,
            "retry": None if self.quota_retries is None else {"quota": "wait", "quota_max": self.quota_retries},
            "profile": profile,
            "box": self.box,
            "network": self.network,
            "delegation": {} if self.delegates else None,
            "checks": [{"command": check} for check in self.checks] or None,
        }
        return {name: value for name, value in told.items() if value is not None}

    def words(self, profile: Profile | None) -> list[str]:
        """The same for `skillrun run`."""
        told = {
            "--continuation": self.continuation,
            "--timeout": self.timeout,
            "--stall": self.stall,
            "--linger": self.linger,
            "--session-timeout": self.session_timeout,
            "--idle": self.idle,
            "--retry-quota-max": self.quota_retries,
            "--profile": profile,
            "--box": self.box,
            "--network": self.network,
        }
        words = [word for name, value in told.items() if value is not None for word in (name, str(value))]
        words += [] if self.reply_needed else ["--no-reply-needed"]
        words += ["--delegate"] if self.delegates else []
        words += [word for check in self.checks for word in ("--check", check)]
        return words + ([] if self.quota_retries is None else ["--retry-quota", "wait"])


@dataclass(frozen=True)
class Kind:
    """One kind of run.

    `answers` has one word per question; a client adds a mark of its own. A conversation has one per prompt, and is
    closed when it waits for one more; a turn of it that takes longer than `patience` is interrupted. One that `leaves` starts a process that would
    outlive it. One with a `prompt` has no skill and no script: every turn repeats what it is told, and only a request
    over HTTP can make it without waiting for it. One that is a `workflow` has neither; its steps are in `flows.py`, and
    the seed of its order chooses them. `ends` are the ends that are right when nothing
    is broken, in the words of the oracle's ledger.
    """

    name: str
    mode: Mode
    ends: tuple[str, ...]
    script: str = ""
    scenario: str = ""
    prompt: str = ""
    options: Options = field(default_factory=Options)
    profiles: tuple[Profile, ...] = ()
    answers: tuple[str, ...] = ()
    marked: bool = True
    leaves: bool = False
    workflow: bool = False
    patience: float | None = None
    weight: int = 10

    @property
    def skill(self) -> str:
        return f"kind-{self.name}"

    @property
    def engine(self) -> str:
        if self.scenario:
            return f"agent-{self.scenario}"
        if self.options.box:
            return "boxed-leaves" if self.leaves else "boxed"
        if self.leaves:
            return "witnessed-leaves"
        is_sticky = self.options.continuation is Continuation.STICKY
        return "witnessed-sticky" if is_sticky else "witnessed"

    def body(self, profile: Profile | None = None, workspace: str | None = None) -> dict[str, object]:
        """The request, for `POST /v1/runs`."""
        task = {"prompt": self.prompt} if self.prompt else {"skill": self.skill}
        body: dict[str, object] = {**task, "engine": self.engine, "mode": self.mode}
        body["options"] = self.options.body(profile)
        return body | ({"workspace": {"path": workspace}} if workspace else {})

    def words(self, profile: Profile | None = None, workspace: str | None = None) -> list[str]:
        """The same for the command line, after `skillrun`."""
        words = ["run", self.skill, "--engine", self.engine, "--mode", self.mode, *self.options.words(profile)]
        return words + (["--workspace", workspace] if workspace else [])

    def profile(self, dice: random.Random) -> Profile | None:
        """One that fits; none is the engine's own."""
        return dice.choice(self.profiles) if self.profiles else None


def paced(script: str, pace: float) -> str:
    """The script with its pauses made longer or shorter."""
    return re.sub(r"sleep_ms: (\d+)", lambda found: f"sleep_ms: {int(int(found[1]) * pace)}", script)


def mark(word: str, dice: random.Random) -> str:
    """A reply that differs from every other; the relay searches for this form."""
    return f"{word}.m{dice.getrandbits(48):012x}"


AUTO = """
- - say: I begin.
  - sleep_ms: 300
  - tool: {name: shell, input: {command: ls}, output: notes.md}
  - sleep_ms: 300
  - write: {path: artifacts/report.md, content: done}
  - output: {answer: blue, report: artifacts/report.md}
    done: true
"""

SLOW = """
- - say: I begin.
  - sleep_ms: 2000
  - say: I go on.
  - stderr: A line beside it.
  - sleep_ms: 3000
  - raw: A line that is no event.
  - output: {answer: blue}
    done: true
"""

FILES = """
- - write: {path: artifacts/one.md, content: one}
  - sleep_ms: 200
  - write: {path: notes/two.txt, content: two}
  - write: {path: artifacts/deep/three.json, content: '{}'}
  - sleep_ms: 200
  - output: {answer: files}
    done: true
"""

FLOOD = """
- - say: I begin.
  - flood: {bytes}
  - sleep_ms: 100
  - flood: {bytes}
  - output: {{answer: blue}}
    done: true
"""

# Rows of lines that the parser does not know, with time to be killed in the middle of one.
ROWS = """
- - say: I begin.
  - raw: "{row}"
  - sleep_ms: 700
  - raw: "{row}"
  - stderr: A line beside it.
  - sleep_ms: 700
  - raw: "{row}"
  - output: {{answer: blue}}
    done: true
""".format(row=r"{}\n{\"type\": \"new.thing\"}\nnoise\n" * 60)

# A Log of more than 8 MiB, of which no conversation is stored: readers translate it.
LONG = """
- - say: I begin.
{tools}
  - sleep_ms: 500
{tools}
  - output: {{answer: blue}}
    done: true
""".format(tools="  - tool: {name: shell, input: {command: ls}, output: notes.md}\n" * 3_500)

FAILS = """
- - say: I begin.
  - sleep_ms: 400
  - fail: the model is not there
"""

CRASHES = """
- - say: I begin.
  - sleep_ms: 200
  - crash: SIGSEGV
"""

MISFITS = """
- - sleep_ms: 200
  - output: {answer: 7}
    done: true
"""

ENDLESS = """
- - say: I begin.
  - hang
"""

HANGS = """
- - output: {answer: blue}
    done: true
  - end
  - hang
"""

ASKS = """
- - say: A question.
  - sleep_ms: 200
  - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 200
  - output: {answer: '{{reply}}'}
    done: true
"""

ASKS_TWICE = """
- - sleep_ms: 100
  - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 100
  - ask: {kind: open_text, prompt: Which shade?}
- - expect_reply: dark
  - sleep_ms: 100
  - output: {answer: '{{reply}}'}
    done: true
"""

# Long turns behind the answers, so that there is time to take the answers up again.
ASKS_THEN_WORKS = """
- - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 1200
  - say: I go on.
  - ask: {kind: open_text, prompt: Which shade?}
- - expect_reply: dark
  - sleep_ms: 1200
  - output: {answer: '{{reply}}'}
    done: true
"""

DECIDED = """
- - ask: {kind: choose_one, prompt: Which?, options: [{value: red, label: Red, default: true}], default_decision_policy: safe_default}
- - expect_reply: red
  - sleep_ms: 100
  - output: {answer: '{{reply}}'}
    done: true
"""

# Turns that are good, that fail, and that last until they are interrupted.
TALK = """
- - say: I begin.
  - sleep_ms: 200
- - say: I go on.
  - sleep_ms: 200
  - fail: the model is not there
- - say: I work.
  - sleep_ms: 60000
- - say: I am back.
  - sleep_ms: 200
"""

# Children of other kinds. The repeated call is one that an engine has cut off.
FAMILY = """
- - delegate: {do: spawn, request: {key: a, skill: kind-auto}}
  - delegate: {do: spawn, request: {key: b, prompt: Why is the sky blue?}}
  - delegate: {do: spawn, request: {key: a, skill: kind-auto}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated}}'}
    done: true
"""

MIXED_FAMILY = """
- - delegate: {do: spawn, request: {skill: kind-auto}}
  - delegate: {do: spawn, request: {skill: kind-fails}}
  - delegate: {do: spawn, request: {skill: kind-endless, timeout_sec: 2}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated}}'}
    done: true
"""

NESTED_FAMILY = """
- - delegate: {do: spawn, request: {skill: kind-family}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated}}'}
    done: true
"""

# It is canceled while it waits, with the runs below it.
ENDLESS_FAMILY = """
- - delegate: {do: spawn, request: {key: a, skill: kind-endless}}
  - delegate: {do: spawn, request: {key: b, skill: kind-slow}}
  - delegate: {do: wait, timeout_sec: 45}
  - hang
"""

# It ends before its children do: one is canceled, one continues alone, and one is waited for.
LEAVING_FAMILY = """
- - delegate: {do: spawn, request: {key: a, skill: kind-slow}}
  - delegate: {do: spawn, request: {key: b, skill: kind-auto, on_parent_end: detach}}
  - delegate: {do: spawn, request: {key: c, skill: kind-auto, on_parent_end: wait}}
  - output: {answer: '{{delegated}}'}
    done: true
"""

NO_QUOTA = """
- - sleep_ms: 100
  - fail: 'Rate limit reached for the model. Please try again in 1s.'
"""

# A check of a box. Processes of a namespace are counted from 1.
SEES_PROCESSES = '[ $$ -lt 50 ] && seen=held || seen=reached; echo "box-witness: processes $seen" >&2; sleep 0.3'

SUCCEEDED = ("succeeded",)
STICKY = Continuation.STICKY
DELEGATES = Options(delegates=True)
RESUMABLE = Continuation.RESUMABLE
BOX = {"box": "on", "network": "none"}

KINDS: tuple[Kind, ...] = (
    Kind("auto", Mode.AUTO, SUCCEEDED, AUTO, profiles=tuple(Profile), weight=20),
    Kind("slow", Mode.AUTO, SUCCEEDED, SLOW, profiles=STICKY_PROFILES, weight=20),
    Kind("leaves", Mode.AUTO, SUCCEEDED, SLOW, profiles=STICKY_PROFILES, leaves=True, weight=20),
    Kind("files", Mode.AUTO, SUCCEEDED, FILES, weight=8),
    Kind("flood", Mode.AUTO, SUCCEEDED, FLOOD.format(bytes=1_500_000), weight=4),
    Kind("rows", Mode.AUTO, SUCCEEDED, ROWS, profiles=STICKY_PROFILES, weight=8),
    Kind("long", Mode.AUTO, SUCCEEDED, LONG, weight=4),
    Kind("fails", Mode.AUTO, ("failed:ENGINE_FAILED",), FAILS, profiles=RESUMABLE_PROFILES),
    Kind("crashes", Mode.AUTO, ("failed:ENGINE_FAILED",), CRASHES, weight=6),
    Kind("misfits", Mode.AUTO, ("failed:OUTPUT_SCHEMA_INVALID",), MISFITS, weight=6),
    Kind("checked", Mode.AUTO, SUCCEEDED, AUTO, options=Options(checks=("sleep 0.3; echo fine", "sleep 0.3")), weight=12),
    Kind("check-fails", Mode.AUTO, ("failed:CHECK_FAILED",), AUTO, options=Options(checks=("sleep 0.3; exit 3", "true")), weight=8),
    Kind(
        "boxed", Mode.AUTO, SUCCEEDED, SLOW, leaves=True, options=Options(**BOX, checks=(SEES_PROCESSES,)),
        profiles=STICKY_PROFILES, weight=20,
    ),
    Kind(
        "boxed-asks", Mode.INTERACTIVE, SUCCEEDED, ASKS, options=Options(**BOX),
        profiles=RESUMABLE_PROFILES, answers=("blue",), weight=10,
    ),
    Kind(
        "boxed-sticky", Mode.INTERACTIVE, SUCCEEDED, ASKS_TWICE, options=Options(**BOX, continuation=STICKY),
        profiles=STICKY_PROFILES, answers=("blue", "dark"), weight=12,
    ),
    Kind(
        "boxed-family", Mode.AUTO, SUCCEEDED, FAMILY, options=Options(**BOX, delegates=True),
        profiles=STICKY_PROFILES, weight=12,
    ),
    Kind(
        "boxed-no-quota", Mode.AUTO, ("failed:ENGINE_FAILED",), NO_QUOTA,
        options=Options(**BOX, quota_retries=1), weight=6,
    ),
    Kind("too-long", Mode.AUTO, ("failed:TIMEOUT",), ENDLESS, options=Options(timeout=1.5)),
    Kind("silent", Mode.AUTO, ("failed:TIMEOUT",), ENDLESS, options=Options(stall=1.5), weight=5),
    Kind("endless", Mode.AUTO, ("canceled",), ENDLESS, weight=8),
    Kind("hangs", Mode.AUTO, SUCCEEDED, HANGS, options=Options(linger=0.5), weight=8),
    Kind("asks", Mode.INTERACTIVE, SUCCEEDED, ASKS, profiles=RESUMABLE_PROFILES, answers=("blue",), weight=20),
    Kind(
        "asks-twice", Mode.INTERACTIVE, SUCCEEDED, ASKS_TWICE,
        profiles=RESUMABLE_PROFILES, answers=("blue", "dark"), weight=15,
    ),
    Kind(
        "sticky", Mode.INTERACTIVE, SUCCEEDED, ASKS_TWICE,
        options=Options(continuation=STICKY), profiles=STICKY_PROFILES, answers=("blue", "dark"), weight=25,
    ),
    Kind(
        "sticky-works", Mode.INTERACTIVE, SUCCEEDED, ASKS_THEN_WORKS,
        options=Options(continuation=STICKY), profiles=STICKY_PROFILES, answers=("blue", "dark"), weight=25,
    ),
    Kind(
        "decided", Mode.INTERACTIVE, SUCCEEDED, DECIDED,
        options=Options(session_timeout=1, reply_needed=False), profiles=RESUMABLE_PROFILES,
    ),
    Kind(
        "sticky-decided", Mode.INTERACTIVE, SUCCEEDED, DECIDED,
        options=Options(continuation=STICKY, session_timeout=1, reply_needed=False), profiles=STICKY_PROFILES,
    ),
    Kind(
        "unanswered", Mode.INTERACTIVE, ("failed:INTERACTION_WAIT_TIMEOUT",), ASKS,
        options=Options(continuation=STICKY, session_timeout=1), profiles=STICKY_PROFILES, weight=6,
    ),
    Kind("family", Mode.AUTO, SUCCEEDED, FAMILY, options=DELEGATES, profiles=STICKY_PROFILES, weight=20),
    Kind("family-mixed", Mode.AUTO, SUCCEEDED, MIXED_FAMILY, options=DELEGATES, profiles=STICKY_PROFILES, weight=12),
    Kind("family-nested", Mode.AUTO, SUCCEEDED, NESTED_FAMILY, options=DELEGATES, weight=10),
    Kind("family-endless", Mode.AUTO, ("canceled",), ENDLESS_FAMILY, options=DELEGATES, weight=12),
    Kind("family-leaving", Mode.AUTO, SUCCEEDED, LEAVING_FAMILY, options=DELEGATES, weight=10),
    Kind(
        "no-quota", Mode.AUTO, ("failed:ENGINE_FAILED",), NO_QUOTA,
        options=Options(quota_retries=1), weight=6,
    ),
    Kind(
        "talk", Mode.CONVERSATION, ("closed",), TALK,
        profiles=RESUMABLE_PROFILES, answers=("blue", "dark", "light"), patience=2.0, weight=25,
    ),
    Kind(
        "sticky-talk", Mode.CONVERSATION, ("closed",), TALK, options=Options(continuation=STICKY, idle=1.0),
        profiles=STICKY_PROFILES, answers=("blue", "dark", "light"), patience=2.0, weight=20,
    ),
    Kind("prompt", Mode.AUTO, SUCCEEDED, prompt="Why is the sky blue?", profiles=tuple(Profile), weight=8),
    Kind(
        "prompts", Mode.CONVERSATION, ("closed",), prompt="Why is the sky blue?",
        profiles=RESUMABLE_PROFILES, answers=("blue", "dark"), patience=20.0, weight=15,
    ),
    Kind(
        "acp-talk", Mode.CONVERSATION, ("closed",), scenario="question",
        options=Options(continuation=STICKY, idle=1.0), answers=("blue", "dark"), patience=2.0, weight=12,
    ),
    Kind(
        "acp-stopped", Mode.CONVERSATION, ("closed",), scenario="hang",
        options=Options(continuation=STICKY), answers=("blue", "dark"), patience=1.5, weight=10,
    ),
    Kind("acp-auto", Mode.AUTO, SUCCEEDED, scenario="slow", weight=12),
    Kind(
        "acp-asks", Mode.INTERACTIVE, SUCCEEDED, scenario="question",
        options=Options(continuation=STICKY), answers=("blue",), weight=15,
    ),
    Kind(
        "acp-later", Mode.INTERACTIVE, SUCCEEDED, scenario="later",
        options=Options(continuation=STICKY), answers=("blue",), weight=8,
    ),
    Kind(
        "acp-loads", Mode.INTERACTIVE, SUCCEEDED, scenario="question",
        options=Options(continuation=RESUMABLE), answers=("blue",), weight=12,
    ),
    # An answer may meet the process just as it leaves; then the turn has no end.
    Kind(
        "acp-leaves", Mode.INTERACTIVE, (*SUCCEEDED, "failed:ENGINE_END_MISSING"), scenario="leaves",
        options=Options(continuation=STICKY), answers=("blue",), weight=6,
    ),
    Kind(
        "acp-permission", Mode.INTERACTIVE, SUCCEEDED, scenario="permission",
        options=Options(continuation=STICKY), answers=("yes",), marked=False, weight=12,
    ),
    Kind("acp-exits", Mode.AUTO, ("failed:ENGINE_FAILED",), scenario="exits", weight=4),
    # Which of these it is follows from its steps; the oracle works it out.
    Kind(
        "workflow", Mode.AUTO,
        (*SUCCEEDED, "failed:WORKFLOW_PARTIAL", "failed:WORKFLOW_FAILED", "failed:WORKFLOW_TIMED_OUT", "failed:WORKFLOW_HELD"),
        workflow=True, weight=50,
    ),
)

# The runs that continue a conversation, which has been replayed before their prompt.
CONTINUED: tuple[Kind, ...] = (
    Kind(
        "continued", Mode.CONVERSATION, ("closed",), prompt="Go on.",
        profiles=RESUMABLE_PROFILES, answers=("blue",), patience=20.0,
    ),
    Kind(
        "sticky-continued", Mode.CONVERSATION, ("closed",), prompt="Go on.",
        options=Options(continuation=STICKY, idle=1.0), profiles=STICKY_PROFILES, answers=("blue",), patience=20.0,
    ),
)


def kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)
