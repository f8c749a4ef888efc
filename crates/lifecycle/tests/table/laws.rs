//! What holds for any facts.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use skillrun_lifecycle::{Control, OutputValidator, ProcessExit, settle};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::interaction::{DecisionPolicy, Scope};
use skillrun_model::rasp::Level;
use skillrun_model::status::Continuation;
use skillrun_model::verdict::{EngineLimit, Rule};
use skillrun_model::{
    AttemptNumber, Code, CompletionState, EndedBy, ExecutionMode, InteractionId, RunStatus, TurnState,
};
use skillrun_parse::record::{EndKind, EndPolicy, EngineError};
use skillrun_parse::text::marker::DONE_KEY;
use skillrun_translate::Facts;
use skillrun_translate::facts::{EndFact, FinalMessage, HostAct, ParseCounts};

use super::build::{ASK, AnswerSchema, BAD, BAD_DONE, DONE, GOOD, GOOD_DONE, NOT_DONE, span};

fn message() -> impl Strategy<Value = FinalMessage> {
    let whole = [DONE, GOOD, GOOD_DONE, BAD, BAD_DONE, NOT_DONE, ASK, r#"{"ask_user":{"prompt":"?"}}"#];
    let broken = ["{", "}", "[", "]", "{\"a\":", "\"", "\n", " ", "```", "\n```\n", "é", "words", "\\ud800"];
    let pieces = [&whole[..], &broken, &["<ASK_USER_YAML>", r#"{"__skill_done__":true}"#]].concat();
    (prop::collection::vec(select(pieces), 0..8), any::<[bool; 2]>(), 0.0..=1.0).prop_map(
        |(pieces, [truncated, after_tool], confidence)| FinalMessage {
            message_id: "m".to_owned(),
            text: pieces.concat(),
            truncated,
            after_tool,
            confidence,
            spans: vec![span(0, 1)],
        },
    )
}

fn category() -> impl Strategy<Value = ErrorCategory> {
    select(ErrorCategory::ALL)
}

fn limit() -> impl Strategy<Value = Option<EngineLimit>> {
    option::of(select(EngineLimit::ALL))
}

fn end() -> impl Strategy<Value = EndFact> {
    // Often a success; otherwise most random turns would end early.
    let kinds = vec![EndKind::Success, EndKind::Success, EndKind::Failure, EndKind::Limit, EndKind::Retracted];
    (select(kinds), option::of("[a-z]{0,4}"), category(), 0.0..=1.0, limit()).prop_map(
        |(kind, message, category, confidence, limit)| {
            let span = span(1, 2);
            EndFact { kind, message, category, limit, confidence, span }
        },
    )
}

fn facts() -> impl Strategy<Value = Facts> {
    let policy = prop_oneof![
        3 => Just(EndPolicy::Event),
        1 => (0.0..=1.0).prop_map(|confidence| EndPolicy::Exit { confidence }),
    ];
    let error = (category(), "[a-z]{0,4}").prop_map(|(category, message)| {
        let (level, code) = (Level::Error, Code::EngineError);
        EngineError { level, code, message, category, reset: None }
    });
    let kinds = &[EndKind::Success, EndKind::Failure, EndKind::Limit][..];
    let act = (select(EndedBy::ALL), option::of(select(kinds))).prop_map(|(act, after)| HostAct { act, after });
    let messages = prop::collection::vec(message(), 0..4);
    let acts = prop::collection::vec(act, 0..3);
    (policy, option::of("s"), messages, option::weighted(0.8, end()), any::<[bool; 3]>(), option::of(error), acts)
        .prop_map(|(end_policy, session_id, messages, end, flags, error, acts)| Facts {
            end_policy,
            session_id,
            messages,
            tool_follows: flags[2],
            end,
            has_text: flags[0],
            error,
            failed_servers: Default::default(),
            last_words: None,
            reset_at: None,
            profile: None,
            session_refused: flags[1],
            usage: None,
            acts,
            parse: ParseCounts::default(),
        })
}

fn control() -> impl Strategy<Value = Control<'static>> {
    let exit = prop_oneof![
        3 => Just(ProcessExit::Code(0)),
        1 => (-1..300).prop_map(ProcessExit::Code),
        1 => Just(ProcessExit::Signal("SIGTERM".to_owned())),
        1 => Just(ProcessExit::Unknown),
    ];
    let policy = || option::of(select(DecisionPolicy::ALL));
    let numbers = (0..4_u32, option::of(1..4_u32), 1..9_u32);
    let ended = (exit, option::of(select(EndedBy::ALL)), prop::bool::weighted(0.1));
    let session = (select(Continuation::ALL), option::of(Just("s")));
    (select(ExecutionMode::ALL), numbers, ended, session, any::<[bool; 2]>(), policy(), policy()).prop_map(
        |(mode, (attempt, max_attempt, next), (exit, ended_by, cancel_recorded), session, flags, request, skill)| {
            let [schema, require_marker] = flags;
            let (continuation, known_session) = session;
            let control = Control::new(mode, AttemptNumber(attempt), continuation, exit);
            let schema = schema.then_some(&AnswerSchema as &dyn OutputValidator);
            let (request_policy, skill_policy, next_interaction) = (request, skill, InteractionId(next));
            let control = Control { max_attempt, require_marker, known_session, cancel_recorded, ended_by, ..control };
            Control { schema, next_interaction, request_policy, skill_policy, ..control }
        },
    )
}

/// Whether the engine reported that its turn succeeded.
fn has_success_end(facts: &Facts, control: &Control<'_>) -> bool {
    match facts.end_policy {
        EndPolicy::Event => facts.end.as_ref().is_some_and(|end| end.kind == EndKind::Success),
        EndPolicy::Exit { .. } => control.exit == ProcessExit::Code(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn hold_for_any_facts(facts in facts(), control in control()) {
        let settled = settle(&facts, &control);
        prop_assert_eq!(&settle(&facts, &control), &settled, "same in, same out");
        let verdict = &settled.verdict;
        let is = |status| verdict.run_status == status;
        let is_interrupt = verdict.rule == Rule::Interrupted;
        prop_assert_eq!(is(RunStatus::WaitingUser), verdict.pending.is_some());
        prop_assert_eq!(is(RunStatus::Canceled), control.cancel_recorded);
        let rests = verdict.pending.as_ref().is_some_and(|pending| pending.scope == Scope::Prompt);
        prop_assert!(rests || is(RunStatus::Failed) == verdict.error.is_some());
        prop_assert!(!rests || verdict.error.is_some() != (verdict.turn == TurnState::Completed || is_interrupt));
        prop_assert!(verdict.run_status.is_terminal() || is(RunStatus::WaitingUser));
        if is(RunStatus::Succeeded) {
            prop_assert_eq!(verdict.completion, CompletionState::Completed);
            prop_assert_eq!(verdict.turn, TurnState::Completed);
            prop_assert!(verdict.output.is_some());
            prop_assert!(verdict.answer_message_id.is_some());
        }
        if !has_success_end(&facts, &control) {
            prop_assert!(!is(RunStatus::Succeeded) && (rests || !is(RunStatus::WaitingUser)));
            prop_assert!(verdict.evidence.marker.is_empty() && settled.marker.is_none());
        }
        if control.mode == ExecutionMode::Conversation && !is(RunStatus::Canceled) {
            prop_assert!(rests, "a conversation goes on");
            prop_assert_eq!(&verdict.output, &None);
        }
        if is(RunStatus::WaitingUser) && !rests {
            prop_assert_eq!(control.mode, ExecutionMode::Interactive);
            prop_assert_eq!(verdict.completion, CompletionState::AwaitingUserInput);
        }
        if verdict.answer_message_id.is_some() {
            prop_assert_eq!(verdict.turn, TurnState::Completed);
        }
        if let Some(output) = &verdict.output {
            prop_assert!(!output.contains_key(DONE_KEY));
            if let Some(schema) = control.schema {
                prop_assert_eq!(schema.errors(output), Vec::<String>::new());
            }
        }
        prop_assert!((0.0..=1.0).contains(&verdict.confidence));
        if control.mode == ExecutionMode::Auto && is(RunStatus::Succeeded) {
            let marked = !verdict.evidence.marker.is_empty();
            let warned = verdict.warnings.contains(&Code::CompletedWithoutDoneMarker);
            prop_assert!(marked != warned, "done without a marker is reported");
            prop_assert!(marked || !control.require_marker);
            let denied = settled.notices.iter().any(|notice| notice.code == Code::DoneMarkerFalse);
            prop_assert!(marked || !denied, "not done is not a success");
        }
        if facts.tool_follows || facts.messages.last().is_some_and(|message| message.after_tool) {
            let last = if facts.tool_follows { None } else { facts.messages.last() };
            let may_have_marker = last.is_some_and(|message| message.text.contains(DONE_KEY));
            prop_assert!(may_have_marker || verdict.evidence.marker.is_empty(), "work came after any marker");
        }
    }
}
