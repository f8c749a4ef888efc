// The text an agent reads, with the added parts marked.
import { expect, test } from "vitest";
import { linesOf } from "./patched.ts";

const patched = {
  text: "# Do it\r\n\n<!-- begin -->\nPut files there.\nAnd only there.\n\nNobody answers.\n<!-- end -->\n",
  added_from_line: 3,
  layers: [
    { name: "artifacts", origin: "operator", from_line: 4, to_line: 5 },
    { name: "auto", origin: "shipped", from_line: 7, to_line: 7 },
  ],
};

test("text that is not the skill's own is marked, and each layer where it begins", () => {
  const lines = linesOf(patched);
  expect(lines.map(({ number, isAdded }) => (isAdded ? -number : number))).toEqual([1, 2, -3, -4, -5, -6, -7, -8]);
  expect(lines.flatMap(({ number, begins }) => (begins ? [[number, begins.name, begins.isOperators]] : []))).toEqual([[4, "artifacts", true], [7, "auto", false]]);
});

test("line ends belong to no line, and an empty text has none", () => {
  expect(linesOf(patched)[0]?.text).toBe("# Do it");
  expect(linesOf({ text: "", added_from_line: 1, layers: [] })).toEqual([]);
});

test("a layer beyond the text marks nothing", () => {
  const layers = [{ name: "auto", origin: "shipped", from_line: 99, to_line: 100 }];
  expect(linesOf({ text: "a", added_from_line: 50, layers })).toEqual([{ number: 1, text: "a", isAdded: false, begins: undefined }]);
});
