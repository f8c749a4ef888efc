"""The proxy passes everything on, follows the server to another address, and cuts on request."""

import random
import socket
import threading
import unittest

from chaos.proxy import Proxy

TEST_TIMEOUT = 20


class Echo:
    """Sends back what it gets, until the other side is done."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    @staticmethod
    def _echo(connection: socket.socket) -> None:
        with connection:
            try:
                while piece := connection.recv(4096):
                    connection.sendall(piece)
            except OSError:
                pass


class TestProxy(unittest.TestCase):
    def setUp(self) -> None:
        self.proxy = Proxy(random.Random(1))
        self.echo = Echo()
        self.addCleanup(self.proxy.close)
        self.addCleanup(self.echo.listener.close)
        self.proxy.point(self.echo.address)

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.proxy.address, TEST_TIMEOUT)
        self.addCleanup(connection.close)
        return connection

    def heard(self, connection: socket.socket) -> bytes:
        """Everything until the end, or until it breaks."""
        heard = b""
        try:
            while piece := connection.recv(1 << 16):
                heard += piece
        except OSError:
            pass
        return heard

    def test_all_bytes_come_through_and_the_end_too(self) -> None:
        sent = random.Random(2).randbytes(300_000)
        connection = self.connect()
        writer = threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR)))
        writer.start()
        self.assertEqual(self.heard(connection), sent)
        writer.join(TEST_TIMEOUT)

    def test_without_a_server_a_connection_is_closed(self) -> None:
        self.proxy.point(None)
        self.assertEqual(self.heard(self.connect()), b"")

    def test_a_server_that_is_not_there_closes_it_too(self) -> None:
        gone = socket.create_server(("127.0.0.1", 0))
        self.proxy.point(gone.getsockname())
        gone.close()
        self.assertEqual(self.heard(self.connect()), b"")

    def test_open_connections_are_cut(self) -> None:
        connection = self.connect()
        connection.sendall(b"x")
        self.assertEqual(connection.recv(1), b"x")
        self.proxy.cut_all()
        self.assertEqual(self.heard(connection), b"")
        self.assertEqual(self.proxy.cuts, 1)

    def test_rough_proxy_breaks_new_connections_after_some_bytes(self) -> None:
        self.proxy.rough(True)
        sent = bytes(100_000)
        for _ in range(10):
            connection = self.connect()
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            self.assertLess(len(self.heard(connection)), len(sent))
        self.assertEqual(self.proxy.cuts, 10)
        self.proxy.rough(False)
        connection = self.connect()
        connection.sendall(b"whole")
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(self.heard(connection), b"whole")


if __name__ == "__main__":
    unittest.main()
