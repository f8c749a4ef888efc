//! What the model answers: decided from the request alone, except where something is done once.

use serde_json::{Map, Value};

use super::artifact;
use super::asked::Asked;
use super::mcp;
use super::memory::Memory;
use super::order::Order;
use super::scenario::{Choice, Scenario};
use super::script::{Script, Turn};
use super::shell::{self, Call};
use super::texts;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(String),
    Tool(Call),
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    Length,
    Refused(Refusal),
}

/// How an API says that the model will not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It begins to say so, then the filter.
    Said,
    /// In the field the API has for it, or as a refused prompt.
    Withheld,
    /// The filter alone.
    Silent,
}

/// What becomes of a stream in the middle of its first text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Whole,
    /// The connection is closed.
    Cut,
    /// The body ends as it should, and nothing says why.
    Ended,
}

/// How JSON is written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// Escapes alone, and U+E000 to U+E7FF as the halves of surrogate pairs, which no string here can hold.
    Halves,
}

/// The pause after a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    None,
    Short,
    Slow,
}

/// Whether texts say if they are commentary or the answer, where the API can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phases {
    Untold,
    Told,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) thought: Option<&'static str>,
    pub(super) blocks: Vec<Block>,
    pub(super) finish: Finish,
    pub(super) fate: Fate,
    pub(super) pieces: usize,
    pub(super) pace: Pace,
    pub(super) encoding: Encoding,
    pub(super) phases: Phases,
}

impl Plan {
    fn new(blocks: Vec<Block>) -> Self {
        Self {
            thought: None,
            blocks,
            finish: Finish::Stop,
            fate: Fate::Whole,
            pieces: 6,
            pace: Pace::Short,
            encoding: Encoding::Utf8,
            phases: Phases::Untold,
        }
    }

    fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Block::Text(text.into())])
    }

    fn done() -> Self {
        Self::text(texts::done())
    }

    fn ending(self, finish: Finish) -> Self {
        Self { finish, ..self }
    }

    fn meeting(self, fate: Fate) -> Self {
        Self { fate, ..self }
    }

    fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces, ..self }
    }

    pub(super) fn calls_tools(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Tool(_)))
    }
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    Answer(Plan),
    Error(Failure),
}

/// An HTTP error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) limit: Limit,
    /// Sent with 429.
    pub(super) wait_seconds: u32,
}

/// What there was too much of, with 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Requests in a short time.
    Rate,
    /// All that the plan has for hours.
    Plan,
}

/// The longest text that `long<N>k` gives, in kB.
const LONG_MAX: usize = 8_000;
/// Seconds that `err429` asks the client to wait unless a number is given.
const WAIT_SECONDS: u32 = 1;
/// Seconds that `quota` asks the client to wait unless a number is given.
const QUOTA_SECONDS: u32 = 3600;

fn failure(status: u16) -> Decision {
    Decision::Error(Failure { status, limit: Limit::Rate, wait_seconds: WAIT_SECONDS })
}

