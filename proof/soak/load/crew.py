"""All clients that put load on a server, and how many of each."""

from __future__ import annotations

from soak.book import Book, Crew
from soak.load.client import SoakClient
from soak.load.followers import Follower, ListFollower
from soak.load.living import Living
from soak.load.pages import Pages
from soak.load.runs import RunClient

# A load that two cores bear while they do other things too: what is sought is growth, not the limit.
RUN_CLIENTS = 6
FOLLOWERS = 3
LIST_FOLLOWERS = 1
READERS = 1


def start(crew: Crew, client: SoakClient, living: Living, book: Book, seed: int) -> None:
    for number in range(RUN_CLIENTS):
        at_runs = RunClient(client, living, book, f"{seed} runs {number}")
        crew.repeat(f"client {number}", at_runs.one, at_runs.pause)
    for number in range(FOLLOWERS):
        follower = Follower(client, living, book, f"{seed} follower {number}")
        crew.repeat(f"follower {number}", follower.one, follower.pause)
    for number in range(LIST_FOLLOWERS):
        of_all = ListFollower(client, book, f"{seed} list {number}")
        crew.repeat(f"follower of the list {number}", of_all.one, of_all.pause)
    for number in range(READERS):
        pages = Pages(client, living, book, f"{seed} pages {number}")
        crew.repeat(f"reader {number}", pages.one, pages.pause)
