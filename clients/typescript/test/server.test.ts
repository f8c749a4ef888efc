// The client against the real server, with the skills of `--demo`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  ConversationTurns, type FcmpEvent, ProblemError, type RaspEvent, type RunsItem, SkillrunClient, isRasp,
} from "../src/index.js";
import { Server } from "./server.js";

let server: Server;

before(async () => {
  server = await Server.start();
});

after(async () => {
  await server?.remove();
});

const ASKING = { skill: "name-a-release", engine: "scripted", mode: "interactive", input: { version: "v2" } } as const;

async function asking(): Promise<string> {
  const run = await server.client.createRun(ASKING, { wait: 60 });
  assert.equal(run.status, "waiting_user");
  return run.run_id;
}

async function history(run: string): Promise<RaspEvent[]> {
  const events: RaspEvent[] = [];
  for (let cursor: string | null = "0"; cursor !== null; ) {
    // Small pages, so that there are some.
    const page: Awaited<ReturnType<SkillrunClient["eventsHistory"]>> = await server.client.eventsHistory(run, { cursor, limit: 3 });
    events.push(...page.events);
    cursor = page.next_cursor;
  }
  return events;
}

test("a run is made, waited for, and gives a result", async () => {
  const request = { skill: "count-words", engine: "scripted", input: { text: "one two three" } };
  const run = await server.client.createRun(request, { wait: 60, idempotencyKey: "the-same" });
  assert.equal(run.status, "succeeded", JSON.stringify(run));
  const again = await server.client.createRun(request, { idempotencyKey: "the-same" });
  assert.equal(again.run_id, run.run_id);
  const result = await server.client.result(run.run_id);
  assert.deepEqual(run.result, result);
  assert.equal(result.status, "succeeded");
  const { attempts } = await server.client.attempts(run.run_id);
  assert.equal(attempts.length, 1);
  const all = await server.client.raw(run.run_id, { attempt: 1, stream: "stdout" });
  const some = await server.client.raw(run.run_id, { attempt: 1, stream: "stdout", from: 2, to: 5 });
  assert.deepEqual([some.from, some.total], [2, all.total]);
  assert.deepEqual(some.bytes, all.bytes.subarray(2, 5));
  const second = await server.client.retryRun(run.run_id, { input: { text: "four five" } }, { wait: 60 });
  assert.equal(second.status, "succeeded");
  assert.notEqual(second.run_id, run.run_id);
});

test("what was asked for can be looked at, and so can a skill before it is used", async () => {
  const first = await server.client.createRun({ skill: "count-words", engine: "scripted", input: { text: "one two" } }, { wait: 60 });
  const again = await server.client.retryRun(first.run_id, { input: { text: "three" } }, { wait: 60 });
  const asked = await server.client.request(again.run_id);
  assert.deepEqual([asked.retry_of, asked.input, asked.skill?.name], [first.run_id, { text: "three" }, "count-words"]);
  const patched = await server.client.patchedSkill("count-words", { mode: "auto", engine: "scripted" });
  const names = patched.layers.map((layer) => layer.name);
  assert.deepEqual([patched.mode, names], ["auto", ["artifacts", "auto", "completion"]]);
  const broken = server.client.validateSkill(new Blob(["no zip"]));
  await assert.rejects(broken, (error) => error instanceof ProblemError && error.code === "SKILL_INVALID");
});

test("files come with a run, and go from it", async () => {
  const files = { table: new File(["name,count\na,1\n"], "table.csv", { type: "text/csv" }) };
  const run = await server.client.createRun({ skill: "report-on-table", engine: "scripted" }, { files, wait: 60 });
  assert.equal(run.status, "succeeded", JSON.stringify(run));
  const { artifacts } = await server.client.artifacts(run.run_id);
  assert.ok(artifacts[0]);
  const file = await server.client.artifact(run.run_id, artifacts[0].path);
  assert.equal(file.size, artifacts[0].size);
  assert.ok((await server.client.bundle(run.run_id)).size > 0);
});

