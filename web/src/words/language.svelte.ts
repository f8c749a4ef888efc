// The language the page speaks now. `t` is read in templates, so that a change shows everywhere at once.
import { type Filling, type Language, type Word, LANGUAGES, preferred, say } from "./words.ts";

const KEY = "skillrun.language";

function kept(): Language | undefined {
  try {
    const word = localStorage.getItem(KEY);
    return LANGUAGES.find((language) => language === word);
  } catch {
    // A browser may forbid it; then nothing is kept.
    return undefined;
  }
}

class Speech {
  language = $state<Language>(kept() ?? preferred(typeof navigator === "undefined" ? [] : navigator.languages));

  speak(language: Language): void {
    this.language = language;
    try {
      localStorage.setItem(KEY, language);
    } catch {
      // As above.
    }
  }
}

export const speech = new Speech();

/** The word in the language of the page. */
export function t(word: Word, filling?: Filling): string {
  return say(speech.language, word, filling);
}
