"""The client distinguishes a truncated answer from a complete one, and reads streams event by event."""

import socket
import threading
import unittest

from lab.client import Broken, Client, Event, View

TEST_TIMEOUT = 10


class Canned:
    """Gives every connection these bytes, once the request is in, and hangs up."""

    def __init__(self, answer: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.heard: list[bytes] = []
        self.answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(1 << 16))
                connection.sendall(self.answer)


class TestClient(unittest.TestCase):
    def client(self, answer: bytes) -> Client:
        self.server = Canned(answer)
        self.addCleanup(self.server.listener.close)
        return Client(self.server.address, "token", TEST_TIMEOUT)

    def test_a_whole_answer(self) -> None:
        answer = self.client(b'HTTP/1.1 202 Accepted\r\nContent-Length: 12\r\n\r\n{"run_id":1}').look("r")
        self.assertEqual((answer.status, answer.is_good, answer.json()), (202, True, {"run_id": 1}))
        self.assertIn(b"Authorization: Bearer token", self.server.heard[0])

    def test_cut_answers_are_broken(self) -> None:
        whole = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"run_id":1}'
        for length in range(len(whole)):
            with self.assertRaises(Broken, msg=whole[:length]):
                self.client(whole[:length]).look("r")

    def test_a_stream_has_its_events(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        text = b"retry: 1000\n\nid: 1\nevent: chat_event\ndata: {}\n\n: still here\n\nid: 2\ndata: a\ndata: b\n\n"
        with self.client(head + text).follow("r", View.FCMP, "7") as stream:
            events = list(stream)
        self.assertEqual(events, [Event("1", "chat_event", "{}"), Event("2", "message", "a\nb")])
        self.assertIn(b"Last-Event-ID: 7", self.server.heard[0])

    def test_an_event_that_is_cut_never_comes(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        piece = b"id: 1\ndata: {}\n\nid: 2\ndata: {\n"
        whole = head + f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
        for length in range(len(head), len(whole) + 1):
            seen = []
            try:
                with self.client(whole[:length]).follow("r", View.RASP) as stream:
                    seen.extend(stream)
            except Broken:
                pass
            self.assertIn([event.id for event in seen], ([], ["1"]))


if __name__ == "__main__":
    unittest.main()
