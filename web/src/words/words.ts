// What the page says, in each language it speaks. Every part of the page has a table of its own beside it; a word
// without one of the languages does not compile.

export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Chinese by English, where the tables do not have it: in the page as it is served (`scripts/words-apart.ts`). */
let dictionary: Readonly<Record<string, string>> = {};

export function learn(words: Readonly<Record<string, string>>): void {
  dictionary = words;
}

function chinese(word: Word): string {
  const apart = Object.hasOwn(dictionary, word.en) ? dictionary[word.en] : undefined;
  return (word.zh as string | undefined) ?? apart ?? word.en;
}

/** One thing the page says. `{name}` stands for what is filled in. */
export type Word = Readonly<Record<Language, string>> & {
  /** English, where `n` is one. */
  readonly one?: string;
};

export type Filling = Readonly<Record<string, string | number>>;

/** A table of words; it is what it was given. */
export function defineWords<Table extends Record<string, Word>>(table: Table): Table {
  return table;
}

/** The word in a language, filled in. What is missing stays as `{name}`, so that it is seen. */
export function say(language: Language, word: Word, filling: Filling = {}): string {
  const text = language === "zh" ? chinese(word) : word.one !== undefined && filling["n"] === 1 ? word.one : word.en;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(filling[name] ?? whole));
}

/** The language for a browser that prefers these. */
export function preferred(languages: readonly string[]): Language {
  for (const language of languages) {
    const known = LANGUAGES.find((ours) => language.toLowerCase().startsWith(ours));
    if (known) return known;
  }
  return "en";
}
