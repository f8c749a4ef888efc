//! A turn of the script to what is done, one thing after the other. Pure: the same turn, with the same answers to what
//! it asks in the middle, gives the same actions.

use std::iter::Zip;
use std::ops::RangeFrom;
use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value};
use skillrun_base::text::shortened;
use skillrun_model::ProfileId;

use super::ask;
use super::formats::{self, Ending, Format, Line, Lines};
use super::said::{self, Said};
use super::script::{Act, Cut, Marker, Place, Tool, ToolStatus, Turn, Usage};

/// The key that says that a skill is done.
const DONE_KEY: &str = "__SKILL_DONE__";

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Write(Line),
    /// This many bytes of the pattern to stdout; the last one ends a line.
    Flood(u64),
    Sleep(Duration),
    File {
        path: PathBuf,
        content: String,
    },
    Ignore(Signal),
    /// The turn is over, and the engine would take the next one.
    TurnOver,
    Exit(u8),
    /// Never exits.
    Hang,
    Crash(Signal),
    /// What happened is not what the script is made for.
    Mismatch(String),
}

/// Which turn is played, and for whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) profile: ProfileId,
    pub(super) session: &'a str,
    /// Counted from 1.
    pub(super) turn: usize,
    pub(super) said: Said<'a>,
}

/// A turn that is being played, in parts: each question in it ends one, and the next one needs its answer.
pub(super) struct Play<'a> {
    /// Those that are still to be played, with their numbers.
    acts: Zip<slice::Iter<'a, Act>, RangeFrom<usize>>,
    player: Player<'a>,
    /// The question whose answer the next part needs.
    question: Option<Question<'a>>,
    /// The request whose response the next part needs.
    delegation: Option<Map<String, Value>>,
}

#[derive(Debug)]
struct Question<'a> {
    act: &'a Act,
    number: usize,
    id: String,
}

impl<'a> Play<'a> {
    pub(super) fn new(turn: &'a Turn, scene: Scene<'a>) -> Self {
        let format = formats::make(scene.profile, scene.session, scene.turn, scene.said.reply);
        let player = Player {
            scene,
            format,
            permission: None,
            delegated: None,
            delegation: None,
            actions: Vec::new(),
            is_open: false,
            usage: None,
            cut: None,
            after_end: None,
        };
        Self { acts: turn.acts.iter().zip(1..), player, question: None, delegation: None }
    }

    /// What is done up to the first question, or to the end of the turn. The action that ends a turn, one way or another,
    /// is its last.
    pub(super) fn begin(&mut self) -> Vec<Action> {
        // Nothing is done after the end, so it does not matter which act it came with.
        let _ = self.acts();
        std::mem::take(&mut self.player.actions)
    }

    /// Whether the turn continues only after a line of stdin.
    pub(super) fn is_waiting(&self) -> bool {
        self.question.is_some()
    }

    /// The request that is sent before the turn continues.
    pub(super) fn take_delegation(&mut self) -> Option<Map<String, Value>> {
        self.delegation.take()
    }

    /// What is done after the response came: as much as at the beginning.
    pub(super) fn delegated(&mut self, request: Map<String, Value>, response: Value) -> Vec<Action> {
        let is_refused = response.get("is").and_then(Value::as_str) == Some("refused");
        let name = request.get("do").and_then(Value::as_str).unwrap_or("delegate").to_owned();
        let status = if is_refused { ToolStatus::Failed } else { ToolStatus::Completed };
        let tool = Tool { name, input: request, output: response.to_string(), status };
        self.player.delegated = Some(response);
        // Nothing is done after a cut, so it does not matter which line it was.
        if self.player.lines(|format, lines| format.tool(&tool, lines)).is_err() {
            return std::mem::take(&mut self.player.actions);
        }
        self.begin()
    }

    /// What is done after this line came, or none because stdin is over: as much as at the beginning, unless the line is
    /// no answer to what was asked.
    pub(super) fn go_on(&mut self, line: Option<&str>) -> Vec<Action> {
        let Some(Question { act, number, id }) = self.question.take() else { return Vec::new() };
        self.player.permission = line.and_then(|line| said::permission_of(line, &id));
        if self.player.permission.is_some() {
            return self.begin();
        }
        let sentence = match line {
            Some(line) => format!("the line on stdin, {:?}, is not an answer to {id}", shown(line)),
            None => format!("stdin ended before an answer to {id} came"),
        };
        let _ = self.player.mismatch(act, number, &sentence);
        std::mem::take(&mut self.player.actions)
    }

    fn acts(&mut self) -> Result<(), Over> {
        for (act, number) in self.acts.by_ref() {
            self.player.act(act, number)?;
            if matches!(act, Act::Permission { .. }) {
                self.question = Some(Question { act, number, id: self.player.question_id(number) });
                return Ok(());
            }
            self.delegation = self.player.delegation.take();
            if self.delegation.is_some() {
                return Ok(());
            }
        }
        self.player.close()
    }
}

/// Nothing more is done in this turn; the last action says why.
struct Over;

struct Player<'a> {
    scene: Scene<'a>,
    format: Box<dyn Format>,
    /// What was answered to the last question.
    permission: Option<String>,
    /// The response to the last delegation.
    delegated: Option<Value>,
    /// What is to be delegated now.
    delegation: Option<Map<String, Value>>,
    actions: Vec<Action>,
    is_open: bool,
    usage: Option<Usage>,
    /// Of the next line.
    cut: Option<Cut>,
    /// How the turn closes, once its end was written.
    after_end: Option<Action>,
}

