// What can be done on the other screens: start a run, read what it left, look after skills, play the terminal again.
import { answer } from "./lab/script.ts";
import { conversation, rows, verdict } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";
import { zip } from "./lab/zip.ts";

test("a run is started from a form made from the skill's schema", async ({ page, server }) => {
  const input = {
    type: "object",
    required: ["city", "count"],
    properties: {
      city: { type: "string", title: "City", minLength: 2 },
      count: { type: "integer", title: "Count", minimum: 1 },
      size: { enum: ["small", "large"], title: "Size" },
    },
  };
  await server.skill("parcels", "Weighs parcels.", { input });
  await server.script("parcels", [[{ say: "weighed" }, answer()]]);
  await go(page, "#/start/parcels");
  await page.getByRole("textbox", { name: /^City/ }).fill("B");
  await page.getByRole("textbox", { name: /^Count/ }).fill("3");
  await page.getByLabel("Size").selectOption("large");
  await page.getByTestId("start-files").setInputFiles({ name: "table.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") });
  await page.getByTestId("start").click();
  await expect(page.getByTestId("field-error").first()).toBeVisible();
  // Nothing that was typed is lost.
  await expect(page.getByRole("textbox", { name: /^Count/ })).toHaveValue("3");
  await page.getByRole("textbox", { name: /^City/ }).fill("Basel");
  await page.getByTestId("start").click();
  await expect(verdict(page)).toBeVisible();
  const [run] = (await server.client.listRuns()).runs;
  const request = await server.client.request(run?.run_id ?? "");
  expect(request.input).toEqual({ city: "Basel", count: 3, size: "large" });
  expect(request.files.map((file) => file.size)).toEqual([8]);
});

test("files: what changed, line by line, what was made, and the result", async ({ page, server }) => {
  const ask = { ask: { kind: "open_text", prompt: "Go on?" } };
  const run = await server.played(
    [
      [{ write: { path: "notes.txt", content: "one\ntwo\nthree\n" } }, ask],
      [{ write: { path: "notes.txt", content: "one\n2\nthree\n" } }, { write: { path: "artifacts/report.md", content: "# Report\n\nAll **well**.\n" } }, answer("done")],
    ],
    { mode: "interactive" },
  );
  await server.client.reply(run, { interaction_id: 1, text: "yes" }, { wait: 60 });
  await go(page, `#/runs/${run}/files`);
  await expect(page.getByTestId("result")).toContainText("done");
  const changed = page.locator('[data-testid=change][data-change=modified][data-path="notes.txt"]');
  await changed.click();
  await expect(page.getByTestId("diff")).toContainText("two");
  await expect(page.getByTestId("diff")).toContainText("2");
  await page.getByTestId("artifact").filter({ hasText: "report.md" }).getByRole("button").first().click();
  await expect(page.getByTestId("preview")).toContainText("All well.");
  const bundle = page.waitForEvent("download");
  await page.getByTestId("bundle").click();
  expect((await bundle).suggestedFilename()).toContain(run);
});

test("skills: a zip is checked before it is installed, and the text an agent gets is shown", async ({ page, server }) => {
  const upload = async (name: string, files: Record<string, string>): Promise<void> => {
    const buffer = Buffer.from(await zip(files).arrayBuffer());
    await page.getByTestId("skill-zip").setInputFiles({ name: `${name}.zip`, mimeType: "application/zip", buffer });
  };
  await go(page, "#/skills");
  await upload("broken", { "broken/SKILL.md": "---\nname: broken\ndescription: Does it.\n---\n\nDo it.\n", "broken/assets/runner.json": '{"schemas":{"output":"assets/o.json"}}', "broken/assets/o.json": '{"type": 5}'  });
  await expect(page.getByTestId("finding").first()).toBeVisible();
  await expect(page.getByTestId("install")).toHaveCount(0);
  expect((await server.client.skills()).skills.map((skill) => skill.name)).toEqual(["answer"]);
  await upload("greet", { "greet/SKILL.md": "---\nname: greet\ndescription: Greets people. Use it when somebody comes.\n---\n\nSay good day.\n" });
  await page.getByTestId("install").click();
  await expect(page.locator('[data-testid=skill-row][data-skill="greet"]')).toBeVisible();
  await go(page, "#/skills/greet");
  await expect(page.getByTestId("patched")).toContainText("Say good day.");
  await expect(page.getByTestId("patched")).toContainText("artifacts");
});

