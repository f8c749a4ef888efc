// Pictures of every screen for docs/pictures, made from a server with content for each, and of a conversation in a
// terminal. They are regenerated with SKILLRUN_PICTURES=1; without it the same screens are taken and discarded, so that
// this test stays current.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Page, expect } from "@playwright/test";
import { allScreens, conversationWithBrokenTurns, furnish, workflowOf200Steps } from "./lab/screens.ts";
import { type Turn, script } from "./lab/script.ts";
import { PROGRAM, type Server } from "./lab/server.ts";
import { COLUMNS, Terminal, hasTmux } from "./lab/terminal.ts";
import { go, test } from "./lab/test.ts";

const isKept = process.env["SKILLRUN_PICTURES"] === "1";
const folder = isKept ? resolve("../docs/pictures") : resolve("test-results/pictures");

/** Folders of this machine as they would be called elsewhere. */
async function takePicture(page: Page, server: Server, name: string): Promise<void> {
  const names = [
    [`${server.folder}/data`, "~/.local/share/skillrun"],
    [`${server.folder}/home`, "~"],
    [PROGRAM, "/usr/local/bin/skillrun"],
  ] as const;
  await page.evaluate((names) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const [here, there] of names) node.nodeValue = node.nodeValue?.replaceAll(here, there) ?? "";
    }
  }, names);
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
}

test("a picture of every screen", async ({ page, server }) => {
  mkdirSync(folder, { recursive: true });
  const runs = await furnish(server);
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const { name, hash, ready } of allScreens(runs)) {
    await go(page, hash);
    await ready(page);
    await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
    await takePicture(page, server, name);
  }
  // A conversation in which one turn failed and one was interrupted.
  const talk = await conversationWithBrokenTurns(server);
  await page.setViewportSize({ width: 1280, height: 1500 });
  await go(page, `#/runs/${talk}/replay`);
  await page.getByTestId("replay-turn").first().waitFor();
  await page.locator("[data-testid=broken-mark][data-turn=interrupted]").waitFor();
  await page.getByTestId("replay").evaluate((element) => (element.scrollTop = 0));
  await takePicture(page, server, "turns");
  await page.setViewportSize({ width: 1440, height: 900 });
  // 200 runs take a minute, so only for a picture that is kept.
  if (isKept) {
    const large = await workflowOf200Steps(server);
    await go(page, `#/runs/${large}/steps`);
    await page.getByTestId("step-node").nth(199).waitFor();
    await takePicture(page, server, "workflow-200");
  }
  // The page in the dark, in Chinese and on a telephone.
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await go(page, `#/runs/${runs.succeeded}/timeline?seq=8`);
  await page.getByTestId("timeline-event").first().waitFor();
  await takePicture(page, server, "dark");
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.setViewportSize({ width: 390, height: 844 });
  await go(page, "#/inbox");
  await page.reload();
  await page.getByTestId("question").first().waitFor();
  await takePicture(page, server, "narrow-chinese");
});

/** A good turn, one that is interrupted in a call, one that fails, and another good one. */
const TALK: Turn[] = [
  [{ tool: { name: "shell", input: { command: "cat tariffs.md" }, output: "Basel 12.40\nBern 6.10\n" } }, { say: "Basel costs 12.40, Bern 6.10." }],
  [{ say: "I look at the tariff for Chur, and then" }, { tool: { name: "shell", input: { command: "find / -name 'chur*'" }, status: "open" } }, { hang: null }],
  [{ say: "All is well, and every price is known!" }, { fail: "The model is overloaded. Try again later." }],
  [{ say: "Chur costs 9.80." }],
];

test("a picture of a conversation in a terminal of 80 columns", async ({ browser, server }) => {
  test.skip(!hasTmux(), "tmux is not installed");
  mkdirSync(folder, { recursive: true });
  const file = join(server.folder, "talk.json");
  writeFileSync(file, script(TALK));
  const data = join(server.folder, "terminal");
  const terminal = await Terminal.start(server.folder, [PROGRAM, "--data", data, "chat", "--engine", "scripted", "--script", file], 40);
  try {
    await terminal.endsWith(">");
    await terminal.type("What do Basel and Bern cost?");
    await terminal.endsWith(">");
    await terminal.type("And Chur? Look \\");
    await terminal.type("everywhere, please.");
    await terminal.endsWith(/find \/ -name/);
    await terminal.press("Escape");
    await terminal.endsWith(">");
    await terminal.type("Only in this folder.");
    await terminal.endsWith(">");
    await terminal.type("Again, please.");
    await terminal.endsWith(">");
    await terminal.type("/quit");
    await terminal.endsWith(/^the conversation stays open/);
    const lines = await terminal.lines();
    const answers = lines.filter((line) => line.includes("the text above is not an answer"));
    expect(answers).toHaveLength(2);
    expect(lines).toContain("! the turn was interrupted; the text above is not an answer");
    expect(lines.at(-3)).toBe("Chur costs 9.80.");
    const page = await browser.newPage({ viewport: { width: 800, height: 900 } });
    await page.setContent(`<style>body { margin: 0; background: #fff } pre { box-sizing: content-box; width: ${COLUMNS}ch; margin: 0; padding: 14px 16px; background: #14181c; color: #e4e8ec; font: 14px/1.4 "DejaVu Sans Mono", monospace }</style><pre></pre>`);
    await page.locator("pre").evaluate((element, text) => (element.textContent = text), lines.join("\n"));
    await page.locator("pre").screenshot({ path: `${folder}/chat.png` });
    await page.close();
  } finally {
    await terminal.remove();
  }
});
