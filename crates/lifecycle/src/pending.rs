//! The question as it is put to the user: always built here, enriched by what the agent asked.

use serde_json::Value;
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};

use skillrun_parse::ansi;

use crate::control::Control;
use crate::reading::Reading;

const FALLBACK_PROMPT: &str =
    "The agent ended its turn without a result and without a question. How should it continue?";

const NEXT_PROMPT: &str = "The turn is over. Send the next prompt.";

/// The run rests: it waits for the next prompt of the user, without a deadline.
pub(crate) fn at_rest(control: &Control<'_>) -> Pending {
    let pending = Pending::open_text(control.next_interaction, control.attempt, NEXT_PROMPT);
    Pending { scope: Scope::Prompt, ..pending }
}

pub(crate) fn build(reading: &Reading<'_>, control: &Control<'_>) -> Pending {
    let ask = reading.ask.as_deref();
    let prompt = prompt(reading, ask.and_then(|a| a.prompt.as_deref()));
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

/// The agent's text around its question, then the question itself, which the options belong to.
fn prompt(reading: &Reading<'_>, asked: Option<&str>) -> String {
    let said = shown_prompt(&reading.prompt);
    let asked =
        asked.and_then(shown_prompt).filter(|asked| !said.as_deref().is_some_and(|said| ends_with(said, asked)));
    let broken = reading.broken_marker.as_ref().map(|problem| {
        format!(
            "The agent tried to say that it is done, but its marker cannot be read: {problem}. Ask it to write the \
             marker again, or reply how it should continue."
        )
    });
    let parts: Vec<String> = [said, broken, asked].into_iter().flatten().collect();
    if parts.is_empty() { FALLBACK_PROMPT.to_owned() } else { parts.join("\n\n") }
}

/// Whether a text already ends with this question, regardless of whitespace.
fn ends_with(said: &str, asked: &str) -> bool {
    let mut said = said.split_whitespace().rev();
    asked.split_whitespace().rev().all(|word| said.next() == Some(word))
}

/// The gate reads texts as the engine sent them; the shown text has no control characters.
fn shown(mut value: Value) -> Value {
    ansi::strip_value(&mut value);
    value
}

/// None when it has no visible content.
fn shown_prompt(text: &str) -> Option<String> {
    Some(ansi::strip(text).into_owned()).filter(|prompt| !prompt.trim().is_empty())
}

fn shown_option(option: &AskOption) -> AskOption {
    let clean = |text: &str| ansi::strip(text).into_owned();
    AskOption { value: clean(&option.value), label: clean(&option.label), default: option.default }
}
