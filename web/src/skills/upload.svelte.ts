// A zip that becomes a skill: it is checked, the user confirms, it is installed. An installed skill is replaced only
// after a question.
import { isProblem, sentence, service } from "../service/service.ts";

export type Check = Awaited<ReturnType<typeof service.validateSkill>>;

export type Step =
  | { readonly is: "idle" }
  | { readonly is: "checking"; readonly zip: File }
  | { readonly is: "checked"; readonly zip: File; readonly check: Check }
  | { readonly is: "installing"; readonly zip: File }
  /** The name is taken: another user was quicker, or the page did not check. */
  | { readonly is: "exists"; readonly zip: File; readonly name: string }
  | { readonly is: "refused"; readonly zip: File; readonly why: string; readonly needsAdmin: boolean }
  | { readonly is: "installed"; readonly name: string };

export class Upload {
  step = $state.raw<Step>({ is: "idle" });
  private stop = new AbortController();

  constructor(private readonly installed: () => void) {}

  async check(zip: File): Promise<void> {
    await this.going({ is: "checking", zip }, zip, async (signal) => {
      const check = await service.validateSkill(zip, { signal });
      return { is: "checked", zip, check };
    });
  }

  async install(zip: File, name: string, replace: boolean): Promise<void> {
    await this.going({ is: "installing", zip }, zip, async (signal) => {
      try {
        const skill = await service.installSkill(zip, replace ? { replace, signal } : { signal });
        return { is: "installed", name: skill.name };
      } catch (error) {
        if (isProblem(error, "SKILL_EXISTS")) return { is: "exists", zip, name };
        throw error;
      }
    });
    if (this.step.is === "installed") this.installed();
  }

  /** Back to the beginning. What is on its way is given up. */
  leave(): void {
    this.stop.abort();
    this.step = { is: "idle" };
  }

  private async going(step: Step, zip: File, work: (signal: AbortSignal) => Promise<Step>): Promise<void> {
    this.stop.abort();
    const { signal } = (this.stop = new AbortController());
    this.step = step;
    let next: Step;
    try {
      next = await work(signal);
    } catch (error) {
      next = { is: "refused", zip, why: sentence(error), needsAdmin: isProblem(error, "FORBIDDEN") };
    }
    // The user may have left in the meantime.
    if (!signal.aborted) this.step = next;
  }
}
