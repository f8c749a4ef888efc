//! Plays a turn in memory, then reads and judges it as `skillrun normalize` would.

use skillrun_evidence::FeedStep;
use skillrun_evidence::feed::StepKind;
use skillrun_lifecycle::{Control, ProcessExit, Settled, settle};
use skillrun_model::rasp::{Data, EventType};
use skillrun_model::{AttemptNumber, Code, EngineName, ExecutionMode, ProfileId, RunId, Stream, Timestamp};
use skillrun_parse::record::CallQuestion;
use skillrun_translate::{AttemptPipeline, EventBuilder, Facts};

use crate::scripted::formats::Sink;
use crate::scripted::play::{Action, Play, Scene};
use crate::scripted::said::Said;
use crate::scripted::script::Script;
use crate::scripted::words::Life;

pub(super) const SESSION: &str = "session-0000-scripted-1";

/// What a turn left behind.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) profile: ProfileId,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) exit: ProcessExit,
    pub(super) last: Action,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) facts: Facts,
    pub(super) settled: Settled,
    pub(super) events: Vec<Data>,
    pub(super) questions: Vec<CallQuestion>,
}

pub(super) fn script(yaml: &str) -> Script {
    Script::read(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// The first turn of a script.
pub(super) fn played(profile: ProfileId, yaml: &str) -> Played {
    turn(
        profile,
        yaml,
        1,
        Said { prompt: "Do the job.", reply: "Do the job.", permission: None, delegated: None, request: None },
    )
}

pub(super) fn turn(profile: ProfileId, yaml: &str, number: usize, said: Said<'_>) -> Played {
    answered(profile, yaml, number, said, &[])
}

/// A turn that asks before its calls, and gets these lines for answers.
pub(super) fn answered(profile: ProfileId, yaml: &str, number: usize, said: Said<'_>, answers: &[&str]) -> Played {
    let script = script(yaml);
    script.check(profile, Life::Sticky).expect("a script for this profile");
    let mut play = Play::new(&script.turns[number - 1], Scene { profile, session: SESSION, turn: number, said });
    let mut actions = play.begin();
    let mut answers = answers.iter();
    while play.is_waiting() {
        actions.extend(play.go_on(answers.next().copied()));
    }
    assert_eq!(answers.len(), 0, "answers to nothing");
    let mut played = Played {
        profile,
        stdout: Vec::new(),
        stderr: Vec::new(),
        exit: ProcessExit::Unknown,
        last: actions.last().cloned().expect("a turn that ends"),
    };
    for action in actions {
        match action {
            Action::Write(line) => match line.to {
                Sink::Stdout => played.stdout.extend(line.bytes),
                Sink::Stderr => played.stderr.extend(line.bytes),
            },
            Action::TurnOver => played.exit = ProcessExit::Code(0),
            Action::Exit(code) => played.exit = ProcessExit::Code(code.into()),
            Action::Flood(_)
            | Action::Sleep(_)
            | Action::File { .. }
            | Action::Ignore(_)
            | Action::Hang
            | Action::Crash(_)
            | Action::Mismatch(_) => {}
        }
    }
    played
}

impl Played {
    pub(super) fn auto(&self) -> Judged {
        self.judged(ExecutionMode::Auto)
    }

    pub(super) fn interactive(&self) -> Judged {
        self.judged(ExecutionMode::Interactive)
    }

    fn judged(&self, mode: ExecutionMode) -> Judged {
        let attempt = AttemptNumber(1);
        let mut builder = EventBuilder::new(RunId::from_evidence_hash(&[7; 32]), EngineName::new("scripted"));
        builder.set_attempt(attempt, EngineName::new("scripted"));
        let mut pipeline = AttemptPipeline::new(attempt, self.profile, Timestamp::EPOCH);
        let mut events = Vec::new();
        let steps = [
            StepKind::Bytes { stream: Stream::Stdout, bytes: &self.stdout },
            StepKind::Bytes { stream: Stream::Stderr, bytes: &self.stderr },
            StepKind::Eof(Stream::Stdout),
            StepKind::Eof(Stream::Stderr),
        ];
        for (kind, t_ns) in steps.into_iter().zip(1..) {
            pipeline.step(&FeedStep { t_ns, kind }, &mut builder, |event| events.push(event.data));
        }
        assert_eq!(pipeline.profile(), self.profile, "read as another format");
        let questions = pipeline.take_questions();
        let facts = pipeline.finish(&mut builder, |event| events.push(event.data));
        let control = Control::new(mode, attempt, self.profile.continuation(), self.exit.clone());
        let settled = settle(&facts, &control);
        Judged { facts, settled, events, questions }
    }
}

impl Judged {
    pub(super) fn messages(&self) -> Vec<&str> {
        self.facts.messages.iter().map(|message| message.text.as_str()).collect()
    }

    /// Codes of what was noticed while reading.
    pub(super) fn noticed(&self) -> Vec<Code> {
        let is_of_parser = |data: &&Data| data.event_type() != EventType::EngineError;
        let code = |data: &Data| data.diagnostic().map(|noticed| noticed.code);
        self.events.iter().filter(is_of_parser).filter_map(code).collect()
    }
}
