// One method per route of the service.
import { ProblemError } from "./problem.js";
import { type FollowOptions, type RunsItem, type StreamItem, followChat, followEvents, followRuns } from "./stream.js";
import type {
  ApplyChanges, ApplyReport, ArtifactList, AttemptList, ChatHistoryQuery, CheckWorkflow, ContinueRun, CreateRun, CreateWorkflow, DeliveryList, Diagnosis, Diff, Download, EngineList, EventsAt,
  EventsAtQuery, EventsHistoryQuery, FamilyDiagnosis, FcmpEvent, Interaction, InteractionList, ListRunsQuery, OpenInteractionList,
  OpenInteractionsQuery,
  Outline, OutlineQuery, Page, PatchedSkill, PatchedSkillQuery, RaspEvent, RawQuery, Replay, ReplayQuery, Reply, RetryRun, Run, RunList,
  RunRequest, RunResult, RunSummary, RunTree, Session, Skill, SkillCheck, SkillList, Taxonomy, Verification, WaitingRun, WorkflowCheck, WorkflowView,
} from "./types.js";

export interface ClientOptions {
  /** Such as `http://127.0.0.1:7420`; empty on a page of the server itself. */
  baseUrl: string;
  /** Or what gives it for each request, where it can change: a page keeps that of its session in its storage. */
  token?: string | (() => string | undefined) | undefined;
  /** Another `fetch` than the built-in one. */
  fetch?: typeof fetch | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
}

export interface WaitOptions extends RequestOptions {
  /** Seconds to wait for the end of the run or a question of it; 600 at most. */
  wait?: number | undefined;
}

export interface CreateRunOptions extends WaitOptions {
  /** The same key with the same request makes no second run. */
  idempotencyKey?: string | undefined;
  /** Input files by slot. */
  files?: Record<string, Blob> | undefined;
  /** A zip with the skill, in place of `skill` in the request. */
  skill?: Blob | undefined;
  /** What the scripted engine plays. */
  script?: Blob | undefined;
}

/** Some of the bytes an engine wrote. */
export interface RawBytes {
  bytes: Uint8Array;
  /** Where they begin. */
  from: number;
  /** How many there are in all, at this moment. */
  total: number;
}

type QueryValue = string | number | boolean | null | undefined;

interface Sent extends RequestOptions {
  method?: "GET" | "POST" | "DELETE";
  query?: Record<string, QueryValue>;
  headers?: Record<string, string | undefined>;
  json?: unknown;
  form?: FormData | undefined;
}

export class SkillrunClient {
  private readonly base: string;
  private readonly token: () => string | undefined;
  private readonly fetcher: typeof fetch;

  constructor({ baseUrl, token, fetch: fetcher }: ClientOptions) {
    this.base = baseUrl.replace(/\/+$/, "");
    // A stream would retry a wrong address forever.
    if (this.base && !URL.canParse(this.base)) throw new TypeError(`baseUrl is not a URL: ${baseUrl}`);
    this.token = typeof token === "function" ? token : () => token;
    this.fetcher = fetcher ?? ((input, init) => globalThis.fetch(input, init));
  }

  // Runs

  createRun(request: CreateRun, options: CreateRunOptions = {}): Promise<Run> {
    const { wait, idempotencyKey, files = {}, skill, script, signal } = options;
    const parts = Object.entries(files).map(([slot, file]): [string, Blob] => [`files.${slot}`, file]);
    if (skill) parts.push(["skill", skill]);
    if (script) parts.push(["script", script]);
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.json("/v1/runs", { method: "POST", query: { wait }, headers, signal, ...body(request, parts) });
  }

  /** One page, the newest first. */
  listRuns(query: ListRunsQuery = {}, options: RequestOptions = {}): Promise<RunList> {
    return this.json("/v1/runs", { query, ...options });
  }

  /** All of them, page by page. */
  async *allRuns(query: ListRunsQuery = {}, options: RequestOptions = {}): AsyncGenerator<RunSummary, void, undefined> {
    for (let cursor = query.cursor; ; ) {
      const page = await this.listRuns(cursor ? { ...query, cursor } : query, options);
      yield* page.runs;
      if (!page.next_cursor) return;
      cursor = page.next_cursor;
    }
  }

  getRun(run: string, { wait, signal }: WaitOptions = {}): Promise<Run> {
    return this.json(of(run), { query: { wait }, signal });
  }

  /** A run and all runs below it, each after its parent. */
  tree(run: string, options: RequestOptions = {}): Promise<RunTree> {
    return this.json(`${of(run)}/tree`, options);
  }

