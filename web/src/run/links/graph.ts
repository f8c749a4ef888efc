// The events linked to one event: causes to the left, effects to the right. Built from the outline, which has a summary
// of all events, and from the few events that were loaded completely.
import { type RaspType, isRasp } from "@skillrun/client";
import type { Entry } from "../outline.ts";
import { Builder, type Graph, type Known, type Label } from "./builder.ts";
import { messageOf, pathOf } from "./detail.ts";
import { allOf, callOf, callers, finalsAround, firstOf, lastBefore, membersOf, nodeOf, ofAttempt, overOf } from "./lookup.ts";

export function graphOf(known: Known): Graph {
  const selected = known.outline.entry(known.selected);
  if (!selected) return { nodes: [], edges: [] };
  const graph = new Builder(known);
  // What must not be left out comes first.
  graph.event(selected.seq);
  addRun(graph, known);
  switch (selected.category) {
    case "lifecycle":
      if (selected.type === "run.status" || selected.type === "run.heartbeat") addAlone(graph, known, selected);
      else addAttempts(graph, known);
      break;
    case "tool":
      addCall(graph, known, selected);
      break;
    case "interaction":
      addQuestion(graph, known, selected);
      break;
    case "artifact":
      addFile(graph, known, selected);
      break;
    case "agent":
    case "diagnostic":
      addMessage(graph, known, selected);
      break;
    case "raw":
      addAlone(graph, known, selected);
      break;
    case "runtime":
      if (selected.type === "attempt.started" || selected.type === "attempt.ended") addWholeAttempt(graph, known, selected);
      else addAlone(graph, known, selected);
      addChild(graph, known, selected);
      break;
  }
  return graph.made();
}

/** Events of which more should be known to draw them well: those in the graph, and those that may belong to it. */
export function wanted(known: Known, graph: Graph, most: number): number[] {
  const seqs = graph.nodes.flatMap(({ what }) => (what.kind === "event" ? [what.seq] : []));
  const selected = known.outline.entry(known.selected);
  const isMessage = selected?.category === "agent" || selected?.category === "diagnostic" || selected?.type === "attempt.ended";
  if (selected && isMessage) seqs.push(...finalsAround(known.outline, selected));
  return [...new Set([known.selected, ...seqs])].filter((seq) => !known.events.has(seq)).slice(0, most);
}

// The run and its attempts

function addRun(graph: Builder, { outline, events, retryOf, requestId, selected }: Known): string {
  const started = firstOf(outline, "run.started");
  if (started === undefined) return "";
  const run = graph.event(started);
  graph.hangMoreOn(run);
  const event = events.get(started);
  const before = retryOf ?? (event && isRasp(event, "run.started") ? (event.data.retry_of ?? undefined) : undefined);
  if (before) graph.tie(graph.add(`run ${before}`, { kind: "run", run: before }), run, "retried");
  const parent = events.get(selected)?.correlation.parent_run_id ?? event?.correlation.parent_run_id;
  if (parent) graph.tie(graph.add(`run ${parent}`, { kind: "run", run: parent }), run, "child");
  if (requestId) graph.tie(graph.add("request", { kind: "request", id: requestId }), run, "accepted");
  return run;
}

/** The attempt of an event, from its start to its end and to the end of the run if that was the last. */
function addAttempt(graph: Builder, { outline }: Known, number: number): string {
  const run = nodeOf(outline, "run.started");
  const [started, ended] = [ofAttempt(outline, "attempt.started", number), ofAttempt(outline, "attempt.ended", number)];
  const over = overOf(outline);
  if (started === undefined) {
    if (over !== undefined) graph.tie(run, graph.event(over), "ended");
    return run;
  }
  const attempt = graph.event(started);
  graph.hangMoreOn(attempt);
  graph.tie(run, attempt, "began");
  const isLast = ofAttempt(outline, "attempt.started", number + 1) === undefined;
  const end = ended === undefined ? attempt : graph.event(ended);
  graph.tie(attempt, end, "judged");
  if (isLast && over !== undefined) graph.tie(end, graph.event(over), "ended");
  return attempt;
}

