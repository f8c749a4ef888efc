// Which byte is under the pointer. Pieces of rows are in the page as elements that say which bytes they show.
import { type Piece, byteOf } from "./pieces.ts";

/** The byte under a point of the screen; where that is beside a row, the last byte of the row. */
export function byteUnder(x: number, y: number): number | undefined {
  const row = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-to][data-from]");
  const caret = caretAt(x, y);
  const shown = caret?.node.parentElement?.closest<HTMLElement>("[data-at]");
  if (!caret || !shown) return row ? Math.max(Number(row.dataset["from"]), Number(row.dataset["to"]) - 1) : undefined;
  const text = caret.node.textContent ?? "";
  const kind = (["text", "sign", "hex", "ascii"] as const).find((one) => one === shown.dataset["kind"]) ?? "sign";
  const piece: Pick<Piece, "kind" | "from" | "text"> = { kind, from: Number(shown.dataset["at"]), text };
  return byteOf(piece, letterUnder(caret.node, caret.index, x));
}

function caretAt(x: number, y: number): { node: Node; index: number } | undefined {
  if ("caretPositionFromPoint" in document) {
    const position = document.caretPositionFromPoint(x, y);
    return position?.offsetNode.nodeType === Node.TEXT_NODE ? { node: position.offsetNode, index: position.offset } : undefined;
  }
  return undefined;
}

/** A caret stands between letters, at the nearer edge; the letter under the point may be the one before it. */
function letterUnder(node: Node, index: number, x: number): number {
  const text = node.textContent ?? "";
  const previous = index - (isSecondHalf(text, index - 1) ? 2 : 1);
  if (previous < 0) return 0;
  if (index >= text.length) return previous;
  const range = document.createRange();
  range.setStart(node, previous);
  range.setEnd(node, index);
  const box = range.getBoundingClientRect();
  return x >= box.left && x < box.right ? previous : index;
}

function isSecondHalf(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff && index > 0;
}
