//! The usage of a turn: reported with the response to the prompt, in its `_meta` (gemini), or in pieces, one per
//! request to the model, in the `_meta` of empty chunks (qwen).

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::rasp::data::TurnUsage;

use super::wire::{self, Answer, Meta};
use crate::json;

#[derive(Default, Deserialize)]
struct Quota<'a> {
    #[serde(borrow)]
    token_count: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct OfPiece<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// Figures, in either spelling.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    #[serde(alias = "input_tokens")]
    input_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    output_tokens: Option<u64>,
    #[serde(alias = "cachedInputTokens", alias = "cached_input_tokens")]
    cached_read_tokens: Option<u64>,
    #[serde(alias = "reasoningOutputTokens", alias = "reasoning_output_tokens")]
    thought_tokens: Option<u64>,
    #[serde(alias = "total_tokens")]
    total_tokens: Option<u64>,
}

impl Usage {
    /// Of the whole turn.
    pub(super) fn of_answer(answer: &Answer<'_>) -> Option<Self> {
        let in_meta = || {
            let quota = answer.meta.and_then(wire::object::<Meta<'_>>)?.quota.and_then(wire::object::<Quota<'_>>)?;
            quota.token_count.and_then(json::decode)
        };
        answer.usage.and_then(json::decode).or_else(in_meta)
    }

    /// Of one request to the model.
    pub(super) fn of_piece(meta: Option<&RawValue>) -> Option<Self> {
        wire::object::<OfPiece<'_>>(meta?)?.usage.and_then(json::decode)
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cached_read_tokens: sum(self.cached_read_tokens, other.cached_read_tokens),
            thought_tokens: sum(self.thought_tokens, other.thought_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
        }
    }

    pub(super) fn told(self) -> TurnUsage {
        let reported = self.total_tokens.map(|total| ("total_tokens".to_owned(), total.into()));
        TurnUsage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_input_tokens: self.cached_read_tokens,
            reasoning_tokens: self.thought_tokens,
            reported: reported.into_iter().collect(),
        }
    }
}
