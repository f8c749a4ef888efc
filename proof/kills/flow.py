"""The workflow that is killed: ten steps, with every kind of event in its Log, and the same end each time."""

from __future__ import annotations

from typing import Any

from lab.flows import ENGINE, STEP_KINDS
from lab.kinds import Kind, kind

# The user accepts the result of this step.
ASKS, ANSWER = "asks", "accept"

PROMPT = "Why is the sky blue?"

SKILLS: tuple[Kind, ...] = (kind("auto"), kind("fails"), kind("no-quota"), *STEP_KINDS)


def _step(id: str, skill: str = "", **keys: Any) -> dict[str, Any]:
    task = {"skill": f"kind-{skill}"} if skill else {"prompt": PROMPT}
    return {"id": id, **task, "engine": ENGINE, "on_failure": "continue", **keys}


FLOW: dict[str, Any] = {
    "name": "killed",
    "concurrency": 2,
    "steps": [
        _step("lists", "lists"),
        _step("items", for_each={"from": "/steps/lists/output/list"}, **{"with": {"colour": {"from": "/item"}}}),
        _step("fails", "fails", required=False),
        _step("half", "half", required=False),
        _step("left-out", needs=["half"], required=False),
        _step("no-quota", "no-quota", required=False, retries={"max": 1, "on": ["quota"]}),
        _step("files", "auto", needs=["lists"]),
        _step(ASKS, needs=["lists"], ask="after"),
        _step("writes", needs=["lists"], workspace="shared"),
        _step("writes-too", needs=["lists"], workspace="shared"),
    ],
}

STATES: dict[str, str] = {
    "lists": "ready", "items": "ready", "fails": "failed", "half": "partial", "left-out": "skipped",
    "no-quota": "failed", "files": "ready", "asks": "ready", "writes": "ready", "writes-too": "ready",
}
