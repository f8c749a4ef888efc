// The language the page speaks now. `t` is read in templates, so that a change shows everywhere at once.
import file from "virtual:chinese";
import { type Filling, type Language, type Word, LANGUAGES, learn, preferred, say } from "./words.ts";

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

/** Loads what is needed to speak it. A language that does not come is spoken in English. */
async function loaded(language: Language): Promise<void> {
  if (language !== "zh" || file === undefined) return;
  try {
    learn((await (await fetch(file)).json()) as Record<string, string>);
  } catch {
    // The texts stay English until the page is reloaded.
  }
}

class Speech {
  language = $state<Language>(kept() ?? preferred(typeof navigator === "undefined" ? [] : navigator.languages));

  /** Before anything is said. */
  begin(): Promise<void> {
    return loaded(this.language);
  }

  async speak(language: Language): Promise<void> {
    await loaded(language);
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