  /** What a run and all runs below it say of each other, compared. */
  diagnoseTree(run: string, options: RequestOptions = {}): Promise<FamilyDiagnosis> {
    return this.json(`${of(run)}/tree/diagnosis`, options);
  }

  /** What was asked for, as it was accepted; secrets are masked. */
  request(run: string, options: RequestOptions = {}): Promise<RunRequest> {
    return this.json(`${of(run)}/request`, options);
  }

  cancelRun(run: string, { wait, signal }: WaitOptions = {}): Promise<Run> {
    return this.json(`${of(run)}/cancel`, { method: "POST", query: { wait }, signal });
  }

  /** Stops the open turn; `say` is the next prompt, else the run waits for it. */
  interruptRun(run: string, { say, wait, signal }: WaitOptions & { say?: string | undefined } = {}): Promise<Run> {
    return this.json(`${of(run)}/interrupt`, { method: "POST", query: { wait }, json: { say: say ?? null }, signal });
  }

  /** Closes a conversation that waits for the next prompt. */
  closeRun(run: string, options: RequestOptions = {}): Promise<Run> {
    return this.json(`${of(run)}/close`, { method: "POST", ...options });
  }

  /** Removes a run that is over, with its Log and its evidence. */
  async deleteRun(run: string, options: RequestOptions = {}): Promise<void> {
    await this.send(of(run), { method: "DELETE", ...options });
  }

  /** The same again, as a new run, with these changes. */
  retryRun(run: string, changes: RetryRun = {}, options: WaitOptions & { idempotencyKey?: string } = {}): Promise<Run> {
    const { wait, idempotencyKey, signal } = options;
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.json(`${of(run)}/retry`, { method: "POST", query: { wait }, headers, json: changes, signal });
  }

  /** A new conversation that begins with the transcript of this run, usually on another engine. */
  continueRun(run: string, request: ContinueRun = {}, options: WaitOptions & { idempotencyKey?: string } = {}): Promise<Run> {
    const { wait, idempotencyKey, signal } = options;
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.json(`${of(run)}/continue`, { method: "POST", query: { wait }, headers, json: request, signal });
  }

  /** Applies the changes of a run that worked in a copy of a folder to that folder: all of them, or none. */
  applyRun(run: string, request: ApplyChanges = {}, options: RequestOptions = {}): Promise<ApplyReport> {
    return this.json(`${of(run)}/apply`, { method: "POST", json: request, ...options });
  }

  // Workflows

  /** Starts a workflow: of a file, whose text is sent, or of an installed skill. */
  createWorkflow(request: CreateWorkflow, options: WaitOptions & { idempotencyKey?: string | undefined } = {}): Promise<Run> {
    const { wait, idempotencyKey, signal } = options;
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.json("/v1/workflows", { method: "POST", query: { wait }, headers, json: request, signal });
  }

  /** What is wrong with a workflow, or what it would do; nothing is kept. */
  validateWorkflow(request: CheckWorkflow, options: RequestOptions = {}): Promise<WorkflowCheck> {
    return this.json("/v1/workflows/validate", { method: "POST", json: request, ...options });
  }

  /** The steps of a run that is a workflow, and how each of them stands. */
  workflow(run: string, options: RequestOptions = {}): Promise<WorkflowView> {
    return this.json(`${of(run)}/workflow`, options);
  }

  /** A new run of the workflow, in which the steps that are ready count as they are. */
  retryWorkflow(run: string, options: WaitOptions & { idempotencyKey?: string | undefined } = {}): Promise<Run> {
    const { wait, idempotencyKey, signal } = options;
    const headers = { "Idempotency-Key": idempotencyKey };
    return this.json(`${of(run)}/workflow/retry`, { method: "POST", query: { wait }, headers, json: {}, signal });
  }

  // Questions and answers

  /** One page of the questions of all runs, the nearest deadline first. */
  openInteractions(query: OpenInteractionsQuery = {}, options: RequestOptions = {}): Promise<OpenInteractionList> {
    return this.json("/v1/interactions", { query, ...options });
  }

  /** All of them, page by page. */
  async *allOpenInteractions(query: OpenInteractionsQuery = {}, options: RequestOptions = {}): AsyncGenerator<WaitingRun, void, undefined> {
    for (let cursor = query.cursor; ; ) {
      const page = await this.openInteractions(cursor ? { ...query, cursor } : query, options);
      yield* page.interactions;
      if (!page.next_cursor) return;
      cursor = page.next_cursor;
    }
  }

  /** The question that waits, if one does. */
  async interaction(run: string, options: RequestOptions = {}): Promise<Interaction | undefined> {
    const response = await this.send(`${of(run)}/interaction`, options);
    return response.status === 204 ? undefined : ((await response.json()) as Interaction);
  }

