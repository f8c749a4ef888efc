// The current place on the page. It is in the fragment after `#`, so that it can be bookmarked, shared and returned to.

export const PANES = ["steps", "conversation", "timeline", "evidence", "links", "files", "replay"] as const;
export type Pane = (typeof PANES)[number];

export type Route =
  | { at: "inbox" }
  | { at: "runs" }
  | { at: "start"; skill: string | undefined }
  | { at: "prompt" }
  | { at: "workflow" }
  | { at: "run"; run: string; pane: Pane; seq: number | undefined }
  | { at: "skills" }
  | { at: "skill"; skill: string }
  | { at: "engines" };

/** The place that stands behind the `#`; the inbox where nothing stands there that we know. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [first, second, third] = path.split("/").map(decoded);
  switch (first) {
    case "runs":
      return second ? { at: "run", run: second, pane: pane(third), seq: seq(query) } : { at: "runs" };
    case "start":
      return { at: "start", skill: second || undefined };
    case "prompt":
      return { at: "prompt" };
    case "workflow":
      return { at: "workflow" };
    case "skills":
      return second ? { at: "skill", skill: second } : { at: "skills" };
    case "engines":
      return { at: "engines" };
    default:
      return { at: "inbox" };
  }
}

/** What stands in a link to the place. */
export function href(route: Route): string {
  switch (route.at) {
    case "inbox":
    case "runs":
    case "skills":
    case "engines":
    case "prompt":
    case "workflow":
      return `#/${route.at}`;
    case "start":
      return route.skill === undefined ? "#/start" : `#/start/${encodeURIComponent(route.skill)}`;
    case "skill":
      return `#/skills/${encodeURIComponent(route.skill)}`;
    case "run": {
      const query = route.seq === undefined ? "" : `?seq=${route.seq}`;
      return `#/runs/${encodeURIComponent(route.run)}/${route.pane}${query}`;
    }
  }
}

/** The conversation of a run, where most links lead. */
export function runHref(run: string, pane: Pane = "conversation"): string {
  return href({ at: "run", run, pane, seq: undefined });
}

function pane(word: string | undefined): Pane {
  return PANES.find((known) => known === word) ?? "conversation";
}

function seq(query: string): number | undefined {
  const word = new URLSearchParams(query).get("seq") ?? "";
  return /^[1-9]\d{0,14}$/.test(word) ? Number(word) : undefined;
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
