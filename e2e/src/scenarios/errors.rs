//! The model's server refuses: the key is wrong, or too much was asked of it.

use skillrun_model::RunStatus;
use skillrun_model::codes::ErrorCategory;

use crate::problem::{Miss, must};
use crate::trial::Trial;

pub(super) fn unauthorized(trial: &Trial<'_>) -> Result<(), Miss> {
    fails_with(trial, ErrorCategory::Auth)
}

pub(super) fn quota(trial: &Trial<'_>) -> Result<(), Miss> {
    fails_with(trial, ErrorCategory::Quota)
}

fn fails_with(trial: &Trial<'_>, category: ErrorCategory) -> Result<(), Miss> {
    let over = trial.run(&[])?;
    over.must_be(RunStatus::Failed)?;
    must(over.result.output.is_none(), "has output", || format!("it has an output: {}", over.json["output"]))?;
    let error = over.result.error.as_ref().ok_or_else(|| Miss::new("no error", "the result has no error"))?;
    must(error.category == category, error.category.as_str(), || {
        format!("category {} instead of {category}: {} {}", error.category, error.code, error.message)
    })?;
    must(!over.result.next_actions.is_empty(), "no advice", || "no next action is named".to_owned())
}
