//! The question as it is put to the user: always built here, enriched by what the agent asked.

use serde_json::Value;
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};

use skillrun_parse::ansi;

use crate::control::Control;
use crate::reading::Reading;

const FALLBACK_PROMPT: &str = "The agent ended its turn without a result and without a question. How should it go on?";

pub(crate) fn build(reading: &Reading<'_>, control: &Control<'_>) -> Pending {
    let ask = reading.ask.as_deref();
    let asked = ask.and_then(|a| a.prompt.as_deref()).and_then(shown_prompt);
    let prompt = shown_prompt(&reading.prompt).or(asked).unwrap_or_else(|| FALLBACK_PROMPT.to_owned());
    let policies = [
        (control.request_policy, PolicySource::Request),
        (control.skill_policy, PolicySource::Skill),
        (ask.and_then(|a| a.default_decision_policy), PolicySource::Model),
    ];
    let (default_decision_policy, policy_source) = policies
        .into_iter()
        .find_map(|(policy, source)| policy.map(|policy| (policy, source)))
        .unwrap_or((DecisionPolicy::EngineJudgement, PolicySource::Default));
    Pending {
        interaction_id: control.next_interaction,
        scope: Scope::Turn,
        kind: ask.and_then(|a| a.kind).unwrap_or(InteractionKind::OpenText),
        prompt,
        options: ask.map(|a| a.options.iter().map(shown_option).collect()).unwrap_or_default(),
        ui_hints: ask.and_then(|a| a.ui_hints.clone()).map(shown),
        default_decision_policy,
        policy_source,
        context: ask.and_then(|a| a.context.clone()).map(shown),
        // Timers belong to the runtime; a settled turn only says that it waits.
        deadline: None,
        on_deadline: OnDeadline::Wait,
        source_attempt: control.attempt,
    }
}

/// The gate reads texts as the engine sent them; what is shown has no control characters.
fn shown(mut value: Value) -> Value {
    ansi::strip_value(&mut value);
    value
}

/// None when there is nothing to see in it.
fn shown_prompt(text: &str) -> Option<String> {
    Some(ansi::strip(text).into_owned()).filter(|prompt| !prompt.trim().is_empty())
}

fn shown_option(option: &AskOption) -> AskOption {
    let clean = |text: &str| ansi::strip(text).into_owned();
    AskOption { value: clean(&option.value), label: clean(&option.label), default: option.default }
}
