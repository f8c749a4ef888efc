// Whatever an agent, an engine or a skill writes stays text, in every pane. The lab fails a test in which a dialog, a
// breach of the content policy, a window or an error comes about.
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

for (const [name, text] of Object.entries({ IMAGE, SCRIPT, BIDI, ZERO, ANSI, LINK })) {
  test(`hostile text stays text: ${name}`, async ({ page, server }) => {
    await server.skill("nasty", JSON.stringify(`A skill ${IMAGE} ${SCRIPT}`));
    const run = await server.played(
      [[...nasty(text), { write: { path: `artifacts/${name}.md`, content: text } }, { ask: { kind: "choose_one", prompt: text, options: [{ value: text, label: text }], context: text, ui_hints: { title: text } } }], [answer(text)]],
      { skill: "nasty", mode: "interactive" },
    );
    await go(page, "#/inbox");
    await expect(page.getByTestId("question")).toBeVisible();
    await go(page, `#/runs/${run}/conversation`);
    await server.client.reply(run, { interaction_id: 1, text });
    await server.settled(run);
    const { events } = await server.client.eventsHistory(run, { limit: 1000 });
    for (const pane of PANES) {
      for (const event of events.filter((one) => one.event.category !== "lifecycle")) {
        await go(page, `#/runs/${run}/${pane}?seq=${event.seq}`);
      }
      await expect(page.getByTestId("verdict")).toBeVisible();
      await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
    }
    await go(page, `#/runs/${run}/evidence`);
    for (const view of await page.getByTestId("evidence-view").all()) {
      await view.click();
    }
    const seen = (await conversation(page)).map((row) => row.text).join("\n");
    if (name === "IMAGE" || name === "SCRIPT") expect(seen).toContain(text.slice(0, 8));
    for (const screen of ["runs", "skills", "skills/nasty", "start/nasty", "engines"]) {
      await go(page, `#/${screen}`);
      await expect(page.getByRole("heading").first()).toBeVisible();
    }
    expect(await page.locator("#content img, #content script, #content iframe, #content svg [onload]").count()).toBe(0);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol));
    expect(links.filter((protocol) => !["http:", "https:", "mailto:"].includes(protocol))).toEqual([]);
  });
}

test("a line of a megabyte is shown in every pane, and the page stays small", async ({ page, server }) => {
  const run = await server.played([[{ say: LONG.slice(0, 400_000) }, { raw: `${LONG.slice(0, 500_000)}\n` }, answer()]]);
  const { events } = await server.client.eventsHistory(run, { limit: 100 });
  for (const pane of PANES) {
    for (const event of events) await go(page, `#/runs/${run}/${pane}?seq=${event.seq}`);
    await expect(page.getByTestId("verdict")).toBeVisible();
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(4_000);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  }
});
