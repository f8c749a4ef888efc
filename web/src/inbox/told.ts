// What became of a question, in one sentence. If another answer or the timeout came first, the caller chooses the
// wording for its place: a line in the inbox says less than a notice to a user whose answer came late.
import { statusWords } from "../words/states.ts";
import { type Language, type Word, say } from "../words/words.ts";
import type { Late } from "./late.ts";
import { words } from "./words.ts";

export function told(language: Language, late: Late, says: { readonly answered: Word; readonly decided: Word }): string {
  switch (late.is) {
    case "answered":
      return say(language, says.answered);
    case "decided":
      return say(language, says.decided);
    case "permitted":
      return say(language, words.latePermitted);
    case "timed_out":
      return say(language, words.lateTimedOut);
    case "over":
      return say(language, words.lateOver, { status: say(language, statusWords[late.status]) });
    case "closed":
      return say(language, words.lateClosed);
  }
}
