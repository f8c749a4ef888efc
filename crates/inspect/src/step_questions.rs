//! Questions that the runs of a workflow's steps ask, also those of the workflows inside. Their workflow does not wait:
//! its other steps continue, so that its own status does not show them.

use std::collections::HashMap;

use skillrun_lifecycle::run::State;
use skillrun_log::{Epoch, EventLog, FileLog, LogError, Seq};
use skillrun_model::interaction::Pending;
use skillrun_model::workflow::item_name;
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::events::read_all;

/// An open question of a step's run.
#[derive(Debug, Clone, PartialEq)]
pub struct StepQuestion {
    /// The step, with those around it: `review`, `review[2]`, `outer/inner`.
    pub place: String,
    /// The child of the workflow: the run that asks, or the workflow in which it is a step.
    pub child: RunId,
    /// The run that asks.
    pub run_id: RunId,
    pub question: Pending,
}

/// Finds the open questions again and again; a Log is read only if it has changed.
#[derive(Debug, Default)]
pub struct StepQuestions {
    known: HashMap<RunId, KnownRun>,
}

#[derive(Debug)]
struct KnownRun {
    head: (Epoch, Seq),
    state: State,
}

impl StepQuestions {
    /// The questions that are open now. `state` is the fold over the Log of the workflow.
    pub fn open(&mut self, log: &FileLog, state: &State) -> Vec<StepQuestion> {
        let mut found = Vec::new();
        let mut waiting = children_of(state, "", None);
        // Workflows are nested only a few deep, and each is in one other.
        while let Some((place, child, run_id)) = waiting.pop() {
            self.refresh(log, run_id);
            let Some(known) = self.known.get(&run_id) else { continue };
            if let (Some(RunStatus::WaitingUser), Some(question)) = (known.state.status, &known.state.question) {
                found.push(StepQuestion { place, child, run_id, question: question.clone() });
            } else {
                waiting.extend(children_of(&known.state, &format!("{place}/"), Some(child)));
            }
        }
        found
    }

    fn refresh(&mut self, log: &FileLog, run: RunId) {
        // A child that is not made yet has no Log.
        let Ok(head) = log.head(run) else { return };
        let head = (head.epoch, head.next_seq);
        if self.known.get(&run).is_some_and(|known| known.head == head) {
            return;
        }
        let mut state = State::default();
        let read = read_all(log, run, |event| {
            state.evolve(&event);
            Ok::<(), LogError>(())
        });
        if read.is_ok() {
            self.known.insert(run, KnownRun { head, state });
        }
    }
}

/// The open children of a workflow; none of another run. The last one comes first.
fn children_of(state: &State, before: &str, child: Option<RunId>) -> Vec<(String, RunId, RunId)> {
    let Some(workflow) = state.workflow.as_deref().filter(|_| !state.is_over()) else { return Vec::new() };
    let open = workflow.open.iter().rev();
    open.map(|(run, (step, item))| (format!("{before}{}", item_name(step, *item)), child.unwrap_or(*run), *run))
        .collect()
}
