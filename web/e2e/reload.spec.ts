// A page that was reloaded, or that lost its connection or its server, shows the same as one that did not.
import { answer, talk } from "./lab/script.ts";
import { conversation, rows, verdict } from "./lab/look.ts";
import { Wire } from "./lab/wire.ts";
import { expect, go, test } from "./lab/test.ts";

const LINES = 30;

/** Every line once, in order, whatever else stands between them. */
function saysAllOnce(seen: { text: string }[]): void {
  const lines = seen.map((row) => /\bline (\d+)\b/.exec(row.text)?.[1]).filter((line) => line !== undefined);
  expect(lines).toEqual(Array.from({ length: LINES }, (_, index) => String(index + 1)));
}

test("a reload in the middle of a run gives the same page as not reloading", async ({ page, context, server }) => {
  const run = await server.play([[...talk(LINES, 120), answer()]]);
  const patient = await context.newPage();
  await patient.goto(`${server.url}/#/runs/${run}/conversation`);
  await go(page, `#/runs/${run}/conversation`);
  for (const line of [5, 14]) {
    await expect(rows(page).filter({ hasText: new RegExp(`line ${line}\\b`) })).toHaveCount(1);
    await page.reload();
  }
  for (const one of [page, patient]) await expect(verdict(one)).toHaveAttribute("data-status", "succeeded");
  for (const one of [page, patient]) await expect(rows(one).filter({ hasText: `line ${LINES}` })).toHaveCount(1);
  const [reloaded, never] = [await conversation(page), await conversation(patient)];
  expect(reloaded).toEqual(never);
  saysAllOnce(reloaded);
  // The reasons come after the state.
  for (const one of [page, patient]) await expect(one.getByTestId("ground").first()).toBeVisible();
  expect(await verdict(page).innerText()).toBe(await verdict(patient).innerText());
  await expect(rows(page).last()).toBeVisible();
});

test("a connection that breaks loses no row and doubles none", async ({ context, server }) => {
  const wire = await Wire.to(server.url);
  const page = await context.newPage();
  await page.goto(server.link.replace(server.url, wire.url));
  await page.getByRole("navigation").waitFor();
  const run = await server.play([[...talk(LINES, 150), answer()]]);
  await go(page, `#/runs/${run}/conversation`);
  for (const line of [3, 10]) {
    await expect(rows(page).filter({ hasText: new RegExp(`line ${line}\\b`) })).toHaveCount(1);
    wire.cut();
    await expect(page.getByTestId("away")).toBeVisible();
    wire.mend();
    await expect(page.getByTestId("away")).toBeHidden();
  }
  await expect(verdict(page)).toHaveAttribute("data-status", "succeeded", { timeout: 30_000 });
  await expect(rows(page).filter({ hasText: `line ${LINES}` })).toHaveCount(1);
  saysAllOnce(await conversation(page));
  await page.close();
  await wire.remove();
});

for (const way of ["stop", "kill"] as const) {
  test(`a server that is started again (${way}) loses no row and doubles none`, async ({ page, server }) => {
    const run = await server.play([[...talk(LINES, 150), answer()]]);
    await go(page, `#/runs/${run}/conversation`);
    await expect(rows(page).filter({ hasText: /line 4\b/ })).toHaveCount(1);
    await server[way]();
    await expect(page.getByTestId("away")).toBeVisible();
    // What was seen stays.
    await expect(rows(page).filter({ hasText: /line 4\b/ })).toHaveCount(1);
    await server.startAgain();
    await expect(page.getByTestId("away")).toBeHidden();
    await expect(verdict(page)).toHaveAttribute("data-status", "succeeded", { timeout: 30_000 });
    await expect(rows(page).filter({ hasText: `line ${LINES}` })).toHaveCount(1);
    saysAllOnce(await conversation(page));

    await go(page, "#/runs");
    await expect(page.getByTestId("run-row")).toHaveCount(1);
  });
}

test("seven tabs work: hidden ones release their connections", async ({ page, context, server }) => {
  const run = await server.played([[{ ask: { kind: "open_text", prompt: "Name?" } }], [answer()]], { mode: "interactive" });
  // Headless tabs are all visible, so the page is made to believe otherwise.
  await context.addInitScript(() => {
    let isHidden = false;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    addEventListener("hide", () => {
      isHidden = true;
      document.dispatchEvent(new Event("visibilitychange"));
    });
  });
  for (let tab = 0; tab < 6; tab += 1) {
    const other = await context.newPage();
    await other.goto(`${server.url}/#/runs/${run}/conversation`);
    await expect(other.getByTestId("question")).toBeVisible();
    await other.evaluate(() => dispatchEvent(new Event("hide")));
  }
  await page.bringToFront();
  await page.getByTestId("question").getByRole("textbox").first().fill("a heron");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByTestId("question")).toHaveCount(0);
  expect((await server.settled(run)).status).toBe("succeeded");
});
