// A risk is acknowledged by a word that can be seen, typed and distinguished from the others.
import { expect, test } from "vitest";
import { acknowledged, acknowledgements } from "./acknowledge.ts";

test("without options the given word is typed and sent", () => {
  const offered = acknowledgements([], "I acknowledge");
  expect(acknowledged(offered, " i  acknowledge ")?.sends).toBe("I acknowledge");
  expect(acknowledged(offered, "I acknowledg")).toBeUndefined();
  expect(acknowledged(offered, "")).toBeUndefined();
});

test("each option is typed by its value, and none is sent by another's word", () => {
  const offered = acknowledgements([{ value: "proceed", label: "Delete it" }, { value: "stop", label: "Keep it", default: true }], "x");
  expect(offered.map(({ word }) => word)).toEqual(["proceed", "stop"]);
  expect(acknowledged(offered, "STOP")?.sends).toBe("stop");
});

test("a word that cannot be typed is replaced by its number", () => {
  const options = ["a rather long sentence that nobody types", "\u202eyes", "  ", "\u3164", "go\u115f", "ok"].map((value) => ({ value, label: value }));
  expect(acknowledgements(options, "x").map(({ word }) => word)).toEqual(["1", "2", "3", "4", "5", "ok"]);
});

test("words that cannot be distinguished are all replaced by numbers", () => {
  const options = ["Yes", "yes", "no"].map((value) => ({ value, label: value }));
  const offered = acknowledgements(options, "x");
  expect(offered.map(({ word }) => word)).toEqual(["1", "2", "3"]);
  expect(acknowledged(offered, "2")?.sends).toBe("yes");
});
