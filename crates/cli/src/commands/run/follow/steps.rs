//! Questions that the runs of a workflow's steps ask: the Log of the workflow, which is followed, does not have them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use skillrun_base::text::shortened;
use skillrun_inspect::step_questions::{StepQuestion, StepQuestions};
use skillrun_lifecycle::run::State;
use skillrun_log::FileLog;
use skillrun_model::{InteractionId, RunId};

use crate::commands::interactions::reply_command;
use crate::output;

/// How often the runs of steps are looked at.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Characters of a question in the line that reports it.
const PROMPT_MAX: usize = 200;

#[derive(Debug, Default)]
pub(super) struct StepReports {
    checked_at: Option<Instant>,
    questions: StepQuestions,
    /// Each is reported once.
    reported: BTreeSet<(RunId, InteractionId)>,
}

impl StepReports {
    /// One line for each question that is new, with how it is answered. `state`: of the run that is followed.
    pub(super) fn news(&mut self, log: &FileLog, state: &State) -> Vec<String> {
        if state.workflow.is_none() || self.checked_at.is_some_and(|at| at.elapsed() < CHECK_INTERVAL) {
            return Vec::new();
        }
        self.checked_at = Some(Instant::now());
        let mut open = self.questions.open(log, state);
        open.retain(|asked| self.reported.insert((asked.run_id, asked.question.interaction_id)));
        let line = |StepQuestion { place, run_id, question, .. }: &StepQuestion| {
            let prompt = shortened(&output::plain(&question.prompt), PROMPT_MAX);
            format!("the step {place} asks: {prompt}\n{}", reply_command(&run_id.to_string()))
        };
        open.iter().map(line).collect()
    }
}
