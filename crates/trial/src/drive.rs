//! Drives one run from request to end: questions are answered with the given answers, and a run with a question that has
//! no answer is canceled, so that nothing is left behind.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, Limits, LogError, ReadEnd};
use skillrun_model::interaction::{OnDeadline, Pending};
use skillrun_model::rasp::{Event, EventType};
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::result::{self, RunResult};
use skillrun_runtime::owners::OwnerErrorKind;
use skillrun_runtime::{AcceptError, NewRun, Reply, Runtime, RuntimeError};
use skillrun_translate::progress::Progress;

use crate::cases::CaseAnswer;

/// Interval of the checks whether everything is to stop, or the run is stuck.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a run that is over may take to write its result.
const RESULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers to one run; one that asks more often is left waiting.
const ANSWERS_MAX: usize = 100;

/// Says that everything is to stop. Once and for all.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is set elsewhere, such as by a signal handler.
    pub fn of(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a run is dealt with.
#[derive(Debug, Clone, Copy)]
pub struct Conduct<'a> {
    pub answers: &'a [CaseAnswer],
    pub cancel: CancelWhen<'a>,
    pub stop: &'a Stop,
    /// Where another thread reads what the engine is doing.
    pub progress: Option<&'a Mutex<Progress>>,
}

/// When a run is canceled although nothing is wrong with it.
#[derive(Debug, Clone, Copy)]
pub enum CancelWhen<'a> {
    Never,
    /// In the middle of the first tool call: when the Log shows one, or the condition holds.
    InTool(When<'a>),
}

/// A condition that is polled.
#[derive(Clone, Copy)]
pub struct When<'a>(pub &'a dyn Fn() -> bool);

impl fmt::Debug for When<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("When")
    }
}

impl CancelWhen<'_> {
    fn is_now(self, has_tool: bool) -> bool {
        match self {
            Self::Never => false,
            Self::InTool(when) => has_tool || (when.0)(),
        }
    }
}

/// What became of a run.
#[derive(Debug, Clone)]
pub struct Ended {
    pub run: RunId,
    /// As it was left: waiting, if there was no answer.
    pub status: RunStatus,
    /// The question that had no answer.
    pub question: Option<String>,
    pub result: Option<RunResult>,
    pub because: Because,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// By itself, or for want of an answer.
    Itself,
    /// It was to be canceled.
    Canceled,
    /// Everything was to stop.
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Refused(#[from] AcceptError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the result of run {run} cannot be read ({error})")]
    Result { run: RunId, error: io::Error },
    #[error("run {run} makes no progress: {why}")]
    Stuck { run: RunId, why: String },
}

/// Runs it. Returns when nothing is left to do for it.
pub fn drive(runtime: &Runtime, new: NewRun, conduct: Conduct<'_>) -> Result<Ended, DriveError> {
    let run = runtime.submit(new)?;
    let (bell, rung) = channel();
    let wake = move || {
        // The receiver is gone when the run is over.
        bell.send(()).ok();
    };
    let subscription = runtime.log().subscribe(run, Arc::new(wake))?;
    let mut driving = Driving {
        runtime,
        run,
        conduct,
        answers: Answers::new(conduct.answers),
        cursor: Cursor::BEGINNING,
        state: State::default(),
        has_tool: false,
        question: None,
        because: Because::Itself,
        has_canceled: false,
    };
    let driven = driving.until_over(&rung);
    drop(subscription);
    driven?;
    runtime.wait_for(run, RESULT_TIMEOUT);
    let result = result::read(&runtime.data().run(run)).map_err(|error| DriveError::Result { run, error })?;
    let ended = driving.state.status.unwrap_or(RunStatus::Failed);
    let status = if driving.question.is_some() { RunStatus::WaitingUser } else { ended };
    Ok(Ended { run, status, question: driving.question, result, because: driving.because })
}

struct Driving<'a> {
    runtime: &'a Runtime,
    run: RunId,
    conduct: Conduct<'a>,
    answers: Answers<'a>,
    cursor: Cursor,
    state: State,
    /// A tool was called.
    has_tool: bool,
    /// Without an answer.
    question: Option<String>,
    because: Because,
    has_canceled: bool,
}

