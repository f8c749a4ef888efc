//! The script: what is played, turn by turn. [`read`] makes it of YAML.

mod read;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value};
use skillrun_model::{ExecutionMode, ProfileId};

use super::formats;
use super::request::Request;
use super::template::{FillError, Source, Template, TemplateError};
use super::words::Life;

/// Largest file that is read.
pub(super) const MAX_BYTES: usize = 1 << 20;
pub(super) const MAX_TURNS: usize = 1_000;
/// Of all turns together.
pub(super) const MAX_ACTS: usize = 10_000;
pub(super) const MAX_VARIANTS: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    /// The session's name, where the script gives one.
    pub(super) session: Option<String>,
    /// Other turns for some runs; the first that fits a run is played in place of `turns`.
    pub(super) variants: Vec<Variant>,
    pub(super) turns: Vec<Turn>,
}

/// Turns for runs of one mode, or for those with a certain value. All that is said must hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variant {
    pub(super) given: Option<Source>,
    pub(super) mode: Option<ExecutionMode>,
    pub(super) turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) acts: Vec<Act>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    Say(String),
    Think(String),
    /// The fields of the question, as they are.
    Ask(Map<String, Value>),
    Tool(Tool),
    /// Asks whether a tool may be called, and waits for the answer.
    Permission {
        tool: String,
        input: Map<String, Value>,
    },
    /// Asks the owner of the run for another run, or about one.
    Delegate(Map<String, Value>),
    Write {
        path: PathBuf,
        content: String,
    },
    Output {
        object: Map<String, Value>,
        marker: Marker,
    },
    Sleep(Duration),
    Usage(Usage),
    Stderr(String),
    Raw(String),
    Fail(String),
    Limit(String),
    Exit(u8),
    End,
    Hang,
    Ignore(Vec<Signal>),
    Crash(Signal),
    Flood(u64),
    Cut(Cut),
    ExpectReply(String),
    EchoReply,
    EchoPrompt,
}

/// Whether an output says that all is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Done,
    Absent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) input: Map<String, Value>,
    pub(super) output: String,
    pub(super) status: ToolStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolStatus {
    Completed,
    Failed,
    /// It begins, and its end is never reported.
    Open,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
    pub(super) reasoning: u64,
}

/// How much of the next line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// This many bytes of it.
    After(usize),
    /// All but this many bytes of it, its newline counted.
    Before(usize),
}

impl Cut {
    /// How many bytes of a line stay.
    pub(super) fn kept(self, length: usize) -> usize {
        match self {
            Self::After(count) => count.min(length),
            Self::Before(count) => length.saturating_sub(count),
        }
    }
}

/// What an act does to the turn it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Belongs to the turn, so it cannot come after its end.
    Inside,
    /// May come at any time.
    Anywhere,
    /// Writes the end event; more may follow, but nothing of the turn.
    EndsTurn,
    /// Nothing is played after it.
    Last,
}

impl Act {
    /// The key it has in a script, what it does to its turn, and whether the engine names its session before it: an
    /// engine that dies at once has said nothing.
    fn rules(&self) -> (&'static str, Part, bool) {
        match self {
            Self::Say(_) => ("say", Part::Inside, true),
            Self::Think(_) => ("think", Part::Inside, true),
            Self::Ask(_) => ("ask", Part::Inside, true),
            Self::Tool(_) => ("tool", Part::Inside, true),
            Self::Permission { .. } => ("permission", Part::Inside, true),
            Self::Delegate(_) => ("delegate", Part::Inside, true),
            Self::Write { .. } => ("write", Part::Anywhere, true),
            Self::Output { .. } => ("output", Part::Inside, true),
            Self::Sleep(_) => ("sleep_ms", Part::Anywhere, true),
            Self::Usage(_) => ("usage", Part::Inside, true),
            Self::Stderr(_) => ("stderr", Part::Anywhere, false),
            Self::Raw(_) => ("raw", Part::Anywhere, true),
            Self::Fail(_) => ("fail", Part::EndsTurn, true),
            Self::Limit(_) => ("limit", Part::EndsTurn, true),
            Self::Exit(_) => ("exit", Part::Last, false),
            Self::End => ("end", Part::EndsTurn, true),
            Self::Hang => ("hang", Part::Last, true),
            Self::Ignore(_) => ("ignore", Part::Anywhere, false),
            Self::Crash(_) => ("crash", Part::Last, false),
            Self::Flood(_) => ("flood", Part::Anywhere, true),
            Self::Cut(_) => ("cut", Part::Anywhere, false),
            Self::ExpectReply(_) => ("expect_reply", Part::Anywhere, false),
            Self::EchoReply => ("echo_reply", Part::Inside, true),
            Self::EchoPrompt => ("echo_prompt", Part::Inside, true),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        self.rules().0
    }

    fn part(&self) -> Part {
        self.rules().1
    }

    pub(super) fn opens_turn(&self) -> bool {
        self.rules().2
    }

    /// Why it cannot be played so.
    fn problem(&self, profile: ProfileId, life: Life) -> Option<ScriptProblem> {
        let is_permission = matches!(self, Self::Permission { .. });
        if matches!(self, Self::Limit(_)) && !formats::has_limit_end(profile) {
            Some(ScriptProblem::NoLimitEnd(profile))
        } else if is_permission && !formats::asks_permission(profile) {
            Some(ScriptProblem::NoPermission(profile))
        } else if is_permission && life == Life::OneTurn {
            Some(ScriptProblem::NoAnswer)
        } else {
            None
        }
    }
}

impl Script {
    /// Repeats what the user said.
    pub(super) fn echo() -> Self {
        Self { session: None, variants: Vec::new(), turns: vec![Turn { acts: vec![Act::EchoReply] }] }
    }

