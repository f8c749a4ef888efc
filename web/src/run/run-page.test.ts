// The page of a run while answers are slow, lost, or come in the wrong order.
import type { Diagnosis, FcmpEvent, Outline, Run } from "@skillrun/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { service } from "../service/service.ts";
import { RunPage } from "./run-page.svelte.ts";

type ChatHistory = Awaited<ReturnType<typeof service.chatHistory>>;
type EventsHistory = Awaited<ReturnType<typeof service.eventsHistory>>;

const FETCH = new TypeError("Failed to fetch");
const run = (status: Run["status"], second: number): Run => ({ run_id: "r", status, updated_at: `2026-01-01T00:00:0${second}Z` }) as unknown as Run;
const chat = (seqs: readonly number[]): ChatHistory => ({ events: seqs.map((seq) => ({ seq, meta: { rasp_seq: seq } }) as FcmpEvent), last_seq: seqs.at(-1) ?? 0, next_cursor: null, cursor: "1" }) as unknown as ChatHistory;
const outline = (count: number): Outline => {
  const zeros = Array.from({ length: count }, () => 0);
  return { epoch: 1, first_seq: 1, last_seq: count, names: ["run.started"], groups: [], ts: zeros, types: zeros, levels: zeros, attempts: zeros, groups_of: zeros } as unknown as Outline;
};
const events = (...seqs: number[]): EventsHistory => ({ events: seqs.map((seq) => ({ seq })) }) as unknown as EventsHistory;

beforeEach(() => {
  vi.useFakeTimers();
  // A hidden page follows nothing.
  vi.stubGlobal("document", { hidden: true, addEventListener: () => undefined });
  vi.spyOn(service, "chatHistory").mockResolvedValue(chat([]));
  vi.spyOn(service, "diagnosis").mockResolvedValue({} as Diagnosis);
  vi.spyOn(service, "attempts").mockResolvedValue({ attempts: [] } as never);
  vi.spyOn(service, "outline").mockResolvedValue(outline(3));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("a run that ends while the page is loaded does not stay running", async () => {
  vi.spyOn(service, "getRun").mockResolvedValueOnce(run("running", 1)).mockResolvedValue(run("failed", 2));
  const page = new RunPage("r");
  await page.begin();
  expect(page.run?.status).toBe("failed");
  page.close();
});

test("a slow answer never takes the place of a newer one", async () => {
  const answers: ((run: Run) => void)[] = [];
  vi.spyOn(service, "getRun").mockImplementation(() => new Promise((resolve) => void answers.push(resolve)));
  const page = new RunPage("r");
  page.lookSoon(0);
  await vi.advanceTimersByTimeAsync(0);
  page.lookSoon(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(answers.length, "one look at a time").toBe(1);
  answers[0]?.(run("running", 1));
  await vi.advanceTimersByTimeAsync(0);
  expect(answers.length, "and one more for whoever asked meanwhile").toBe(2);
  answers[1]?.(run("failed", 2));
  await vi.advanceTimersByTimeAsync(0);
  expect(page.run?.status).toBe("failed");
  page.close();
});

test("an event that was lost on the way is asked for again", async () => {
  const asked = vi.spyOn(service, "eventsHistory").mockRejectedValueOnce(FETCH).mockResolvedValue(events(7));
  const page = new RunPage("r");
  page.select(7);
  await vi.advanceTimersByTimeAsync(0);
  expect([page.selectedIs, page.trouble]).toEqual(["failed", undefined]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([page.selectedIs, page.selectedEvent?.seq, asked.mock.calls.length]).toEqual(["here", 7, 2]);
  page.close();
});

test("an event that there is not is missing, and not on its way", async () => {
  vi.spyOn(service, "eventsHistory").mockResolvedValue(events());
  const page = new RunPage("r");
  page.select(99_999);
  await vi.advanceTimersByTimeAsync(0);
  expect(page.selectedIs).toBe("missing");
  page.select(3);
  expect(page.selectedIs).toBe("loading");
  page.close();
});

test("an outline that was lost on the way is asked for again, at once when the server is back", async () => {
  vi.spyOn(service, "getRun").mockResolvedValue(run("failed", 1));
  const asked = vi.spyOn(service, "outline").mockRejectedValue(FETCH);
  const page = new RunPage("r");
  page.needOutline();
  await page.begin();
  await vi.advanceTimersByTimeAsync(0);
  expect([page.outlineIs, asked.mock.calls.length]).toEqual(["failed", 1]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(asked).toHaveBeenCalledTimes(2);
  asked.mockResolvedValue(outline(3));
  page.reconnected();
  await vi.advanceTimersByTimeAsync(0);
  expect([page.outlineIs, page.outline.length, asked.mock.calls.length]).toEqual(["here", 3, 3]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveBeenCalledTimes(3);
  page.close();
});

test("what did not come of the conversation is what is asked for again", async () => {
  vi.spyOn(service, "getRun").mockResolvedValue(run("failed", 1));
  const asked = vi.spyOn(service, "chatHistory").mockResolvedValue(chat([500, 501]));
  const page = new RunPage("r");
  await page.begin();
  asked.mockRejectedValueOnce(FETCH);
  await page.chat.earlier();
  expect(page.chat.trouble).toBe("The server does not respond.");
  asked.mockResolvedValue(chat(Array.from({ length: 400 }, (_, index) => 100 + index)));
  page.reconnected();
  await vi.advanceTimersByTimeAsync(0);
  expect(page.chat.trouble).toBeUndefined();
  expect(page.chat.window.events[0]?.seq).toBe(100);
  page.close();
});

test("a conversation whose stream was refused is followed again when the server is back", async () => {
  vi.stubGlobal("document", { hidden: false, addEventListener: () => undefined });
  vi.spyOn(service, "getRun").mockResolvedValue(run("running", 1));
  const followed = vi.spyOn(service, "followChat").mockImplementation(() => broken());
  const page = new RunPage("r");
  await page.begin();
  expect([page.chat.trouble, followed.mock.calls.length]).toEqual(["no such thing", 1]);
  followed.mockImplementation(() => telling(1, 2));
  page.reconnected();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(page.chat.trouble).toBeUndefined();
  expect(page.chat.window.events.map((event) => event.seq)).toEqual([1, 2]);
  page.close();
});

type Items = ReturnType<typeof service.followChat>;

async function* broken(): Items {
  throw new Error("no such thing");
}

async function* telling(...seqs: number[]): Items {
  for (const seq of seqs) yield { type: "event", id: String(seq), event: { seq, meta: { rasp_seq: seq } } as FcmpEvent };
}

test("a draft stays when another user has answered, with the answer", async () => {
  const question = { interaction_id: 1 } as NonNullable<Run["interaction"]>;
  const waiting = { ...run("waiting_user", 1), interaction: question };
  vi.spyOn(service, "getRun").mockResolvedValueOnce(waiting).mockResolvedValue(run("running", 2));
  vi.spyOn(service, "interactions").mockResolvedValue({ interactions: [{ question, reply: "rivers", resolution_mode: "user_reply" }] } as never);
  const page = new RunPage("r");
  await page.look();
  expect(page.asking.forms).toMatchObject([{ question, closed: undefined }]);
  page.asking.wrote(question, true);
  await page.look();
  await vi.advanceTimersByTimeAsync(0);
  expect(page.asking.forms).toMatchObject([{ question, closed: { is: "answered", reply: "rivers" } }]);
  page.asking.dismiss(question);
  expect(page.asking.forms).toEqual([]);
  page.close();
});
