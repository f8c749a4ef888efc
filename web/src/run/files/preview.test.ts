// What may be shown of a file, and where it is fetched from.
import { expect, test } from "vitest";
import { artifactHref, asJson, asText, bundleHref, previewKind } from "./preview.ts";

test.each([
  ["text/markdown", "markdown"],
  ["application/json", "json"],
  ["application/problem+json; charset=utf-8", "json"],
  ["text/csv", "text"],
  ["TEXT/HTML", "text"],
  ["application/xhtml+xml", "text"],
  ["image/svg+xml", "text"],
  ["IMAGE/SVG+XML;a=b", "text"],
  ["image/png", "image"],
  ["image/bmp", "none"],
  ["application/pdf", "none"],
  ["application/octet-stream", "none"],
  ["", "none"],
])("%s is shown as %s", (type, kind) => {
  expect(previewKind(type)).toBe(kind);
});

test("a link to a file leads to that file, whatever it is called", () => {
  expect(artifactHref("0190-x", "artifacts/a b/../?x#y%2F.md")).toBe("/v1/runs/0190-x/artifacts/artifacts/a%20b/../%3Fx%23y%252F.md");
  expect(artifactHref("../x", "数.md")).toBe("/v1/runs/..%2Fx/artifacts/%E6%95%B0.md");
  expect([bundleHref("r", false), bundleHref("r", true)]).toEqual(["/v1/runs/r/bundle", "/v1/runs/r/bundle?full=true"]);
});

test("binary bytes are not text, and a cut in the middle of a character is accepted", () => {
  const whole = new TextEncoder().encode("a数");
  expect(asText(whole, true)).toBe("a数");
  expect(asText(whole.slice(0, 3), false)).toBe("a");
  expect(asText(whole.slice(0, 3), true)).toBeUndefined();
  expect(asText(new Uint8Array([0x61, 0]), true)).toBeUndefined();
  expect(asText(new Uint8Array([0xff, 0xfe]), false)).toBeUndefined();
  expect(asText(new Uint8Array(), true)).toBe("");
});

test("null is a value, and invalid JSON is not", () => {
  expect(asJson("null")).toEqual({ value: null });
  expect(asJson("{")).toBeUndefined();
});
