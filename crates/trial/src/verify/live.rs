//! Real runs of an engine against a scripted model, each in a world of its own.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::{into_inner, lock};
use skillrun_engine::Descriptor;
use skillrun_log::{Cursor, EventLog, Limits, LogError};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::{Data, EvidenceData};
use skillrun_model::status::Continuation;
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus, word_enum};
use skillrun_runtime::Runtime;
use skillrun_simulate::model::{Scenario, Server};

use super::drift::Types;
use super::verification::{CheckLine, Mark};
use crate::cases::CaseAnswer;
use crate::drive::{Because, CancelWhen, Conduct, Ended, Stop, When};
use crate::judge::short;
use crate::lab::{Lab, LabError, ToolWatch, Tried};

/// Runs at the same time: some engines need more than half a gigabyte each, and a few seconds of a processor.
const AT_ONCE_MIN: usize = 2;
const AT_ONCE_MAX: usize = 4;

word_enum! {
    /// What is tried, that which takes longest first.
    pub Situation {
        Interactive = "interactive, resumed",
        Auto = "auto",
        Cancel = "cancel in a tool call",
        Denied = "refused login (401)",
    }
}

impl Situation {
    pub fn scenario(self) -> Scenario {
        match self {
            Self::Auto => Scenario::Auto,
            Self::Interactive => Scenario::Interactive,
            Self::Denied => Scenario::Err401,
            Self::Cancel => Scenario::SleepTool,
        }
    }

    fn mode(self) -> ExecutionMode {
        match self {
            Self::Interactive => ExecutionMode::Interactive,
            Self::Auto | Self::Denied | Self::Cancel => ExecutionMode::Auto,
        }
    }

    /// Why it is not tried, if it is not.
    fn left_out(self, descriptor: &Descriptor) -> Option<&'static str> {
        let cannot = self == Self::Interactive && descriptor.continuation == Continuation::None;
        cannot.then_some("it cannot resume a session")
    }
}

/// What came of all of it.
#[derive(Debug, Default)]
pub struct Probed {
    pub lines: Vec<CheckLine>,
    /// Seen in the runs that were recorded too.
    pub types: Types,
}

/// Tries everything, some at the same time: each run has a world of its own.
pub fn probe(lab: Lab<'_>, server: &Server, budget: Duration, stop: &Stop) -> Probed {
    let at_once = thread::available_parallelism().map_or(AT_ONCE_MIN, NonZero::get).clamp(AT_ONCE_MIN, AT_ONCE_MAX);
    let next = AtomicUsize::new(0);
    let ran: Vec<Mutex<Option<Ran>>> = Situation::ALL.iter().map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((situation, place)) = Situation::ALL.get(number).zip(ran.get(number)) else { return };
                    if situation.left_out(lab.descriptor).is_none() && !stop.is_set() {
                        *lock(place) = Some(run(lab, server, *situation, stop));
                    }
                }
            });
        }
    });
    let mut probed = Probed::default();
    for (situation, ran) in Situation::ALL.iter().zip(ran) {
        let ran = into_inner(ran);
        match (situation.left_out(lab.descriptor), ran) {
            (Some(why), _) => {
                probed.lines.push(CheckLine::new(situation.as_str(), Mark::NotTried(why.to_owned()), None));
            }
            (None, Some(ran)) => probed.add(lab, *situation, ran, budget),
            (None, None) => {
                probed.lines.push(CheckLine::new(situation.as_str(), Mark::Fails(too_long(budget)), None));
            }
        }
    }
    probed
}

fn too_long(budget: Duration) -> String {
    format!("it was not done within {} s", budget.as_secs())
}

struct Ran {
    tried: Result<Tried, LabError>,
    took: Duration,
}

fn run(lab: Lab<'_>, server: &Server, situation: Situation, stop: &Stop) -> Ran {
    let begin = Instant::now();
    let scenario = situation.scenario().as_str();
    let watch = ToolWatch::new(server, scenario);
    let is_in_tool = || watch.is_in();
    let answers = [CaseAnswer::Next("ANSWER=blue".to_owned())];
    let conduct = Conduct {
        answers: &answers,
        cancel: match situation {
            Situation::Cancel => CancelWhen::InTool(When(&is_in_tool)),
            Situation::Auto | Situation::Interactive | Situation::Denied => CancelWhen::Never,
        },
        stop,
        progress: None,
    };
    let tried = lab.run(server, scenario, situation.mode(), conduct);
    Ran { tried, took: begin.elapsed() }
}

impl Probed {
    fn add(&mut self, lab: Lab<'_>, situation: Situation, ran: Ran, budget: Duration) {
        let took = Some(ran.took);
        let mut line = |name: &str, mark: Mark| self.lines.push(CheckLine::new(name, mark, took));
        let tried = match ran.tried {
            Ok(tried) => tried,
            Err(error) => return line(situation.as_str(), Mark::Fails(error.to_string())),
        };
        let problem = match tried.ended.because {
            Because::Stopped => Some(too_long(budget)),
            Because::Itself | Because::Canceled => problem(situation, &tried.ended),
        };
        line(situation.as_str(), problem.map_or(Mark::Works, Mark::Fails));
        if situation == Situation::Auto {
            let is_told = has_tool_calls(&tried.runtime, tried.ended.run);
            let silent = || Mark::Fails("the model asked for a tool, and no event reports it".to_owned());
            line("tool call", if is_told { Mark::Works } else { silent() });
        }
        // What a run that is cut short shows is left to chance.
        if situation != Situation::Cancel && tried.ended.because == Because::Itself {
            self.types.add_run(lab.descriptor.profile, &tried.runtime.data().run(tried.ended.run));
        }
    }
}

/// What is not as it must be.
fn problem(situation: Situation, ended: &Ended) -> Option<String> {
    let error = ended.result.as_ref().and_then(|result| result.error.as_ref());
    let attempts = ended.result.as_ref().map_or(0, |result| result.attempts);
    let became = || match error {
        Some(error) => format!("it {}: {}: {}", ended.status, error.code, short(&error.message)),
        None => format!("it is {}", ended.status),
    };
    match situation {
        Situation::Auto => (ended.status != RunStatus::Succeeded).then(became),
        Situation::Interactive if ended.status != RunStatus::Succeeded => Some(became()),
        Situation::Interactive => (attempts != 2)
            .then(|| format!("it was done in attempt {attempts}; it must ask in attempt 1 and finish in attempt 2")),
        Situation::Denied => match error {
            Some(error) if error.category == ErrorCategory::Auth => None,
            Some(error) => {
                Some(format!("it failed, but as {}, not as a login: {}", error.category, short(&error.message)))
            }
            None => Some(format!("it is {}, although the model refused everything", ended.status)),
        },
        Situation::Cancel if ended.status != RunStatus::Canceled => Some(became()),
        Situation::Cancel => {
            let warnings = ended.result.as_ref().map(|result| &result.warnings[..]).unwrap_or_default();
            warnings.contains(&Code::SurvivorsLeft).then(|| "one of its processes was left behind".to_owned())
        }
    }
}

/// Whether the Log of a run contains a tool call.
fn has_tool_calls(runtime: &Runtime, run: RunId) -> bool {
    let is_tool = |data: &Data| {
        matches!(data, Data::Evidence(EvidenceData::ToolCallStarted(_) | EvidenceData::ToolCallCompleted(_)))
    };
    let mut found = false;
    let read = runtime.log().for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        found = line.event().is_ok_and(|event| is_tool(&event.data));
        Ok::<_, LogError>(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    // An unreadable Log counts as one without tool calls.
    read.is_ok() && found
}
