// The sign of each category, and how an attempt ended. An attempt never looks like success: only a run can.
import type { Attempt } from "@skillrun/client";
import type { Category } from "../outline.ts";
import type { endWords } from "./words.ts";

export const SIGNS: Record<Category, string> = {
  lifecycle: "◆",
  agent: "¶",
  interaction: "?",
  tool: "▸",
  artifact: "▤",
  diagnostic: "!",
  raw: "≡",
  runtime: "○",
};

export type End = keyof typeof endWords;

export function endOf(ended: NonNullable<Attempt["ended"]>): End {
  switch (ended.exit.ended_by) {
    case "stall":
      return "stalled";
    case "hard_timeout":
    case "wait_timeout":
      return "timedOut";
    case "canceled":
      return "canceled";
    case "interrupted":
      return "interrupted";
    case "host_lost":
      return "lost";
    case "host_error":
    case "not_started":
      return "notRun";
    case "budget":
      return "budget";
    case "memory_limit":
    case "process_limit":
    case "cpu_limit":
    case "disk_limit":
      return "limit";
    case "exited":
    case "linger":
    case null:
      break;
  }
  switch (ended.turn) {
    case "failed":
      return "failed";
    case "partial_failed":
      return "partly";
    case "interrupted":
      return "interrupted";
    case "timed_out":
      return "timedOut";
    case "completed":
      break;
  }
  switch (ended.completion) {
    case "awaiting_user_input":
      return "asked";
    case "interrupted":
      return "interrupted";
    case "unknown":
      return "unclear";
    case "completed":
      return "ended";
  }
}

export function isBad(end: End): boolean {
  switch (end) {
    case "failed":
    case "partly":
    case "timedOut":
    case "stalled":
    case "lost":
    case "notRun":
    case "budget":
    case "limit":
      return true;
    case "running":
    case "ended":
    case "asked":
    case "unclear":
    case "interrupted":
    case "canceled":
      return false;
  }
}
