// A file is looked into: how much is fetched, and as what it is shown.
import { afterEach, expect, test, vi } from "vitest";
import { type Artifact, LookIn } from "./look-in.svelte.ts";
import { MOST_IMAGE, MOST_TEXT } from "./preview.ts";

afterEach(() => void vi.unstubAllGlobals());

function file(type: string, size: number): Artifact {
  return { path: "artifacts/a b", type, size, hash: "h", role: null };
}

/** A service that has these bytes, and keeps to the range or not. */
function serving(bytes: Uint8Array<ArrayBuffer>, keepsToRange = true): ReturnType<typeof vi.fn<typeof fetch>> {
  const fetched = vi.fn<typeof fetch>((_, init) => {
    const last = Number(/bytes=0-(\d+)/.exec(new Headers(init?.headers).get("range") ?? "")?.[1]);
    return Promise.resolve(new Response(keepsToRange ? bytes.slice(0, last + 1) : bytes));
  });
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

async function looked(type: string, bytes: Uint8Array<ArrayBuffer>, keepsToRange = true): Promise<LookIn> {
  serving(bytes, keepsToRange);
  const look = new LookIn("r", file(type, bytes.length));
  await look.begin();
  return look;
}

const text = (words: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(words);

test("no more of a file is asked for, or kept, than is shown", async () => {
  const bytes = text("x".repeat(MOST_TEXT + 5));
  for (const keepsToRange of [true, false]) {
    const { look } = await looked("text/plain", bytes, keepsToRange);
    expect(look).toMatchObject({ is: "text", isCut: true });
    expect(look.is === "text" && look.text.length).toBe(MOST_TEXT);
  }
});

test("JSON is a value, and what only says it is JSON is text", async () => {
  expect((await looked("application/json", text("[1]"))).look).toMatchObject({ is: "json", json: { value: [1] } });
  expect((await looked("application/json", text("[1"))).look).toMatchObject({ is: "text", isBadJson: true });
});

test("a picture made of markup is text; other bytes are not text", async () => {
  expect((await looked("image/svg+xml", text("<svg onload=alert(1)>"))).look).toMatchObject({ is: "text", isMarkdown: false });
  expect((await looked("text/plain", new Uint8Array([1, 0]))).look.is).toBe("not_text");
});

test("what has no preview is not fetched", async () => {
  const fetched = serving(text("x"));
  for (const [artifact, is] of [[file("application/pdf", 5), "none"], [file("text/plain", 0), "empty"], [file("image/png", MOST_IMAGE + 1), "image_large"]] as const) {
    const look = new LookIn("r", artifact);
    await look.begin();
    expect(look.look.is).toBe(is);
  }
  expect(fetched).not.toHaveBeenCalled();
});

test("the address of a picture is given back, also when the view is gone", async () => {
  const [made, revoked] = [vi.spyOn(URL, "createObjectURL"), vi.spyOn(URL, "revokeObjectURL")];
  const look = await looked("image/png", text("png"));
  expect(look.look.is).toBe("image");
  look.close();
  expect(revoked.mock.calls[0]?.[0]).toBe(made.mock.results[0]?.value);

  const late = new LookIn("r", file("image/png", 3));
  const beginning = late.begin();
  late.close();
  await beginning;
  expect(made).toHaveBeenCalledOnce();
});

test("a refusal is a sentence", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify({ code: "NOT_FOUND", detail: "there is no such file", next_action: "" }), { status: 404 })));
  const look = new LookIn("r", file("text/plain", 3));
  await look.begin();
  expect(look.look).toEqual({ is: "trouble", sentence: "there is no such file" });
});
