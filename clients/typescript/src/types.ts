// Plain names for what the service takes and gives. All of them come from src/generated/api.ts, which is made from
// the service's own types.
import type { components, operations } from "./generated/api.js";

type Schemas = components["schemas"];

/** One event of a conversation. `switch (event.type)` narrows `event.data`. */
export type FcmpEvent = Schemas["FcmpEvent"];
export type FcmpType = Schemas["FcmpType"];
/** The event of one type, or of one of several. */
export type FcmpEventOf<T extends FcmpType> = Extract<FcmpEvent, { type: T }>;

/** One event of the Log. TypeScript does not look into `event.event.type`; {@link isRasp} does. */
export type RaspEvent = Schemas["RaspEvent"];
export type RaspType = Schemas["EventType"];
export type RaspEventOf<T extends RaspType> = Extract<RaspEvent, { event: { type: T } }>;

/** Whether an event of the Log is of this type. */
export function isRasp<T extends RaspType>(event: RaspEvent, type: T): event is RaspEventOf<T> {
  return event.event.type === type;
}

export type Run = Schemas["Run"];
export type RunSummary = Schemas["RunSummary"];
export type RunStatus = Schemas["RunStatus"];
export type RunResult = Schemas["RunResult"];
export type RunError = Schemas["RunError"];
export type RunList = Schemas["RunList"];
export type RunTree = Schemas["RunTree"];
export type FamilyDiagnosis = Schemas["FamilyDiagnosis"];
export type CreateRun = Schemas["CreateRun"];
export type ContinueRun = Schemas["ContinueRun"];
export type Continues = Schemas["Continues"];
export type RetryRun = Schemas["RetryRun"];
export type RunRequest = Schemas["RunRequest"];
export type RunOptions = Schemas["RunOptions"];
/** What the box of a run holds, by what, and what it does not hold. */
export type BoxReport = Schemas["BoxReport"];
export type BoxPart = Schemas["BoxPart"];
export type Interaction = Schemas["Interaction"];
export type AskOption = Schemas["AskOption"];
export type InteractionList = Schemas["InteractionList"];
export type OpenInteractionList = Schemas["OpenInteractionList"];
export type Reply = Schemas["Reply"];
export type ArtifactList = Schemas["ArtifactList"];
export type Attempt = Schemas["Attempt"];
export type AttemptList = Schemas["AttemptList"];
export type Asked = Schemas["Asked"];
export type Code = Schemas["Code"];
export type NextAction = Schemas["NextAction"];
export type NextActionKind = Schemas["NextActionKind"];
export type Rule = Schemas["Rule"];
export type WaitingRun = Schemas["WaitingRun"];
export type WorkflowView = Schemas["WorkflowView"];
export type CreateWorkflow = Schemas["CreateWorkflow"];
export type CheckWorkflow = Schemas["CheckWorkflow"];
export type RetryWorkflow = Schemas["RetryWorkflow"];
export type WorkflowCheck = Schemas["WorkflowCheck"];
export type WorkflowInput = Schemas["PlannedInput"];
export type WorkflowOutcome = Schemas["WorkflowOutcome"];
export type WorkflowResult = Schemas["WorkflowResult"];
export type StepView = Schemas["StepView"];
export type StepItemView = Schemas["StepItemView"];
export type StepStanding = Schemas["StepStanding"];
export type StepState = Schemas["StepState"];
export type WorkspaceChange = Schemas["WorkspaceChange"];
export type Engine = Schemas["Engine"];
export type DeliveryList = Schemas["DeliveryList"];
export type Diagnosis = Schemas["Diagnosis"];
export type Replay = Schemas["ReplayView"];
export type TurnState = Schemas["TurnState"];
export type Verification = Schemas["Verification"];
export type Diff = Schemas["Diff"];
export type ApplyChanges = Schemas["ApplyChanges"];
export type ApplyReport = Schemas["ApplyReport"];
export type Download = Schemas["Download"];
export type Session = Schemas["Session"];
export type EngineList = Schemas["EngineList"];
export type Skill = Schemas["Skill"];
export type SkillCheck = Schemas["SkillCheck"];
export type PatchedSkill = Schemas["PatchedSkill"];
export type SkillList = Schemas["SkillList"];
export type Problem = Schemas["Problem"];
export type ProblemCode = Schemas["ProblemCode"];

/** A page of a history. */
export type Page<Event> = Schemas["PageFoot"] & { events: Event[] };
export type EventsAt = { events: RaspEvent[]; cut: boolean };

/** Events in columns: what stands at one place in each of them is about one event. */
export type Outline = Schemas["Outline"];

type Query<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;
export type ListRunsQuery = Query<"list_runs">;
export type OpenInteractionsQuery = Query<"list_open_interactions">;
export type EventsHistoryQuery = Query<"events_history">;
export type ChatHistoryQuery = Query<"chat_history">;
export type EventsAtQuery = Query<"events_at">;
export type PatchedSkillQuery = Query<"get_patched_skill">;
export type OutlineQuery = Query<"events_outline">;
export type ReplayQuery = Query<"replay_run">;
export type RawQuery = Query<"get_raw">;
export type Taxonomy = NonNullable<Query<"stream_events">["taxonomy"]>;
