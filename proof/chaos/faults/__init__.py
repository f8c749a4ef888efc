"""Faults, one file per kind of thing that breaks. `ALL` has one class per name."""

from chaos.faults.base import Fault
from chaos.faults.catalog import RemoveCatalog
from chaos.faults.connections import CutConnections
from chaos.faults.everything import KillAll
from chaos.faults.full_disk import FillDisk
from chaos.faults.kill import KillEngine, KillHost
from chaos.faults.log import TearLog
from chaos.faults.pause import PauseEngine, PauseHost, PauseServer
from chaos.faults.server import KillServer, StopServer
from chaos.plan import FaultName

ALL: dict[FaultName, type[Fault]] = {
    fault.name: fault
    for fault in (
        KillServer, StopServer, KillHost, KillEngine, PauseServer, PauseHost, PauseEngine,
        FillDisk, CutConnections, TearLog, RemoveCatalog, KillAll,
    )
}