test("the terminal is loaded when it is asked for, and stands where the timeline stands", async ({ page, server }) => {
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(request.url()));
  // The full stop: a last letter could be the first of a secret, and such a letter is recorded only with the next output.
  const run = await server.played([[{ say: "first" }, { sleep_ms: 400 }, { stderr: "\u001b[31mred\u001b[0m.\n" }, { sleep_ms: 400 }, answer()]]);
  await go(page, `#/runs/${run}/evidence`);
  await expect(page.getByTestId("bytes-row").first()).toBeVisible();
  const isTerminal = (url: string): boolean => /\/terminal-[\w-]+\.js$/.test(url);
  expect(loaded.filter(isTerminal)).toEqual([]);
  await page.getByTestId("evidence-view").and(page.locator("[data-value=terminal]")).click();
  await expect(page.getByTestId("terminal").locator(".xterm")).toBeVisible();
  expect(loaded.filter(isTerminal)).toHaveLength(1);
  const scrubber = page.getByTestId("scrubber");
  await scrubber.focus();
  await page.keyboard.press("End");
  await expect(page.getByTestId("terminal")).toContainText("red");
});

test("timeline: silence is named, the list is filtered, and the keyboard moves the selection", async ({ page, server }) => {
  const run = await server.play([[{ say: "I think." }, { hang: null }]], { options: { hard_timeout_sec: 1 } });
  await server.settled(run);
  await go(page, `#/runs/${run}/timeline`);
  const events = page.getByTestId("timeline-event");
  await expect(events.first()).toBeVisible();
  await expect(page.getByTestId("timeline-canvas")).toHaveAttribute("aria-label", /\d+ events in 1 attempt/);
  const all = await events.count();
  await page.getByTestId("timeline-filter").fill("agent.message");
  await expect(events).toHaveCount(1);
  await page.getByTestId("timeline-filter").fill("");
  await expect(events).toHaveCount(all);
  await page.getByTestId("timeline-list").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const chosen = page.locator("[data-testid=timeline-event][aria-selected=true]");
  await expect(chosen).toHaveCount(1);
  await expect(async () => {
    const seq = await chosen.getAttribute("data-seq");
    expect(await page.getByTestId("selected-event").getAttribute("data-seq")).toBe(seq);
  }).toPass({ timeout: 15_000 });
});

test("links: a call leads to its result, and a question to its answer", async ({ page, server }) => {
  const run = await server.played(
    [[{ tool: { name: "shell", input: { command: "ls" }, output: "a\n" } }, { ask: { kind: "open_text", prompt: "Which?" } }], [answer()]],
    { mode: "interactive" },
  );
  await server.client.reply(run, { interaction_id: 1, text: "that" }, { wait: 60 });
  const { events } = await server.client.eventsHistory(run, { limit: 1000 });
  const seqOf = (type: string): number => events.find((event) => event.event.type === type)?.seq ?? 0;
  for (const [from, to] of [["tool.call.started", "tool.call.completed"], ["interaction.requested", "interaction.replied"]] as const) {
    await go(page, `#/runs/${run}/links?seq=${seqOf(from)}`);
    const target = page.locator(`[data-testid=link-node][data-seq="${seqOf(to)}"]`);
    await expect(target).toBeVisible();
    await target.click();
    await expect(page.getByTestId("selected-event")).toHaveAttribute("data-seq", String(seqOf(to)));
  }
});

test("runs are found by words and by status", async ({ page, server }) => {
  await server.skill("other", "Another one.");
  await server.played([[{ say: "good" }, answer()]]);
  await server.played([[{ fail: "bad" }]], { skill: "other" });
  await go(page, "#/runs");
  await expect(page.getByTestId("run-row")).toHaveCount(2);
  await page.keyboard.press("/");
  await page.keyboard.type("other");
  await expect(page.getByTestId("run-row")).toHaveCount(1);
  await expect(page.getByTestId("run-row")).toHaveAttribute("data-status", "failed");
  await page.getByTestId("run-search").fill("");
  await page.getByTestId("status-chip").and(page.locator("[data-status=succeeded]")).click();
  await expect(page.getByTestId("run-row")).toHaveCount(1);
  await expect(page.getByTestId("run-row")).toHaveAttribute("data-status", "succeeded");
});

test("partial text is marked as partial, and is not an answer", async ({ page, server }) => {
  // The last line is cut: the engine dies in the middle of what it says.
  const run = await server.played([[{ say: "I have begun" }, { cut: 60 }, { say: "All is done and well" }, { exit: 1 }]]);
  await go(page, `#/runs/${run}/conversation`);
  await expect(verdict(page)).toHaveAttribute("data-status", "failed");
  const seen = await conversation(page);
  expect(seen.length).toBeGreaterThan(0);
  await expect(page.getByTestId("success-mark")).toHaveCount(0);
  await expect(rows(page).last()).toBeVisible();
});

test("an unauthorised browser is shown how to sign in", async ({ browser, server }) => {
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  await page.goto(server.url);
  await expect(page.getByText("skillrun open")).toBeVisible();
  await page.getByRole("textbox").fill("nonsense");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByRole("textbox").fill(server.link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  await stranger.close();
});
