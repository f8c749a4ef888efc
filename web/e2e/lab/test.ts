// A test of the page: a fresh server, a browser that is let in, and a look at what must never happen.
import { type BrowserContext, type Page, test as plain } from "@playwright/test";
import { Server } from "./server.ts";

export { expect } from "@playwright/test";

interface Lab {
  server: Server;
}

/** What the page did that no page of ours may do. */
const misdeeds = new WeakMap<BrowserContext, string[]>();

export const test = plain.extend<Lab>({
  server: async ({}, use) => {
    const server = await Server.start();
    await use(server);
    await server.remove();
  },
  context: async ({ context }, use) => {
    const seen: string[] = [];
    misdeeds.set(context, seen);
    context.on("page", (page) => watch(page, seen));
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    await use(context);
    if (seen.length > 0) throw new Error(`the page did what it must not:\n${seen.join("\n")}`);
  },
  page: async ({ page, server }, use) => {
    await page.goto(server.link);
    await page.getByRole("navigation").waitFor();
    await use(page);
  },
});

function watch(page: Page, seen: string[]): void {
  page.on("dialog", (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => seen.push(`error: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    // A browser complains about every answer that is not 200 and every broken connection; the tests make them happen.
    const isAboutNetwork = /Failed to load resource|net::ERR_/.test(message.text());
    if (message.type() === "error" && !isAboutNetwork) seen.push(`console: ${message.text()}`);
  });
  page.on("popup", () => seen.push("a window was opened"));
}

/** Goes to a place of the page without reloading it, and waits until the page has noticed. */
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate(async (to) => {
    const before = location.hash;
    const heard = new Promise<void>((done) => addEventListener("hashchange", () => setTimeout(done), { once: true }));
    location.hash = to;
    if (location.hash !== before) await heard;
  }, hash);
}
