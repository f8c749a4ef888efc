// A server with something to see on every screen, and the screens.
import { type Page, expect } from "@playwright/test";
import type { Server } from "./server.ts";
import { type Turn, answer } from "./script.ts";

export interface Runs {
  succeeded: string;
  failed: string;
  waiting: string;
  artifact: string;
  workflow: string;
}

/** One run of each kind, with files, tools, questions, odd lines and two attempts. */
export async function furnish(server: Server): Promise<Runs> {
  await server.skill("weigh-parcels", "Weighs parcels and says what they cost. Use it before parcels are sent.", {
    input: {
      type: "object",
      required: ["city"],
      properties: {
        city: { type: "string", title: "City", description: "Where the parcel goes." },
        weight: { type: "number", title: "Weight", minimum: 0, default: 1.5 },
        express: { type: "boolean", title: "Express" },
        size: { enum: ["small", "medium", "large"], title: "Size" },
      },
    },
  });
  const ask = {
    kind: "choose_one",
    prompt: "The parcel for **Basel** is over 20 kg. How should it travel?",
    options: [{ value: "rail", label: "By rail", default: true }, { value: "road", label: "By road" }],
    default_decision_policy: "safe_default",
  };
  const skill = "weigh-parcels";
  const succeeded = await server.played(
    [
      [
        { think: "First I look at what lies in the folder." },
        { tool: { name: "shell", input: { command: "ls parcels" }, output: "basel.json\nbern.json\n" } },
        { say: "There are **two parcels**:\n\n| city | kg |\n| --- | --- |\n| Basel | 23 |\n| Bern | 4 |\n\nThe first is *heavy*." },
        { stderr: "warn: scale 2 answers slowly\n" },
        { usage: { input: 812, output: 140 } },
        { ask },
      ],
      [
        { say: "Then it goes by rail." },
        { tool: { name: "shell", input: { command: "price --rail basel" }, output: "no such tariff\n", status: "failed" } },
        { tool: { name: "shell", input: { command: "price basel" }, output: "12.40\n" } },
        { raw: "scale 2 ready\n" },
        { write: { path: "artifacts/prices.md", content: "# Prices\n\n- Basel: 12.40\n- Bern: 6.10\n" } },
        { write: { path: "artifacts/prices.json", content: '[{"city":"Basel","price":12.4},{"city":"Bern","price":6.1}]' } },
        { usage: { input: 1904, output: 220 } },
        answer("Basel 12.40, Bern 6.10"),
      ],
    ],
    { skill, mode: "interactive", input: { city: "Basel" } },
  );
  await server.client.reply(succeeded, { interaction_id: 1, text: "rail" }, { wait: 60 });
  const failed = await server.played(
    [[{ say: "I weigh the parcel for Chur." }, { tool: { name: "shell", input: { command: "weigh chur" }, status: "open" } }, { stderr: "error: rate limit\n" }, { fail: "The model is overloaded. Try again later." }]],
    { skill, input: { city: "Chur" } },
  );
  const waiting = await server.played([[{ say: "One question before I go on." }, { ask }], [answer()]], {
    skill,
    mode: "interactive",
    input: { city: "Bern" },
    options: { interactive_require_user_reply: false, session_timeout_sec: 1_800 },
  });
  return { succeeded, failed, waiting, artifact: "artifacts/prices.md", workflow: await workflowWithHeldStep(server) };
}

/** A workflow in which steps are ready, failed and held. */
async function workflowWithHeldStep(server: Server): Promise<string> {
  await server.script("answer", [[{ say: "I look at it." }, answer("in order")]]);
  await server.skill("price-parcels", "Prices parcels.");
  await server.script("price-parcels", [[{ say: "There is no tariff for Chur." }, { fail: "The model is overloaded. Try again later." }]]);
  const step = { skill: "answer", engine: "scripted" };
  const steps = [
    { id: "collect", ...step },
    { id: "weigh", ...step, needs: ["collect"], for_each: { from: "/inputs/cities" }, with: { city: { from: "/item" } } },
    { id: "customs", ...step, needs: ["collect"] },
    { id: "price", ...step, skill: "price-parcels", needs: ["weigh"], required: false, on_failure: "continue" },
    { id: "send", ...step, needs: ["weigh", "customs"], ask: "before" },
    { id: "report", ...step, needs: ["send"] },
  ];
  const inputs = { cities: { default: ["Basel", "Bern", "Chur", "Olten", "Thun", "Zug"] } };
  const run = await server.client.createWorkflow({ workflow: JSON.stringify({ name: "send-parcels", inputs, steps }) });
  await server.settled(run.run_id);
  return run.run_id;
}