  interactions(run: string, options: RequestOptions = {}): Promise<InteractionList> {
    return this.json(`${of(run)}/interactions`, options);
  }

  reply(run: string, reply: Reply, options: WaitOptions & { files?: Blob[] } = {}): Promise<Run> {
    const { wait, files = [], signal } = options;
    const parts = files.map((file): [string, Blob] => ["files", file]);
    return this.json(`${of(run)}/interaction/reply`, { method: "POST", query: { wait }, signal, ...body(reply, parts) });
  }

  // Events

  eventsHistory(run: string, query: EventsHistoryQuery = {}, options: RequestOptions = {}): Promise<Page<RaspEvent>> {
    return this.json(`${of(run)}/events/history`, { query, ...options });
  }

  chatHistory(run: string, query: ChatHistoryQuery = {}, options: RequestOptions = {}): Promise<Page<FcmpEvent>> {
    return this.json(`${of(run)}/chat/history`, { query, ...options });
  }

  eventsAt(run: string, query: EventsAtQuery, options: RequestOptions = {}): Promise<EventsAt> {
    return this.json(`${of(run)}/events/at`, { query, ...options });
  }

  /** Many events in a few numbers each. There may be fewer than asked for: continue after the last until `last_seq`. */
  outline(run: string, query: OutlineQuery = {}, options: RequestOptions = {}): Promise<Outline> {
    return this.json(`${of(run)}/events/outline`, { query, ...options });
  }

  followEvents(run: string, options: FollowOptions & { taxonomy?: Taxonomy } = {}): AsyncGenerator<StreamItem<RaspEvent>, void, undefined> {
    return followEvents((cursor, signal) => this.open(`${of(run)}/events`, { cursor, taxonomy: options.taxonomy }, signal), options);
  }

  followChat(run: string, options: FollowOptions = {}): AsyncGenerator<StreamItem<FcmpEvent>, void, undefined> {
    return followChat((cursor, signal) => this.open(`${of(run)}/chat`, { cursor }, signal), options);
  }

  followRuns(options: FollowOptions = {}): AsyncGenerator<RunsItem, void, undefined> {
    return followRuns((cursor, signal) => this.open("/v1/stream", { cursor }, signal), options);
  }

  // What came of a run

  result(run: string, options: RequestOptions = {}): Promise<RunResult> {
    return this.json(`${of(run)}/result`, options);
  }

  artifacts(run: string, options: RequestOptions = {}): Promise<ArtifactList> {
    return this.json(`${of(run)}/artifacts`, options);
  }

  /** All of it, or its first `most` bytes. */
  artifact(run: string, path: string, { most, signal }: RequestOptions & { most?: number } = {}): Promise<Blob> {
    const headers = { Range: most === undefined ? undefined : `bytes=0-${most - 1}` };
    return this.blob(`${of(run)}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`, { headers, signal });
  }

  /**
   * An address for one file that needs no token, good for one minute: a link cannot send a token. `path` is path and
   * query of an artifact, a bundle, a recording or raw bytes.
   */
  createDownload(path: string, options: RequestOptions = {}): Promise<Download> {
    return this.json("/v1/downloads", { method: "POST", json: { path }, ...options });
  }

  bundle(run: string, { full, signal }: RequestOptions & { full?: boolean } = {}): Promise<Blob> {
    return this.blob(`${of(run)}/bundle`, { query: { full }, signal });
  }

  diff(run: string, { attempt, signal }: RequestOptions & { attempt?: number } = {}): Promise<Diff> {
    return this.json(`${of(run)}/diff`, { query: { attempt }, signal });
  }

  /** Compares everything that is kept of the run; `head` is a `log_head` of an earlier answer, as `SEQ:HASH`. */
  verification(run: string, { head, signal }: RequestOptions & { head?: string } = {}): Promise<Verification> {
    return this.json(`${of(run)}/verification`, { query: { head }, signal });
  }

  diagnosis(run: string, options: RequestOptions = {}): Promise<Diagnosis> {
    return this.json(`${of(run)}/diagnosis`, options);
  }

  /** What a model would see again of the run; with `dialect` also as text or for an API. */
  replay(run: string, { dialect, upto, signal }: RequestOptions & ReplayQuery = {}): Promise<Replay> {
    return this.json(`${of(run)}/replay`, { query: { dialect, upto }, signal });
  }

  deliveries(run: string, options: RequestOptions = {}): Promise<DeliveryList> {
    return this.json(`${of(run)}/webhooks`, options);
  }

  // What the engine wrote

  attempts(run: string, options: RequestOptions = {}): Promise<AttemptList> {
    return this.json(`${of(run)}/attempts`, options);
  }

