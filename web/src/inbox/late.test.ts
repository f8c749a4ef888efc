// What became of a closed question, as far as the history and the run show it.
import type { Asked } from "@skillrun/client";
import { expect, test } from "vitest";
import { currentOf, lateness } from "./late.ts";

const question = {} as Asked["question"];
const open: Asked = { question, asked_at: "2026-01-01T00:00:00Z", timed_out_at: null, resolution_mode: null, resolved_at: null, reply: null, files: [], is_open: true };
const running = { status: "running" } as const;

test.each<[Partial<Asked>, ReturnType<typeof lateness>]>([
  [{ resolution_mode: "user_reply", reply: "rivers" }, { is: "answered", reply: "rivers" }],
  [{ resolution_mode: "auto_decide_timeout", reply: "birds", timed_out_at: "2026-01-01T00:00:10Z" }, { is: "decided", reply: "birds" }],
  [{ resolution_mode: "permission_policy", reply: "deny" }, { is: "permitted", reply: "deny" }],
  [{ timed_out_at: "2026-01-01T00:00:10Z" }, { is: "timed_out" }],
  [{}, { is: "closed" }],
])("the history says which answer was first: %o", (change, expected) => {
  expect(lateness({ ...open, ...change }, running)).toEqual(expected);
});

test("without a history the run says as much as it can", () => {
  expect(lateness(undefined, { status: "canceled" })).toEqual({ is: "over", status: "canceled" });
  expect(lateness(open, { status: "failed" })).toEqual({ is: "over", status: "failed" });
  expect(lateness(undefined, { status: "waiting_user" })).toEqual({ is: "closed" });
});

test.each([undefined, null, "x", {}, { status: 3 }, { status: "exploded" }])("a value that is not a run has no status: %o", (value) => {
  expect(currentOf(value)).toEqual({ status: undefined });
});

test("a run has one", () => {
  expect(currentOf({ run_id: "r", status: "queued" })).toEqual({ status: "queued" });
});
