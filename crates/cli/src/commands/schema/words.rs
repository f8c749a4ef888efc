//! The English texts of states and codes, as one table that other presenters can use. No text is defined here.

use serde::Serialize;
use serde_json::{Map, Value, json};
use skillrun_inspect::diagnose::{MomentKind, PassageKind, words};
use skillrun_model::checks::CheckStatus;
use skillrun_model::delegation::DelegatedState;
use skillrun_model::interaction::OnDeadline;
use skillrun_model::presenters::{self, Presentation, Presenter, RunState, TurnEnding};
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::status::CompletionState;
use skillrun_model::verdict::Rule;
use skillrun_model::workflow::{StepStanding, WorkflowOutcome};
use skillrun_model::{Code, EndedBy, RunStatus, TurnState};
use skillrun_server::problem::ProblemCode;

pub(super) fn table() -> Value {
    json!({
        "codes": each(Code::ALL, Code::summary),
        "rules": each(Rule::ALL, words::rule),
        "statuses": each(RunStatus::ALL, |status| words::run(RunState::of(status, None))),
        // As each presenter shows them.
        "runs": by_presenter(RunState::ALL, presenters::of_run),
        "turns_shown": by_presenter(TurnEnding::ALL, presenters::of_turn),
        "children": by_presenter(DelegatedState::ALL, presenters::of_child),
        "checks": by_presenter(CheckStatus::ALL, presenters::of_check),
        "workflows": by_presenter(WorkflowOutcome::ALL, presenters::of_workflow),
        "steps": by_presenter(StepStanding::ALL, presenters::of_step),
        "turns": each(TurnState::ALL, words::turn),
        "completions": each(CompletionState::ALL, words::completion),
        "ended_by": each(EndedBy::ALL, words::ended_by),
        "resolutions": each(ResolutionMode::ALL, words::resolution),
        "on_deadline": each(OnDeadline::ALL, words::on_deadline),
        "moments": each(MomentKind::ALL, words::moment),
        // By the kind of the passage, and by how its turn ended.
        "passages": each(PassageKind::ALL, |what| each(TurnState::ALL, |turn| words::passage(what, turn))),
        // What to do about a problem of the service.
        "problems": each(ProblemCode::ALL, ProblemCode::next_action),
    })
}

/// The text of each item, by its wire name.
fn each<T: Copy + Serialize, Words: Into<Value>>(all: &[T], words: impl Fn(T) -> Words) -> Value {
    let name = |one: &T| json!(one).as_str().unwrap_or_default().to_owned();
    let named: Map<String, Value> = all.iter().map(|one| (name(one), words(*one).into())).collect();
    named.into()
}

/// The words of each state, by presenter.
fn by_presenter<T: Copy + Serialize>(all: &[T], shown: impl Fn(T, Presenter) -> Presentation) -> Value {
    let of = |presenter: &Presenter| (presenter.to_string(), each(all, |state| shown(state, *presenter).words));
    Presenter::ALL.iter().map(of).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_words() {
        fn texts<'a>(path: &str, value: &'a Value, found: &mut Vec<(String, &'a str)>) {
            match value {
                Value::Object(fields) => {
                    assert!(!fields.is_empty(), "{path}");
                    fields.iter().for_each(|(name, field)| texts(&format!("{path}/{name}"), field, found));
                }
                Value::String(text) => found.push((path.to_owned(), text)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => panic!("{path}: {value}"),
            }
        }
        let table = table();
        let mut found = Vec::new();
        texts("", &table, &mut found);
        for (path, text) in &found {
            assert!(!text.trim().is_empty() && !path.contains("//") && !path.ends_with('/'), "{path}: {text:?}");
        }
        let sizes = [("codes", Code::ALL.len()), ("rules", Rule::ALL.len()), ("problems", ProblemCode::ALL.len())];
        for (name, size) in sizes {
            assert_eq!(table[name].as_object().map(Map::len), Some(size), "{name}");
        }
        assert_eq!(table["rules"]["2b"], words::rule(Rule::Failure));
        assert_eq!(table["codes"]["TIMEOUT"], Code::Timeout.summary());
        assert_eq!(table["passages"]["answer"]["failed"], "last message", "no answer of a turn that failed");
    }
}
