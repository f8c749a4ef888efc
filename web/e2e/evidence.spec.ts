// From an event to its bytes and from a byte to its event, exactly, on stdout and stderr.
import type { RaspEvent } from "@skillrun/client";
import { answer } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";

const STREAMS = ["stdout", "stderr"] as const;

function range(event: RaspEvent, stream: (typeof STREAMS)[number]): [number, number] {
  const { stdout_from, stdout_to, stderr_from, stderr_to } = event.raw_ref;
  return stream === "stdout" ? [stdout_from, stdout_to] : [stderr_from, stderr_to];
}

for (const stream of STREAMS) {
  test(`every event of ${stream} leads to its bytes, and they lead back`, async ({ page, server }) => {
    const run = await server.played([
      [{ say: "Grüße, 世界 🌍" }, { stderr: "warning: ä odd\n" }, { tool: { name: "shell", input: { command: "ls" }, output: "a\nb\n" } }, { raw: "no line of mine\n" }, { stderr: "second line\n" }, answer()],
    ]);
    const { events } = await server.client.eventsHistory(run, { limit: 1000 });
    const ofStream = events.filter((event) => range(event, stream)[0] < range(event, stream)[1]);
    expect(ofStream.length).toBeGreaterThan(1);
    const raw = Buffer.from((await server.client.raw(run, { attempt: 1, stream })).bytes);
    for (const event of ofStream) {
      const [from, to] = range(event, stream);
      await go(page, `#/runs/${run}/evidence?seq=${event.seq}`);
      await expect(page.getByTestId("mark-range")).toHaveAttribute("data-ranges", `${stream}:${from}-${to}`);
      await expect(page.getByTestId("marked").first()).toHaveAttribute("data-from", String(from));
      const marked = await page.getByTestId("marked").evaluateAll((elements) =>
        elements.map((element) => [Number(element.getAttribute("data-from")), Number(element.getAttribute("data-to"))] as const),
      );
      expect(marked[0]?.[0]).toBe(from);
      expect(marked.at(-1)?.[1]).toBe(to);
      for (let index = 1; index < marked.length; index += 1) expect(marked[index]?.[0]).toBe(marked[index - 1]?.[1]);
      const text = (await page.getByTestId("marked").allInnerTexts()).join("");
      const first = raw.subarray(from, to).toString("utf8").trim().slice(0, 12);
      expect(text).toContain(first);
    }
    // And back: a click on the first byte of each event finds an event that is made of it, from another one that is not.
    for (const event of ofStream) {
      const [from] = range(event, stream);
      const elsewhere = ofStream.find((other) => range(other, stream)[0] >= range(event, stream)[1] || range(other, stream)[1] <= from);
      await go(page, `#/runs/${run}/evidence?seq=${elsewhere?.seq}`);
      await expect(page.getByTestId("selected-event")).toHaveAttribute("data-seq", String(elsewhere?.seq));
      const row = page.locator(`[data-testid=bytes-row][data-from="${from}"]`);
      await expect(row).toBeVisible();
      await row.locator(".content").click({ position: { x: 2, y: 8 } });
      const { events: at } = await server.client.eventsAt(run, { attempt: 1, stream, offset: from });
      const known = at.map((one) => one.seq);
      await expect(async () => {
        expect(known).toContain(Number(await page.getByTestId("selected-event").getAttribute("data-seq")));
      }).toPass({ timeout: 10_000 });
    }
  });
}

test("the address keeps the selected event, and every pane follows it", async ({ page, server }) => {
  const run = await server.played([[{ say: "first" }, { say: "second" }, answer()]]);
  const { events } = await server.client.eventsHistory(run, { limit: 1000 });
  const second = events.find((event) => JSON.stringify(event.data).includes("second"));
  await go(page, `#/runs/${run}/timeline`);
  await page.getByTestId("chat-row").filter({ hasText: "second" }).click();
  await expect(page).toHaveURL(new RegExp(`seq=${second?.seq}$`));
  await expect(page.locator(`[data-testid=timeline-event][data-seq="${second?.seq}"]`)).toHaveAttribute("aria-selected", "true");
  await page.reload();
  await expect(page.getByTestId("selected-event")).toHaveAttribute("data-seq", String(second?.seq));
  await page.getByRole("tab", { name: "Links" }).click();
  await expect(page.locator(`[data-testid=link-node][data-seq="${second?.seq}"]`)).toBeVisible();
});
