//! `--output-format json`: one object with `session_id` and `response`, `stats` or `error` at its root.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;

use crate::json::{self, Str};
use crate::profile::Emit;
use crate::profiles::gemini::failure::Failure;
use crate::profiles::gemini::stream::whole_message;
use crate::record::{End, RecordKind};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    session_id: Str<'a>,
    response: Option<Str<'a>>,
    stats: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Stats {
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    tokens: Option<Tokens>,
}

/// `prompt` includes cached tokens, `input` does not.
#[derive(Deserialize)]
struct Tokens {
    prompt: Option<u64>,
    input: Option<u64>,
    candidates: Option<u64>,
    cached: Option<u64>,
    thoughts: Option<u64>,
}

/// None when it is not a document of gemini.
pub(super) fn parse(text: &str) -> Option<Document<'_>> {
    let document: Document<'_> = serde_json::from_str(text).ok()?;
    (document.response.is_some() || document.stats.is_some() || document.error.is_some()).then_some(document)
}

impl Document<'_> {
    pub(super) fn emit(self, emit: &mut Emit<'_>) {
        emit.push(RecordKind::Session { id: self.session_id.into_string() });
        let answered = self.response.is_some();
        if let Some(response) = self.response {
            emit.push(whole_message(response));
        }
        if let Some(usage) = self.stats.and_then(usage) {
            emit.push(RecordKind::Usage(usage));
        }
        let phase = match self.error {
            Some(error) => return Failure::read(error).emit(emit),
            None if answered => {
                emit.push(RecordKind::End(End::success()));
                Phase::TurnCompleted
            }
            None => Phase::Working,
        };
        emit.status(phase);
    }
}

fn usage(stats: &RawValue) -> Option<TurnUsage> {
    let models = json::decode::<Stats>(stats)?.models;
    let tokens: Vec<Tokens> = models.into_values().filter_map(|model| model.tokens).collect();
    let sum = |of: fn(&Tokens) -> Option<u64>| tokens.iter().filter_map(of).reduce(u64::saturating_add);
    Some(TurnUsage {
        input_tokens: sum(|t| t.prompt.or(t.input)),
        output_tokens: sum(|t| t.candidates),
        cached_input_tokens: sum(|t| t.cached),
        reasoning_tokens: sum(|t| t.thoughts),
        ..TurnUsage::default()
    })
}
