// What the service says when something cannot be done.
import type { Problem } from "./types.js";

/** A response that reports a problem. `problem.code` stays the same between versions; the texts do not. */
export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    /** Seconds, where the service says when to try again. */
    readonly retryAfter?: number,
  ) {
    super(`${problem.code}: ${problem.detail}`);
    this.name = "ProblemError";
  }

  get status(): number {
    return this.problem.status;
  }

  get code(): Problem["code"] {
    return this.problem.code;
  }

  /** Reads it from a response. A response from a proxy between the client and the service is reported as `INTERNAL`. */
  static async from(response: Response): Promise<ProblemError> {
    // A response that breaks off in the middle is not a problem of the service.
    const text = await response.text().catch(() => "");
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new ProblemError(read(text) ?? foreign(response), Number.isFinite(seconds) ? seconds : undefined);
  }
}

function read(text: string): Problem | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = typeof body === "object" && body !== null && "code" in body && "detail" in body;
    return isProblem ? (body as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function foreign(response: Response): Problem {
  return {
    type: "about:blank",
    title: response.statusText,
    status: response.status,
    detail: `the response ${response.status} does not come from skillrun; check the proxies in between`,
    code: "INTERNAL",
    retryable: response.status >= 500 || response.status === 429,
    next_action: "check the proxies between this client and the server",
  };
}
