// What is sent, under which key, and what the page says when nothing or a no comes back.
import type { Asked, Interaction } from "@skillrun/client";
import { ProblemError } from "@skillrun/client";
import { beforeEach, expect, test, vi } from "vitest";
import { service } from "../service/service.ts";
import { Answer, MOST_FILES } from "./answer.svelte.ts";

const question = { interaction_id: 3 } as Interaction;
const taken = {} as Awaited<ReturnType<typeof service.reply>>;

function refusal(code: ProblemError["code"]): ProblemError {
  return new ProblemError({ code, detail: "no", next_action: "ask", status: 409, title: "", type: "about:blank", retryable: false });
}

function begun(): Answer {
  let count = 0;
  return new Answer("r", question, () => `key ${(count += 1)}`);
}

beforeEach(() => void vi.restoreAllMocks());

// A second answer under the key of the first was reported as "sent", while the run had received the first.
test("an answer keeps its key when it is sent again, and another answer has another one", async () => {
  const reply = vi.spyOn(service, "reply").mockRejectedValue(new TypeError("lost"));
  const answer = begun();
  await answer.send("yes");
  await answer.send("no");
  await answer.send("yes");
  answer.attach([new File(["x"], "x.txt")]);
  await answer.send("yes");
  const [first, second, third, fourth] = reply.mock.calls.map(([, sent]) => sent.idempotency_key);
  expect(third).toBe(first);
  expect(new Set([first, second, fourth]).size).toBe(3);
});

test("where nothing came back it is not known whether it arrived, and nothing is lost", async () => {
  vi.spyOn(service, "reply").mockRejectedValue(new TypeError("lost"));
  const answer = begun();
  answer.text = "rivers";
  expect(await answer.send("rivers")).toBe(false);
  expect(answer.trouble).toEqual({ is: "unknown" });
  expect(answer).toMatchObject({ phase: "writing", text: "rivers", isWritten: true });
});

test("a refusal is shown with the text of the service", async () => {
  vi.spyOn(service, "reply").mockRejectedValue(refusal("INVALID_REQUEST"));
  const answer = begun();
  await answer.send("rivers");
  expect(answer.trouble).toEqual({ is: "refused", why: "no. ask" });
});

test("a late answer is shown what was used instead", async () => {
  vi.spyOn(service, "reply").mockRejectedValue(refusal("STALE_INTERACTION"));
  const asked = { question, resolution_mode: "user_reply", reply: "yes" } as Asked;
  vi.spyOn(service, "interactions").mockResolvedValue({ interactions: [asked] });
  const answer = begun();
  expect(await answer.send("no")).toBe(false);
  expect(answer).toMatchObject({ late: { is: "answered", reply: "yes" }, trouble: undefined });
});

test.each<[string, (answer: Answer) => void]>([
  ["a text", (answer) => (answer.text = "x")],
  ["a word", (answer) => (answer.word = "x")],
  ["a chosen value", (answer) => answer.set("size", "m")],
  ["a file", (answer) => answer.attach([new File(["x"], "x.txt")])],
])("%s would be missed, until it was taken", async (_, write) => {
  vi.spyOn(service, "reply").mockResolvedValue(taken);
  const answer = begun();
  expect(answer.isWritten).toBe(false);
  write(answer);
  expect(answer.isWritten).toBe(true);
  await answer.send("x");
  expect(answer.isWritten).toBe(false);
});

test("what was chosen and taken back is not missed", () => {
  const answer = begun();
  answer.set("size", "m");
  answer.set("size", "");
  expect(answer.isWritten).toBe(false);
});

test("too many files are reported", () => {
  const answer = begun();
  const files = Array.from({ length: MOST_FILES + 1 }, (_, index) => new File(["x"], `${index}.txt`));
  expect(answer.attach(files)).toBe(true);
  expect(answer.files).toHaveLength(MOST_FILES);
});