function addAttempts(graph: Builder, known: Known): void {
  const { outline } = known;
  const run = nodeOf(outline, "run.started");
  const over = overOf(outline);
  let before = run;
  for (const started of allOf(outline, "attempt.started")) {
    const number = outline.attempts[started - 1] ?? 0;
    const attempt = graph.event(started);
    graph.tie(before, attempt, before === run ? "began" : "next");
    const ended = ofAttempt(outline, "attempt.ended", number);
    before = ended === undefined ? attempt : graph.event(ended);
    graph.tie(attempt, before, "judged");
  }
  if (over !== undefined) graph.tie(before, graph.event(over), "ended");
}

/** An attempt: what made it begin, what it asked, called and left, and what its answer is. */
function addWholeAttempt(graph: Builder, known: Known, selected: Entry): void {
  const { outline, events } = known;
  const number = selected.attempt;
  const attempt = addAttempt(graph, known, number);
  const started = ofAttempt(outline, "attempt.started", number) ?? 0;
  const reply = lastBefore(outline, "interaction.replied", started);
  if (number > 1 && reply !== undefined && reply > (ofAttempt(outline, "attempt.started", number - 1) ?? 0)) {
    const asked = membersOf(outline, reply).find((seq) => outline.entry(seq)?.type === "interaction.requested");
    if (asked !== undefined) graph.tie(graph.event(asked), graph.event(reply), "answered");
    graph.tie(graph.event(reply), attempt, "next");
  }
  const end = ofAttempt(outline, "attempt.ended", number);
  const ended = end === undefined ? undefined : events.get(end);
  const answer = ended && isRasp(ended, "attempt.ended") ? ended.data.verdict.answer_message_id : undefined;
  for (const [seq, event] of events) {
    if (answer && end !== undefined && event.attempt_number === number && isRasp(event, "agent.message.final") && event.data.message_id === answer) {
      const said = graph.event(seq);
      graph.tie(attempt, said, "said");
      graph.tie(said, graph.event(end), "answer");
    }
  }
  const parts = [["interaction.requested", "asked"], ["artifact.created", "made"], ["tool.call.started", "called"]] as const;
  for (const [type, label] of parts) {
    const seqs = allOf(outline, type).filter((seq) => outline.attempts[seq - 1] === number);
    graph.some(seqs, (node) => graph.tie(attempt, node, label));
  }
}

function addAlone(graph: Builder, known: Known, selected: Entry): void {
  graph.tie(addAttempt(graph, known, selected.attempt), graph.event(selected.seq), "then");
}

/** The run that was asked for, where the event is about one. */
function addChild(graph: Builder, { events }: Known, { seq }: Entry): void {
  const event = events.get(seq);
  const isEnd = event && isRasp(event, "subagent.ended");
  if (!isEnd && !(event && (isRasp(event, "subagent.requested") || isRasp(event, "subagent.started")))) return;
  const { child_run_id: run } = event.data;
  const [node, child] = [graph.event(seq), graph.add(`run ${run}`, { kind: "run", run })];
  if (isEnd) graph.tie(child, node, "ended");
  else graph.tie(node, child, "child");
}

// What the event is part of

function addCall(graph: Builder, known: Known, selected: Entry): void {
  const { outline } = known;
  const attempt = addAttempt(graph, known, selected.attempt);
  const members = callOf(outline, selected.seq);
  const started = members.find((seq) => outline.entry(seq)?.type === "tool.call.started");
  const from = started === undefined ? attempt : graph.event(started);
  if (started !== undefined) graph.tie(attempt, from, "called");
  for (const seq of members) {
    const entry = outline.entry(seq);
    if (!entry || seq === started) continue;
    const label = entry.type === "tool.call.completed" ? "result" : entry.type === "tool.call.failed" ? "failed" : entry.category === "artifact" ? "made" : "about";
    graph.tie(from, graph.event(seq), label);
  }
}

