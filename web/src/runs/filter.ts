// A filter as it is kept while one looks at a run and comes back.
import { ALL, type Filter, LONGEST_SEARCH, STATUSES } from "./list.ts";

const LONGEST_NAME = 200;

export function written(filter: Filter): string {
  return JSON.stringify(filter);
}

/** Whatever it is that was kept, a filter comes of it. */
export function read(text: string | null): Filter {
  let kept: unknown;
  try {
    kept = JSON.parse(text ?? "");
  } catch {
    return ALL;
  }
  if (typeof kept !== "object" || kept === null) return ALL;
  const said = kept as Partial<Record<keyof Filter, unknown>>;
  const names = Array.isArray(said.statuses) ? said.statuses : [];
  return {
    statuses: STATUSES.filter((status) => names.includes(status)),
    skill: name(said.skill),
    engine: name(said.engine),
    children: said.children === true,
    q: typeof said.q === "string" ? said.q.slice(0, LONGEST_SEARCH) : "",
  };
}

function name(said: unknown): string | undefined {
  return typeof said === "string" && said !== "" ? said.slice(0, LONGEST_NAME) : undefined;
}

/** With this status chosen, or no longer. */
export function toggled(filter: Filter, status: Filter["statuses"][number]): Filter {
  const has = filter.statuses.includes(status);
  return { ...filter, statuses: STATUSES.filter((one) => (one === status ? !has : filter.statuses.includes(one))) };
}
