// What became of a question that is no longer open: which answer or event came first.
import type { Asked, RunStatus } from "@skillrun/client";

export type Late =
  /** A person answered. */
  | { is: "answered"; reply: string }
  /** No user answered in time; this was sent. */
  | { is: "decided"; reply: string }
  /** The permission of the run decided. */
  | { is: "permitted"; reply: string }
  /** No user answered in time, and the run failed because of it. */
  | { is: "timed_out" }
  /** The run ended first. */
  | { is: "over"; status: RunStatus }
  | { is: "closed" };

/** As much of a run as this needs; what a refusal holds is not promised to be more. */
export interface Current {
  readonly status: RunStatus | undefined;
}

const STATUSES: readonly RunStatus[] = ["queued", "running", "waiting_user", "succeeded", "closed", "failed", "canceled"];

/** The run inside a refusal, read with care: it is only described, not typed. */
export function currentOf(value: unknown): Current {
  const said = typeof value === "object" && value !== null && "status" in value ? value.status : undefined;
  return { status: STATUSES.find((status) => status === said) };
}

/** From the history of the question where there is one, else from the run as it is now. */
export function lateness(asked: Asked | undefined, current: Current): Late {
  const reply = asked?.reply ?? "";
  switch (asked?.resolution_mode) {
    case "user_reply":
      return { is: "answered", reply };
    case "auto_decide_timeout":
      return { is: "decided", reply };
    case "permission_policy":
      return { is: "permitted", reply };
    case null:
    case undefined:
      break;
  }
  if (asked?.timed_out_at) return { is: "timed_out" };
  switch (current.status) {
    case "succeeded":
    case "closed":
    case "failed":
    case "canceled":
      return { is: "over", status: current.status };
    case "queued":
    case "running":
    case "waiting_user":
    case undefined:
      return { is: "closed" };
  }
}
