// For tests: numbers that look random and are the same each time, and bytes as engines should never write them.

export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

const encoder = new TextEncoder();
export const encoded = (text: string): Uint8Array => encoder.encode(text);

const MEAN = [
  "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "\u001b[31mred\u001b[0m", "\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007",
  "\u001b]52;c;aGk=\u0007", "\u001b]0;title", "\u001b[2J\u001b[H", "\u0000", "\r", "\r\n", "\n", "\t", "\u202eabc\u202c", "a\u200bb", "数字", "😀", "👩‍👧", "é", "\u0085",
];

/** Bytes of every kind, mean ones among them. */
export function meanBytes(next: () => number, length: number): Uint8Array {
  const bytes: number[] = [];
  while (bytes.length < length) {
    const choice = next();
    if (choice < 0.4) bytes.push(...encoded(MEAN[Math.floor(next() * MEAN.length)] ?? ""));
    else if (choice < 0.7) bytes.push(Math.floor(next() * 256));
    else bytes.push(...encoded("plain words "));
  }
  return Uint8Array.from(bytes.slice(0, length));
}
