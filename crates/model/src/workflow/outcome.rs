//! How steps and workflows end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::status::{RunStatus, wire_enum};

wire_enum! {
    /// How a step ended, and so each item of a step that repeats.
    StepState {
        /// Its run succeeded, and its output and its checks are as they must be. Only such a step unlocks others.
        Ready = "ready",
        /// Its run succeeded, but a required artifact is missing, or its output says that it is partial.
        Partial = "partial",
        Failed = "failed",
        TimedOut = "timed_out",
        /// It needed a decision, and the question was closed without one.
        Held = "held",
        Cancelled = "cancelled",
        /// It never began.
        Skipped = "skipped",
    }
}

wire_enum! {
    /// How a workflow ended.
    WorkflowOutcome {
        /// Every required step is ready.
        Completed = "completed",
        /// At least one step left something that can be used.
        Partial = "partial",
        Failed = "failed",
        TimedOut = "timed_out",
        /// It needed a decision that was not made.
        Held = "held",
        Cancelled = "cancelled",
    }
}

impl WorkflowOutcome {
    /// True for a completed workflow alone.
    pub fn is_ok(self) -> bool {
        match self {
            Self::Completed => true,
            Self::Partial | Self::Failed | Self::TimedOut | Self::Held | Self::Cancelled => false,
        }
    }

    /// The status of its run.
    pub fn run_status(self) -> RunStatus {
        match self {
            Self::Completed => RunStatus::Succeeded,
            Self::Partial | Self::Failed | Self::TimedOut | Self::Held => RunStatus::Failed,
            Self::Cancelled => RunStatus::Canceled,
        }
    }

    /// The reason in the end event of its run.
    pub fn reason(self) -> Code {
        match self {
            Self::Completed => Code::WorkflowCompleted,
            Self::Partial => Code::WorkflowPartial,
            Self::Failed => Code::WorkflowFailed,
            Self::TimedOut => Code::WorkflowTimedOut,
            Self::Held => Code::WorkflowHeld,
            Self::Cancelled => Code::Canceled,
        }
    }

    /// Its name in source 002, where that has another one beside it.
    pub fn readiness(self) -> &'static str {
        match self {
            Self::Completed => "completion_ready",
            Self::Partial => "partial_outcome_ready",
            Self::Held => "needs_orchestrator",
            Self::Failed | Self::TimedOut | Self::Cancelled => self.as_str(),
        }
    }
}

wire_enum! {
    /// Why a step waits for a decision of the user.
    HoldReason {
        /// The file says that it asks before it begins.
        Before = "before",
        /// The file says that it asks before its result counts.
        After = "after",
        /// It failed, and the file says that the user decides what follows.
        Failure = "failure",
    }
}

wire_enum! {
    /// A cause for which a step may be tried again: none of them can repeat a side effect of an agent.
    RetryCause {
        /// The quota of the engine is used up. The next try waits until it is available again.
        Quota = "quota",
        /// The service of the engine could not be reached.
        Network = "network",
        /// The process of the engine was lost before it began.
        HostLost = "host_lost",
    }
}
