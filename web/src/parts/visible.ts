// Text of strangers with nothing hidden in it: characters that cannot be seen, or that turn others around, are shown
// as marks such as ⟨U+202E⟩. For names, paths and texts of one line; `visibleText` is for texts of several.

/** What is not seen by itself, or moves what is around it. The joiner is looked at by hand. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u17B4\u17B5\u180B-\u180F\u3164\uFFA0]/u;

const JOINER = 0x200d;
const PICTURE = /\p{Extended_Pictographic}/u;
/** What may stand between a picture and the joiner: the choice of its look, and the colour of skin. */
const MODIFIER = /[\uFE0F\u{1F3FB}-\u{1F3FF}]/u;

/** The text as it can be seen, hidden characters as marks. */
export function visible(text: string): string {
  return marked([...text]);
}

/** The same for a text of several lines: their ends, and tabs, stay what they are. */
export function visibleText(text: string): string {
  // Most text needs no look at each of its characters.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text;
  return text.split(/((?:\r?\n|\t)+)/).map((part, index) => (index % 2 === 0 ? visible(part) : part.replaceAll("\r", ""))).join("");
}

/**
 * The same as `visible`, in one line of at most this many characters; line ends are shown as signs, and a truncated
 * text ends with `…`.
 */
export function visibleLine(text: string, most: number): string {
  const characters: string[] = [];
  for (const character of text) {
    if (characters.length >= most) {
      // A joiner at the cut joins nothing any more.
      while (characters.at(-1)?.codePointAt(0) === JOINER) characters.pop();
      return `${marked(characters)}…`;
    }
    characters.push(character === "\n" ? "⏎" : character === "\t" ? " " : character);
  }
  return marked(characters);
}

/** Whether one character, given as its number, needs a mark to be seen. */
export function isHidden(code: number): boolean {
  return code >= 0xe0000 && code <= 0xe0fff ? true : HIDDEN.test(String.fromCodePoint(code));
}

/** How a character that needs one is marked. */
export function markOf(code: number): string {
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

function marked(characters: readonly string[]): string {
  let shown = "";
  for (const [index, character] of characters.entries()) {
    const code = character.codePointAt(0) ?? 0;
    const stays = code === JOINER ? joinsPictures(characters, index) : !isHidden(code);
    shown += stays ? character : markOf(code);
  }
  return shown;
}

function joinsPictures(characters: readonly string[], index: number): boolean {
  let before = index - 1;
  while (before >= 0 && MODIFIER.test(characters[before] ?? "")) before -= 1;
  return PICTURE.test(characters[before] ?? "") && PICTURE.test(characters[index + 1] ?? "");
}
