// How a run is to be carried out, as fields like those of a skill. The names are those of the request.
import type { RunOptions } from "@skillrun/client";
import type { Control, Field } from "./schema.ts";

export const OPTION_NAMES = [
  "permission", "box", "network", "effort", "hard_timeout_sec", "stall_timeout_sec", "interactive_require_user_reply", "session_timeout_sec",
  "idle_sec", "default_decision_policy", "auto_decision_limit", "max_attempt", "require_marker", "snapshot", "priority",
] as const satisfies readonly (keyof RunOptions)[];
export type OptionName = (typeof OPTION_NAMES)[number];

const LONGEST_SEC = 999_999_999;
const MOST = 4_294_967_295;

const line: Control = { is: "text", look: "line", minLength: undefined, maxLength: 100, pattern: undefined };
const seconds: Control = { is: "number", isWhole: false, minimum: 0.001, maximum: LONGEST_SEC };

const CONTROLS: Readonly<Record<OptionName, Control>> = {
  permission: { is: "choice", choices: ["read_only", "workspace", "full"] },
  box: { is: "choice", choices: ["off", "on", "required"] },
  network: { is: "choice", choices: ["open", "model", "none"] },
  effort: line,
  hard_timeout_sec: seconds,
  stall_timeout_sec: seconds,
  interactive_require_user_reply: { is: "choice", choices: [true, false] },
  session_timeout_sec: seconds,
  idle_sec: seconds,
  default_decision_policy: { is: "choice", choices: ["engine_judgement", "safe_default", "abort"] },
  auto_decision_limit: { is: "number", isWhole: true, minimum: 0, maximum: MOST },
  max_attempt: { is: "number", isWhole: true, minimum: 1, maximum: MOST },
  require_marker: { is: "choice", choices: [true, false] },
  snapshot: { is: "choice", choices: ["taken", "off"] },
  priority: { is: "number", isWhole: true, minimum: -2_147_483_648, maximum: 2_147_483_647 },
};

/** Options that say nothing without a skill. */
const ONLY_WITH_SKILL: readonly string[] = ["require_marker"] satisfies OptionName[];

export const OPTION_FIELDS: readonly Field[] = OPTION_NAMES.map((name) => ({
  path: `options.${name}`,
  name,
  title: undefined,
  description: undefined,
  isRequired: false,
  control: CONTROLS[name],
  begin: undefined,
  example: undefined,
}));

export const PROMPT_OPTION_FIELDS: readonly Field[] = OPTION_FIELDS.filter(({ name }) => !ONLY_WITH_SKILL.includes(name));
