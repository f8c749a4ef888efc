// Markdown as our own small tree. It holds texts and addresses and nothing a browser would act on, so whatever a
// model wrote can be drawn from it.

export type Inline =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "code"; readonly text: string }
  | { readonly is: "break" }
  | { readonly is: "strong"; readonly parts: readonly Inline[] }
  | { readonly is: "em"; readonly parts: readonly Inline[] }
  | { readonly is: "del"; readonly parts: readonly Inline[] }
  /** Leads to http, https or mailto. `place` is where, in a word, unless its text says so itself. */
  | { readonly is: "link"; readonly href: string; readonly place: string | undefined; readonly parts: readonly Inline[] };

export type Align = "left" | "center" | "right" | undefined;

export interface Item {
  /** A task that is done or not; no task otherwise. */
  readonly isDone: boolean | undefined;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly is: "paragraph"; readonly parts: readonly Inline[] }
  | { readonly is: "heading"; readonly level: number; readonly parts: readonly Inline[] }
  | { readonly is: "quote"; readonly blocks: readonly Block[] }
  | { readonly is: "list"; readonly start: number | undefined; readonly items: readonly Item[] }
  | { readonly is: "table"; readonly aligns: readonly Align[]; readonly header: readonly (readonly Inline[])[]; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly is: "code"; readonly language: string; readonly text: string }
  | { readonly is: "plain"; readonly text: string }
  | { readonly is: "rule" }
  /** Written for the program that reads the agent, not for people. */
  | { readonly is: "machine"; readonly what: "question" | "output"; readonly text: string };

export interface Tree {
  readonly blocks: readonly Block[];
  /** How much of a page each block is, in nodes. */
  readonly weights: readonly number[];
  /** What comes after them and is shown as it was written. */
  readonly rest: string;
}