/** 200 steps in 20 rows; one of them fails, and those that need it are left out. */
export async function workflowOf200Steps(server: Server): Promise<string> {
  const steps = Array.from({ length: 200 }, (_, n) => ({
    id: `s${n}`,
    skill: n === 53 ? "price-parcels" : "answer",
    engine: "scripted",
    required: n !== 53,
    on_failure: "continue",
    needs: n < 10 ? [] : n % 7 === 0 ? [`s${n - 10}`, `s${n - 10 - (n % 10) + ((n + 1) % 10)}`] : [`s${n - 10}`],
  }));
  const run = await server.client.createWorkflow({ workflow: JSON.stringify({ name: "two-hundred", steps }) });
  await server.settled(run.run_id);
  return run.run_id;
}

/** A conversation at rest: a good turn, one that failed and one that was interrupted. */
export async function conversationWithBrokenTurns(server: Server): Promise<string> {
  const turns: Turn[] = [
    [{ say: "I read the tariffs." }, { tool: { name: "shell", input: { command: "cat tariffs.md" }, output: "Basel 12.40\nBern 6.10\n" } }, { say: "Basel costs **12.40**, Bern **6.10**." }],
    [{ say: "Chur costs **9.80**, and every price is known." }, { fail: "The model is overloaded. Try again later." }],
    [{ say: "I look at the tariff for Chur, and then" }, { hang: null }],
  ];
  const run = await server.played(turns, { skill: "weigh-parcels", mode: "conversation", input: { city: "Basel" } });
  await server.client.reply(run, { interaction_id: 1, text: "And what does Chur cost?" }, { wait: 60 });
  await server.client.reply(run, { interaction_id: 2, text: "Please try again." });
  for await (const item of server.client.followChat(run)) {
    if (item.type === "event" && item.event.type === "assistant.message.final" && item.event.meta.attempt === 3) break;
  }
  await server.client.interruptRun(run, { wait: 60 });
  return run;
}

export interface Screen {
  name: string;
  hash: string;
  /** Waits until there is something to see. */
  ready: (page: Page) => Promise<void>;
}

export function allScreens({ succeeded, failed, waiting, workflow }: Runs): Screen[] {
  const sees = (testId: string) => async (page: Page) => {
    await expect(page.getByTestId(testId).first()).toBeVisible();
  };
  const run = (id: string, pane: string): string => `#/runs/${id}/${pane}`;
  return [
    { name: "inbox", hash: "#/inbox", ready: sees("question") },
    { name: "runs", hash: "#/runs", ready: sees("run-row") },
    { name: "start", hash: "#/start/weigh-parcels", ready: sees("start-form") },
    { name: "prompt", hash: "#/prompt", ready: sees("prompt-text") },
    { name: "run", hash: run(succeeded, "conversation"), ready: sees("verdict") },
    { name: "run-waiting", hash: run(waiting, "conversation"), ready: sees("question") },
    { name: "run-failed", hash: run(failed, "conversation"), ready: sees("next-action") },
    { name: "workflow", hash: run(workflow, "steps"), ready: sees("step-node") },
    { name: "start-workflow", hash: "#/workflow", ready: sees("workflow-text") },
    { name: "timeline", hash: `${run(succeeded, "timeline")}?seq=8`, ready: sees("timeline-event") },
    { name: "evidence", hash: `${run(succeeded, "evidence")}?seq=8`, ready: sees("bytes-row") },
    { name: "links", hash: `${run(succeeded, "links")}?seq=8`, ready: sees("link-node") },
    { name: "files", hash: run(succeeded, "files"), ready: sees("change") },
    { name: "replay", hash: run(succeeded, "replay"), ready: sees("replay-turn") },
    { name: "skills", hash: "#/skills", ready: sees("skill-row") },
    { name: "skill", hash: "#/skills/weigh-parcels", ready: sees("patched") },
    { name: "engines", hash: "#/engines", ready: sees("engine-row") },
  ];
}
