"""BLAKE3, which the product names its evidence by and the standard library lacks.

Python is slow at arithmetic on words and fast at arithmetic on very long
numbers. So one number holds the same word of many chunks, 64 bits for each, and
one addition adds all of them at once. The upper half of each lane takes the
carry and is masked away.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1024
BLOCK = 64
# Chunks that are worked on at once. More costs memory and gains little.
LANES = 1024

IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8

MIXED = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)

_ones: dict[int, int] = {}


def _repeated(word: int, lanes: int) -> int:
    """The same word in every lane."""
    if lanes not in _ones:
        _ones[lanes] = int.from_bytes(b"\1\0\0\0\0\0\0\0" * lanes, "little")
    return _ones[lanes] * word


def _compress(
    chain: list[int], block: list[int], counter: int, size: int, flags: int, lanes: int, sizes: int | None = None,
) -> list[int]:
    """The next chaining value of every lane. `counter` holds the low words of the chunks' numbers, `sizes` those of the
    blocks where they are not all the same.
    """
    mask = _repeated(0xFFFFFFFF, lanes)
    v = chain + [_repeated(word, lanes) for word in IV[:4]]
    v += [counter, 0, _repeated(size, lanes) if sizes is None else sizes, _repeated(flags, lanes)]
    m = block
    for number in range(7):
        for at, (a, b, c, d) in enumerate(MIXED):
            va, vb, vc, vd = v[a], v[b], v[c], v[d]
            va = (va + vb + m[2 * at]) & mask
            vd ^= va
            vd = (vd >> 16 | vd << 16) & mask
            vc = (vc + vd) & mask
            vb ^= vc
            vb = (vb >> 12 | vb << 20) & mask
            va = (va + vb + m[2 * at + 1]) & mask
            vd ^= va
            vd = (vd >> 8 | vd << 24) & mask
            vc = (vc + vd) & mask
            vb ^= vc
            vb = (vb >> 7 | vb << 25) & mask
            v[a], v[b], v[c], v[d] = va, vb, vc, vd
        if number < 6:
            m = [m[place] for place in ORDER]
    return [v[at] ^ v[at + 8] for at in range(8)]


def _lanes(chunks: memoryview, count: int, word: int, width: int) -> int:
    """The word at this place of every piece of `width` words, one to a lane."""
    return int.from_bytes(array("Q", chunks[word : count * width : width]).tobytes(), "little")


def _apart(values: list[int], lanes: int) -> Iterator[list[int]]:
    """The chaining values, lane by lane."""
    words = []
    for value in values:
        row = array("Q")
        row.frombytes(value.to_bytes(8 * lanes, "little"))
        words.append(row)
    for lane in range(lanes):
        yield [row[lane] for row in words]


def _whole_chunks(data: bytes, first: int) -> list[list[int]]:
    """Chaining values of chunks that are full and not alone."""
    count = len(data) // CHUNK
    words = memoryview(data).cast("I")
    counter = int.from_bytes(array("Q", range(first, first + count)).tobytes(), "little")
    chain = [_repeated(word, count) for word in IV]
    for block in range(CHUNK // BLOCK):
        message = [_lanes(words, count, block * 16 + at, CHUNK // 4) for at in range(16)]
        flags = (CHUNK_START if block == 0 else 0) | (CHUNK_END if block == CHUNK // BLOCK - 1 else 0)
        chain = _compress(chain, message, counter, BLOCK, flags, count)
    return list(_apart(chain, count))


def _last_chunk(data: bytes, number: int, root: int) -> list[int]:
    """The chaining value of a chunk that may be short; with ROOT, the hash of a file that has no other."""
    chain = list(IV)
    blocks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)] or [b""]
    for at, block in enumerate(blocks):
        message = list(memoryview(block.ljust(BLOCK, b"\0")).cast("I"))
        flags = (CHUNK_START if at == 0 else 0) | (CHUNK_END | root if at == len(blocks) - 1 else 0)
        chain = _compress(chain, message, number, len(block), flags, 1)
    return chain


def _parents(nodes: list[list[int]]) -> list[list[int]]:
    """Each pair as one node, all pairs at once. The number of nodes is even."""
    count = len(nodes) // 2
    words = memoryview(array("I", [word for node in nodes for word in node]))
    message = [_lanes(words, count, at, 16) for at in range(16)]
    chain = [_repeated(word, count) for word in IV]
    return list(_apart(_compress(chain, message, 0, BLOCK, PARENT, count), count))


class Hasher:
    """Takes bytes in pieces; holds a batch of chunks and a few nodes of the tree."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._chunks = 0
        # Roots of full subtrees with how many chunks each has, the largest first.
        self._stack: list[tuple[int, list[int]]] = []

    def update(self, data: bytes) -> None:
        self._waiting += data
        # The last chunk waits: it may be the end, which is treated otherwise.
        while len(self._waiting) > LANES * CHUNK:
            self._take(LANES)

    def hexdigest(self) -> str:
        # Subtrees of a power of two only, so that they fit into the tree whatever comes after.
        while len(self._waiting) > CHUNK:
            full = (len(self._waiting) - 1) // CHUNK
            self._take(1 << (full.bit_length() - 1))
        if not self._stack:
            return _text(_last_chunk(bytes(self._waiting), 0, ROOT))
        node = _last_chunk(bytes(self._waiting), self._chunks, 0)
        while self._stack:
            _, left = self._stack.pop()
            flags = PARENT if self._stack else PARENT | ROOT
            node = _compress(list(IV), left + node, 0, BLOCK, flags, 1)
        return _text(node)

    def _take(self, count: int) -> None:
        data = bytes(self._waiting[: count * CHUNK])
        del self._waiting[: count * CHUNK]
        nodes = _whole_chunks(data, self._chunks)
        self._chunks += count
        while len(nodes) > 1:
            nodes = _parents(nodes)
        self._push(count, nodes[0])

    def _push(self, size: int, node: list[int]) -> None:
        while self._stack and self._stack[-1][0] == size:
            _, left = self._stack.pop()
            node = _compress(list(IV), left + node, 0, BLOCK, PARENT, 1)
            size *= 2
        self._stack.append((size, node))


