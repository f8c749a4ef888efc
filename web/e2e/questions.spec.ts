// Questions: every kind can be answered, the answer appears everywhere, and no question is answered twice.
import type { Page } from "@playwright/test";
import { type Act, answer } from "./lab/script.ts";
import { conversation, questions, rows, verdict } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";

const interactive = { mode: "interactive" } as const;

interface Kind {
  ask: Record<string, unknown>;
  reply: (page: Page) => Promise<void>;
  /** What the engine must get. */
  gets: RegExp;
}

const kinds: Record<string, Kind> = {
  choose_one: {
    ask: { kind: "choose_one", prompt: "Which one?", options: [{ value: "red", label: "Red" }, { value: "blue", label: "Blue", default: true }] },
    reply: (page) => questions(page).getByRole("button", { name: "Red" }).click(),
    gets: /red/,
  },
  confirm: {
    ask: { kind: "confirm", prompt: "Shall I go on?", options: [{ value: "yes", label: "Yes" }, { value: "no", label: "No" }] },
    reply: (page) => questions(page).getByRole("button", { name: "Yes" }).click(),
    gets: /yes/,
  },
  open_text: {
    ask: { kind: "open_text", prompt: "What is it called?" },
    reply: async (page) => {
      await questions(page).getByRole("textbox").first().fill("a heron");
      await page.keyboard.press("Control+Enter");
    },
    gets: /a heron/,
  },
  fill_fields: {
    ask: { kind: "fill_fields", prompt: "Who and where?", ui_hints: { fields: [{ name: "who", label: "Who" }, { name: "where", label: "Where" }] } },
    reply: async (page) => {
      await questions(page).getByLabel("Who").fill("Ada");
      await questions(page).getByLabel("Where").fill("London");
      await questions(page).getByTestId("send").first().click();
    },
    gets: /Ada[\s\S]*London/,
  },
  risk_ack: {
    ask: { kind: "risk_ack", prompt: "This deletes the table. Do you accept the risk?" },
    reply: async (page) => {
      const acknowledge = questions(page).getByTestId("acknowledge");
      await expect(acknowledge).toBeDisabled();
      await questions(page).getByTestId("acknowledgement").fill("i acknowledg");
      await expect(acknowledge).toBeDisabled();
      await questions(page).getByTestId("acknowledgement").fill("I acknowledge");
      await acknowledge.click();
    },
    gets: /./,
  },
};

for (const [kind, { ask, reply, gets }] of Object.entries(kinds)) {
  test(`${kind} is answered in the inbox`, async ({ page, server }) => {
    const run = await server.played([[{ say: "I have a question." }, { ask }], [{ say: "Thank you." }, answer()]], interactive);
    await expect(page.getByTestId("waiting-count")).toHaveText("1");
    await expect(questions(page)).toHaveCount(1);
    await expect(questions(page)).toHaveAttribute("data-kind", kind);
    // There is always a field for other words.
    await expect(questions(page).getByRole("textbox").first()).toBeVisible();
    await reply(page);
    await expect(questions(page)).toHaveCount(0);
    expect((await server.settled(run)).status).toBe("succeeded");
    const [asked] = (await server.client.interactions(run)).interactions;
    expect(asked?.reply).toMatch(gets);
    expect(asked?.resolution_mode).toBe("user_reply");
    await expect(page.getByTestId("waiting-count")).toHaveCount(0);
  });
}

test("a second tab follows", async ({ page, context, server }) => {
  const ask: Act = { ask: { kind: "open_text", prompt: "What is it called?" } };
  const run = await server.played([[ask], [{ say: "Thank you." }, { sleep_ms: 300 }, answer()]], interactive);
  const [list, other] = [await context.newPage(), await context.newPage()];
  await list.goto(`${server.url}/#/inbox`);
  await other.goto(`${server.url}/#/runs/${run}/conversation`);
  await expect(questions(list)).toHaveCount(1);
  await expect(questions(other)).toHaveCount(1);
  await questions(page).getByRole("textbox").first().fill("from the first tab");
  await page.keyboard.press("Control+Enter");
  for (const tab of [page, list, other]) await expect(questions(tab)).toHaveCount(0);
  await expect(verdict(other)).toHaveAttribute("data-status", "succeeded");
  await expect(rows(other).filter({ hasText: "from the first tab" })).toHaveCount(1);
  expect((await server.client.interactions(run)).interactions[0]?.reply).toBe("from the first tab");
});

test("a late answer is reported, and the typed text stays", async ({ page, server }) => {
  const run = await server.played([[{ ask: { kind: "open_text", prompt: "Name?" } }], [answer()]], interactive);
  await questions(page).getByRole("textbox").first().fill("my answer");
  // The answer is being sent while another client is quicker.
  await page.route("**/interaction/reply*", async (route) => {
    await server.client.reply(run, { interaction_id: 1, text: "quicker" });
    await route.continue();
  });
  await page.keyboard.press("Control+Enter");
  await expect(page.getByTestId("late")).toBeVisible();
  await expect(page.getByTestId("late")).toContainText("quicker");
  await expect(questions(page).getByRole("textbox").first()).toHaveValue("my answer");
  expect((await server.client.interactions(run)).interactions[0]?.reply).toBe("quicker");
});

test("the countdown ends in the automatic decision, and the history says who decided", async ({ page, server }) => {
  const options = [{ value: "red", label: "Red" }, { value: "blue", label: "Blue", default: true }];
  const ask: Act = { ask: { kind: "choose_one", prompt: "Which one?", options, default_decision_policy: "safe_default" } };
  const run = await server.played([[ask], [{ say: "Thank you." }, answer()]], {
    ...interactive,
    options: { interactive_require_user_reply: false, session_timeout_sec: 6 },
  });
  await expect(page.getByTestId("countdown")).toContainText(/[1-6] s/);
  await expect(page.getByTestId("countdown")).toContainText("Blue");
  await expect(questions(page)).toHaveCount(0, { timeout: 20_000 });
  await go(page, `#/runs/${run}/conversation`);
  await expect(verdict(page)).toHaveAttribute("data-status", "succeeded");
  await expect(page.locator("[data-kind=end]")).toBeVisible();
  const words = (await conversation(page)).map((row) => row.text).join("\n");
  expect(words).toMatch(/nobody answered|automatic/i);
  expect(words).toContain("blue");
  expect((await server.client.interactions(run)).interactions[0]?.resolution_mode).toBe("auto_decide_timeout");
});

test("text that looks like a question creates none", async ({ page, server }) => {
  const block = "<ASK_USER_YAML>\nask_user:\n  kind: confirm\n  prompt: May I?\n</ASK_USER_YAML>";
  const turns = [[{ say: `May I delete everything?\n\n${block}` }, { say: "```yaml\nask_user:\n  kind: confirm\n  prompt: May I?\n```" }, { sleep_ms: 4_000 }, answer()]];
  const run = await server.play(turns);
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.getByTestId("chat-row").filter({ hasText: "May I delete everything?" })).toBeVisible();
  await expect(questions(page)).toHaveCount(0);
  await expect(page.getByTestId("waiting-count")).toHaveCount(0);
  await go(page, "#/inbox");
  await expect(questions(page)).toHaveCount(0);
  expect((await server.settled(run)).status).toBe("succeeded");
});
