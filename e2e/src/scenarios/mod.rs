//! What is tried on every engine, one file each; some only on agents that stay. A scenario knows no engine: where one
//! may differ stands in `engines.rs`.

pub(crate) mod asked;
mod auto;
mod cancel;
mod commentary;
mod cut;
mod delegate;
mod errors;
mod fenced;
mod handover;
mod hostile;
mod idle;
mod interactive;
mod interrupt;
mod matrix;
mod outside;
mod question;
mod reload;
mod restart;
pub(crate) mod skill;
pub(crate) mod talk;
mod turns;
pub(crate) mod workflow;

use std::time::Duration;

use skillrun_model::word_enum;
use skillrun_simulate::model::Scenario as Play;

use crate::engines::{Engine, Group};
use crate::problem::Miss;
use crate::trial::Trial;

word_enum! {
    /// In the order of the table.
    pub(crate) Scenario {
        Auto = "auto",
        Commentary = "commentary",
        Interactive = "interactive",
        Fenced = "fenced",
        Unauthorized = "401",
        Quota = "429",
        Cut = "cut",
        Cancel = "cancel",
        Restart = "restart",
        Skill = "skill",
        Outside = "outside",
        Hostile = "hostile-workspace",
        Turns = "turns",
        Interrupt = "interrupt",
        Continue = "continue",
        Delegate = "delegate",
        Repeated = "repeated",
        Workflow = "workflow",
        Asked = "asked",
        Denied = "denied",
        Waits = "waits",
        Expires = "expires",
        Decided = "decided",
        Resumed = "resumed",
        Reload = "reload",
        Idle = "idle",
    }
}

impl Scenario {
    /// What is tried in a hurry.
    pub(crate) const QUICK: &'static [Self] = &[Self::Auto, Self::Interactive];

    /// Whether it is made for the engines of a group.
    pub(crate) fn is_for(self, group: Group) -> bool {
        let is_for_agents = matches!(
            self,
            Self::Asked
                | Self::Denied
                | Self::Waits
                | Self::Expires
                | Self::Decided
                | Self::Resumed
                | Self::Reload
                | Self::Idle
        );
        group == Group::Agents || !is_for_agents
    }

    /// Whether a box holds what it does: it reads a file outside, or the agent asks before it writes what a box of
    /// `read_only` cannot write.
    pub(crate) fn is_outside_of_boxes(self) -> bool {
        matches!(self, Self::Workflow | Self::Asked | Self::Denied)
    }

