// The token is kept where all tabs of the origin find it, and nowhere once it is forgotten.
import { afterEach, expect, test, vi } from "vitest";
import { forgetSession, keepSession, sessionToken } from "./session.ts";

afterEach(() => {
  forgetSession();
  vi.unstubAllGlobals();
});

function storage(): Map<string, string> {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  });
  return kept;
}

test("it is in the storage of the origin until it is forgotten", () => {
  const kept = storage();
  expect(sessionToken()).toBeUndefined();
  keepSession("sks_a");
  expect([...kept]).toEqual([["skillrun.token", "sks_a"]]);
  kept.set("skillrun.token", "sks_b");
  expect(sessionToken()).toBe("sks_b");
  forgetSession();
  expect(sessionToken()).toBeUndefined();
  expect(kept.size).toBe(0);
});

test("a browser that stores nothing keeps it until the page is left", () => {
  const refuse = (): never => {
    throw new DOMException("denied", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
  keepSession("sks_a");
  expect(sessionToken()).toBe("sks_a");
  forgetSession();
  expect(sessionToken()).toBeUndefined();
});
