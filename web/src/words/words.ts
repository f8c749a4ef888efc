// What the page says, in each language it speaks. Every part of the page has a table of its own beside it; a word
// without one of the languages does not compile.

export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

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
  const text = language === "en" && word.one !== undefined && filling["n"] === 1 ? word.one : word[language];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(filling[name] ?? whole));
}

/** The language for somebody whose browser prefers these. */
export function preferred(languages: readonly string[]): Language {
  for (const language of languages) {
    const known = LANGUAGES.find((ours) => language.toLowerCase().startsWith(ours));
    if (known) return known;
  }
  return "en";
}
