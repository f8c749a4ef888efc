// Where in a conversation an event of the Log is. Both are in the same order, but for a few lines that wait for what
// comes after them, so the place is found by halving.

/** The event of the Log that an event of the conversation was made from; nothing where there is none. */
export type RaspSeqAt = (seq: number) => Promise<number | undefined>;

/** A place in the conversation at most this many events away from the event of the Log. */
export async function placeOf(raspSeq: number, last: number, near: number, raspSeqAt: RaspSeqAt): Promise<number> {
  // Each event of the conversation has one of the Log of its own, so it is never further back than that.
  let [low, high] = [1, Math.max(1, Math.min(last, raspSeq))];
  while (high - low > near) {
    const middle = (low + high) >> 1;
    const found = await raspSeqAt(middle);
    if (found === undefined || found > raspSeq) high = middle;
    else low = middle;
  }
  return (low + high) >> 1;
}