    pub(super) fn read(yaml: &str) -> Result<Self, ScriptError> {
        read::script(yaml)
    }

    /// Refuses what the format cannot express, and what a process with that lifetime cannot do. What the format only
    /// does not show, as the real engine does not, is fine.
    pub(super) fn check(&self, profile: ProfileId, life: Life) -> Result<(), ScriptError> {
        check(&self.turns, profile, life)?;
        for (variant, number) in self.variants.iter().zip(1..) {
            check(&variant.turns, profile, life).map_err(|error| error.in_variant(number))?;
        }
        Ok(())
    }

    /// What is played for a run. Without one no variant fits.
    pub(super) fn turns_for(&self, request: Option<&Request>) -> &[Turn] {
        let fits = |variant: &&Variant| request.is_some_and(|request| variant.fits(request));
        self.variants.iter().find(fits).map_or(&self.turns, |variant| &variant.turns)
    }

    /// The slots of files that its templates name.
    pub(super) fn file_slots(&self) -> BTreeSet<String> {
        let mut slots = BTreeSet::new();
        let turns = self.variants.iter().flat_map(|variant| &variant.turns).chain(&self.turns);
        for act in turns.flat_map(|turn| &turn.acts) {
            let Ok(_) = act.filled(&mut |text| -> Result<Value, Infallible> {
                let template = Template::parse(text).ok();
                let sources = template.iter().flat_map(Template::placeholders).map(|placeholder| &placeholder.source);
                slots.extend(sources.filter_map(|source| match source {
                    Source::File(slot) => Some(slot.clone()),
                    Source::Reply
                    | Source::Prompt
                    | Source::Permission
                    | Source::Delegated(_)
                    | Source::Input(_)
                    | Source::Parameter(_) => None,
                }));
                Ok(Value::Null)
            });
        }
        slots
    }
}

impl Variant {
    fn fits(&self, request: &Request) -> bool {
        let is_given = match &self.given {
            None | Some(Source::Reply | Source::Prompt | Source::Permission | Source::Delegated(_)) => true,
            Some(Source::Input(key)) => request.input.contains_key(key),
            Some(Source::Parameter(key)) => request.parameter.contains_key(key),
            Some(Source::File(slot)) => request.files.contains_key(slot),
        };
        is_given && self.mode.is_none_or(|mode| request.mode == Some(mode))
    }
}

fn check(turns: &[Turn], profile: ProfileId, life: Life) -> Result<(), ScriptError> {
    for (turn, number) in turns.iter().zip(1..) {
        for (act, place) in turn.acts.iter().zip(1..) {
            if let Some(problem) = act.problem(profile, life) {
                let place = Place::Act { turn: number, act: place, word: Some(act.word().to_owned()) };
                return Err(ScriptError { place, problem });
            }
        }
    }
    Ok(())
}

/// Why a script cannot be played, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}")]
pub(super) struct ScriptError {
    pub(super) place: Place,
    pub(super) problem: ScriptProblem,
}

impl ScriptError {
    fn in_variant(self, number: usize) -> Self {
        Self { place: Place::Variant(number, Box::new(self.place)), ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Whole,
    /// Counted from 1, and the place in it.
    Variant(usize, Box<Self>),
    /// Counted from 1.
    Turn(usize),
    Act {
        turn: usize,
        act: usize,
        word: Option<String>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Variant(variant, place) => write!(f, "variant {variant}: {place}"),
            Self::Turn(turn) => write!(f, "turn {turn}: "),
            Self::Act { turn, act, word: None } => write!(f, "turn {turn}, act {act}: "),
            Self::Act { turn, act, word: Some(word) } => write!(f, "turn {turn}, act {act} ({word}): "),
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScriptProblem {
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it is not YAML that can be read ({0})")]
    NotYaml(String),
    #[error("a script is a list of turns, or a mapping with turns and optionally session and variants")]
    NoScript,
    #[error("variants are a list of mappings, each with turns and given, mode or both")]
    NoVariants,
    #[error("it has more than {MAX_VARIANTS} variants")]
    TooManyVariants,
    #[error("given needs input.NAME, parameter.NAME or file.SLOT")]
    BadGiven,
    #[error("mode needs auto, interactive or conversation")]
    BadMode,
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Fill(#[from] FillError),
    #[error("it has no turn")]
    NoTurn,
    #[error("it has more than {MAX_TURNS} turns")]
    TooManyTurns,
    #[error("it has more than {MAX_ACTS} acts")]
    TooManyActs,
    #[error("session needs 1 to 200 letters, digits, dots, colons, dashes and underscores, and no dash first")]
    BadSession,
    #[error("a turn is a list of acts")]
    NoTurnList,
    #[error("an act is one key with its value, or a word alone")]
    NoAct,
    #[error("there is no act {0}")]
    UnknownAct(String),
    #[error("it has no member {0}")]
    UnknownMember(String),
    #[error("it needs {0}")]
    Needs(&'static str),
    #[error("{0} is not a known signal")]
    UnknownSignal(String),
    #[error("{0} cannot be ignored")]
    Uncatchable(String),
    #[error("{0} does not lie inside of the working folder")]
    Outside(String),
    #[error("it comes after {0}, which ended the turn")]
    AfterEnd(&'static str),
    #[error("it comes after {0}, after which nothing is played")]
    AfterLast(&'static str),
    #[error("{0} has no limit end")]
    NoLimitEnd(ProfileId),
    #[error("{0} does not ask for permission")]
    NoPermission(ProfileId),
    #[error("its answer comes on stdin, to which only a --sticky engine listens")]
    NoAnswer,
}
