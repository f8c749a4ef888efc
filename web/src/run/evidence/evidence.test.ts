// Which bytes are shown: those that were asked for, or those of the selected event.
import type { Attempt, RaspEvent } from "@skillrun/client";
import { expect, test, vi } from "vitest";
import { service } from "../../service/service.ts";
import { RunPage } from "../run-page.svelte.ts";
import { Evidence } from "./evidence.svelte.ts";
import type { Span } from "./spans.ts";

const attempt = (number: number, stdout: number, stderr: number): Attempt => ({ number, streams: { stdout, stderr, pty: null, stdin: null }, bytes: stdout + stderr }) as unknown as Attempt;

function looking(...attempts: Attempt[]): Evidence {
  const page = new RunPage("r");
  page.attempts = attempts;
  return new Evidence(page);
}

const span: Span = { attempt: 1, stream: "stderr", from: 40, to: 50 };

test("bytes that were asked for are gone to and marked, though no event was made from them", () => {
  const evidence = looking(attempt(1, 100, 100), attempt(2, 100, 100));
  evidence.openSomething();
  expect(evidence.file?.attempt).toBe(2);
  evidence.shown = "terminal";
  evidence.page.wanted = span;
  evidence.show(span);
  expect([evidence.file?.attempt, evidence.file?.stream, evidence.cursor, evidence.wish]).toEqual([1, "stderr", 40, { from: 40, to: 50 }]);
  expect(evidence.marks).toEqual([span]);
  expect(evidence.shown).toBe("rendered");
  evidence.openAttempt(2);
  expect(evidence.marks).toEqual([]);
});

test("a selected event takes the place of bytes that were asked for, and no selection does not", () => {
  const { page } = looking();
  page.wanted = span;
  page.select(undefined);
  expect(page.wanted).toBe(span);
  page.select(3);
  expect(page.wanted).toBeUndefined();
  page.close();
});

test("what is opened by itself is what holds something", () => {
  const evidence = looking(attempt(1, 0, 30));
  evidence.openSomething();
  expect(evidence.file?.stream).toBe("stderr");
});

test("who goes to a byte before the selected event is here stays there", async () => {
  const evidence = looking(attempt(1, 100, 100));
  const { page } = evidence;
  const event = (seq: number, from: number): RaspEvent => ({ seq, attempt_number: 1, data: {}, raw_ref: { stdout_from: from, stdout_to: from + 10, stderr_from: 0, stderr_to: 0 } }) as unknown as RaspEvent;
  vi.spyOn(service, "eventsHistory").mockReturnValue(new Promise(() => undefined));
  let tell = (_: unknown): void => undefined;
  vi.spyOn(service, "eventsAt").mockReturnValue(new Promise((resolve) => (tell = resolve)) as never);
  evidence.open(1, "stdout");
  page.select(5);
  const found = evidence.findEvent(60);
  evidence.follow(event(5, 20));
  tell({ events: [event(11, 60)], cut: false });
  await found;
  expect([page.selected, evidence.cursor, evidence.finding?.kind]).toEqual([11, 60, "found"]);
  page.close();
  vi.restoreAllMocks();
});