def _text(words: list[int]) -> str:
    return b"".join(word.to_bytes(4, "little") for word in words).hex()


EMPTY = Hasher().hexdigest()


def of(text: bytes) -> str:
    hasher = Hasher()
    hasher.update(text)
    return hasher.hexdigest()


def of_many(texts: list[bytes]) -> list[str]:
    """The hash of each, all short ones of a length together."""
    found = [""] * len(texts)
    by_blocks: dict[int, list[int]] = {}
    for at, text in enumerate(texts):
        if 0 < len(text) <= CHUNK:
            by_blocks.setdefault(-(-len(text) // BLOCK), []).append(at)
        else:
            found[at] = of(text)
    for blocks, places in by_blocks.items():
        for start in range(0, len(places), LANES):
            batch = places[start : start + LANES]
            for at, node in zip(batch, _short([texts[at] for at in batch], blocks), strict=True):
                found[at] = _text(node)
    return found


def _short(texts: list[bytes], blocks: int) -> Iterator[list[int]]:
    """Hashes of texts of one chunk that have this many blocks."""
    lanes = len(texts)
    words = memoryview(b"".join(text.ljust(blocks * BLOCK, b"\0") for text in texts)).cast("I")
    last = array("Q", [len(text) - (blocks - 1) * BLOCK for text in texts])
    chain = [_repeated(word, lanes) for word in IV]
    for block in range(blocks):
        message = [_lanes(words, lanes, block * 16 + at, blocks * 16) for at in range(16)]
        is_last = block == blocks - 1
        flags = (CHUNK_START if block == 0 else 0) | (CHUNK_END | ROOT if is_last else 0)
        sizes = int.from_bytes(last.tobytes(), "little") if is_last else None
        chain = _compress(chain, message, 0, BLOCK, flags, lanes, sizes)
    return _apart(chain, lanes)


def of_file(path: Path) -> tuple[int, str]:
    """Size and hash of a file."""
    hasher, size = Hasher(), 0
    with open(path, "rb") as file:
        while data := file.read(LANES * CHUNK):
            hasher.update(data)
            size += len(data)
    return size, hasher.hexdigest() if size else EMPTY
