// Accessibility: axe finds nothing serious, the keyboard reaches everything, both languages are complete, and a narrow
// screen does not scroll sideways.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { answer } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";
import { allScreens, furnish } from "./lab/screens.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)")) as Violation[];
  const isBad = ({ impact }: Violation): boolean => impact === "serious" || impact === "critical";
  return found.filter(isBad).map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ""}`).join("\n  ")}`);
}

for (const theme of ["light", "dark"] as const) {
  for (const language of ["en", "zh"] as const) {
    test(`axe finds nothing serious: ${theme}, ${language}`, async ({ page, server }) => {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.evaluate((word) => localStorage.setItem("skillrun.language", word), language);
      await page.reload();
      const runs = await furnish(server);
      for (const { name, hash, ready } of allScreens(runs)) {
        await go(page, hash);
        await ready(page);
        expect(await violations(page), `${name} in ${theme}, ${language}`).toEqual([]);
      }
    });
  }
}

test("360 pixels are enough: no screen scrolls sideways", async ({ page, server }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const runs = await furnish(server);
  for (const language of ["en", "zh"]) {
    await page.evaluate((word) => localStorage.setItem("skillrun.language", word), language);
    await page.reload();
    for (const { name, hash, ready } of allScreens(runs)) {
      await go(page, hash);
      await ready(page);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(wider, `${name} in ${language}`).toBeLessThanOrEqual(0);
    }
  }
});

test("in Chinese nothing of ours is left in English", async ({ page, server }) => {
  const runs = await furnish(server);
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh");
  for (const { name, hash, ready } of allScreens(runs)) {
    await go(page, hash);
    await ready(page);
    const holes = await page.evaluate(() => document.body.innerText.match(/\{\w+\}|\bundefined\b|\[object /g) ?? []);
    expect(holes, name).toEqual([]);
    // Words of strangers, commands and names stand in elements of their own; what is left is ours.
    const english = await page.evaluate(() => {
      const foreign = ".foreign, code, pre, .mono, option, [lang=en], .name, [data-testid=option], [data-status], canvas, time";
      const found: string[] = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const [text, element] = [node.nodeValue?.trim() ?? "", node.parentElement];
        const isShown = element?.checkVisibility() && !element.closest(foreign);
        if (isShown && /[a-z]{3,} [a-z]{2,}/i.test(text) && !/[\u4e00-\u9fff]/.test(text)) found.push(text.slice(0, 80));
      }
      return found;
    });
    expect(english, name).toEqual([]);
    const unspoken = await page.locator("nav a, [role=tab], button, h1:not(.foreign), h2:not(.foreign)").evaluateAll((all) =>
      all.filter((one) => one.checkVisibility() && /[a-z]{3,}/i.test(one.textContent ?? "") && !/[\u4e00-\u9fff]/.test(one.textContent ?? "") && !one.querySelector(".foreign, code") && !one.closest(".foreign")).map((one) => one.outerHTML.slice(0, 160)),
    );
    expect(unspoken, name).toEqual([]);
  }
});

test("everything is reached with the keyboard alone: a question is found and answered", async ({ page, server }) => {
  const ask = { kind: "choose_one", prompt: "Which one?", options: [{ value: "red", label: "Red" }, { value: "blue", label: "Blue" }] };
  const run = await server.played([[{ ask }], [answer()]], { mode: "interactive" });
  await go(page, "#/inbox");
  await expect(page.getByTestId("question")).toBeVisible();
  await page.locator("body").focus();
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    if (here.startsWith("Blue")) break;
  }
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("question")).toHaveCount(0);
  expect((await server.settled(run)).status).toBe("succeeded");
  expect((await server.client.interactions(run)).interactions[0]?.reply).toBe("blue");
});

test("everything that can be clicked can be reached by Tab or by arrows", async ({ page, server }) => {
  const runs = await furnish(server);
  for (const { name, hash, ready } of allScreens(runs)) {
    await go(page, hash);
    await ready(page);
    const unreachable = await page.evaluate(() => {
      const clickable = [...document.querySelectorAll<HTMLElement>("a, button, input, select, textarea, summary, [role=button], [role=option], [role=tab]")];
      // Options, tabs and the steps of a graph are reached by arrows inside of what has the focus.
      const inside = (element: HTMLElement): boolean => element.closest("[role=listbox], [role=tablist], [role=grid], [role=list][tabindex], [data-arrows]") !== null;
      return clickable
        .filter((element) => element.checkVisibility() && element.ariaHidden !== "true" && element.tabIndex < 0 && !inside(element) && !(element as HTMLButtonElement).disabled)
        .map((element) => element.outerHTML.slice(0, 160));
    });
    expect(unreachable, name).toEqual([]);
  }
});

test("runs are moved through and opened with the keyboard", async ({ page, server }) => {
  for (const text of ["one", "two", "three"]) await server.played([[{ say: text }, answer(text)]]);
  await go(page, "#/runs");
  await expect(page.getByTestId("run-row")).toHaveCount(3);
  const second = await page.getByTestId("run-row").nth(1).getAttribute("data-run");
  await page.getByTestId("run-row").nth(0).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`runs/${second}`));
  // And along the views of the run.
  await page.getByRole("tab", { selected: true }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { selected: true })).toHaveText("Evidence");
});
