// A graph of linked events, and how it is built: each thing once, and never more than a person can look at.
import type { RaspEvent, RaspType } from "@skillrun/client";
import { Outline } from "../outline.ts";
import { detailOf } from "./detail.ts";

export type What =
  | { readonly kind: "event"; readonly seq: number; readonly type: RaspType; readonly attempt: number; readonly at: number; readonly detail: string | undefined }
  | { readonly kind: "run"; readonly run: string }
  | { readonly kind: "request"; readonly id: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "more"; readonly count: number };

/** What leads from one to the other. */
export type Label =
  | "accepted" | "retried" | "child" | "began" | "next" | "ended" | "judged" | "then"
  | "asked" | "expired" | "decided" | "answered" | "called" | "result" | "failed" | "made" | "kept" | "file"
  | "said" | "whole" | "answer" | "about" | "more";

export interface Node {
  readonly id: string;
  readonly what: What;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: Label;
}

export interface Graph {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

export interface Known {
  readonly outline: Outline;
  readonly selected: number;
  /** Events that were loaded, by seq. */
  readonly events: ReadonlyMap<number, RaspEvent>;
  /** The run this one is a retry of, and the caller's name for the request. */
  readonly retryOf: string | undefined;
  readonly requestId: string | undefined;
}

/** The maximum number of nodes; omitted ones are counted in the last one. */
export const MOST = 60;
/** And of one sort, so that the rest can still be seen. */
export const MOST_OF_A_SORT = 8;

export class Builder {
  private readonly nodes = new Map<string, Node>();
  private readonly edges: Edge[] = [];
  private left = 0;
  /** Where the node for what is left out hangs. */
  private anchor: string | undefined;

  constructor(private readonly known: Known) {}

  event(seq: number): string {
    const entry = this.known.outline.entry(seq);
    if (!entry) return "";
    const event = this.known.events.get(seq);
    return this.add(`event ${seq}`, { kind: "event", seq, type: entry.type, attempt: entry.attempt, at: entry.at, detail: event && detailOf(event) });
  }

  add(id: string, what: What): string {
    if (this.nodes.has(id)) return id;
    if (this.nodes.size >= MOST - 1) {
      this.left += 1;
      return "";
    }
    this.nodes.set(id, { id, what });
    return id;
  }

  /** The first few of several events of one sort; the others are counted. */
  some(seqs: readonly number[], use: (id: string) => void): void {
    for (const seq of seqs.slice(0, MOST_OF_A_SORT)) use(this.event(seq));
    this.left += seqs.slice(MOST_OF_A_SORT).filter((seq) => !this.nodes.has(`event ${seq}`)).length;
  }

  /** An edge between what is there; an empty id is something that is not. */
  tie(from: string, to: string, label: Label): void {
    if (!from || !to || from === to || this.edges.some((edge) => edge.from === from && edge.to === to)) return;
    this.edges.push({ from, to, label });
  }

  hangMoreOn(id: string): void {
    this.anchor = id;
  }

  made(): Graph {
    if (this.left > 0) {
      const id = "more";
      this.nodes.set(id, { id, what: { kind: "more", count: this.left } });
      if (this.anchor) this.edges.push({ from: this.anchor, to: id, label: "more" });
    }
    return { nodes: [...this.nodes.values()], edges: this.edges };
  }
}
