// Usage that is known in part is shown in part.
import { expect, test } from "vitest";
import { costText, usageText } from "./usage.ts";

test.each([
  [{ input_tokens: 1_500, output_tokens: 7, cost_usd: null }, "1.5 k in, 7 out"],
  [{ input_tokens: 5, output_tokens: null, cost_usd: null }, "5 in"],
  [{ input_tokens: null, output_tokens: 7, cost_usd: null }, "7 out"],
  [{ input_tokens: 0, output_tokens: 0, cost_usd: null }, "0 in, 0 out"],
  [{ input_tokens: null, output_tokens: null, cost_usd: null }, ""],
  [null, ""],
  [undefined, ""],
])("unreported tokens are not zero: %j", (usage, text) => {
  expect(usageText("en", usage)).toBe(text);
});

test.each([
  [null, ""],
  [0, "$0.0000"],
  [0.000_001, "less than $0.0001"],
  [0.0012, "$0.0012"],
  [12.345_6, "$12.35"],
])("an unreported cost is not zero, and a small one not nothing: %j", (cost_usd, text) => {
  expect(costText("en", { input_tokens: null, output_tokens: null, cost_usd })).toBe(text);
});
