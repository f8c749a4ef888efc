// How a browser is let in and logs out: with a token in the storage of its origin, and without a cookie.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";
import { answer } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";

const token = (): string | null => localStorage.getItem("skillrun.token");

test("the page has a token in its storage, and no other port of the host gets anything", async ({ page, context, server }) => {
  expect(await context.cookies()).toEqual([]);
  expect(await page.evaluate(token)).toMatch(/^sks_/);
  const seen: string[] = [];
  const other = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    response.end("another program");
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    await expect(tab.locator("body")).toHaveText("another program");
    expect(await tab.evaluate(token)).toBeNull();
    expect(seen.length).toBeGreaterThan(0);
    for (const headers of seen) expect(headers).not.toMatch(/cookie|authorization|sks_/i);
    await tab.close();
  } finally {
    other.closeAllConnections();
    other.close();
  }
  // A reload, a restart of the server and another tab need no other link.
  await page.reload();
  await expect(page.getByTestId("log-out")).toBeVisible();
  await server.stop();
  await server.startAgain();
  const tab = await context.newPage();
  await tab.goto(`${server.url}/#/runs`);
  await expect(tab.getByTestId("log-out")).toBeVisible();
  await expect(tab.getByRole("heading", { name: "This browser is not authorised yet" })).toHaveCount(0);
});

test("logging out revokes the token, in every tab", async ({ page, context, server }) => {
  await server.played([[{ say: "one" }, answer("one")]]);
  const tab = await context.newPage();
  await tab.goto(`${server.url}/#/runs`);
  await expect(tab.getByTestId("run-row")).toHaveCount(1);
  const revoked = await page.evaluate(token);
  await page.getByTestId("log-out").click();
  const refused = { name: "This browser is not authorised yet" };
  await expect(page.getByRole("heading", refused)).toBeVisible();
  await expect(tab.getByRole("heading", refused)).toBeVisible();
  await expect(tab.getByTestId("run-row")).toHaveCount(0);
  expect(await page.evaluate(token)).toBeNull();
  const asked = await fetch(`${server.url}/v1/runs`, { headers: { Authorization: `Bearer ${revoked}` } });
  expect(asked.status).toBe(401);
  await page.reload();
  await expect(page.getByRole("heading", refused)).toBeVisible();
});

test("files are downloaded by links that need no token and are good for one of them", async ({ page, server }) => {
  const run = await server.played([[{ write: { path: "artifacts/report.md", content: "# Report\n" } }, answer("done")]]);
  await go(page, `#/runs/${run}/files`);
  const download = page.waitForEvent("download");
  await page.getByTestId("artifact").getByRole("button", { name: "Download" }).click();
  const file = await download;
  expect(await readFile(await file.path(), "utf8")).toBe("# Report\n");
  expect(file.suggestedFilename()).toBe("report.md");
  const url = file.url();
  expect(url).toMatch(/\/artifacts\/artifacts\/report\.md\?ticket=v1\./);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url.replace("report.md", "other.md"))).status).toBe(401);
});
