// Answers that are being written: nothing of them is lost on the way through the page, and none is said to be sent that
// was not.
import type { Page } from "@playwright/test";
import { type Act, answer } from "./lab/script.ts";
import { questions } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";

const interactive = { mode: "interactive" } as const;
const fields: Act = {
  ask: {
    kind: "fill_fields",
    prompt: "What should it weigh?",
    ui_hints: { fields: [{ name: "what", label: "What" }, { name: "size", label: "Size", enum: ["small", "large"] }, { name: "fragile", label: "Fragile", type: "boolean" }] },
  },
};
const confirm: Act = { ask: { kind: "confirm", prompt: "Shall I go on?", options: [{ value: "yes", label: "Yes" }, { value: "no", label: "No" }] } };

function attach(page: Page): Promise<void> {
  return questions(page).getByTestId("files").setInputFiles({ name: "list.txt", mimeType: "text/plain", buffer: Buffer.from("bern\n") });
}

test("a second answer is not taken for the first, whose response was lost", async ({ page, server }) => {
  const run = await server.played([[confirm], [answer()]], interactive);
  let sent = 0;
  await page.route("**/interaction/reply*", async (route) => {
    sent += 1;
    if (sent > 1) return route.continue();
    await server.client.reply(run, route.request().postDataJSON());
    return route.abort();
  });
  // The page must not learn of it from the list before the second try.
  await page.route("**/v1/interactions*", (route) => (sent > 0 ? route.abort() : route.continue()));
  await questions(page).getByRole("button", { name: "Yes" }).click();
  await expect(questions(page)).toContainText("it is unknown whether the answer arrived");
  await questions(page).getByRole("button", { name: "No" }).click();
  await expect(page.getByTestId("late")).toContainText("yes");
  await expect(page.getByText("Sent.")).toHaveCount(0);
  expect((await server.client.interactions(run)).interactions[0]?.reply).toBe("yes");
});

test("what was written, chosen and attached goes along to other screens and back", async ({ page, server }) => {
  const run = await server.played([[fields], [answer()]], interactive);
  const form = questions(page);
  const expectDraft = async (): Promise<void> => {
    await expect(form.getByLabel("What")).toHaveValue("a parcel");
    await expect(form.getByLabel("Size")).toHaveValue("large");
    await expect(form.getByTestId("answer-text")).toHaveValue("and soon");
    await expect(form.getByText("list.txt")).toBeVisible();
  };
  await form.getByLabel("What").fill("a parcel");
  await form.getByLabel("Size").selectOption("large");
  await form.getByTestId("answer-text").fill("and soon");
  await attach(page);
  await expectDraft();
  await go(page, `#/runs/${run}/conversation`);
  await expectDraft();
  // Where there is room for one pane only, another one takes its place.
  await page.setViewportSize({ width: 700, height: 900 });
  await expectDraft();
  await go(page, `#/runs/${run}/files`);
  await expect(form).toHaveCount(0);
  await go(page, `#/runs/${run}/conversation`);
  await expectDraft();
  await go(page, "#/inbox");
  await expectDraft();
  await form.getByTestId("send").click();
  await expect(form).toHaveCount(0);
  const [asked] = (await server.client.interactions(run)).interactions;
  expect(asked?.reply).toBe("what: a parcel\nsize: large\n\nand soon");
  expect(asked?.files).toHaveLength(1);
});

for (const [what, write] of Object.entries({
  "a choice": (page: Page) => questions(page).getByLabel("Fragile").selectOption("yes"),
  "a file": attach,
})) {
  test(`${what} that was made for a question is kept when another user was quicker`, async ({ page, server }) => {
    const run = await server.played([[fields], [answer()]], interactive);
    await write(page);
    await server.client.reply(run, { interaction_id: 1, text: "quicker" });
    await expect(page.getByTestId("late")).toContainText("quicker");
    await expect(questions(page)).toHaveCount(1);
    await page.getByRole("button", { name: "Dismiss" }).click();
    await expect(questions(page)).toHaveCount(0);
  });
}