pub(super) fn decide(choice: &Choice, asked: &Asked, script: Option<&Script>, memory: &mut Memory) -> Decision {
    let fails = matches!(
        choice.scenario,
        Scenario::Err400 | Scenario::Err401 | Scenario::Err429 | Scenario::Quota | Scenario::Err500
    );
    if asked.tools.is_empty() && !fails {
        // Titles, routes, memories: requests for those take no part in the scenario.
        return Decision::Answer(Plan::text(if asked.wants_json { texts::SIDE_OBJECT } else { texts::TITLE }));
    }
    let too_many = |limit: Limit, usual: u32| {
        let wait_seconds = choice.key.as_deref().and_then(|key| key.parse().ok()).unwrap_or(usual);
        Decision::Error(Failure { status: 429, limit, wait_seconds })
    };
    let run = |commands: &[&str]| commands_of(asked, None, commands);
    // One command, then what follows.
    let after = |command: &str, plan: Plan| if asked.after_result { plan } else { run(&[command]) };
    let once = |memory: &mut Memory, fate: Fate| {
        let is_first = memory.is_first(choice.scenario, choice.key.as_deref().unwrap_or_default());
        Plan::done().meeting(if is_first { fate } else { Fate::Whole })
    };
    let refused = |refusal| Plan::new(Vec::new()).ending(Finish::Refused(refusal));
    Decision::Answer(match choice.scenario {
        Scenario::Err400 => return failure(400),
        Scenario::Err401 => return failure(401),
        Scenario::Err429 => return too_many(Limit::Rate, WAIT_SECONDS),
        Scenario::Quota => return too_many(Limit::Plan, QUOTA_SECONDS),
        Scenario::Err500 => return failure(500),
        Scenario::ErrMid if asked.after_result => return failure(500),
        Scenario::Script => return play(script, asked),
        Scenario::Ordered => return obey(asked, script),
        Scenario::Auto | Scenario::ErrMid => after(texts::DATE, Plan::done()),
        Scenario::AutoFenced => after(texts::DATE, Plan::text(texts::done_fenced())),
        Scenario::SleepTool => after(texts::SLEEP, Plan::done()),
        Scenario::BigTool => after(texts::BIG, Plan::done()),
        Scenario::CutAfter => after(texts::DATE, Plan::done().meeting(Fate::Cut)),
        Scenario::Artifact => match artifact::next(asked) {
            artifact::Next::Command(command) => run(&[&command]),
            artifact::Next::Answer(text) => Plan::text(text),
        },
        Scenario::Text => Plan::text(texts::NO_MARKER),
        Scenario::Soft => Plan::text(texts::SOFT),
        Scenario::Interactive if asked.assistant.contains(texts::QUESTION) => Plan::text(texts::done_fenced()),
        Scenario::Interactive => Plan::text(texts::QUESTION),
        Scenario::Multi => match texts::QUESTIONS.iter().find(|question| !asked.assistant.contains(**question)) {
            Some(question) => Plan::text(*question),
            None => Plan::done(),
        },
        Scenario::AskUser if asked.assistant.contains(texts::ASK) => Plan::done(),
        Scenario::AskUser => Plan::text(texts::ASK),
        Scenario::AskUserBad => Plan::text(texts::ASK_BAD),
        Scenario::Commentary | Scenario::CommentaryPhase => {
            let plan = match asked.results {
                0 => commands_of(asked, Some(texts::COMMENTARY[0]), &[texts::DATE]),
                1 => commands_of(asked, Some(texts::COMMENTARY[1]), &[texts::COUNT]),
                _ => Plan::done(),
            };
            let told = choice.scenario == Scenario::CommentaryPhase;
            Plan { phases: if told { Phases::Told } else { Phases::Untold }, ..plan }
        }
        Scenario::MarkerAlone => Plan::text(texts::MARKER_ALONE),
        Scenario::MarkerTwice => Plan::text(texts::MARKER_TWICE),
        Scenario::EchoMarker if asked.results == 0 => run(&[texts::ECHO_MARKER]),
        Scenario::EchoMarker => Plan::text(texts::QUESTION),
        Scenario::Parallel if asked.results == 0 => run(&[texts::DATE, texts::SECOND]),
        Scenario::Parallel => Plan::done(),
        Scenario::Think => Plan { thought: Some(texts::THOUGHT), ..Plan::done() },
        Scenario::Unicode => Plan::text(texts::UNICODE),
        Scenario::UnicodeEsc => Plan { encoding: Encoding::Halves, ..Plan::text(texts::UNICODE) },
        Scenario::UnicodeNul => Plan { encoding: Encoding::Halves, ..Plan::text(texts::UNICODE_NUL).in_pieces(3) },
        Scenario::UnicodeRaw => Plan { encoding: Encoding::Halves, ..Plan::text(texts::UNICODE_RAW).in_pieces(3) },
        Scenario::LongText => Plan::text(texts::long(2_000_000)).in_pieces(200),
        Scenario::Long => {
            let kilobytes = choice.key.as_deref().and_then(|key| key.parse().ok()).unwrap_or(100);
            Plan::text(texts::long(LONG_MAX.min(kilobytes) * 1000)).in_pieces(50)
        }
        Scenario::Slow => Plan { pace: Pace::Slow, ..Plan::done().in_pieces(40) },
        Scenario::MaxTokens => Plan::text(texts::done_halves().0).ending(Finish::Length),
        Scenario::MaxTokensOnce => {
            let (first, second) = texts::done_halves();
            if asked.assistant.contains(&first) { Plan::text(second) } else { Plan::text(first).ending(Finish::Length) }
        }
        // The text with which claude continues by itself.
        Scenario::RefusalOnce if asked.user.contains("safety classifier") => Plan::done(),
        Scenario::Refusal | Scenario::RefusalOnce => refused(Refusal::Said),
        Scenario::RefusalEmpty => refused(Refusal::Withheld),
        Scenario::RefusalNoText => refused(Refusal::Silent),
        Scenario::Cut => Plan::done().meeting(Fate::Cut),
        Scenario::CutOnce => once(memory, Fate::Cut),
        Scenario::EndOnce => once(memory, Fate::Ended),
    })
}

