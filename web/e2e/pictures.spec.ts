// Pictures of every screen for docs/pictures, made from a server with content for each. They are regenerated with
// SKILLRUN_PICTURES=1; without it the same screens are taken and discarded, so that this test stays current.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { Page } from "@playwright/test";
import { allScreens, conversationWithBrokenTurns, furnish } from "./lab/screens.ts";
import { PROGRAM, type Server } from "./lab/server.ts";
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
