// A skill is checked, installed and replaced, each only when the user confirms.
import { ProblemError } from "@skillrun/client";
import { beforeEach, expect, test, vi } from "vitest";
import { service } from "../service/service.ts";
import { Upload } from "./upload.svelte.ts";

const zip = new File(["zip"], "a.zip");
const checked = { name: "a", is_installed: false, findings: [] } as unknown as Awaited<ReturnType<typeof service.validateSkill>>;
const installed = { name: "a" } as Awaited<ReturnType<typeof service.installSkill>>;

function refusal(code: ProblemError["code"]): ProblemError {
  return new ProblemError({ code, detail: "no", next_action: "ask", status: 409, title: "", type: "about:blank", retryable: false });
}

beforeEach(() => void vi.restoreAllMocks());

test("a zip is checked first, and nothing is installed by that", async () => {
  vi.spyOn(service, "validateSkill").mockResolvedValue(checked);
  const install = vi.spyOn(service, "installSkill").mockResolvedValue(installed);
  const told = vi.fn();
  const upload = new Upload(told);
  await upload.check(zip);
  expect(upload.step).toEqual({ is: "checked", zip, check: checked });
  expect(install).not.toHaveBeenCalled();
  await upload.install(zip, "a", false);
  expect(upload.step).toEqual({ is: "installed", name: "a" });
  expect(told).toHaveBeenCalledOnce();
});

test("a name that is taken becomes a question; only a yes replaces", async () => {
  const install = vi.spyOn(service, "installSkill").mockRejectedValueOnce(refusal("SKILL_EXISTS")).mockResolvedValueOnce(installed);
  const told = vi.fn();
  const upload = new Upload(told);
  await upload.install(zip, "a", false);
  expect(upload.step).toEqual({ is: "exists", zip, name: "a" });
  expect(told).not.toHaveBeenCalled();
  expect(install.mock.calls[0]?.[1]?.replace).toBeUndefined();
  await upload.install(zip, "a", true);
  expect(install.mock.calls[1]?.[1]?.replace).toBe(true);
  expect(upload.step.is).toBe("installed");
});

test.each([
  ["FORBIDDEN", true],
  ["SKILL_INVALID", false],
] as const)("a refusal is a sentence: %s", async (code, needsAdmin) => {
  vi.spyOn(service, "validateSkill").mockRejectedValue(refusal(code));
  const upload = new Upload(() => {});
  await upload.check(zip);
  expect(upload.step).toEqual({ is: "refused", zip, why: "no. ask", needsAdmin });
});

test("what was given up does not come back later", async () => {
  let answer = (_: typeof checked): void => {};
  vi.spyOn(service, "validateSkill").mockReturnValue(new Promise((resolve) => (answer = resolve)));
  const upload = new Upload(() => {});
  const checking = upload.check(zip);
  expect(upload.step.is).toBe("checking");
  upload.leave();
  answer(checked);
  await checking;
  expect(upload.step).toEqual({ is: "idle" });
});
