//! What a replay costs: a Log of many turns, read by `skillrun replay`.

use std::process::Stdio;
use std::time::Duration;

use skillrun_log::{Durability, EventLog, FileLog, Seq};
use skillrun_model::codes::Code;
use skillrun_model::rasp::data::{
    AttemptEnded, AttemptStarted, Exit, MessageFinal, MessageOrigin, RawText, ToolCallCompleted, ToolCallStarted,
    UserMessage,
};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData, SourceStream};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{AttemptNumber, CompletionState, EngineName, ProfileId, RunId, RunStatus, Timestamp, TurnState};
use skillrun_runs::DataFolder;

use crate::capture::median;
use crate::problem::Problem;
use crate::program::{Program, cost_of};
use crate::runs::Place;
use crate::table::Table;

const TURNS: u32 = 1_000;
/// Events of a turn, and of the Log.
const TURN: u64 = 100;
const EVENTS: u64 = TURN * TURNS as u64;
const TIME_TARGET: Duration = Duration::from_secs(1);
const EVENT_TARGET: Duration = Duration::from_micros(6);
/// Beyond the size of the replay.
const MEMORY_TARGET: u64 = 64_000_000;
const ROUNDS: usize = 5;

/// Of 100,000 events half are replayed: messages, calls and results.
pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("replay")?;
    let run = RunId::new(1, [7; 10]);
    write(&DataFolder::new(place.data()), run)?;
    let printed = place.command(program, &["replay", &run.to_string(), "--json"]).output()?;
    let result = printed.stdout.len() as u64;
    let (mut times, mut peak) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let mut command = place.command(program, &["replay", &run.to_string(), "--dialect", "openai-responses"]);
        let cost = cost_of(&mut command, Stdio::null())?;
        times.push(cost.cpu);
        peak = peak.max(cost.peak);
    }
    let time = median(times);
    let each = time / EVENTS as u32;
    let name = "replay of a Log with 100,000 events, processor time";
    let compared = format!("{:.1} µs an event", each.as_secs_f64() * 1e6);
    table.measured(name, &format!("{:.0} ms", time.as_secs_f64() * 1e3), "", &compared, "< 1 s, 6 µs an event");
    if time >= TIME_TARGET || each >= EVENT_TARGET {
        table.missed(format!("runs: a replay took {:.2} s", time.as_secs_f64()));
    }
    let beyond = peak.saturating_sub(result);
    let mb = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let compared = format!("{} beyond the result", mb(beyond));
    table.measured("its memory", &mb(peak), &mb(result), &compared, "the result + 64 MB");
    if beyond >= MEMORY_TARGET {
        table.missed(format!("runs: a replay of {} held {}", mb(result), mb(peak)));
    }
    Ok(())
}

pub(crate) fn write(data: &DataFolder, run: RunId) -> Result<(), Problem> {
    let failed = |error: skillrun_log::LogError| Problem(error.to_string());
    let log = FileLog::new(data.runs());
    let mut next = log.create(run).map_err(failed)?.next_seq;
    for number in 1..=TURNS {
        next = log.append(run, next, &turn(run, number, next), Durability::Derived).map_err(failed)?;
    }
    log.release(run);
    Ok(())
}

/// A message, then calls with their results and as many lines that are not replayed, and the answer.
fn turn(run: RunId, number: u32, first: Seq) -> Vec<Event> {
    let mut events = Vec::new();
    let mut add = |data: Data, call: Option<String>| {
        let seq = first.0 + events.len() as u64;
        let status = ControlData::status(RunStatus::Running);
        let mut event = Event::control(run, seq, Timestamp::EPOCH, EngineName::new("quick"), status);
        event.attempt_number = AttemptNumber(number);
        event.correlation.tool_call_id = call;
        if let Data::Evidence(_) = data {
            event.source.stream = SourceStream::Stdout;
        }
        event.data = data;
        events.push(event);
    };
    add(ControlData::AttemptStarted(AttemptStarted::new(ProfileId::PlainText, Timestamp::EPOCH)).into(), None);
    add(ControlData::MessageUser(UserMessage::new(MessageOrigin::User, "Look at the next file.")).into(), None);
    for call in 0..(TURN - 4) / 4 {
        let id = Some(format!("item_{call}"));
        let started = ToolCallStarted { name: "shell".to_owned(), input: None, truncated: false };
        add(Data::Evidence(EvidenceData::ToolCallStarted(started)), id.clone());
        add(Data::Evidence(EvidenceData::RawStderr(RawText::new("a line about the progress of the work"))), None);
        let output = Some("the output of a command, a line of ordinary length".to_owned());
        let done = ToolCallCompleted { output, sanitized: false, truncated: false };
        add(Data::Evidence(EvidenceData::ToolCallCompleted(done)), id);
        add(Data::Evidence(EvidenceData::RawStderr(RawText::new("a line about the progress of the work"))), None);
    }
    let answer = MessageFinal::new(format!("m{number}"), "The file says what it should.");
    add(Data::Evidence(EvidenceData::MessageFinal(answer)), None);
    let (state, completion) = (TurnState::Completed, CompletionState::AwaitingUserInput);
    let verdict = Verdict {
        answer_message_id: Some(format!("m{number}")),
        ..Verdict::new(Rule::Waiting, state, completion, Code::CleanFinal, RunStatus::WaitingUser)
    };
    let exit = Exit { code: Some(0), signal: None, ended_by: None };
    add(ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit))).into(), None);
    events
}
