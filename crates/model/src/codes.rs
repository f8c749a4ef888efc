//! Every code that the program can report. Each has a page in `codes/NAME.md`, which `skillrun explain NAME` prints; a
//! code without a page does not compile.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::wire_enum;

macro_rules! codes {
    ($($(#[$meta:meta])* $variant:ident = $wire:literal,)+) => {
        $crate::word_enum! {
            /// A code: why a turn ended, what went wrong, or what was observed.
            #[derive(Serialize, Deserialize, JsonSchema)]
            pub Code { $($(#[$meta])* #[serde(rename = $wire)] $variant = $wire,)+ }
        }

        impl Code {
            /// The page that explains this code, Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("../codes/", $wire, ".md")),)+ }
            }
        }
    };
}

codes! {
    // Why a turn ended (reason codes of the gate, contract R3.5).
    Canceled = "CANCELED",
    Interrupted = "INTERRUPTED",
    LimitReached = "LIMIT_REACHED",
    EngineFailed = "ENGINE_FAILED",
    DoneMarkerOutputInvalid = "DONE_MARKER_OUTPUT_INVALID",
    DoneMarkerFound = "DONE_MARKER_FOUND",
    Timeout = "TIMEOUT",
    AttemptLost = "ATTEMPT_LOST",
    EvidenceBudget = "EVIDENCE_BUDGET",
    MemoryLimit = "MEMORY_LIMIT",
    ProcessLimit = "PROCESS_LIMIT",
    CpuLimit = "CPU_LIMIT",
    DiskLimit = "DISK_LIMIT",
    HostError = "HOST_ERROR",
    EngineNotFound = "ENGINE_NOT_FOUND",
    EngineNotStarted = "ENGINE_NOT_STARTED",
    EngineEndMissing = "ENGINE_END_MISSING",
    ExitUnknown = "EXIT_UNKNOWN",
    AnswerMissing = "ANSWER_MISSING",
    AgentNotDone = "AGENT_NOT_DONE",
    OutputValid = "OUTPUT_VALID",
    CleanFinal = "CLEAN_FINAL",
    OutputMissing = "OUTPUT_MISSING",
    OutputInvalid = "OUTPUT_INVALID",
    TurnEndedWithoutMarker = "TURN_ENDED_WITHOUT_MARKER",

    // Why a conversation ended.
    Closed = "CLOSED",

    // Errors whose code differs from the reason.
    OutputSchemaInvalid = "OUTPUT_SCHEMA_INVALID",
    DoneMarkerMissing = "DONE_MARKER_MISSING",
    EngineExitNonzero = "ENGINE_EXIT_NONZERO",
    InteractiveMaxAttemptExceeded = "INTERACTIVE_MAX_ATTEMPT_EXCEEDED",
    SessionIdMissing = "SESSION_ID_MISSING",
    InputChanged = "INPUT_CHANGED",
    SessionNotFound = "SESSION_NOT_FOUND",
    SessionLost = "SESSION_LOST",
    InteractionWaitTimeout = "INTERACTION_WAIT_TIMEOUT",
    InteractionAbortedByPolicy = "INTERACTION_ABORTED_BY_POLICY",
    AutoDecisionLimit = "AUTO_DECISION_LIMIT",
    SkillUnreadable = "SKILL_UNREADABLE",
    WorkspaceFailed = "WORKSPACE_FAILED",
    CheckFailed = "CHECK_FAILED",
    LogLost = "LOG_LOST",

    // What a run records of its children.
    ChildNotMade = "CHILD_NOT_MADE",
    ParentEnded = "PARENT_ENDED",

    // How a workflow and its steps ended.
    WorkflowCompleted = "WORKFLOW_COMPLETED",
    WorkflowPartial = "WORKFLOW_PARTIAL",
    WorkflowFailed = "WORKFLOW_FAILED",
    WorkflowTimedOut = "WORKFLOW_TIMED_OUT",
    WorkflowHeld = "WORKFLOW_HELD",
    StepNotReady = "STEP_NOT_READY",
    StepNotNeeded = "STEP_NOT_NEEDED",
    StepInputInvalid = "STEP_INPUT_INVALID",
    StepOutputInvalid = "STEP_OUTPUT_INVALID",
    OutputPartial = "OUTPUT_PARTIAL",
    StepRejected = "STEP_REJECTED",

    // Warnings of a verdict.
    ExitNonzeroAfterDone = "EXIT_NONZERO_AFTER_DONE",
    WrapperEnded = "WRAPPER_ENDED",
    LingerEnded = "LINGER_ENDED",
    HostLostAfterDone = "HOST_LOST_AFTER_DONE",
    CompletedWithoutDoneMarker = "COMPLETED_WITHOUT_DONE_MARKER",
    InteractiveCompletedWithoutDoneMarker = "INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER",

    // Diagnostics of the gate.
    EndEventCut = "END_EVENT_CUT",
    UnexpectedCompletionState = "UNEXPECTED_COMPLETION_STATE",
    DoneMarkerInRaw = "DONE_MARKER_IN_RAW",
    DoneMarkerMalformed = "DONE_MARKER_MALFORMED",
    DoneMarkerFalse = "DONE_MARKER_FALSE",
    DoneMarkerBeforeWork = "DONE_MARKER_BEFORE_WORK",
    OutputBeforeWork = "OUTPUT_BEFORE_WORK",
    DoneMarkerRepeated = "DONE_MARKER_REPEATED",
    OutputTooLarge = "OUTPUT_TOO_LARGE",
    AskUserMalformed = "ASK_USER_MALFORMED",
    AskUserIgnored = "ASK_USER_IGNORED",
    AskUserKindUnknown = "ASK_USER_KIND_UNKNOWN",
    AskUserPolicyUnknown = "ASK_USER_POLICY_UNKNOWN",
    AskUserOptionUnreadable = "ASK_USER_OPTION_UNREADABLE",

    // Diagnostics of the parsers.
    UnknownEvent = "UNKNOWN_EVENT",
    LowConfidenceParse = "LOW_CONFIDENCE_PARSE",
    RawFlood = "RAW_FLOOD",
    LineTooLong = "LINE_TOO_LONG",
    DocumentUnclosed = "DOCUMENT_UNCLOSED",
    MessageVoided = "MESSAGE_VOIDED",
    PtyStreamMismatch = "PTY_STREAM_MISMATCH",
    ToolCallsCut = "TOOL_CALLS_CUT",
    EngineVersionUntested = "ENGINE_VERSION_UNTESTED",

    // What was found in the workspace before the start.
    WorkspaceSettingsIgnored = "WORKSPACE_SETTINGS_IGNORED",
    WorkspaceSettingsNotStopped = "WORKSPACE_SETTINGS_NOT_STOPPED",
    WorkspaceCredentials = "WORKSPACE_CREDENTIALS",

    // Diagnostics of the host.
    PipeSmall = "PIPE_SMALL",
    SecretShort = "SECRET_SHORT",
    SecretInFileName = "SECRET_IN_FILE_NAME",
    SnapshotFailed = "SNAPSHOT_FAILED",
    SnapshotLimited = "SNAPSHOT_LIMITED",
    SurvivorsEnded = "SURVIVORS_ENDED",
    ConnectionRefused = "CONNECTION_REFUSED",
    SurvivorsLeft = "SURVIVORS_LEFT",

    // The user's login after an attempt.
    LoginNotKept = "LOGIN_NOT_KEPT",
    LoginCopiedBack = "LOGIN_COPIED_BACK",
    LoginOtherAccount = "LOGIN_OTHER_ACCOUNT",

    // Problems with the artifacts of an attempt.
    ArtifactsCut = "ARTIFACTS_CUT",
    ArtifactMissing = "ARTIFACT_MISSING",
    ArtifactHardLink = "ARTIFACT_HARD_LINK",

    // Reports of the engine about itself.
    EngineError = "ENGINE_ERROR",
    EngineRetry = "ENGINE_RETRY",
    EngineWarning = "ENGINE_WARNING",
    McpServerFailed = "MCP_SERVER_FAILED",

    // Diagnostics of readers of evidence and views.
    AttemptMissing = "ATTEMPT_MISSING",
    AfterTerminal = "AFTER_TERMINAL",
    MetaMissing = "META_MISSING",
    ChunkIndexTorn = "CHUNK_INDEX_TORN",
    MaskIncomplete = "MASK_INCOMPLETE",
    ParserChanged = "PARSER_CHANGED",
    EventsNotLogged = "EVENTS_NOT_LOGGED",
    RawDuplicateSuppressed = "RAW_DUPLICATE_SUPPRESSED",
}

impl Code {
    /// The first sentence of the page, for a terminal.
    pub fn summary(self) -> &'static str {
        self.page().lines().find(|l| !l.is_empty() && !l.starts_with('#')).unwrap_or_default()
    }
}

/// There is no such code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no code \"{0}\"")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|c| c.as_str().eq_ignore_ascii_case(s)).ok_or_else(|| UnknownCode(s.to_owned()))
    }
}

wire_enum! {
    /// The part that an error belongs to, roughly; shows the user where to look.
    ErrorCategory {
        Usage = "usage",
        Input = "input",
        Skill = "skill",
        Engine = "engine",
        Auth = "auth",
        Quota = "quota",
        Network = "network",
        Session = "session",
        Output = "output",
        Interaction = "interaction",
        Workflow = "workflow",
        Timeout = "timeout",
        Canceled = "canceled",
        Host = "host",
        Internal = "internal",
    }
}

wire_enum! {
    /// What the user can do next.
    NextActionKind {
        Reply = "reply",
        Close = "close",
        Retry = "retry",
        RetryLater = "retry_later",
        RetryOtherEngine = "retry_other_engine",
        ChooseModel = "choose_model",
        RaiseTimeout = "raise_timeout",
        RaiseMaxAttempt = "raise_max_attempt",
        FixOutput = "fix_output",
        FixSkill = "fix_skill",
        FixInput = "fix_input",
        LoginEngine = "login_engine",
        InstallEngine = "install_engine",
        InspectEvidence = "inspect_evidence",
        Diagnose = "diagnose",
        FreeDisk = "free_disk",
        RetryFailedSteps = "retry_failed_steps",
        ShowWorkflow = "show_workflow",
    }
}

/// A next action with the command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextAction {
    pub action: NextActionKind,
    pub command: String,
}
