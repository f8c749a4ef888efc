// The parts of a message that are written for the program that reads the agent: a question in the agreed form, and
// an output with the done marker. They are shown folded. What they mean is decided by the service, never here.

const OPEN = "<ASK_USER_YAML>";
const CLOSE = "</ASK_USER_YAML>";
const MARKER = "__SKILL_DONE__";
const LARGEST = 1_000_000;

export interface Piece {
  readonly is: "people" | "question" | "output";
  readonly text: string;
  /** Where it begins in the whole, with the marks around it. */
  readonly from: number;
}

/** The text in pieces, in order. Nothing of it is lost but the fence around a question. */
export function pieces(text: string): Piece[] {
  if (isOutput(text)) return [{ is: "output", text: text.trim(), from: 0 }];
  const found: Piece[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf(OPEN, at);
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open);
    if (close < 0) break;
    let [before, end] = [text.slice(at, open), close + CLOSE.length];
    const fence = /(?:^|\n)[ \t]*(`{3,}|~{3,})[\w-]*[ \t]*\n\s*$/.exec(before.slice(-80));
    const after = fence ? /^\s*(`{3,}|~{3,})[ \t]*(?:\n|$)/.exec(text.slice(end, end + 80)) : null;
    if (fence && after) {
      before = before.slice(0, before.length - fence[0].length);
      end += after[0].length;
    }
    if (before.trim() !== "") found.push({ is: "people", text: before, from: at });
    found.push({ is: "question", text: text.slice(open + OPEN.length, close).replace(/^\n+/, "").trimEnd(), from: at + before.length });
    at = end;
  }
  const rest = text.slice(at);
  if (rest.trim() !== "" || found.length === 0) found.push({ is: "people", text: rest, from: at });
  return found;
}

/** Whether this is one JSON object with the done marker in it. */
export function isOutput(text: string): boolean {
  if (text.length > LARGEST || !text.includes(MARKER)) return false;
  const whole = text.trim();
  if (!whole.startsWith("{") || !whole.endsWith("}")) return false;
  try {
    const value: unknown = JSON.parse(whole);
    return typeof value === "object" && value !== null && Object.hasOwn(value, MARKER);
  } catch {
    return false;
  }
}
