// How runs end: a failure never looks like a success, and the page always says what to do next.
import { type Turn, answer } from "./lab/script.ts";
import { verdict } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";
import type { Server } from "./lab/server.ts";

interface Ending {
  make: (server: Server) => Promise<string>;
  status: "failed" | "canceled";
  code: string;
}

const played = (turn: Turn, options = {}) => (server: Server) => server.played([turn], { options });

const endings: Record<string, Ending> = {
  "failed at once": { make: played([{ exit: 3 }]), status: "failed", code: "ENGINE_FAILED" },
  "failed by its engine": { make: played([{ say: "I begin." }, { fail: "The model is overloaded." }]), status: "failed", code: "ENGINE_FAILED" },
  "partial: cut in the middle": { make: played([{ say: "All is done and well, success!" }, { exit: 0 }]), status: "failed", code: "ENGINE_END_MISSING" },
  "a limit": { make: played([{ say: "So far so good." }, { limit: "max_output_tokens" }]), status: "failed", code: "LIMIT_REACHED" },
  "an output that does not fit": { make: played([{ output: { wrong: 1 }, done: true }]), status: "failed", code: "OUTPUT_SCHEMA_INVALID" },
  "timed out": { make: played([{ say: "I think." }, { hang: null }], { hard_timeout_sec: 1 }), status: "failed", code: "TIMEOUT" },
  canceled: {
    make: async (server) => {
      const run = await server.play([[{ say: "I work." }, { hang: null }]]);
      await server.client.cancelRun(run, { wait: 60 });
      return run;
    },
    status: "canceled",
    code: "CANCELED",
  },
};

for (const [name, { make, status, code }] of Object.entries(endings)) {
  test(`no success: ${name}`, async ({ page, server }) => {
    const run = await make(server);
    const told = await server.settled(run);
    expect([told.status, told.error_code ?? told.reason_code]).toEqual([status, code]);
    await go(page, `#/runs/${run}/conversation`);
    await expect(verdict(page)).toHaveAttribute("data-status", status);
    await expect(verdict(page)).toContainText(code);
    const inside = { conversation: "chat-row", timeline: "timeline-event", evidence: "evidence", links: "links", files: "files" };
    for (const [pane, sees] of Object.entries(inside)) {
      await go(page, `#/runs/${run}/${pane}`);
      await expect(page.getByTestId(sees).first()).toBeVisible();
      await expect(page.getByTestId("success-mark")).toHaveCount(0);
      await expect(page.locator("[data-status=succeeded]")).toHaveCount(0);
      await expect(page.getByText("✓")).toHaveCount(0);
    }
    const actions = page.getByTestId("next-action");
    const wanted = told.result?.next_actions ?? [];
    expect(wanted.length).toBeGreaterThan(0);
    for (const { action, command } of wanted) {
      const shown = actions.and(page.locator(`[data-action=${action}]`));
      await expect(shown.first()).toBeVisible();
      await expect(shown.first()).toContainText(command);
    }
    await go(page, "#/runs");
    await expect(page.getByTestId("run-row")).toHaveAttribute("data-status", status);
    await expect(page.getByTestId("run-row").locator("[data-status=succeeded]")).toHaveCount(0);
  });
}

test("a success has its mark, and the evidence for it", async ({ page, server }) => {
  const run = await server.played([[{ say: "Here it is." }, answer()]]);
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.getByTestId("success-mark")).toBeVisible();
  await expect(verdict(page)).toContainText("DONE_MARKER_FOUND");
});

test("a failed run is run again from the page", async ({ page, server }) => {
  const run = await server.played([[{ fail: "The model is overloaded." }]]);
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("next-action").and(page.locator("[data-action=retry]")).getByRole("button").first().click();
  await expect(page).not.toHaveURL(new RegExp(run));
  await expect(verdict(page)).toBeVisible();
  expect((await server.client.listRuns()).runs).toHaveLength(2);
});

test("a run that is over is removed from the page, after it was asked once", async ({ page, server }) => {
  const run = await server.play([[{ say: "I work." }]]);
  await server.client.getRun(run, { wait: 60 });
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("remove").click();
  expect((await server.client.getRun(run)).run_id).toBe(run);
  await page.getByTestId("remove-yes").click();
  await expect(page).toHaveURL(/#\/runs$/);
  await expect(page.locator(`[data-run="${run}"]`)).toHaveCount(0);
  await expect(server.client.getRun(run)).rejects.toMatchObject({ code: "RUN_REMOVED" });
});

test("a run is canceled from the page, after it was asked once", async ({ page, server }) => {
  const run = await server.play([[{ say: "I work." }, { hang: null }]]);
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("cancel").click();
  expect((await server.client.getRun(run)).status).not.toBe("canceled");
  await page.getByTestId("cancel-yes").click();
  await expect(verdict(page)).toHaveAttribute("data-status", "canceled");
});
