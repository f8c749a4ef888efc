//! What engines report of subagents of their own. Engines repeat themselves; only what is new becomes a record.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::buffer::cut;
use crate::json;
use crate::profile::Emit;
use crate::record::{ObservedSubagent, RecordKind};

/// Most subagents of one stream that are remembered. The engine's reports of others are passed on as they come.
const SUBAGENTS_MAX: usize = 1_000;
/// Longest id and longest name, in bytes.
const NAME_MAX: usize = 256;
/// Longest beginning of a task.
const TASK_MAX: usize = 1024;
/// Longest word for a state.
const STATE_MAX: usize = 100;
/// Longest text beside a state.
const TEXT_MAX: usize = 4 * 1024;

/// The subagents of one stream.
#[derive(Debug, Default)]
pub(crate) struct Subagents(HashMap<String, Known>);

/// What the engine has reported of a subagent.
#[derive(Debug, Default)]
struct Known {
    name: Option<String>,
    task: Option<String>,
    truncated: bool,
    /// The last state and its text; none as long as the subagent was only asked for.
    last: Option<(Option<String>, Option<String>)>,
}

/// What a call gives to a subagent: the same members in claude, qwen and opencode.
#[derive(Debug, Default, serde::Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    subagent_type: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
}

impl Subagents {
    /// A call asks for a subagent. That it works is known only from what follows.
    pub(crate) fn announce_call(&mut self, id: &str, input: Option<&RawValue>) {
        let task = input.and_then(|input| serde_json::from_str::<Task<'_>>(input.get()).ok()).unwrap_or_default();
        self.announce(id, text(task.subagent_type), text(task.description).or_else(|| text(task.prompt)));
    }

    /// The name and the task of a subagent, if they are not known yet.
    pub(crate) fn announce(&mut self, id: &str, name: Option<String>, task: Option<String>) {
        let Some(known) = self.known(id) else { return };
        let mut bounded = Bounded::default();
        if known.name.is_none() {
            known.name = bounded.cut(name, NAME_MAX);
        }
        if known.task.is_none() {
            known.task = bounded.cut(task, TASK_MAX);
        }
        known.truncated |= bounded.was_cut;
    }

    pub(crate) fn is_known(&self, id: &str) -> bool {
        self.0.contains_key(&cut(id, NAME_MAX))
    }

    /// The engine reports something of the work of a subagent, without a state.
    pub(crate) fn works(&mut self, id: &str, emit: &mut Emit<'_>) {
        if self.known(id).is_some_and(|known| known.last.is_none()) {
            self.report(id, None, None, emit);
        }
    }

    /// The engine reports a state of a subagent.
    pub(crate) fn report(&mut self, id: &str, state: Option<String>, text: Option<String>, emit: &mut Emit<'_>) {
        let mut bounded = Bounded::default();
        let state = bounded.cut(state, STATE_MAX);
        let text = bounded.cut(text, TEXT_MAX);
        let mut subagent = ObservedSubagent {
            id: cut(id, NAME_MAX),
            state,
            text,
            truncated: bounded.was_cut || id.len() > NAME_MAX,
            ..ObservedSubagent::default()
        };
        if let Some(known) = self.known(id) {
            let is_old = |(state, text): &(Option<String>, Option<String>)| {
                *state == subagent.state && (subagent.text.is_none() || *text == subagent.text)
            };
            if known.last.as_ref().is_some_and(is_old) {
                return;
            }
            known.last = Some((subagent.state.clone(), subagent.text.clone()));
            subagent.name.clone_from(&known.name);
            subagent.task.clone_from(&known.task);
            subagent.truncated |= known.truncated;
        }
        emit.push(RecordKind::Subagent(subagent));
    }

    /// None where too many are known.
    fn known(&mut self, id: &str) -> Option<&mut Known> {
        let has_room = self.0.len() < SUBAGENTS_MAX;
        let id = cut(id, NAME_MAX);
        if has_room { Some(self.0.entry(id).or_default()) } else { self.0.get_mut(&id) }
    }
}

/// Cuts texts, and remembers whether one was too long.
#[derive(Debug, Default)]
struct Bounded {
    was_cut: bool,
}

impl Bounded {
    fn cut(&mut self, text: Option<String>, max: usize) -> Option<String> {
        let text = text.filter(|text| !text.trim().is_empty())?;
        self.was_cut |= text.len() > max;
        Some(cut(&text, max))
    }
}

/// A text; a value of another shape as the engine wrote it.
pub(crate) fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.map(|raw| json::decode::<String>(raw).unwrap_or_else(|| raw.get().to_owned()))
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(json::decode::<String>)
}