    /// What a reader of the table should know.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Auto => "a command, then the result",
            Self::Commentary => {
                "two texts with example objects and two commands before the result; the result is the last object"
            }
            Self::Interactive => "three questions, each answered with `skillrun reply`: four attempts, one session",
            Self::Fenced => "the result in a fenced block within prose",
            Self::Unauthorized => "the key is refused: failed, category `auth`",
            Self::Quota => "every request is answered with 429: failed in bounded time, category `quota`",
            Self::Cut => "the connection breaks in the middle of the answer: never a false success",
            Self::Cancel => "canceled while a command runs: the run is canceled, and no process remains",
            Self::Restart => {
                "skillrun is killed during the run and `skillrun recover` takes over: the verdict is the same"
            }
            Self::Skill => {
                "`examples/skills/report-on-table`: output and artifacts, `result.json` of the same shape on all engines"
            }
            Self::Outside => {
                "addresses other than loopback that the engine or its commands tried to reach; there must be none"
            }
            Self::Hostile => {
                "files of the workspace name servers, hooks, commands and addresses: none is started or used, warnings name \
                 them, and the skill and the instructions of the repository are read; a plugin of opencode is refused"
            }
            Self::Turns => {
                "a conversation: in its second turn every request is answered with 500 until the engine gives up; the \
                 third turn completes in the same session"
            }
            Self::Interrupt => {
                "a conversation: its second turn is interrupted while a command runs; the command does not remain, and \
                 the third turn completes in the same session"
            }
            Self::Continue => {
                "a conversation with a good turn and one that breaks after a message; `skillrun continue` on the engine of \
                 the next column, after the last one on that of the first: its model receives the good answer and the \
                 commands, and not the message of the broken turn"
            }
            Self::Delegate => {
                "a run that may delegate: its model calls `spawn_run`, `wait_runs` and `read_result` of skillrun's MCP \
                 server; the child runs on the same engine, and the answer of the parent contains that of the child"
            }
            Self::Repeated => {
                "the same, but the engine ends the first wait after five seconds, and the model repeats all of its calls: \
                 there is one child"
            }
            Self::Workflow => {
                "a workflow with three steps, on this engine and those of the next two columns: a check of the second step \
                 fails, and `skillrun workflow retry --from-failed` takes the first step over and completes the others; \
                 `workflow show`, `result` and `diagnose` agree"
            }
            Self::Asked => {
                "the agent asks before it writes a file; the options of the question are those that the agent offers, and after \
                 `skillrun reply RUN allow` the file exists and the turn continues"
            }
            Self::Denied => {
                "the same in auto mode with `--permission read_only`: denied by the permission, the file is not written, \
                 and the end of the run depends on how the agent reacts"
            }
            Self::Waits => {
                "an answer is required, one process per turn: the run waits without a process, and the answer loads \
                 the session"
            }
            Self::Expires => {
                "an answer is required, the process stays: after the timeout it is ended, and the run fails with \
                 `INTERACTION_WAIT_TIMEOUT`"
            }
            Self::Decided => {
                "no answer is required, the process stays: after the timeout it receives the automatic answer and \
                 continues"
            }
            Self::Resumed => {
                "no answer is required, one process per turn: after the timeout a new process loads the session and \
                 receives the automatic answer"
            }
            Self::Reload => {
                "the agent is killed while it waits: the run keeps waiting, and the answer loads the session in a new \
                 process"
            }
            Self::Idle => {
                "a conversation without a prompt for longer than `idle_sec`: the process is ended, and the next prompt \
                 loads the session in a new process"
            }
        }
    }

    /// What the model does.
    pub(crate) fn model(self, engine: &Engine) -> String {
        let play = match self {
            Self::Auto | Self::Outside | Self::Hostile => Play::Auto,
            Self::Commentary => Play::Commentary,
            Self::Interactive => Play::Multi,
            Self::Fenced => Play::AutoFenced,
            Self::Unauthorized => Play::Err401,
            Self::Quota => Play::Err429,
            Self::Cut => Play::Cut,
            Self::Cancel => Play::SleepTool,
            Self::Restart => Play::Slow,
            Self::Waits | Self::Expires | Self::Decided | Self::Resumed | Self::Reload => Play::Interactive,
            Self::Turns
            | Self::Interrupt
            | Self::Continue
            | Self::Idle
            | Self::Delegate
            | Self::Repeated
            | Self::Workflow => {
                return format!("{}.{}-{}", Play::Ordered, engine.name, self.as_str());
            }
            Self::Skill => return format!("{}.{}", Play::Script, skill::SCRIPT),
            Self::Asked | Self::Denied => return format!("{}.{}", Play::Script, engine.writing().script()),
        };
        play.to_string()
    }

    /// A program without which it cannot be tried.
    pub(crate) fn needs(self) -> Option<&'static str> {
        (self == Self::Outside).then_some(outside::TRACER)
    }

    /// It has failed if it takes longer. An engine that retries is silent for a minute and more, and a busy machine
    /// makes everything several times slower.
    pub(crate) fn bound(self) -> Duration {
        let seconds = match self {
            Self::Auto | Self::Commentary | Self::Fenced | Self::Unauthorized | Self::Skill => 90,
            Self::Quota | Self::Cancel | Self::Asked | Self::Denied | Self::Expires | Self::Decided => 120,
            Self::Interactive | Self::Cut | Self::Restart | Self::Outside | Self::Hostile => 180,
            Self::Waits | Self::Resumed | Self::Reload | Self::Interrupt | Self::Idle => 180,
            // Three engines retry a server that fails for up to 150 s.
            Self::Turns | Self::Continue => 300,
            // Two processes of the engine, one after the other.
            Self::Delegate | Self::Repeated => 240,
            // Four processes of engines, one after the other.
            Self::Workflow => 300,
        };
        Duration::from_secs(seconds)
    }

    pub(crate) fn check(self, trial: &Trial<'_>) -> Result<(), Miss> {
        match self {
            Self::Auto => auto::check(trial),
            Self::Commentary => commentary::check(trial),
            Self::Interactive => interactive::check(trial),
            Self::Fenced => fenced::check(trial),
            Self::Unauthorized => errors::unauthorized(trial),
            Self::Quota => errors::quota(trial),
            Self::Cut => cut::check(trial),
            Self::Cancel => cancel::check(trial),
            Self::Restart => restart::check(trial),
            Self::Skill => skill::check(trial),
            Self::Outside => outside::check(trial),
            Self::Hostile => hostile::check(trial),
            Self::Asked => asked::allowed(trial),
            Self::Denied => asked::denied(trial),
            Self::Waits => matrix::waits(trial),
            Self::Expires => matrix::expires(trial),
            Self::Decided => matrix::decided(trial),
            Self::Resumed => matrix::resumed(trial),
            Self::Reload => reload::check(trial),
            Self::Turns => turns::check(trial),
            Self::Interrupt => interrupt::check(trial),
            Self::Continue => handover::check(trial),
            Self::Idle => idle::check(trial),
            Self::Delegate => delegate::check(trial),
            Self::Repeated => delegate::repeated(trial),
            Self::Workflow => workflow::check(trial),
        }
    }
}
