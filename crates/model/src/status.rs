//! What a run, a turn, a completion and a process can be. Wire names never change spelling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An enum with a word for each variant: the list of its variants, and the word of one.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $(#[$meta])*
        $vis enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)+];

            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// A [`word_enum`] whose words are on the wire.
macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $wire:literal,)+ }) => {
        $crate::word_enum! {
            #[derive(Serialize, Deserialize, JsonSchema)]
            $(#[$meta])*
            pub $name { $($(#[$vmeta])* #[serde(rename = $wire)] $variant = $wire,)+ }
        }

        impl std::str::FromStr for $name {
            type Err = crate::status::UnknownWord;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == s).ok_or_else(|| crate::status::UnknownWord {
                    given: s.to_owned(),
                    known: Self::ALL.iter().map(|v| v.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use wire_enum;

/// A value that is not in a closed list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not one of: {known}")]
pub struct UnknownWord {
    pub given: String,
    pub known: String,
}

wire_enum! {
    /// Status of a run. The last four are terminal and final.
    RunStatus {
        Queued = "queued",
        Running = "running",
        WaitingUser = "waiting_user",
        Succeeded = "succeeded",
        /// The user has closed the conversation. Its turns have states of their own; the run is not called a success.
        Closed = "closed",
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl RunStatus {
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::WaitingUser => false,
            Self::Succeeded | Self::Closed | Self::Failed | Self::Canceled => true,
        }
    }
}

wire_enum! {
    /// How a turn ended; exactly one per attempt, written once.
    TurnState {
        Completed = "completed",
        PartialFailed = "partial_failed",
        Failed = "failed",
        Interrupted = "interrupted",
        TimedOut = "timed_out",
    }
}

wire_enum! {
    /// What a turn means for the skill's work.
    CompletionState {
        Completed = "completed",
        AwaitingUserInput = "awaiting_user_input",
        Interrupted = "interrupted",
        Unknown = "unknown",
    }
}

wire_enum! {
    /// Whether the agent may ask the user questions, and what the end of a turn means.
    ExecutionMode {
        /// The agent works without a user.
        Auto = "auto",
        /// The agent may ask questions, and waits for answers.
        Interactive = "interactive",
        /// The user and the agent talk over many turns. However a turn ends, the run waits for the next prompt.
        Conversation = "conversation",
    }
}

wire_enum! {
    /// What happens to a run whose engine has no quota left.
    OnQuota {
        /// The run stays failed.
        Fail = "fail",
        /// A new run with the same request waits until the quota is available again.
        Wait = "wait",
    }
}

wire_enum! {
    /// Why the process of an attempt ended, as its host recorded it.
    EndedBy {
        /// By itself: with an exit code, or by a signal that the host did not send.
        Exited = "exited",
        HardTimeout = "hard_timeout",
        Stall = "stall",
        /// The host ended it after its success end.
        Linger = "linger",
        /// A question was still unanswered at its deadline, and no policy decides it.
        WaitTimeout = "wait_timeout",
        Canceled = "canceled",
        /// The user has interrupted the turn. As an act of the host it need not end the process.
        Interrupted = "interrupted",
        /// The byte budget of the evidence was used up.
        Budget = "budget",
        /// The processes used more memory than the run allows.
        MemoryLimit = "memory_limit",
        /// There were more processes than the run allows.
        ProcessLimit = "process_limit",
        /// The processes used more processor time than the run allows.
        CpuLimit = "cpu_limit",
        /// The processes wrote more to the disk than the run allows.
        DiskLimit = "disk_limit",
        HostError = "host_error",
        HostLost = "host_lost",
        NotStarted = "not_started",
    }
}

wire_enum! {
    /// How the streams of an engine are connected.
    Wiring {
        Pipes = "pipes",
        /// A terminal for each stream, and a controlling one, so that the streams stay apart.
        SplitPty = "split_pty",
        /// One terminal for everything, as in an interactive shell.
        OnePty = "one_pty",
    }
}

wire_enum! {
    /// What an engine gets as its standard input.
    StdinKind {
        /// `/dev/null`
        Null = "null",
        Pipe = "pipe",
        Tty = "tty",
        /// A pipe with the content of a file, closed after it.
        File = "file",
    }
}

wire_enum! {
    /// What a `run.status` made from engine output reports; a closed list, and not a state of the run.
    Phase {
        SessionStarted = "session_started",
        InputReceived = "input_received",
        TurnStarted = "turn_started",
        TurnCompleted = "turn_completed",
        TurnFailed = "turn_failed",
        StepStarted = "step_started",
        StepFinished = "step_finished",
        Planning = "planning",
        Streaming = "streaming",
        Retrying = "retrying",
        Working = "working",
        Subagent = "subagent",
        Canceling = "canceling",
        Interrupting = "interrupting",
        Closing = "closing",
        ProcessEnded = "process_ended",
        /// The time of a workflow is over.
        TimeUp = "time_up",
        /// The turn is settled, and skillrun runs the check that is named.
        Checking = "checking",
    }
}

wire_enum! {
    /// Whether a later turn can continue in the same session.
    Continuation {
        Resumable = "resumable",
        /// Written as `sticky`; `sticky_process`, the word of the source documents, is accepted too.
        #[serde(alias = "sticky_process")]
        Sticky = "sticky",
        None = "none",
    }
}

impl Continuation {
    /// Another word for `sticky` that is accepted wherever a continuation is given.
    pub const STICKY_ALIAS: &'static str = "sticky_process";
}

wire_enum! {
    /// What an engine may do without asking.
    Permission {
        /// Write in the workspace and run commands there.
        Workspace = "workspace",
        ReadOnly = "read_only",
        /// Everything that the user may do.
        Full = "full",
    }
}

wire_enum! {
    /// Whether an engine is held to a permission.
    Posture {
        /// A sandbox prevents everything else, or the engine has no tool for it.
        Enforced = "enforced",
        /// The engine asks before everything else, and is refused when no answer comes.
        Asked = "asked",
        /// Nothing restricts it.
        NotEnforced = "not_enforced",
    }
}