function addQuestion(graph: Builder, known: Known, selected: Entry): void {
  const { outline, events } = known;
  const members = membersOf(outline, selected.seq);
  const asked = members.find((seq) => outline.entry(seq)?.type === "interaction.requested");
  const asker = asked === undefined ? selected.attempt : (outline.attempts[asked - 1] ?? selected.attempt);
  let last = addAttempt(graph, known, asker);
  for (const seq of members) {
    const node = graph.event(seq);
    graph.tie(last, node, stepOf(outline.entry(seq)?.type));
    last = node;
  }
  const reply = members.findLast((seq) => outline.entry(seq)?.type === "interaction.replied");
  const question = asked === undefined ? undefined : events.get(asked);
  // An answer inside a turn goes to the process that asked: it begins no attempt.
  const isInside = question !== undefined && isRasp(question, "interaction.requested") && question.data.scope === "call";
  const next = ofAttempt(outline, "attempt.started", asker + 1);
  if (reply !== undefined && !isInside && next !== undefined && next > reply) graph.tie(graph.event(reply), graph.event(next), "next");
}

function stepOf(type: RaspType | undefined): Label {
  switch (type) {
    case "interaction.requested":
      return "asked";
    case "interaction.timeout":
      return "expired";
    case "interaction.auto_decision":
      return "decided";
    case "interaction.replied":
      return "answered";
    default:
      return "about";
  }
}

function addFile(graph: Builder, known: Known, selected: Entry): void {
  const { outline, events } = known;
  const event = events.get(selected.seq);
  const call = event?.correlation.tool_call_id;
  let from = addAttempt(graph, known, selected.attempt);
  const caller = call && callers(outline, call, selected);
  if (caller) {
    const node = graph.event(caller);
    graph.tie(from, node, "called");
    from = node;
  }
  const path = selected.group?.kind === "artifact" ? selected.group.id : (event?.correlation.artifact_id ?? pathOf(event));
  const members = selected.group?.kind === "artifact" ? membersOf(outline, selected.seq) : [selected.seq];
  const created = members.filter((seq) => outline.entry(seq)?.type === "artifact.created");
  for (const seq of created) graph.tie(from, graph.event(seq), "made");
  let last = created.at(-1) === undefined ? from : graph.event(created.at(-1) ?? 0);
  for (const seq of members.filter((one) => !created.includes(one))) {
    const node = graph.event(seq);
    graph.tie(last, node, "kept");
    last = node;
  }
  if (path) graph.tie(last, graph.add("file", { kind: "file", path }), "file");
}

/** A message and its parts; a diagnostic and the message it is about. */
function addMessage(graph: Builder, known: Known, selected: Entry): void {
  const { events } = known;
  const attempt = addAttempt(graph, known, selected.attempt);
  const id = messageOf(events.get(selected.seq));
  const same = [...events.values()].filter((event) => id !== undefined && event.attempt_number === selected.attempt && messageOf(event) === id).sort((one, other) => one.seq - other.seq);
  const final = same.find((event) => isRasp(event, "agent.message.final"));
  const whole = final ? graph.event(final.seq) : "";
  const node = graph.event(selected.seq);
  if (selected.category === "diagnostic") {
    graph.tie(attempt, whole || node, whole ? "said" : "then");
    graph.tie(whole, node, "about");
    return;
  }
  const parts = same.filter((event) => isRasp(event, "agent.message.delta")).map((event) => event.seq);
  // The selected part first, wherever it stands among them.
  const isPart = parts.includes(selected.seq);
  graph.some(isPart ? [selected.seq, ...parts.filter((seq) => seq !== selected.seq)] : parts, (part) => {
    graph.tie(attempt, part, "said");
    graph.tie(part, whole, "whole");
  });
  if (parts.length === 0) graph.tie(attempt, whole || node, "said");
  for (const about of same.filter((event) => isRasp(event, "parser.warning") || isRasp(event, "parser.error"))) graph.tie(whole || node, graph.event(about.seq), "about");
}
