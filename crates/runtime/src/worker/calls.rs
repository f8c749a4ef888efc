//! Questions inside a turn: the engine asks before it uses a tool, and waits. In interactive mode the user is asked; in
//! auto mode the permission of the engine decides at once.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use skillrun_collect::protocol::HostRequest;
use skillrun_engine::acp::answer::{Choice, ExpectedAnswer, OptionKind};
use skillrun_engine::descriptor::Calls as CallRule;
use skillrun_lifecycle::run::Input;
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::{ExecutionMode, InteractionId, RunStatus};
use skillrun_parse::ansi;
use skillrun_parse::record::{Asks, CallOption, CallQuestion};

use super::Worker;
use super::host::Host;
use crate::attempt::reading::Reading;
use crate::error::RuntimeError;

/// Characters of a tool's input that are shown in the question.
const SHOWN: usize = 2_000;

/// Questions that the turn has asked.
#[derive(Debug)]
pub(super) struct Calls {
    /// This many of them are in the Log already.
    pub(super) known: u32,
    pub(super) seen: u32,
    /// To be put to the user, one at a time.
    pub(super) waiting: VecDeque<CallQuestion>,
    /// This many were answered with a cancel instead.
    pub(super) dropped: u32,
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
        // A question replaces the answer before it, which a later owner could not send again.
        let all_sent = self.host.as_ref().is_none_or(Host::has_sent_all);
        let is_free = all_sent
            && state.status == Some(RunStatus::Running)
            && state.question.is_none()
            && state.canceling.is_none()
            && state.interrupting.is_none();
        let Some(call) = calls.waiting.pop_front_if(|_| is_free) else { return Ok(()) };
        let question = Box::new(self.question(&call));
        let effects = match self.run.record.request.mode {
            ExecutionMode::Interactive | ExecutionMode::Conversation => self.run.apply(Input::CallAsked(question))?,
            ExecutionMode::Auto => {
                let text = self.decided(&call).as_str().to_owned();
                self.run.apply(Input::CallDecided { question, text })?
            }
        };
        self.carry_out(effects)?;
        if self.run.state.status == Some(RunStatus::WaitingUser) {
            let deadline: Option<Duration> = self.timer.map(|timer| timer.left(self.run.running()));
            if let Some(host) = &mut self.host {
                // Its clocks are stopped until an answer comes.
                host.send(&HostRequest::Wait { deadline });
            }
            self.files.write_waiting_views(self.run.id);
        }
        Ok(())
    }

    /// The decision where no user can be asked: what the engine's file says about its permission. Information that only
    /// a user has is not made up.
    fn decided(&self, call: &CallQuestion) -> CallRule {
        match (&call.asks, self.files.call_rule(&self.run)) {
            (Asks::Permission, Some(calls)) => calls,
            (Asks::Permission, None) | (Asks::Elicitation { .. }, _) => CallRule::Deny,
        }
    }

    fn question(&self, call: &CallQuestion) -> Pending {
        let request = self.run.record.request.default_decision_policy;
        let skill = self.rules.skill.as_ref().and_then(|skill| skill.runner.default_decision_policy);
        let (default_decision_policy, policy_source) = match (request, skill) {
            (Some(policy), _) => (policy, PolicySource::Request),
            (None, Some(policy)) => (policy, PolicySource::Skill),
            // The answer is not a yes, so the call is denied.
            (None, None) => (DecisionPolicy::SafeDefault, PolicySource::Default),
        };
        Pending {
            interaction_id: InteractionId(0),
            scope: Scope::Call,
            kind: match (&call.asks, call.options.is_empty()) {
                (Asks::Elicitation { .. }, _) => InteractionKind::FillFields,
                (Asks::Permission, true) => InteractionKind::Confirm,
                (Asks::Permission, false) => InteractionKind::ChooseOne,
            },
            // What the engine sent goes back to it unchanged, and is shown without terminal control sequences.
            prompt: ansi::strip(&words(call)).into_owned(),
            options: options(call),
            ui_hints: None,
            default_decision_policy,
            policy_source,
            context: Some(context(call)),
            deadline: None,
            on_deadline: OnDeadline::Wait,
            source_attempt: self.run.state.attempt,
        }
    }
}

/// The question, for the user.
fn words(call: &CallQuestion) -> String {
    let shown = |value: &Value| value.to_string().chars().take(SHOWN).collect::<String>();
    match &call.asks {
        Asks::Permission => {
            let input = call.input.as_ref().map(shown).unwrap_or_default();
            format!("The agent wants to use {}. Allow it?\n{input}", call.tool)
        }
        Asks::Elicitation { message, schema } => {
            let fields = schema.as_ref().and_then(|schema| schema.get("properties")).map(shown).unwrap_or_default();
            let message: String = message.chars().take(SHOWN).collect();
            format!("{message}\nAnswer with a text, or with a JSON object that has these fields: {fields}")
        }
    }
}

/// The answers that are offered. Without a yes the call is denied, so the default is a refusal.
fn options(call: &CallQuestion) -> Vec<AskOption> {
    let option = |value: &str, label: &str, default: bool| AskOption {
        value: value.to_owned(),
        label: ansi::strip(label).into_owned(),
        default,
    };
    match &call.asks {
        Asks::Elicitation { .. } => vec![option("decline", "Do not answer", true)],
        Asks::Permission if call.options.is_empty() => {
            vec![option("allow", "Allow", false), option("deny", "Deny", true)]
        }
        Asks::Permission => {
            let rejects = |one: &CallOption| one.kind.rejects();
            let default = call.options.iter().position(rejects);
            let offered = call.options.iter().enumerate();
            offered.map(|(at, one)| option(&one.id, &one.name, Some(at) == default)).collect()
        }
    }
}

/// What the Log keeps of a question, so that any later owner can build the answer.
pub(super) fn context(call: &CallQuestion) -> Value {
    let mut context = json!({ "call_id": call.call_id, "tool": call.tool, "input": call.input });
    let more = match &call.asks {
        Asks::Permission if call.options.is_empty() => return context,
        Asks::Permission => {
            let option = |one: &CallOption| json!({ "id": one.id, "name": one.name, "kind": one.kind.as_str() });
            json!({ "options": call.options.iter().map(option).collect::<Vec<_>>() })
        }
        Asks::Elicitation { message, schema } => json!({ "message": message, "schema": schema }),
    };
    if let (Value::Object(all), Value::Object(more)) = (&mut context, more) {
        all.extend(more);
    }
    context
}

/// The same, read back.
pub(super) fn asked_in(context: &Value) -> Option<ExpectedAnswer<'_>> {
    if let Some(options) = context.get("options").and_then(Value::as_array) {
        return Some(ExpectedAnswer::Permission(options.iter().filter_map(choice).collect()));
    }
    context.get("message").map(|_| ExpectedAnswer::Form(context.get("schema").filter(|schema| !schema.is_null())))
}

fn choice(option: &Value) -> Option<Choice<'_>> {
    let text = |key: &str| option.get(key)?.as_str();
    Some(Choice { id: text("id")?, name: text("name")?, kind: OptionKind::of(text("kind")?) })
}
