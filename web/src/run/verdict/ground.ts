// The way to the bytes that a verdict stands on.
import { place } from "../../app/place.svelte.ts";
import { service } from "../../service/service.ts";
import type { RunPage } from "../run-page.svelte.ts";
import { type Ground, eventFor } from "./verdict.ts";

/** Shows the bytes of a ground, and selects their event; whether there is one. */
export async function showGround(page: RunPage, { passage, attempt, stream }: Ground): Promise<boolean> {
  const found = await service.eventsAt(page.id, { attempt, stream, offset: passage.from });
  const seq = eventFor(found, stream, passage.from, passage.to)?.seq;
  // The address selects only when it changes; `wanted` leads there again on every click.
  page.wanted = { attempt, stream, from: passage.from, to: passage.to };
  place.go({ at: "run", run: page.id, pane: "evidence", seq });
  return seq !== undefined;
}