impl Player<'_> {
    fn act(&mut self, act: &Act, number: usize) -> Result<(), Over> {
        if act.opens_turn() {
            self.open()?;
        }
        let (permission, delegated) = (self.permission.clone(), self.delegated.clone());
        let said = Said { permission: permission.as_deref(), delegated: delegated.as_ref(), ..self.scene.said };
        let filled = match said.fill(act) {
            Ok(filled) => filled,
            Err(problem) => return self.mismatch(act, number, &problem.to_string()),
        };
        match &filled {
            Act::Say(text) => self.say(text),
            Act::Think(text) => self.lines(|format, lines| format.think(text, lines)),
            Act::Ask(fields) => self.say(&ask::envelope(fields)),
            Act::Tool(tool) => self.lines(|format, lines| format.tool(tool, lines)),
            Act::Permission { tool, input } => {
                let id = self.question_id(number);
                self.lines(|format, lines| format.permission(&id, tool, input, lines))
            }
            Act::Delegate(request) => {
                self.delegation = Some(request.clone());
                Ok(())
            }
            Act::Write { path, content } => self.push(Action::File { path: path.clone(), content: content.clone() }),
            Act::Output { object, marker } => self.say(&output(object.clone(), *marker)),
            Act::Sleep(time) => self.push(Action::Sleep(*time)),
            Act::Usage(usage) => {
                self.usage = Some(*usage);
                Ok(())
            }
            Act::Stderr(text) => self.lines(|_, lines| lines.err(without_newline(text))),
            Act::Raw(text) => self.lines(|_, lines| lines.out(without_newline(text))),
            Act::Fail(message) => self.end(Ending::Failure(message), act, number),
            Act::Limit(message) => self.end(Ending::Limit(message), act, number),
            Act::End => self.end(Ending::Success, act, number),
            Act::Exit(code) => self.last(Action::Exit(*code)),
            Act::Hang => self.last(Action::Hang),
            Act::Crash(signal) => self.last(Action::Crash(*signal)),
            Act::Ignore(signals) => {
                self.actions.extend(signals.iter().map(|signal| Action::Ignore(*signal)));
                Ok(())
            }
            Act::Flood(bytes) => self.push(Action::Flood(*bytes)),
            Act::Cut(cut) => {
                self.cut = Some(*cut);
                Ok(())
            }
            Act::ExpectReply(expected) => {
                if said.reply.contains(expected) {
                    return Ok(());
                }
                let sentence = format!("what the user said, {:?}, does not contain {expected:?}", shown(said.reply));
                self.mismatch(act, number, &sentence)
            }
            Act::EchoReply => self.say(said.reply),
            Act::EchoPrompt => self.say(said.prompt),
        }
    }

    /// The name of the question that this act asks.
    fn question_id(&self, number: usize) -> String {
        format!("permission_t{}_{number}", self.scene.turn)
    }

    /// The end of the turn's acts: a success, unless an end was written.
    fn close(&mut self) -> Result<(), Over> {
        self.open()?;
        if self.after_end.is_none() {
            self.end(Ending::Success, &Act::End, 0)?;
        }
        let close = self.after_end.take().unwrap_or(Action::TurnOver);
        self.last(close)
    }

    fn open(&mut self) -> Result<(), Over> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        self.lines(|format, lines| format.open(lines))
    }

    fn say(&mut self, text: &str) -> Result<(), Over> {
        self.lines(|format, lines| format.say(text, lines))
    }

    fn end(&mut self, ending: Ending<'_>, act: &Act, number: usize) -> Result<(), Over> {
        let mut lines = Lines::default();
        match self.format.end(ending, self.usage, &mut lines) {
            Some(code) => {
                // Only after a success it would take another turn, whatever its exit code.
                self.after_end = Some(match ending {
                    Ending::Success => Action::TurnOver,
                    Ending::Failure(_) | Ending::Limit(_) => Action::Exit(code),
                });
                self.write(lines)
            }
            // Scripts are checked for this before they are played.
            None => self.mismatch(act, number, &format!("{} has no such end", self.scene.profile)),
        }
    }

    fn lines(&mut self, write: impl FnOnce(&mut dyn Format, &mut Lines)) -> Result<(), Over> {
        let mut lines = Lines::default();
        write(&mut *self.format, &mut lines);
        self.write(lines)
    }

    fn write(&mut self, Lines(lines): Lines) -> Result<(), Over> {
        for mut line in lines {
            let Some(cut) = self.cut.take() else {
                self.actions.push(Action::Write(line));
                continue;
            };
            line.bytes.truncate(cut.kept(line.bytes.len()));
            self.actions.push(Action::Write(line));
            return self.last(Action::Exit(0));
        }
        Ok(())
    }

    fn push(&mut self, action: Action) -> Result<(), Over> {
        self.actions.push(action);
        Ok(())
    }

    fn last(&mut self, action: Action) -> Result<(), Over> {
        self.actions.push(action);
        Err(Over)
    }

    fn mismatch(&mut self, act: &Act, number: usize, sentence: &str) -> Result<(), Over> {
        let place = Place::Act { turn: self.scene.turn, act: number, word: Some(act.word().to_owned()) };
        self.last(Action::Mismatch(format!("{place}{sentence}")))
    }
}

/// The object as the agent writes it, the marker first.
fn output(object: Map<String, Value>, marker: Marker) -> String {
    let done = match marker {
        Marker::Done => Some((DONE_KEY.to_owned(), Value::Bool(true))),
        Marker::Absent => None,
    };
    Value::Object(done.into_iter().chain(object).collect()).to_string()
}

/// A block of YAML ends with a newline, and a line gets one anyway.
fn without_newline(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// As much as a sentence bears.
fn shown(text: &str) -> String {
    shortened(text, 200)
}
