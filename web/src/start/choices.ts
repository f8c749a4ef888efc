// Which engines a skill can run on, and which one is used when none is chosen.
import type { Engine, Skill } from "@skillrun/client";

type Mode = Skill["modes"][number];

/** Without a skill, every mode is allowed. */
export const ALL_MODES = ["auto", "interactive", "conversation"] as const satisfies readonly Mode[];

type Fitting = Pick<Skill, "engines" | "unsupported_engines">;

/** Those the skill allows, the installed ones first. */
export function fitting(engines: readonly Engine[], skill: Fitting): readonly Engine[] {
  const allowed = engines.filter(({ name }) => (skill.engines.length === 0 || skill.engines.includes(name)) && !skill.unsupported_engines.includes(name));
  return [...allowed.filter(isInstalled), ...allowed.filter((engine) => !isInstalled(engine))];
}

export function isInstalled({ program }: Engine): boolean {
  return program !== null;
}

/** Whether the engine can continue after a question. */
export function canAsk({ continuation }: Engine): boolean {
  return continuation !== "none";
}

/** The only one there is; with several, the service or the person chooses. */
export function obvious(engines: readonly Engine[]): string {
  const installed = engines.filter(isInstalled);
  return installed.length === 1 ? (installed[0]?.name ?? "") : "";
}

/** The modes of the skill, without those with several turns if the engine cannot continue a session. */
export function modesFor(modes: readonly Mode[], engine: Engine | undefined): readonly Mode[] {
  return engine && !canAsk(engine) ? modes.filter((mode) => mode === "auto") : modes;
}

/** Skills in whose name or description all the words are. */
export function searched<Named extends { name: string; description: string }>(skills: readonly Named[], q: string): readonly Named[] {
  const wanted = q.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return skills.filter(({ name, description }) => wanted.every((word) => `${name}\n${description}`.toLowerCase().includes(word)));
}
