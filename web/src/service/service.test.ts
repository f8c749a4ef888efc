// The text shown when a request fails.
import { ProblemError } from "@skillrun/client";
import { expect, test } from "vitest";
import { sentence } from "./service.ts";

test.each(["Failed to fetch", "NetworkError when attempting to fetch resource.", "Load failed", "network error"])("%s is reported in our own words", (message) => {
  expect(sentence(new TypeError(message))).toBe("The server does not respond.");
});

test("other errors are shown as they are", () => {
  expect(sentence(new TypeError("x is not a function"))).toBe("x is not a function");
  expect(sentence(new ProblemError({ detail: "no such run", next_action: "look again" } as ProblemError["problem"]))).toBe("no such run. look again");
});