test("a stream resumes after a restart of the server, and an answer ends the run", async () => {
  const run = await asking();
  const got: RaspEvent[] = [];
  let restarted = false;
  for await (const item of server.client.followEvents(run)) {
    assert.equal(item.type, "event");
    if (item.type !== "event") continue;
    got.push(item.event);
    if (!restarted && isRasp(item.event, "interaction.requested")) {
      restarted = true;
      await server.restart();
      const { interaction_id } = item.event.data;
      const heard = await server.client.reply(run, { interaction_id, text: "rivers" });
      assert.equal(heard.run_id, run);
    }
  }
  assert.ok(restarted);
  assert.deepEqual(got, await history(run));
  assert.ok(isRasp(got.at(-1) as RaspEvent, "run.completed"));
  const { interactions } = await server.client.interactions(run);
  assert.deepEqual(interactions.map((asked) => asked.reply), ["rivers"]);
});

test("a conversation is narrowed by type, and read from a cursor on", async () => {
  const run = await asking();
  const question = await server.client.interaction(run);
  assert.ok(question);
  await server.client.reply(run, { interaction_id: question.interaction_id, text: "rivers" }, { wait: 60 });
  assert.equal(await server.client.interaction(run), undefined);
  const all: { id: string; event: FcmpEvent }[] = [];
  for await (const item of server.client.followChat(run)) if (item.type === "event") all.push(item);
  const page = await server.client.chatHistory(run, { limit: 1000 });
  assert.deepEqual(all.map((item) => item.event), page.events);
  const asked = all.find((item) => item.event.type === "user.input.required");
  // The type of data follows from the type of the event.
  assert.equal(asked?.event.type === "user.input.required" && asked.event.data.prompt, question.prompt);
  const middle = Math.floor(all.length / 2);
  const rest: FcmpEvent[] = [];
  for await (const item of server.client.followChat(run, { cursor: all[middle]?.id })) {
    if (item.type === "event") rest.push(item.event);
  }
  assert.deepEqual(rest, page.events.slice(middle + 1));
  for await (const _ of server.client.followChat(run, { cursor: all.at(-1)?.id })) assert.fail("there is no more");
});

test("a turn that failed has no answer, and the conversation continues", async () => {
  await server.skill("talk");
  const script = new Blob([JSON.stringify([[{ say: "Good." }], [{ say: "All is well!" }, { fail: "The model is overloaded." }], [{ say: "Good again." }]])]);
  const { run_id: run } = await server.client.createRun({ skill: "talk", engine: "scripted", mode: "conversation" }, { script, wait: 60 });
  for (const [interaction_id, text] of [[1, "And now?"], [2, "Again."]] as const) await server.client.reply(run, { interaction_id, text }, { wait: 60 });
  await server.client.closeRun(run);
  const turns = new ConversationTurns();
  const standings: string[] = [];
  const prompts: [string, boolean][] = [];
  for await (const item of server.client.followChat(run)) {
    if (item.type !== "event") continue;
    const { event } = item;
    turns.add(event);
    if (event.type === "user.message") prompts.push([event.data.text, turns.isNew(event)]);
  }
  for (const event of (await server.client.chatHistory(run, { limit: 1000 })).events) {
    if (event.type !== "assistant.message.final") continue;
    const { message_id: messageId, text, partial } = event.data;
    standings.push(`${text} ${turns.standing({ attempt: event.meta.attempt, messageId, isWhole: !partial })}`);
  }
  assert.deepEqual(standings, ["Good. answer", "All is well! broken", "Good again. answer"]);
  const { attempts } = await server.client.attempts(run);
  assert.deepEqual(turns.turns.map(({ number, state }) => [number, state]), attempts.map(({ number, ended }) => [number, ended?.turn]));
  assert.equal(turns.turn(2)?.error?.message, "The model is overloaded.");
  // The instructions of the skill are new; the replies were shown as replies.
  assert.deepEqual(prompts.slice(1), [["And now?", false], ["Again.", false]]);
  assert.equal(prompts[0]?.[1], true);
});

