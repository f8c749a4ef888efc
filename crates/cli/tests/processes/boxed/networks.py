"""What a process in a box reaches over the network. Prints a line per attempt: its name, and `open` or `held`."""

import os
import socket

LISTED = int(os.environ["LISTED"])
OTHER = int(os.environ["OTHER"])
PROXY = ("127.77.77.77", 3128)


def is_alone():
    """Addresses outside are tried in a network of its own only."""
    with open("/proc/net/dev") as file:
        names = [line.split(":")[0].strip() for line in file if ":" in line]
    return names == ["lo"]


def report(name, attempt):
    try:
        worked = attempt()
    except OSError:
        worked = False
    print(f"{name} {'open' if worked else 'held'}", flush=True)


def greeted(connection):
    """The server outside has answered."""
    with connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
    return b"a greeting" in answer


def direct(address):
    return greeted(socket.create_connection(address, timeout=20))


def tunnel(port):
    connection = socket.create_connection(PROXY, timeout=20)
    connection.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n") and (piece := connection.recv(1)):
        answer += piece
    return b" 200 " in answer and greeted(connection)


def plain(port):
    with socket.create_connection(PROXY, timeout=20) as connection:
        connection.sendall(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
    return b"a greeting" in answer


def outside(host):
    if not is_alone():
        return True
    socket.create_connection(host, timeout=20).close()
    return True


def datagram(host):
    if not is_alone():
        return True
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.connect(host)
        client.send(b"x")
        client.recv(1)
    return True


def address_of(name):
    return socket.gethostbyname(name).startswith("127.77.0.")


report("the listed port", lambda: direct(("127.0.0.1", LISTED)))
report("the listed port by another name", lambda: direct(("localhost", LISTED)))
report("the listed port through a tunnel", lambda: tunnel(LISTED))
report("the listed port through the proxy", lambda: plain(LISTED))
report("another port", lambda: direct(("127.0.0.1", OTHER)))
report("another port through a tunnel", lambda: tunnel(OTHER))
report("another port through the proxy", lambda: plain(OTHER))
report("the address of a listed name", lambda: address_of("api.listed.test"))
report("the address of another name", lambda: bool(socket.gethostbyname("evil.other.test")))
report("a host of version 4", lambda: outside(("192.0.2.1", 443)))
report("a host of version 6", lambda: outside(("2001:db8::1", 443)))
report("the metadata of a cloud", lambda: outside(("169.254.169.254", 80)))
report("a datagram", lambda: datagram(("192.0.2.1", 53)))
