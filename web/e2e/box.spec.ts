// The box of a run: its line in the verdict, its parts in the request, and the choice of it in the form.
import type { Page } from "@playwright/test";
import { verdict } from "./lab/look.ts";
import { answer } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";

const line = "box";

/** Opens the request in the details of the verdict. */
async function openRequest(page: Page): Promise<void> {
  await page.getByTestId("verdict-details").locator("> summary").click();
  await page.getByTestId("asked").locator("> summary").click();
}

test("the parts of a box are shown as the service reports them", async ({ page, server }) => {
  const run = await server.played([[{ say: "I look around." }, answer()]], { options: { box: "on", network: "none" } });
  // What is enforced depends on the machine of the test; that the page shows it does not.
  const { box } = await server.client.request(run);
  expect(box?.parts.map(({ part }) => part)).toEqual(expect.arrayContaining(["files", "processes", "network"]));
  await go(page, `#/runs/${run}/conversation`);
  await expect(verdict(page)).toHaveAttribute("data-status", "succeeded");
  await expect(page.getByTestId(line)).not.toContainText("open");
  await openRequest(page);
  // Names of limits are words of the page; those of these parts are the same everywhere.
  for (const { part, state, mechanism, reason } of box?.parts.filter((one) => ["files", "processes", "network"].includes(one.part)) ?? []) {
    const row = page.locator(`[data-testid=box-part][data-part=${part}]`);
    await expect(row).toHaveAttribute("data-state", state);
    await expect(row).toContainText(mechanism ?? reason ?? "nothing", { ignoreCase: true });
    await expect(page.getByTestId(line)).toContainText(part);
  }
});

test("a part that is not enforced is shown with its reason", async ({ page, server }) => {
  const run = await server.played([[answer()]], { options: { box: "on", permission: "full" } });
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.getByTestId(line)).toContainText("files, processes not enforced; network open");
  await openRequest(page);
  const row = page.locator("[data-testid=box-part][data-part=files]");
  await expect(row).toHaveAttribute("data-state", "not_enforced");
  await expect(row).toContainText("permission full allows everything that the user may do");
});

test("a run without a box has no line, and its request says so", async ({ page, server }) => {
  const run = await server.played([[answer()]], { options: { box: "off" } });
  await go(page, `#/runs/${run}/conversation`);
  await openRequest(page);
  await expect(page.getByTestId("box-none")).toContainText("only the engine's own sandbox");
  await expect(page.getByTestId(line)).toHaveCount(0);
});

test("a box is chosen in the form", async ({ page, server }) => {
  await server.script("answer", [[{ say: "I look around." }, answer()]]);
  await go(page, "#/start/answer");
  await page.locator("[data-path=engine] select").selectOption("scripted");
  await page.getByRole("heading", { name: "Options" }).click();
  const field = (path: string) => page.locator(`[data-testid=field][data-path="options.${path}"] select`);
  await field("box").selectOption({ label: "on: enforce what this machine can enforce" });
  await field("network").selectOption({ label: "none (needs a box)" });
  await expect(page.getByTestId("start-form")).toContainText("--box on --network none");
  await page.getByTestId("start").click();
  await expect(page.getByTestId(line)).toContainText("files");
  const { options } = await server.client.request(new URL(page.url()).hash.split("/")[2] ?? "");
  expect([options.box, options.network]).toEqual(["on", "none"]);
});

test("a run that continues one in a box has the same box", async ({ page, server }) => {
  const run = await server.played([[{ say: "I look around." }, { fail: "The model is overloaded." }]], { mode: "conversation", options: { box: "on", network: "none" } });
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("continue").click();
  await page.getByTestId("continue-form").locator("select").selectOption("scripted");
  await page.getByTestId("continue-form").getByRole("button", { name: "Continue" }).click();
  await expect(page).not.toHaveURL(new RegExp(run));
  await expect(page.getByTestId("continues")).toBeVisible();
  const { options } = await server.client.request(new URL(page.url()).hash.split("/")[2] ?? "");
  expect([options.box, options.network]).toEqual(["on", "none"]);
});

test("a network without a box is refused at its field", async ({ page, server }) => {
  await server.script("answer", [[answer()]]);
  await go(page, "#/start/answer");
  await page.locator("[data-path=engine] select").selectOption("scripted");
  await page.getByRole("heading", { name: "Options" }).click();
  const network = page.locator('[data-testid=field][data-path="options.network"]');
  await page.locator('[data-testid=field][data-path="options.box"] select').selectOption({ label: "off: no box" });
  await network.locator("select").selectOption({ label: "none (needs a box)" });
  await page.getByTestId("start").click();
  await expect(page.getByTestId("start-refused").or(page.getByTestId("field-error")).first()).toBeVisible();
  await expect(page.getByTestId("start-form")).toContainText("network none needs a box");
});
