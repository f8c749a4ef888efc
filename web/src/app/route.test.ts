// Links and places: each leads to the other, and an unknown place still leads somewhere.
import { expect, test } from "vitest";
import { type Route, href, parseRoute } from "./route.ts";

const places: Route[] = [
  { at: "inbox" },
  { at: "runs" },
  { at: "start", skill: undefined },
  { at: "start", skill: "a b/c" },
  { at: "prompt" },
  { at: "workflow" },
  { at: "run", run: "0190-x", pane: "steps", seq: undefined },
  { at: "run", run: "0190-x", pane: "evidence", seq: 12 },
  { at: "run", run: "0190-x", pane: "conversation", seq: undefined },
  { at: "skills" },
  { at: "skill", skill: "数/字" },
  { at: "engines" },
];

test.each(places)("a link leads back to its place: %o", (route) => {
  expect(parseRoute(href(route))).toEqual(route);
});

test.each(["", "#", "#/", "#/nowhere", "#/%E0%A4%A"])("an unknown place is the inbox: %s", (hash) => {
  expect(parseRoute(hash)).toEqual({ at: "inbox" });
});

test.each(["seq=0", "seq=-1", "seq=1e9", "seq=x", "seq=9999999999999999"])("a seq that is not a number is ignored: %s", (query) => {
  expect(parseRoute(`#/runs/r/evidence?${query}`)).toEqual({ at: "run", run: "r", pane: "evidence", seq: undefined });
});
