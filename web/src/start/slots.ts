// The files that go with a request: each under a name that the skill knows.

export interface Slot<Content = File> {
  readonly name: string;
  readonly file: Content;
}

export const MOST_FILES = 50;

/** With these files, each under a name made from its own. */
export function added<Content extends { name: string }>(slots: readonly Slot<Content>[], files: Iterable<Content>): readonly Slot<Content>[] {
  const all = [...slots];
  for (const file of files) {
    if (all.length < MOST_FILES) all.push({ name: free(stem(file.name), all), file });
  }
  return all;
}

export function renamed<Content>(slots: readonly Slot<Content>[], index: number, name: string): readonly Slot<Content>[] {
  return slots.map((slot, at) => (at === index ? { ...slot, name } : slot));
}

/** The first slot whose name is missing, or there before. */
export function wrongSlot(slots: readonly Slot<unknown>[]): { index: number; is: "unnamed" | "twice" } | undefined {
  const names = new Set<string>();
  for (const [index, { name }] of slots.entries()) {
    if (name.trim() === "") return { index, is: "unnamed" };
    if (names.has(name.trim())) return { index, is: "twice" };
    names.add(name.trim());
  }
  return undefined;
}

function stem(name: string): string {
  const plain = name.replace(/(?<=.)\.[^.]*$/, "").replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "");
  return plain.slice(0, 60) || "file";
}

function free(name: string, slots: readonly Slot<unknown>[]): string {
  const taken = new Set(slots.map((slot) => slot.name));
  let candidate = name;
  for (let number = 2; taken.has(candidate); number += 1) candidate = `${name}_${number}`;
  return candidate;
}
