"""Workflows of scripted steps: which steps there are, how they depend on each other, and what the seed decides of them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from lab.kinds import Kind, Mode

STEPS = (3, 10)

ENGINE = "witnessed"

# Everything that is wanted, and it says of itself that it is only a part.
HALF = """
- - say: I begin.
  - sleep_ms: 200
  - output: {answer: blue, partial: true}
    done: true
"""

LISTS = """
- - sleep_ms: 200
  - output: {answer: blue, list: [red, green, blue]}
    done: true
"""

# Its words are those of a run that succeeded, and its end is that of one that failed.
BOASTS = """
- - say: The step is ready. All checks passed. {"answer": "blue", "partial": false}
  - sleep_ms: 200
  - fail: the model is not there
"""

# Its question is the child's own, besides those that a workflow asks about its steps.
WONDERS = """
- - say: A question.
  - sleep_ms: 200
  - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 200
  - output: {answer: '{{reply}}'}
    done: true
"""

WONDERING = Kind("wonders", Mode.INTERACTIVE, ("succeeded",), WONDERS, answers=("blue",))

# Skills that only steps play.
STEP_KINDS: tuple[Kind, ...] = (
    Kind("half", Mode.AUTO, ("succeeded",), HALF),
    Kind("lists", Mode.AUTO, ("succeeded",), LISTS),
    Kind("boasts", Mode.AUTO, ("failed:ENGINE_FAILED",), BOASTS),
    WONDERING,
)

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


@dataclass(frozen=True)
class Part:
    """What a step does. `keys` are more of the keys of a step in a file."""

    name: str
    skill: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    weight: int = 10

    def step(self, id: str) -> dict[str, Any]:
        task = {"skill": f"kind-{self.skill}"} if self.skill else {"prompt": "Why is the sky blue?"}
        return {"id": id, **task, "engine": ENGINE, **self.keys}


PARTS: tuple[Part, ...] = (
    Part("ready", "auto", weight=25),
    Part("quick", weight=15),
    Part("fails", "fails", weight=8),
    Part("crashes", "crashes", weight=4),
    Part("misfits", "misfits", weight=4),
    Part("boasts", "boasts", weight=6),
    # The answer repeats the prompt, so that it is prose where an object is wanted.
    Part("prose", keys={"output": {"schema": ANSWER}}, weight=8),
    Part("half", "half", weight=10),
    Part("missing", "files", {"output": {"artifacts": ["artifacts/none.md"]}}, weight=8),
    Part("complete", "files", {"output": {"artifacts": ["artifacts/one.md"]}}, weight=8),
    Part("too-long", "endless", {"timeout": 2}, weight=8),
    Part("no-quota", "no-quota", {"retries": {"max": 1, "on": ["quota"]}}, weight=5),
    Part("wonders", "wonders", weight=8),
    Part("lists", "lists", weight=10),
    Part("empty", keys={"for_each": []}, weight=3),
    Part("items", keys={"for_each": ["red", "green"], "with": {"colour": {"from": "/item"}}}, weight=8),
    Part("failing-items", "fails", {"for_each": [1, 2]}, weight=4),
)


def flow(dice: random.Random) -> dict[str, Any]:
    """A workflow, as its file has it."""
    steps: list[dict[str, Any]] = []
    for number in range(dice.randint(*STEPS)):
        steps.append(_step(dice, f"s{number}", steps))
    if not any(step.get("required", True) for step in steps):
        del steps[0]["required"]
    made: dict[str, Any] = {"name": "chaos", "steps": steps, "concurrency": dice.randint(1, 4)}
    if dice.random() < 0.15:
        made["timeout"] = dice.randint(3, 15)
    return made


def _step(dice: random.Random, id: str, before: list[dict[str, Any]]) -> dict[str, Any]:
    step = dice.choices(PARTS, [part.weight for part in PARTS])[0].step(id)
    lists = [one["id"] for one in before if one.get("skill") == "kind-lists"]
    if lists and dice.random() < 0.4:
        # As many items as the other step has found; what it has left is only known when it is ready.
        step["for_each"] = {"from": f"/steps/{dice.choice(lists)}/output/list"}
    if before and dice.random() < 0.6:
        step["needs"] = sorted(one["id"] for one in dice.sample(before, min(len(before), dice.randint(1, 2))))
    if dice.random() < 0.25:
        step["required"] = False
    step["on_failure"] = dice.choices(("continue", "stop", "hold"), (60, 20, 20))[0]
    if dice.random() < 0.2:
        step["ask"] = dice.choice(("before", "after"))
    if dice.random() < 0.3:
        step |= {"workspace": "shared", "permission": dice.choice(("workspace", "read_only"))}
    return step


def text(flow: dict[str, Any]) -> str:
    """As YAML, of which JSON is a part."""
    return json.dumps(flow, indent=1)


def body(text: str) -> dict[str, Any]:
    """The request, for `POST /v1/workflows`."""
    return {"workflow": text, "inputs": {}, "engine": ENGINE}


def words(path: str) -> list[str]:
    """The same for the command line, after `skillrun`."""
    return ["workflow", "run", path, "--engine", ENGINE]
