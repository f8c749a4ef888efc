// Outlines for tests, written as a list of events.
import type { Outline as OutlinePage, RaspType } from "@skillrun/client";
import { type Group, Outline } from "../outline.ts";

export interface Made {
  at: number;
  type: RaspType;
  attempt?: number;
  level?: 0 | 1 | 2;
  tool?: string;
  question?: number;
  file?: string;
}

export function fold(events: readonly Made[]): Outline {
  const [names, groups]: [RaspType[], Group[]] = [[], []];
  const page: OutlinePage = {
    epoch: 1, last_seq: events.length, first_seq: 1, names, groups,
    ts: events.map((event) => event.at),
    types: events.map((event) => place(names, event.type)),
    levels: events.map((event) => event.level ?? 0),
    attempts: events.map((event) => event.attempt ?? 0),
    groups_of: events.map((event) => {
      const group = groupOf(event);
      if (!group) return null;
      const known = groups.findIndex((other) => other.kind === group.kind && other.id === group.id);
      return known >= 0 ? known : groups.push(group) - 1;
    }),
  };
  const outline = new Outline();
  outline.add(page);
  return outline;
}

function groupOf({ tool, question, file }: Made): Group | undefined {
  if (tool !== undefined) return { kind: "tool_call", id: tool };
  if (question !== undefined) return { kind: "interaction", id: String(question) };
  return file === undefined ? undefined : { kind: "artifact", id: file };
}

function place(names: RaspType[], name: RaspType): number {
  const known = names.indexOf(name);
  return known >= 0 ? known : names.push(name) - 1;
}
