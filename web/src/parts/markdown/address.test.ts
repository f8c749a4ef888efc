// Addresses in a text: where links may lead, and that they say where.
import { expect, test } from "vitest";
import { destination, placeOf, safeAddress, withoutTail } from "./address.ts";

/** What is said about where a link leads, beside its words. */
function place(words: string, address = words): string | undefined {
  const url = safeAddress(address);
  if (!url) throw new Error(`leads nowhere: ${address}`);
  return placeOf(url, words);
}

test.each(["https://x.example", "https://x.example/a?b#c", "https://x.example?b", "HTTPS://X.Example/a", "http://x.example:8080/a", "http://[::1]:80/a", "mailto:a@x.example", "mailto:a@x.example?subject=b"])(
  "an address that says where it leads needs no more words: %s",
  (address) => {
    // A port that is the usual one is not in the browser's form; saying the place once more does no harm.
    expect(place(address)).toBe(address.includes(":80/") ? "[::1]" : undefined);
  },
);

test.each([
  ["https://bank.example@evil.example/", "evil.example"],
  ["https://bank.example:443@evil.example", "evil.example"],
  ["https://bank.example%2f@evil.example", "evil.example"],
  ["https://\u0430pple.example/", "xn--pple-43d.example"],
  ["https://b\u00adank.example/", "bank.example"],
  ["https://bank。example/", "bank.example"],
  ["http://2130706433/", "127.0.0.1"],
])("an address that looks like another says where it leads: %s", (address, host) => {
  expect(place(address)).toBe(host);
});

test.each([
  ["docs", "https://x.example/a", "x.example"],
  ["x.example", "https://x.example/a", undefined],
  ["https://x.example/b", "https://x.example/a", undefined],
  ["https://good.example", "https://bad.example", "bad.example"],
  ["https://bad.example.good.example", "https://bad.example", "bad.example"],
  ["https://bad.example@good.example", "https://bad.example", "bad.example"],
  ["https://good.example/?https://bad.example", "https://bad.example", "bad.example"],
  ["x.example", "https://x.example@bad.example", "bad.example"],
  ["a@good.example", "mailto:a@bad.example", "a@bad.example"],
  ["a@good.example", "mailto:a@good.example", undefined],
])("the words %j of a link to %j leave out its place only if they say it: %j", (words, address, said) => {
  expect(place(words, address)).toBe(said);
});

test.each([
  ["(a)", "a", ""],
  ["()", "", ""],
  ["(a(b)c)", "a(b)c", ""],
  ["(a\\)b)", "a)b", ""],
  ["(<a b> 'c d')", "a b", "'c d'"],
  ['(a "b (c)" )', "a", '"b (c)"'],
  [`(${"(".repeat(8)}a${")".repeat(8)})`, `${"(".repeat(8)}a${")".repeat(8)}`, ""],
])("what stands after the words of a link is read: %s", (text, address, title) => {
  expect(destination(`${text})`, 0)).toEqual({ address, title, end: text.length });
});

test.each(["", "a", "(", "(a", "(a b)", "(a(b)", "(<a b)", '(a "b)', `(${"a".repeat(3_000)})`, `(${"(".repeat(9)}a${")".repeat(9)})`])("what is no address is none: %s", (text) => {
  expect(destination(text, 0)).toBeUndefined();
});

test.each([
  ["http://a.example.", "http://a.example"],
  ["http://a.example/b_(c)", "http://a.example/b_(c)"],
  ["http://a.example/b_(c)).", "http://a.example/b_(c)"],
  ["http://a.example/b)?!", "http://a.example/b"],
  ["http://a.example/(b", "http://a.example/(b"],
])("an address in a sentence ends before the sentence does: %s", (written, address) => {
  expect(withoutTail(written)).toBe(address);
});
