// Whatever an agent, an engine or a skill writes stays text, in every pane. The lab fails a test in which a dialog, a
// breach of the content policy, a window or an error comes about.
import type { Page } from "@playwright/test";
import { type Act, answer } from "./lab/script.ts";
import { conversation } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";

const IMAGE = '<img src=x onerror="alert(1)">';
const SCRIPT = "<script>alert(2)</script>";
const BIDI = "\u202Egnihtemos\u202C \u2066hidden\u2069";
const ZERO = "in\u200Bvis\u2060ible\uFEFF";
const ANSI = "\u001b]8;;javascript:alert(3)\u0007click\u001b]8;;\u0007 \u001b]52;c;YWxlcnQ=\u0007\u001b[31mred\u001b[0m \u001b]0;title\u0007";
const LINK = `[press me](javascript:alert(4)) [and me](JaVa\tScRiPt:alert(5)) ![i](data:text/html,${SCRIPT}) <svg/onload=alert(6)>`;
const LONG = "w".repeat(1_000_000);

const nasty = (text: string): Act[] => [
  { say: text },
  { think: text },
  { tool: { name: text.slice(0, 60) || "tool", input: { [text.slice(0, 40)]: text }, output: text } },
  { raw: `${text}\n` },
  { stderr: `${text}\n` },
];

const PANES = ["conversation", "timeline", "evidence", "links", "files"] as const;

/** Characters that cannot be seen, or that turn others around. */
const HIDDEN = /[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u001b\u0007]/;

/** The text on the page without its fields: text typed into them belongs to the user. */
function words(page: Page): Promise<string> {
  return page.evaluate(() => document.querySelector("#content")?.textContent ?? "");
}

/** Opens everything that can be opened, so that nothing hides in a fold. */
async function unfold(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const folds = document.querySelectorAll<HTMLElement>("#content details:not([open]) > summary, #content [aria-expanded=false]");
    for (const fold of folds) if (fold.checkVisibility()) fold.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
}

/** What must be readable on the page somewhere, once. */
const readable: Record<string, string> = {
  IMAGE,
  SCRIPT,
  BIDI: "⟨U+202E⟩gnihtemos",
  ZERO: "in⟨U+200B⟩vis",
  ANSI: "click",
  LINK: "press me",
};

for (const [name, text] of Object.entries({ IMAGE, SCRIPT, BIDI, ZERO, ANSI, LINK })) {
  test(`hostile text stays text: ${name}`, async ({ page, server }) => {
    test.setTimeout(120_000);
    await server.skill("nasty", JSON.stringify(`A skill ${IMAGE} ${SCRIPT} ${BIDI}`));
    const ask = { kind: "choose_one", prompt: text, options: [{ value: text, label: text }], context: text, ui_hints: { title: text, hint: text } };
    const run = await server.played(
      [[...nasty(text), { write: { path: `artifacts/${name}.md`, content: text } }, { ask }], [answer(text)]],
      { skill: "nasty", mode: "interactive" },
    );
    const stays = async (where: string): Promise<void> => {
      await unfold(page);
      expect((await words(page)).match(HIDDEN)?.[0]?.codePointAt(0)?.toString(16), where).toBeUndefined();
      expect(await page.locator("#content img, #content script, #content iframe, #content svg [onload]").count(), where).toBe(0);
      const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol));
      expect(links.filter((protocol) => !["http:", "https:", "mailto:"].includes(protocol)), where).toEqual([]);
    };
    await go(page, "#/inbox");
    await expect(page.getByTestId("question")).toBeVisible();
    await stays("inbox");
    await go(page, `#/runs/${run}/conversation`);
    await expect(page.getByTestId("question")).toBeVisible();
    await stays("the question on the page of the run");
    await server.client.reply(run, { interaction_id: 1, text }, { wait: 60 });
    const { events } = await server.client.eventsHistory(run, { limit: 1000 });
    const [first] = PANES;
    for (const pane of PANES) {
      for (const event of events.filter((one) => one.event.category !== "lifecycle")) {
        await go(page, `#/runs/${run}/${pane}?seq=${event.seq}`);
        await expect(page.getByTestId("selected-event")).toHaveAttribute("data-seq", String(event.seq));
        await expect(page.getByTestId("selected-type")).toHaveText(event.event.type);
        if (pane === first) await unfold(page);
      }
      await stays(pane);
    }
    await go(page, `#/runs/${run}/evidence?seq=${events.find((event) => event.event.category === "raw")?.seq}`);
    for (const view of await page.getByTestId("evidence-view").all()) {
      await view.click();
      await expect(view).toHaveAttribute("aria-pressed", "true");
    }
    const seen = (await conversation(page)).map((row) => row.text).join("\n");
    expect(seen).toContain(readable[name]);
    for (const screen of ["runs", "skills", "skills/nasty", "start/nasty", "engines"]) {
      await go(page, `#/${screen}`);
      await expect(page.getByRole("heading").first()).toBeVisible();
      await stays(screen);
    }
  });
}

// A script may have a megabyte and a little, so each of these has a run of its own.
const megabytes: Record<string, Act> = {
  "a line nobody knows": { raw: `${LONG}\n` },
  "a message": { say: LONG },
  "a thought": { think: LONG },
};

for (const [name, act] of Object.entries(megabytes)) {
  test(`a megabyte in one line is shown in every pane, and the page stays small: ${name}`, async ({ page, server }) => {
    const run = await server.played([[act, answer()]]);
    const { events } = await server.client.eventsHistory(run, { limit: 100 });
    for (const pane of PANES) {
      for (const event of events) {
        await go(page, `#/runs/${run}/${pane}?seq=${event.seq}`);
        await expect(page.getByTestId("selected-type")).toHaveText(event.event.type);
      }
      await unfold(page);
      expect(await page.evaluate(() => document.querySelectorAll("*").length), pane).toBeLessThan(4_000);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), pane).toBeLessThanOrEqual(0);
      const tallest = await page.evaluate(() => Math.max(...[...document.querySelectorAll("[data-testid=chat-row]")].map((row) => row.clientHeight), 0));
      expect(tallest, pane).toBeLessThan(20_000);
    }
    const long = events.find((event) => event.raw_ref.stdout_to - event.raw_ref.stdout_from >= LONG.length);
    await go(page, `#/runs/${run}/evidence?seq=${long?.seq}`);
    await expect(page.getByTestId("marked").filter({ hasText: "wwwwwwww" }).first()).toBeVisible();
  });
}