test("a conversation continues in a new run, which names the one before it", async () => {
  const { run_id: first } = await server.client.createRun({ prompt: "Which city is first?", engine: "scripted", mode: "conversation" }, { wait: 60 });
  const request = { engine: "scripted", prompt: "And the second?" };
  const run = await server.client.continueRun(first, request, { wait: 60, idempotencyKey: "once" });
  assert.notEqual(run.run_id, first);
  assert.deepEqual([run.status, run.mode], ["waiting_user", "conversation"]);
  assert.equal((await server.client.continueRun(first, request, { idempotencyKey: "once" })).run_id, run.run_id);
  const { continues } = await server.client.request(run.run_id);
  const { turns, hash } = await server.client.replay(first);
  assert.deepEqual([continues?.run_id, continues?.seq, continues?.hash, continues?.left_out], [first, turns.at(-1)?.end_seq, hash, []]);
  assert.equal((await server.client.request(first)).continues, undefined);
  const started = (await history(run.run_id)).find((event) => isRasp(event, "message.user"));
  assert.ok(started && isRasp(started, "message.user"));
  assert.match(started.data.text, /Which city is first\?[^]*And the second\?$/);
  await assert.rejects(server.client.continueRun(first, { engine: "no-such-engine" }), (error) => error instanceof ProblemError && error.status === 422);
  for (const one of [first, run.run_id]) await server.client.closeRun(one);
});

test("a run has a tree with the runs that it has asked for", async () => {
  await server.skill("parent");
  const turn = [{ delegate: { do: "spawn", request: { key: "one", prompt: "The first task." } } }, { delegate: { do: "wait", timeout_sec: 45 } }, { say: "It is done." }];
  const request = { skill: "parent", engine: "scripted", mode: "auto", options: { delegation: {} } } as const;
  const run = await server.client.createRun(request, { script: new Blob([JSON.stringify([turn])]), wait: 60 });
  assert.equal(run.status, "succeeded");
  const { runs } = await server.client.tree(run.run_id);
  assert.deepEqual(runs.map(({ parent }) => [parent?.run_id, parent?.depth]), [[undefined, undefined], [run.run_id, 1]]);
  const child = runs[1]?.run_id ?? "";
  assert.deepEqual((await server.client.listRuns({ parent: run.run_id })).runs.map(({ run_id }) => run_id), [child]);
  assert.deepEqual((await server.client.listRuns({ parent: child })).runs, []);
  const ends: FcmpEvent[] = [];
  for await (const item of server.client.followChat(run.run_id)) if (item.type === "event" && item.event.type === "subagent.ended") ends.push(item.event);
  assert.deepEqual(ends.map(({ data }) => data), [{ ...ends[0]?.data, child_run_id: child, status: "completed" }]);
  await assert.rejects(server.client.tree("run_01ARZ3NDEKTSV4RRFFQ69G5FAV"), (error) => error instanceof ProblemError);
});

test("problems have a type", async () => {
  const run = await asking();
  await assert.rejects(server.client.reply(run, { interaction_id: 99, text: "late" }), (error) => {
    assert.ok(error instanceof ProblemError);
    assert.equal(error.status, 409);
    assert.equal(error.code, "STALE_INTERACTION");
    assert.equal(error.problem.run_id, run);
    assert.equal((error.problem.current as { status?: string }).status, "waiting_user");
    return true;
  });
  await assert.rejects(server.client.result(run), { code: "NOT_YET" });
  const canceled = await server.client.cancelRun(run, { wait: 60 });
  assert.equal(canceled.status, "canceled");
  await assert.rejects(server.client.getRun("0198d5a0-0000-7000-8000-000000000000"), { code: "RUN_NOT_FOUND" });
  const stranger = new SkillrunClient({ baseUrl: server.baseUrl, token: "wrong" });
  await assert.rejects(stranger.listRuns(), { code: "UNAUTHORIZED" });
  await assert.rejects(stranger.followEvents(run).next(), { code: "UNAUTHORIZED" });
});

