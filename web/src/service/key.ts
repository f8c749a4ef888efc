// Keys that make a request safe to send again. `randomUUID` is not there on pages that come over plain HTTP from
// another machine; random bytes are.

export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Requests are made by hand; this many different ones are remembered. */
const MOST_TRIED = 50;

/**
 * One key for each thing that is tried. The same thing keeps its key, so that it counts once however often it is sent;
 * another thing has another one, or the service would take it for the first and say that it was done.
 */
export class Keys {
  private readonly keys = new Map<string, string>();

  constructor(private readonly random: () => string = freshKey) {}

  /** `thing`: everything that is sent, files represented by `fileMark`. */
  of(thing: unknown): string {
    const what = JSON.stringify(thing);
    const key = this.keys.get(what) ?? this.random();
    this.keys.delete(what);
    this.keys.set(what, key);
    for (const oldest of this.keys.keys()) {
      if (this.keys.size <= MOST_TRIED) break;
      this.keys.delete(oldest);
    }
    return key;
  }
}

/** Distinguishes files without reading them. */
export function fileMark({ name, size, lastModified }: File): readonly [string, number, number] {
  return [name, size, lastModified];
}
