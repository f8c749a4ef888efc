"""A TCP proxy between clients and the server. It survives the server, and cuts connections on request."""

from __future__ import annotations

import asyncio
import random
import threading

PIECE = 1 << 14
# Seconds to reach the server.
CONNECT = 30


class Proxy:
    """Listens at `address` for as long as it lives. If no server is behind it, connections are closed at once."""

    def __init__(self, dice: random.Random) -> None:
        self.address: tuple[str, int] = ("127.0.0.1", 0)
        self.cuts = 0
        self._dice = dice
        self._target: tuple[str, int] | None = None
        self._is_rough = False
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="proxy", daemon=True)
        self._thread.start()
        ready.wait()

    def point(self, target: tuple[str, int] | None) -> None:
        """Where connections go from now on; nowhere while the server is down."""
        self._target = target

    def rough(self, is_rough: bool) -> None:
        """While it is rough, a new connection is cut after some bytes, of the request or of the answer."""
        self._is_rough = is_rough

    def cut_all(self) -> None:
        """All connections there are, as when a cable is pulled."""
        asyncio.run_coroutine_threadsafe(self._cut_all(), self._loop).result(CONNECT)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONNECT)

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, *self.address))
        self.address = server.sockets[0].getsockname()[:2]
        ready.set()
        self._loop.run_forever()
        server.close()
        for writer in list(self._open):
            writer.transport.abort()
        for task in (tasks := asyncio.all_tasks(self._loop)):
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _cut_all(self) -> None:
        self.cuts += len(self._open) // 2
        for writer in list(self._open):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far: asyncio.StreamWriter | None = None
        is_hard = self._dice.random() < 0.5
        self._open.add(writer)
        try:
            if self._target is None:
                return
            back, far = await asyncio.wait_for(asyncio.open_connection(*self._target), CONNECT)
            self._open.add(far)
            there, here = self._budgets()
            await asyncio.gather(self._pump(reader, far, there), self._pump(back, writer, here))
        except ConnectionAbortedError:
            # One that is reset loses what was on its way, one that is closed does not.
            for end in (writer, far) if is_hard else ():
                end.transport.abort()
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            pass
        finally:
            for end in (writer, far):
                if end is not None:
                    self._open.discard(end)
                    end.close()

    def _budgets(self) -> tuple[int | None, int | None]:
        """Bytes until the cut, each way; mostly few, so that it comes in the middle of a head or a body."""
        if not self._is_rough:
            return None, None
        some = int(2 ** self._dice.uniform(0, 14))
        return (some, None) if self._dice.random() < 0.4 else (None, some)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int | None) -> None:
        while piece := await reader.read(PIECE):
            if budget is not None and len(piece) >= budget:
                writer.write(piece[:budget])
                await writer.drain()
                self.cuts += 1
                raise ConnectionAbortedError
            budget = None if budget is None else budget - len(piece)
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
