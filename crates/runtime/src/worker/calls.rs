//! Questions inside a turn: the engine asks before it uses a tool, and waits. A person is asked in interactive mode; in
//! auto mode what the engine may do decides at once.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use skillrun_collect::protocol::Request;
use skillrun_engine::Permission;
use skillrun_lifecycle::run::Input;
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::{ExecutionMode, InteractionId, RunStatus};
use skillrun_parse::ansi;
use skillrun_parse::record::CallQuestion;

use super::{Worker, until_moment};
use crate::attempt::reading::Reading;
use crate::error::RuntimeError;

/// Characters of a tool's input that are shown in the question.
const SHOWN: usize = 2_000;

/// Questions that the turn has asked.
#[derive(Debug)]
pub(super) struct Calls {
    /// So many of them are in the Log already.
    pub(super) known: u32,
    pub(super) seen: u32,
    /// To be put to somebody, one at a time.
    pub(super) waiting: VecDeque<CallQuestion>,
}

impl Calls {
    pub(super) fn take(&mut self, reading: &mut Reading) {
        for question in reading.take_questions() {
            self.seen += 1;
            if self.seen > self.known {
                self.waiting.push_back(question);
            }
        }
    }
}

impl Worker<'_> {
    /// Puts the next question, if none is open.
    pub(super) fn ask_next(&mut self, calls: &mut Calls) -> Result<(), RuntimeError> {
        let state = &self.run.state;
        let is_free = state.status == Some(RunStatus::Running) && state.question.is_none() && state.canceling.is_none();
        let Some(call) = calls.waiting.pop_front_if(|_| is_free) else { return Ok(()) };
        let question = Box::new(self.question(&call));
        let effects = match self.run.record.request.mode {
            ExecutionMode::Interactive => self.run.happens(Input::CallAsked(question))?,
            ExecutionMode::Auto => {
                let text = match self.run.record.request.permission {
                    Permission::Full => "allow",
                    // It asks before what it may not do.
                    Permission::Workspace | Permission::ReadOnly => "deny",
                };
                self.run.happens(Input::CallDecided { question, text: text.to_owned() })?
            }
        };
        self.carry_out(effects)?;
        if self.run.state.status == Some(RunStatus::WaitingUser) {
            let deadline: Option<Duration> = self.timer.map(|timer| until_moment(self.run.now(), timer.at));
            if let Some(host) = &mut self.host {
                // Its clocks stand still until somebody answers.
                host.send(&Request::Wait { deadline });
            }
        }
        Ok(())
    }

    fn question(&self, call: &CallQuestion) -> Pending {
        let input = call.input.as_ref().map(Value::to_string).unwrap_or_default();
        let shown: String = input.chars().take(SHOWN).collect();
        let option = |value: &str, label: &str, default: bool| AskOption {
            value: value.to_owned(),
            label: label.to_owned(),
            default,
        };
        let request = self.run.record.request.default_decision_policy;
        let skill = self.rules.skill.as_ref().and_then(|skill| skill.runner.default_decision_policy);
        let (default_decision_policy, policy_source) = match (request, skill) {
            (Some(policy), _) => (policy, PolicySource::Request),
            (None, Some(policy)) => (policy, PolicySource::Skill),
            // Nobody said yes, so it is no.
            (None, None) => (DecisionPolicy::SafeDefault, PolicySource::Default),
        };
        Pending {
            interaction_id: InteractionId(0),
            scope: Scope::Call,
            kind: InteractionKind::Confirm,
            // What the engine sent goes back to it as it was, and is shown without what a terminal obeys.
            prompt: ansi::strip(&format!("The agent wants to use {}. Allow it?\n{shown}", call.tool)).into_owned(),
            options: vec![option("allow", "Allow", false), option("deny", "Deny", true)],
            ui_hints: None,
            default_decision_policy,
            policy_source,
            context: Some(json!({ "call_id": call.call_id, "tool": call.tool, "input": call.input })),
            deadline: None,
            on_deadline: OnDeadline::Wait,
            source_attempt: self.run.state.attempt,
        }
    }
}
