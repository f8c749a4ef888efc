//! What was reached, and how often: a simulation that does nothing must not pass.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skillrun_model::RunStatus;

use super::action::Action;

/// Statuses that the table has columns for; the first is that of a run whose Log is empty.
const COLUMNS: [&str; 8] = ["none", "queued", "running", "waiting", "succeeded", "failed", "canceled", "closed"];

#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) stories: u64,
    pub(crate) steps: u64,
    actions: BTreeMap<Action, [u64; 8]>,
    events: BTreeMap<&'static str, u64>,
    marks: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(crate) fn action(&mut self, action: Action, status: Option<RunStatus>) {
        let column = match status {
            None => 0,
            Some(RunStatus::Queued) => 1,
            Some(RunStatus::Running) => 2,
            Some(RunStatus::WaitingUser) => 3,
            Some(RunStatus::Succeeded) => 4,
            Some(RunStatus::Failed) => 5,
            Some(RunStatus::Canceled) => 6,
            Some(RunStatus::Closed) => 7,
        };
        self.steps += 1;
        self.actions.entry(action).or_default()[column] += 1;
    }

    pub(crate) fn event(&mut self, name: &'static str) {
        *self.events.entry(name).or_default() += 1;
    }

    /// Something else that should happen occasionally.
    pub(crate) fn mark(&mut self, name: &'static str) {
        *self.marks.entry(name).or_default() += 1;
    }

    /// A run has failed with this code.
    pub(crate) fn end(&mut self, code: &str) {
        let name = MARKS.iter().copied().find(|mark| mark.strip_prefix("end: ") == Some(code));
        self.mark(name.unwrap_or("end: another failure"));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.stories += other.stories;
        self.steps += other.steps;
        for (action, counts) in &other.actions {
            let mine = self.actions.entry(*action).or_default();
            mine.iter_mut().zip(counts).for_each(|(mine, count)| *mine += count);
        }
        for (name, count) in &other.events {
            *self.events.entry(name).or_default() += count;
        }
        for (name, count) in &other.marks {
            *self.marks.entry(name).or_default() += count;
        }
    }

    /// What should have been reached and never was.
    pub(crate) fn missing(&self) -> Vec<String> {
        let actions = Action::ALL.iter().filter(|action| !self.actions.contains_key(action));
        let actions = actions.map(|action| format!("the action: {}", action.words()));
        let events = EVENTS.iter().filter(|name| !self.events.contains_key(*name)).map(|name| format!("event {name}"));
        let marks = MARKS.iter().filter(|name| !self.marks.contains_key(*name)).map(|name| format!("case: {name}"));
        let pair = |action: Action, column: usize| self.actions.get(&action).is_some_and(|counts| counts[column] > 0);
        let pairs =
            Action::ALL.iter().flat_map(|action| action.statuses().iter().map(move |column| (*action, *column)));
        let pairs = pairs
            .filter(|(action, column)| !pair(*action, *column))
            .map(|(action, column)| format!("the action while {}: {}", COLUMNS[column], action.words()));
        actions.chain(events).chain(marks).chain(pairs).collect()
    }

    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        writeln!(table, "{:<24}{}", "action", COLUMNS.map(|column| format!("{column:>10}")).concat()).ok();
        for (action, counts) in &self.actions {
            let counts = counts.map(|count| format!("{count:>10}")).concat();
            writeln!(table, "{:<24}{counts}", action.words()).ok();
        }
        for (title, counts) in [("event", &self.events), ("case", &self.marks)] {
            writeln!(table, "\n{title}").ok();
            for (name, count) in counts {
                writeln!(table, "  {name:<52}{count:>12}").ok();
            }
        }
        write!(table, "\n{} stories, {} steps", self.stories, self.steps).ok();
        table
    }
}

/// Event types that a control Log can have.
const EVENTS: &[&str] = &[
    "run.started",
    "run.status",
    "run.heartbeat",
    "run.completed",
    "run.failed",
    "run.canceled",
    "attempt.started",
    "attempt.ended",
    "interaction.requested",
    "interaction.replied",
    "interaction.timeout",
    "interaction.auto_decision",
    "subagent.requested",
    "subagent.started",
    "subagent.ended",
];

const MARKS: &[&str] = &[
    "end: INTERACTION_WAIT_TIMEOUT",
    "end: AUTO_DECISION_LIMIT",
    "end: INTERACTION_ABORTED_BY_POLICY",
    "end: SESSION_LOST",
    "end: ATTEMPT_LOST",
    "end: TIMEOUT",
    "end: ENGINE_FAILED",
    "end: LIMIT_REACHED",
    "end: HOST_ERROR",
    "found: nothing",
    "found: a living host",
    "found: a record",
    "found: a host that was lost",
    "a batch is cut",
    "a record is torn",
    "an append fails",
    "an answer is refused",
    "an answer is repeated",
    "a question inside a turn",
    "a question inside a turn is decided",
    "a run waits without a limit",
    "a host withdraws",
    "a process waits between two turns",
    "a process that waited is gone",
    "what a process left is put aside",
    "a run is planned",
    "an interrupt stops a turn",
    "an end stands before an interrupt",
    "a process that was interrupted writes an end",
    "an interrupt is refused",
    "a prompt that came with an interrupt is sent",
    "a prompt that came with an interrupt is not sent",
    "another prompt for the same interrupt is refused",
    "a turn of a conversation fails, and the next one begins",
    "a process waits too long for the next prompt",
    "a close is refused",
    "a planned run is made",
    "a child is found made",
    "a child that was made has no owner for now",
    "a child cannot be made",
    "a child is canceled",
    "a child is refused",
    "a repeated call gets the same child",
    "the end of a child is not reported",
    "a run waits for its children",
    "the Log is kept as text",
];
