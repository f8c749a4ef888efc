// All events of a run in small: when each was, what it is, and what it belongs to. Enough to draw a hundred thousand
// of them and to find those that hang together; their texts are asked for one by one.
import type { Outline as OutlinePage, RaspType } from "@skillrun/client";

export type Category = "lifecycle" | "agent" | "interaction" | "tool" | "artifact" | "diagnostic" | "raw" | "runtime";
export const CATEGORIES: readonly Category[] = ["lifecycle", "agent", "interaction", "tool", "artifact", "diagnostic", "raw", "runtime"];

export type Group = OutlinePage["groups"][number];

/** One event, as the outline has it. */
export interface Entry {
  readonly seq: number;
  readonly at: number;
  readonly type: RaspType;
  readonly category: Category;
  readonly level: 0 | 1 | 2;
  readonly attempt: number;
  readonly group: Group | undefined;
}

export class Outline {
  length = 0;
  /** The last event the run had when the last page came. */
  lastSeq = 0;
  /** Of the Log that the entries are from; none before the first page. */
  private epoch: number | undefined;
  /** Entry `i` is the event with the seq `i + 1`; times are milliseconds since 1970. */
  at = new Float64Array(1024);
  types = new Uint8Array(1024);
  levels = new Uint8Array(1024);
  attempts = new Uint16Array(1024);
  /** Number of its group from 1; 0 where it has none. */
  groupOf = new Uint32Array(1024);
  readonly names: RaspType[] = [];
  /** The category of each name. */
  readonly categories: Category[] = [];
  readonly groups: Group[] = [];
  private readonly nameNumbers = new Map<string, number>();
  private readonly groupNumbers = new Map<string, number>();

  /**
   * Adds what comes next. Entries it has already change nothing; a page after a gap is refused. When the Log has lost
   * events, what is here may be no more: then it is empty, and begins again with the page if that begins with the first.
   */
  add(page: OutlinePage): boolean {
    if (this.epoch !== undefined && this.epoch !== page.epoch) this.clear();
    this.epoch = page.epoch;
    this.lastSeq = page.last_seq;
    const skip = this.length + 1 - page.first_seq;
    if (skip < 0) return page.ts.length === 0;
    const names = page.names.map((name) => this.nameNumber(name));
    const groups = page.groups.map((group) => this.groupNumber(group));
    this.reserve(this.length + page.ts.length);
    for (let index = Math.max(0, skip); index < page.ts.length; index += 1) {
      const group = page.groups_of[index];
      this.at[this.length] = page.ts[index] ?? 0;
      this.types[this.length] = names[page.types[index] ?? 0] ?? 0;
      this.levels[this.length] = page.levels[index] ?? 0;
      this.attempts[this.length] = page.attempts[index] ?? 0;
      this.groupOf[this.length] = group === null || group === undefined ? 0 : (groups[group] ?? 0);
      this.length += 1;
    }
    return true;
  }

  /** Whether nothing is missing, as far as the service reported. */
  get isWhole(): boolean {
    return this.lastSeq > 0 && this.length >= this.lastSeq;
  }

  clear(): void {
    this.length = 0;
    this.lastSeq = 0;
    this.epoch = undefined;
    this.groups.length = 0;
    this.groupNumbers.clear();
  }

  entry(seq: number): Entry | undefined {
    const index = seq - 1;
    if (index < 0 || index >= this.length) return undefined;
    const type = this.types[index] ?? 0;
    const level = this.levels[index];
    return {
      seq,
      at: this.at[index] ?? 0,
      type: this.names[type] ?? "raw.stdout",
      category: this.categories[type] ?? "raw",
      level: level === 2 ? 2 : level === 1 ? 1 : 0,
      attempt: this.attempts[index] ?? 0,
      group: this.groups[(this.groupOf[index] ?? 0) - 1],
    };
  }

  private nameNumber(name: RaspType): number {
    const known = this.nameNumbers.get(name);
    if (known !== undefined) return known;
    const number = this.names.push(name) - 1;
    this.nameNumbers.set(name, number);
    this.categories.push(categoryOf(name));
    return number;
  }

  private groupNumber(group: Group): number {
    const key = `${group.kind} ${group.id}`;
    const known = this.groupNumbers.get(key);
    if (known !== undefined) return known;
    const number = this.groups.push(group);
    this.groupNumbers.set(key, number);
    return number;
  }

  private reserve(length: number): void {
    if (length <= this.at.length) return;
    const room = Math.max(length, this.at.length * 2);
    const grown = <Column extends { set(from: Column): void }>(column: Column, fresh: Column): Column => {
      fresh.set(column);
      return fresh;
    };
    this.at = grown(this.at, new Float64Array(room));
    this.types = grown(this.types, new Uint8Array(room));
    this.levels = grown(this.levels, new Uint8Array(room));
    this.attempts = grown(this.attempts, new Uint16Array(room));
    this.groupOf = grown(this.groupOf, new Uint32Array(room));
  }
}

/** Event types say what they are about in their first word. */
export function categoryOf(type: RaspType): Category {
  switch (type.split(".")[0]) {
    case "run":
      return "lifecycle";
    case "agent":
      return "agent";
    case "interaction":
      return "interaction";
    case "tool":
      return "tool";
    case "artifact":
      return "artifact";
    case "parser":
    case "engine":
      return "diagnostic";
    case "raw":
      return "raw";
    default:
      return "runtime";
  }
}