impl Driving<'_> {
    fn until_over(&mut self, rung: &Receiver<()>) -> Result<(), DriveError> {
        loop {
            self.read()?;
            if self.state.is_over() {
                return Ok(());
            }
            self.act()?;
            // A timeout or a disconnected sender: the state is checked either way.
            if rung.recv_timeout(POLL_INTERVAL).is_err() {
                self.check_stuck()?;
            }
        }
    }

    fn read(&mut self) -> Result<(), DriveError> {
        loop {
            let runtime = self.runtime;
            let read = runtime.log().for_each(self.run, self.cursor, Limits::default(), |line| {
                self.event(&line.event()?);
                Ok::<_, LogError>(ControlFlow::Continue(()))
            })?;
            match read {
                ReadEnd::At(cursor) => {
                    self.cursor = cursor;
                    return Ok(());
                }
                ReadEnd::Reset(_) => {
                    self.cursor = Cursor::BEGINNING;
                    self.state = State::default();
                }
            }
        }
    }

    fn event(&mut self, event: &Event) {
        self.has_tool |= event.event_type() == EventType::ToolCallStarted;
        self.state.evolve(event);
        if let Some(progress) = self.conduct.progress {
            progress.lock().unwrap_or_else(PoisonError::into_inner).evolve(event);
        }
    }

    fn act(&mut self) -> Result<(), DriveError> {
        if self.has_canceled {
            return Ok(());
        }
        if self.conduct.stop.is_set() {
            self.because = Because::Stopped;
            return self.cancel("everything was to stop");
        }
        if self.conduct.cancel.is_now(self.has_tool) {
            self.because = Because::Canceled;
            return self.cancel("to see whether it can be canceled");
        }
        match self.state.question.clone() {
            Some(question) if self.state.status == Some(RunStatus::WaitingUser) => self.answer(&question),
            Some(_) | None => Ok(()),
        }
    }

    fn answer(&mut self, question: &Pending) -> Result<(), DriveError> {
        let Some(text) = self.answers.to(&question.prompt) else {
            return match question.on_deadline {
                // The run decides the question itself.
                OnDeadline::AutoReply => Ok(()),
                OnDeadline::Wait | OnDeadline::FailRun | OnDeadline::HoldStep => {
                    self.question = Some(question.prompt.clone());
                    self.cancel("no answer is given for the question")
                }
            };
        };
        let reply = Reply { interaction_id: question.interaction_id, text, files: Vec::new(), request_id: None };
        settled(self.runtime.reply(self.run, reply))?;
        // What was written by it is not taken for the same question again.
        self.read()
    }

    fn cancel(&mut self, by: &str) -> Result<(), DriveError> {
        self.has_canceled = true;
        settled(self.runtime.cancel(self.run, by))
    }

    /// Fails if no process works on the run and no question is open.
    fn check_stuck(&mut self) -> Result<(), DriveError> {
        if self.runtime.has(self.run) {
            return Ok(());
        }
        self.read()?;
        if self.state.is_over() || self.state.question.is_some() {
            return Ok(());
        }
        let why = self.runtime.trouble(self.run).unwrap_or_else(|| "no process works on it".to_owned());
        Err(DriveError::Stuck { run: self.run, why })
    }
}

/// A run that has moved on meanwhile does not count as an error.
fn settled(said: Result<(), RuntimeError>) -> Result<(), DriveError> {
    match said {
        Err(error)
            if matches!(error.kind(), OwnerErrorKind::Stale | OwnerErrorKind::Repeated | OwnerErrorKind::Over) =>
        {
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Answers that are left.
#[derive(Debug)]
struct Answers<'a> {
    all: &'a [CaseAnswer],
    /// How many of those that are given in order are used up.
    used: usize,
    given: usize,
}

impl<'a> Answers<'a> {
    fn new(all: &'a [CaseAnswer]) -> Self {
        Self { all, used: 0, given: 0 }
    }

    fn to(&mut self, asked: &str) -> Option<String> {
        if self.given >= ANSWERS_MAX {
            return None;
        }
        let fitting = self.all.iter().find_map(|answer| match answer {
            CaseAnswer::To { question, text } if question.is_match(asked) => Some(text),
            CaseAnswer::To { .. } | CaseAnswer::Next(_) => None,
        });
        let text = match fitting {
            Some(text) => text,
            None => {
                let in_order = self.all.iter().filter_map(|answer| match answer {
                    CaseAnswer::Next(text) => Some(text),
                    CaseAnswer::To { .. } => None,
                });
                let next = in_order.into_iter().nth(self.used)?;
                self.used += 1;
                next
            }
        };
        self.given += 1;
        Some(text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    fn next(text: &str) -> CaseAnswer {
        CaseAnswer::Next(text.to_owned())
    }

    fn to(question: &str, text: &str) -> CaseAnswer {
        CaseAnswer::To { question: Regex::new(question).unwrap(), text: text.to_owned() }
    }

    #[test]
    fn answers_come_in_order_and_where_they_fit() {
        let all = [next("one"), to("colour", "blue"), next("two")];
        let mut answers = Answers::new(&all);
        let given: Vec<_> =
            ["?", "which colour", "??", "colour!", "???"].iter().map(|asked| answers.to(asked)).collect();
        let texts: Vec<Option<&str>> = given.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some("one"), Some("blue"), Some("two"), Some("blue"), None]);
    }

    #[test]
    fn an_engine_that_keeps_asking_is_not_answered_forever() {
        let all = [to(".", "yes")];
        let mut answers = Answers::new(&all);
        assert_eq!((0..1_000).filter(|_| answers.to("really?").is_some()).count(), ANSWERS_MAX);
    }
}
