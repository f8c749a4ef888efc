"""What a seed decides: which runs are ordered, how clients behave, what breaks, and when. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random

from lab import flows
from lab.client import View
from lab.kinds import CONTINUED, KINDS, Kind, Mode, Profile

# Rounds that share a data folder, at most: what is on the disk stays under the oracle, and the disk is small.
ROUNDS_TOGETHER = 3


class Way(StrEnum):
    """How something is asked for."""

    HTTP = "http"
    COMMAND = "command"


class Manner(StrEnum):
    """How an answer is given."""

    PLAIN = "plain"
    TWICE = "twice"
    RACE = "race"
    DROPPED = "dropped"
    COMMAND = "command"


class FaultName(StrEnum):
    KILL_SERVER = "kill server"
    STOP_SERVER = "stop server"
    KILL_HOST = "kill host"
    KILL_ENGINE = "kill engine"
    PAUSE_SERVER = "pause server"
    PAUSE_HOST = "pause host"
    PAUSE_ENGINE = "pause engine"
    FILL_DISK = "fill disk"
    CUT_CONNECTIONS = "cut connections"
    TEAR_LOG = "tear log"
    REMOVE_CATALOG = "remove catalog"
    KILL_ALL = "kill all"


# How often each is chosen, and for how many seconds it lasts.
FAULTS: dict[FaultName, tuple[int, tuple[float, float]]] = {
    FaultName.KILL_SERVER: (10, (0.0, 3.0)),
    FaultName.STOP_SERVER: (3, (0.2, 3.0)),
    FaultName.KILL_HOST: (8, (0.0, 0.0)),
    FaultName.KILL_ENGINE: (8, (0.0, 0.0)),
    FaultName.PAUSE_SERVER: (5, (0.2, 5.0)),
    FaultName.PAUSE_HOST: (5, (0.2, 6.0)),
    FaultName.PAUSE_ENGINE: (4, (0.2, 6.0)),
    FaultName.FILL_DISK: (5, (0.5, 5.0)),
    FaultName.CUT_CONNECTIONS: (7, (0.5, 5.0)),
    FaultName.TEAR_LOG: (6, (0.0, 1.5)),
    FaultName.REMOVE_CATALOG: (5, (0.0, 1.5)),
    FaultName.KILL_ALL: (4, (0.0, 2.0)),
}


@dataclass(frozen=True)
class Order:
    """One ordered run. Times are seconds: `at` in the round, the others after it was accepted."""

    at: float
    kind: Kind
    profile: Profile | None
    way: Way
    manner: Manner
    hesitates: float
    cancel_after: float | None
    cancel_way: Way
    in_workspace: bool
    # The run that continues it, and when that is asked for.
    heir: Order | None
    follows: tuple[View, ...]
    seed: int
    # The file of a workflow.
    file: str | None = None

    @property
    def key(self) -> str:
        return f"order-{self.seed:016x}"


@dataclass(frozen=True)
class Blow:
    """A fault that begins `at` and lasts for `hold` seconds."""

    at: float
    fault: FaultName
    hold: float
    seed: int


@dataclass(frozen=True)
class Round:
    number: int
    is_fresh: bool
    orders: tuple[Order, ...]
    blows: tuple[Blow, ...]


def plan(seed: int, number: int, faults: tuple[FaultName, ...] = tuple(FaultName)) -> Round:
    """The round of this number, the first being 1; the same for the same words, whatever came before."""
    dice = Random(f"{seed}/{number}")
    seconds = dice.uniform(10, 18)
    # Every third round starts from scratch in any case.
    is_fresh = number % ROUNDS_TOGETHER == 1 or dice.random() < 0.5
    orders = sorted((_order(dice, seconds) for _ in range(dice.randint(16, 26))), key=lambda order: order.at)
    blows = sorted((_blow(dice, seconds, faults) for _ in range(dice.randint(4, 9))), key=lambda blow: blow.at)
    return Round(number, is_fresh, tuple(orders), tuple(blows))


def _order(dice: Random, seconds: float) -> Order:
    kind = dice.choices(KINDS, [kind.weight for kind in KINDS])[0]
    is_canceled = kind.ends == ("canceled",) or dice.random() < 0.15
    return Order(
        at=dice.uniform(0, seconds * 0.7),
        kind=kind,
        profile=kind.profile(dice),
        way=dice.choices(tuple(Way), (85, 15))[0],
        manner=dice.choices(tuple(Manner), (40, 15, 15, 15, 15))[0],
        hesitates=dice.choice((0.0, dice.uniform(0, 5))),
        cancel_after=dice.uniform(0, 6) if is_canceled else None,
        cancel_way=dice.choices(tuple(Way), (80, 20))[0],
        in_workspace=dice.random() < 0.1,
        heir=_heir(dice) if kind.mode is Mode.CONVERSATION and dice.random() < 0.5 else None,
        follows=tuple(view for view in View if dice.random() < 0.35),
        seed=dice.getrandbits(64),
        file=flows.text(flows.flow(dice)) if kind.workflow else None,
    )


def _heir(dice: Random) -> Order:
    """It is asked for over HTTP, and not canceled; `at` counts from the moment at which the run before was accepted."""
    kind = dice.choice(CONTINUED)
    return Order(
        at=dice.uniform(0, 15),
        kind=kind,
        profile=kind.profile(dice),
        way=Way.HTTP,
        manner=dice.choice(tuple(Manner)),
        hesitates=0.0,
        cancel_after=None,
        cancel_way=Way.HTTP,
        in_workspace=False,
        heir=None,
        follows=tuple(view for view in View if dice.random() < 0.35),
        seed=dice.getrandbits(64),
    )


def _blow(dice: Random, seconds: float, faults: tuple[FaultName, ...]) -> Blow:
    fault = dice.choices(faults, [FAULTS[fault][0] for fault in faults])[0]
    return Blow(dice.uniform(0.5, seconds), fault, dice.uniform(*FAULTS[fault][1]), dice.getrandbits(64))