/// Text before commands, or instead of them when there is no tool that runs any.
fn commands_of(asked: &Asked, said: Option<&str>, commands: &[&str]) -> Plan {
    let calls: Option<Vec<Block>> =
        commands.iter().map(|command| shell::call(&asked.tools, command).map(Block::Tool)).collect();
    let said = said.map(|said| Block::Text(said.to_owned()));
    match calls {
        Some(calls) => Plan::new(said.into_iter().chain(calls).collect()),
        None => Plan::text(texts::NO_SHELL),
    }
}

/// A tool of an MCP server, with what the model says before.
fn call_of(asked: &Asked, said: Option<&str>, tool: &str, arguments: Map<String, Value>) -> Plan {
    let said = said.map(|said| Block::Text(said.to_owned()));
    match mcp::call(asked, tool, arguments) {
        Some(call) => Plan::new(said.into_iter().chain([Block::Tool(call)]).collect()),
        None => Plan::text(texts::NO_TOOL),
    }
}

/// The name of the script that is played.
pub(super) fn script_name<'a>(choice: &'a Choice, asked: &'a Asked) -> Option<&'a str> {
    match (choice.scenario, Order::last(&asked.user)) {
        (Scenario::Script, _) => Some(choice.key.as_deref().unwrap_or_default()),
        (Scenario::Ordered, Some(Order::Play(name))) => Some(name),
        _ => None,
    }
}

/// What the last prompt orders.
fn obey(asked: &Asked, script: Option<&Script>) -> Decision {
    let break_off = |word: &str| commands_of(asked, Some(&texts::broken_word(word)), &[texts::DATE]);
    Decision::Answer(match Order::last(&asked.user) {
        Some(Order::Say(word)) => Plan::text(texts::said_word(word)),
        Some(Order::Run(_)) if asked.after_result => Plan::text(texts::COMMAND_OVER),
        Some(Order::Run(command)) => commands_of(asked, None, &[command]),
        Some(Order::Break(_)) if asked.after_result => return failure(500),
        Some(Order::Break(word)) => break_off(word),
        Some(Order::Fail(status)) => return failure(status),
        Some(Order::Call(..)) if asked.after_result => Plan::text(texts::printed(&asked.last_printed)),
        Some(Order::Call(tool, arguments)) => match serde_json::from_str(arguments) {
            Ok(arguments) => call_of(asked, None, tool, arguments),
            Err(_) => Plan::text(texts::NO_ORDER),
        },
        Some(Order::Play(_)) => return play(script, asked),
        None => Plan::text(texts::NO_ORDER),
    })
}

/// The turn that comes after as many answers as the conversation has.
fn play(script: Option<&Script>, asked: &Asked) -> Decision {
    let Some(turn) = script.and_then(|script| script.turn(asked.turns)) else {
        return Decision::Answer(Plan::text(texts::SCRIPT_OVER));
    };
    let filled = |text: &str| mcp::filled(text, asked);
    Decision::Answer(match turn {
        Turn::Say(text) => Plan::text(filled(text)),
        Turn::Tool { say, command } => commands_of(asked, say.as_deref().map(filled).as_deref(), &[command]),
        Turn::Call { say, tool, arguments } => {
            let arguments = mcp::filled_object(arguments, asked);
            call_of(asked, say.as_deref().map(filled).as_deref(), tool, arguments)
        }
        Turn::Status(status) => return failure(*status),
    })
}

#[cfg(test)]
mod tests;