test("abort ends a stream of a run that waits", async () => {
  const run = await asking();
  const controller = new AbortController();
  let count = 0;
  for await (const item of server.client.followEvents(run, { signal: controller.signal, taxonomy: "frontend" })) {
    count += 1;
    // The last one for now: what would come next never comes.
    if (item.type === "event" && isRasp(item.event, "run.status") && item.event.data.status === "waiting_user") {
      setImmediate(() => controller.abort());
    }
  }
  assert.ok(count > 0);
  await server.client.cancelRun(run, { wait: 60 });
});

test("the list of runs is paged, and followed", async () => {
  const ids: string[] = [];
  for await (const run of server.client.allRuns({ limit: 2 })) ids.push(run.run_id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids, [...ids].sort().reverse());
  const controller = new AbortController();
  const items: RunsItem[] = [];
  let made: string | undefined;
  for await (const item of server.client.followRuns({ signal: controller.signal })) {
    items.push(item);
    if (item.type === "reset") {
      assert.deepEqual(item.runs.map((run) => run.run_id), ids);
      const request = { skill: "count-words", engine: "scripted", input: { text: "a" } };
      made = (await server.client.createRun(request)).run_id;
    }
    if (item.type === "run" && item.run.run_id === made && item.run.status === "succeeded") controller.abort();
  }
  assert.equal(items[0]?.type, "reset");
});

test("everything else answers", async () => {
  const { client } = server;
  const { skills } = await client.skills();
  assert.ok(skills.some((skill) => skill.name === "count-words"));
  assert.ok((await client.skill("count-words")).schemas["input"]);
  assert.ok((await client.engines()).engines.some((engine) => engine.name === "scripted"));
  assert.match(await client.metrics(), /# EOF\n$/);
  assert.equal(await client.isReady(), true);
  const { runs } = await client.listRuns({ status: "succeeded", limit: 1 });
  const run = runs[0]?.run_id;
  assert.ok(run);
  assert.equal((await client.diagnosis(run)).run_id, run);
  assert.ok((await client.diff(run)).attempts);
  assert.deepEqual((await client.deliveries(run)).deliveries, []);
  assert.ok((await client.recording(run)).size > 0);
  assert.ok((await client.eventsAt(run, { attempt: 1, stream: "stdout", offset: 0 })).events.length > 0);
  const outline = await client.outline(run, { from_seq: 2, limit: 3 });
  assert.deepEqual([outline.first_seq, outline.ts.length, outline.groups_of.length], [2, 3, 3]);
  // The demonstration may have asked by now.
  for await (const waiting of client.allOpenInteractions()) await client.cancelRun(waiting.run_id, { wait: 60 });
  const open = await client.openInteractions({ limit: 1 });
  assert.deepEqual([open.interactions, open.next_cursor, open.total], [[], null, 0]);
  await assert.rejects(client.removeSkill("no-such-skill"), { code: "SKILL_NOT_FOUND" });
  await assert.rejects(client.installSkill(new Blob(["no zip"])), { code: "SKILL_INVALID" });
  await assert.rejects(client.beginSession("wrong"), { code: "UNAUTHORIZED" });
  // Only a browser can log out; this is a token of a program.
  await assert.rejects(client.endSession(), { code: "FORBIDDEN" });
  const { url } = await client.createDownload(`/v1/runs/${run}/bundle`);
  assert.ok((await (await fetch(server.baseUrl + url)).blob()).size > 0);
  await assert.rejects(client.createDownload("/v1/runs"), { code: "INVALID_REQUEST" });
  await client.deleteRun(run);
  await assert.rejects(client.getRun(run), { code: "RUN_REMOVED" });
});
