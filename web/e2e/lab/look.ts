// What a user sees, read from the page.
import { type Locator, type Page, expect } from "@playwright/test";

/** Rows of the conversation that are drawn at this moment. */
export function rows(page: Page): Locator {
  return page.getByTestId("chat-row");
}

export function verdict(page: Page): Locator {
  return page.getByTestId("verdict");
}

export function questions(page: Page): Locator {
  return page.getByTestId("question");
}

export interface SeenRow {
  key: string;
  text: string;
}

/** Every row of the conversation from its first to its last: scrolls through all of it. */
export async function conversation(page: Page): Promise<SeenRow[]> {
  const list = page.getByTestId("chat-list");
  // The verdict may be there before the conversation is.
  await rows(page).first().waitFor();
  const seen = new Map<string, SeenRow>();
  const order: string[] = [];
  await list.evaluate((element) => (element.scrollTop = 0));
  for (let step = 0; step < 400; step += 1) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const drawn = await rows(page).evaluateAll((elements) =>
      elements.map((element) => ({ key: element.getAttribute("data-key") ?? "", text: (element as HTMLElement).innerText.replace(/\s+/g, " ").trim() })),
    );
    const keys = drawn.map((row) => row.key);
    expect(new Set(keys).size, `no row is drawn twice: ${keys.join(" ")}`).toBe(keys.length);
    for (const row of drawn) {
      if (!seen.has(row.key)) order.push(row.key);
      seen.set(row.key, row);
    }
    const isAtEnd = await list.evaluate((element) => {
      const before = element.scrollTop;
      element.scrollTop += element.clientHeight * 0.7;
      return element.scrollTop === before;
    });
    if (isAtEnd) break;
  }
  return order.flatMap((key) => seen.get(key) ?? []);
}
