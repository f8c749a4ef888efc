// Usage that is known in part is shown in part.
import { expect, test } from "vitest";
import { usageText } from "./usage.ts";

test.each([
  [{ input_tokens: 1_500, output_tokens: 7 }, "1.5 k in, 7 out"],
  [{ input_tokens: 5, output_tokens: null }, "5 in"],
  [{ input_tokens: null, output_tokens: 7 }, "7 out"],
  [{ input_tokens: 0, output_tokens: 0 }, "0 in, 0 out"],
  [{ input_tokens: null, output_tokens: null }, ""],
  [null, ""],
  [undefined, ""],
])("unreported tokens are not zero: %j", (usage, text) => {
  expect(usageText("en", usage)).toBe(text);
});