  /** Bytes from `from` to before `to`; all of them without the two. */
  async raw(run: string, query: RawQuery, options: RequestOptions = {}): Promise<RawBytes> {
    const response = await this.send(`${of(run)}/raw`, { query, ...options });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
    return { bytes, from: range ? Number(range[1]) : 0, total: range ? Number(range[2]) : bytes.length };
  }

  recording(run: string, options: RequestOptions = {}): Promise<Blob> {
    return this.blob(`${of(run)}/recording.cast`, options);
  }

  // Skills, engines and the service itself

  skills(options: RequestOptions = {}): Promise<SkillList> {
    return this.json("/v1/skills", options);
  }

  skill(name: string, options: RequestOptions = {}): Promise<Skill> {
    return this.json(`/v1/skills/${encodeURIComponent(name)}`, options);
  }

  /** Its text as the agent will read it, with the rules that are added in a run. */
  patchedSkill(name: string, query: PatchedSkillQuery = {}, options: RequestOptions = {}): Promise<PatchedSkill> {
    return this.json(`/v1/skills/${encodeURIComponent(name)}/patched`, { query, ...options });
  }

  /** What is wrong with the skill in a zip; nothing is kept. */
  validateSkill(zip: Blob, options: RequestOptions = {}): Promise<SkillCheck> {
    return this.json("/v1/validate", { method: "POST", form: form([["skill", zip]]), ...options });
  }

  installSkill(zip: Blob, { replace, signal }: RequestOptions & { replace?: boolean } = {}): Promise<Skill> {
    return this.json("/v1/skills", { method: "POST", query: { replace }, form: form([["skill", zip]]), signal });
  }

  async removeSkill(name: string, options: RequestOptions = {}): Promise<void> {
    await this.send(`/v1/skills/${encodeURIComponent(name)}`, { method: "DELETE", ...options });
  }

  engines({ probe, signal }: RequestOptions & { probe?: boolean } = {}): Promise<EngineList> {
    return this.json("/v1/engines", { query: { probe }, signal });
  }

  /** Lets this browser in, with the code of a link of `skillrun open`. The token is for the storage of the page. */
  beginSession(code: string, options: RequestOptions = {}): Promise<Session> {
    return this.json("/v1/session", { method: "POST", json: { code }, ...options });
  }

  /** Logs out: the token of the session is refused from then on. */
  async endSession(options: RequestOptions = {}): Promise<void> {
    await this.send("/v1/session/end", { method: "POST", ...options });
  }

  async metrics(options: RequestOptions = {}): Promise<string> {
    return (await this.send("/metrics", options)).text();
  }

  /** Whether the service has found its runs and takes requests. */
  async isReady(options: RequestOptions = {}): Promise<boolean> {
    return (await this.ask("/readyz", options)).ok;
  }

  // How requests are sent

  /** For streams: the answer as it is, whatever its status. */
  private open(path: string, query: Record<string, QueryValue>, signal: AbortSignal): Promise<Response> {
    return this.ask(path, { query, headers: { Accept: "text/event-stream" }, signal });
  }

  private ask(path: string, sent: Sent): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(sent.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    const headers = new Headers();
    const token = this.token();
    if (token) headers.set("Authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(sent.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    const init: RequestInit = { method: sent.method ?? "GET", headers };
    if (sent.signal) init.signal = sent.signal;
    if (sent.form) {
      // fetch adds the type, with the boundary.
      init.body = sent.form;
    } else if (sent.json !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(sent.json);
    }
    const words = query.toString();
    return this.fetcher(this.base + path + (words ? `?${words}` : ""), init);
  }

  private async send(path: string, sent: Sent): Promise<Response> {
    const response = await this.ask(path, sent);
    if (!response.ok) throw await ProblemError.from(response);
    return response;
  }

  private async json<Answer>(path: string, sent: Sent): Promise<Answer> {
    return (await (await this.send(path, sent)).json()) as Answer;
  }

  private async blob(path: string, sent: Sent): Promise<Blob> {
    return (await this.send(path, sent)).blob();
  }
}

function of(run: string): string {
  return `/v1/runs/${encodeURIComponent(run)}`;
}

/** JSON alone, or a form when files come with it. */
function body(request: unknown, parts: [string, Blob][]): Pick<Sent, "json" | "form"> {
  if (parts.length === 0) return { json: request };
  return { form: form([["request", new Blob([JSON.stringify(request)], { type: "application/json" })], ...parts]) };
}

function form(parts: [string, Blob][]): FormData {
  const form = new FormData();
  for (const [name, part] of parts) form.append(name, part);
  return form;
}
