// One skill as its screen knows it: what it says of itself, and what an agent will read of it.
import type { Skill } from "@skillrun/client";
import { isProblem, sentence, service } from "../service/service.ts";

export type Mode = Skill["modes"][number];
export type PatchedSkill = Awaited<ReturnType<typeof service.patchedSkill>>;

export class SkillPage {
  skill = $state.raw<Skill | undefined>();
  trouble = $state<string | undefined>();
  isGone = $state(false);

  patched = $state.raw<PatchedSkill | undefined>();
  patchedTrouble = $state<string | undefined>();
  mode = $state<Mode | undefined>();

  /** Why it was not removed. */
  refusal = $state.raw<{ why: string; needsAdmin: boolean } | undefined>();

  private readonly stop = new AbortController();

  constructor(private readonly name: string) {}

  close(): void {
    this.stop.abort();
  }

  async look(): Promise<void> {
    const { signal } = this.stop;
    try {
      this.skill = await service.skill(this.name, { signal });
      await this.read(this.skill.modes[0]);
    } catch (error) {
      if (signal.aborted) return;
      this.isGone = isProblem(error, "SKILL_NOT_FOUND");
      this.trouble = sentence(error);
    }
  }

  /** The text for a mode; the one that is shown stays until another has come. */
  async read(mode: Mode | undefined): Promise<void> {
    const { signal } = this.stop;
    this.mode = mode;
    try {
      const patched = await service.patchedSkill(this.name, mode ? { mode } : {}, { signal });
      if (this.mode !== mode) return;
      this.patched = patched;
      this.patchedTrouble = undefined;
    } catch (error) {
      if (!signal.aborted && this.mode === mode) this.patchedTrouble = sentence(error);
    }
  }

  /** Whether it is gone now. */
  async remove(): Promise<boolean> {
    try {
      await service.removeSkill(this.name, { signal: this.stop.signal });
      return true;
    } catch (error) {
      if (!this.stop.signal.aborted) this.refusal = { why: sentence(error), needsAdmin: isProblem(error, "FORBIDDEN") };
      return false;
    }
  }
}
