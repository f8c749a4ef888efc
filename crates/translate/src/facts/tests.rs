use super::{CALL_ID_BYTES, EndFact, Facts, FactsFold, HostAct, KEPT_ACTS, KEPT_AT_LEAST, KEPT_BYTES, KEPT_MESSAGES};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;
use skillrun_model::{Code, EndedBy, ProfileId, Stream, Timestamp};
use skillrun_parse::Record;
use skillrun_parse::buffer::MESSAGE_BUDGET;
use skillrun_parse::record::{AnswerFrom, End, EndKind, EndPolicy, EngineError, MessageKey, RecordKind, Span, Voided};
use skillrun_parse::reset::Reset;

/// This many seconds after the beginning.
fn second(seconds: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000)
}

/// Builds a fold step by step. Each record has the next ten bytes of its stream, and is read in the second of its first
/// byte.
#[derive(Default)]
struct Story {
    fold: FactsFold,
    at: u64,
    stream: Option<Stream>,
}

impl Story {
    fn record(mut self, kind: RecordKind) -> Self {
        let stream = self.stream.unwrap_or(Stream::Stdout);
        let span = Span { stream, from: self.at, to: self.at + 10 };
        self.at += 10;
        let name = matches!(kind, RecordKind::Message { .. }).then(|| format!("m{}", span.from));
        let (pieces, profile, confidence) = (Vec::new(), ProfileId::ClaudeStreamJson, 1.0);
        self.fold.record(second(span.from), Record { span, pieces, profile, confidence, kind }, name);
        self
    }

    /// What follows is on this stream.
    fn on(self, stream: Stream) -> Self {
        Self { stream: Some(stream), ..self }
    }

    fn says(self, text: &str) -> Self {
        self.record(RecordKind::Message { id: MessageKey::Unnamed, text: text.to_owned().into(), partial: false })
    }

    fn says_as(self, id: &str, text: &str) -> Self {
        let id = MessageKey::Engine(id.to_owned());
        self.record(RecordKind::Message { id, text: text.to_owned().into(), partial: false })
    }

    fn says_partly(self, text: &str) -> Self {
        self.record(RecordKind::Message { id: MessageKey::Unnamed, text: text.to_owned().into(), partial: true })
    }

    fn delta(self, text: &str) -> Self {
        self.record(RecordKind::Delta { id: MessageKey::Unnamed, text: text.to_owned() })
    }

    fn calls(self) -> Self {
        self.record(RecordKind::ToolStarted { id: "t".into(), name: "shell".into(), input: None })
    }

    fn returns(self) -> Self {
        self.record(RecordKind::ToolCompleted { id: "t".into(), output: Some("{\"__SKILL_DONE__\": true}".into()) })
    }

    fn joins(self) -> Self {
        self.record(RecordKind::Join)
    }

    fn voids(self, id: &str) -> Self {
        self.record(RecordKind::Void(Voided::Message(id.to_owned())))
    }

    fn voids_response(self) -> Self {
        self.record(RecordKind::Void(Voided::Response))
    }

    fn ends(self, kind: EndKind) -> Self {
        self.record(RecordKind::End(End { kind, message: None, category: ErrorCategory::Engine, limit: None }))
    }

    fn session(self, id: &str) -> Self {
        self.record(RecordKind::Session { id: id.to_owned() })
    }

    fn error(self, level: Level, category: ErrorCategory, message: &str) -> Self {
        let (code, message) = (Code::EngineError, message.to_owned());
        self.record(RecordKind::EngineError(EngineError { level, code, message, category, reset: None }))
    }

    fn act(mut self, act: EndedBy) -> Self {
        self.fold.act(act);
        self
    }

    fn facts_from(self, from: AnswerFrom) -> Facts {
        self.fold.finish(EndPolicy::Event, from)
    }

    fn facts(self) -> Facts {
        self.facts_from(AnswerFrom::Only(Stream::Stdout))
    }

    /// The final messages; one that comes after a tool call has a `!` before it.
    fn messages(self) -> Vec<String> {
        let mark = |after_tool: bool| if after_tool { "!" } else { "" };
        self.facts().messages.iter().map(|m| format!("{}{}", mark(m.after_tool), m.text)).collect()
    }
}

fn story() -> Story {
    Story::default()
}

#[test]
fn finished_messages_are_finals() {
    assert_eq!(story().says("a").says("b").messages(), ["a", "b"]);
    let facts = story().says("a").facts();
    let message = &facts.messages[0];
    assert_eq!((message.message_id.as_str(), message.truncated), ("m0", false));
    assert_eq!(message.spans, [Span { stream: Stream::Stdout, from: 0, to: 10 }]);
}

#[test]
fn partial_and_blank_messages_are_no_finals() {
    assert_eq!(story().says("a").says_partly("b").says(" \n").messages(), ["a"]);
    assert!(story().says_partly("b").facts().has_text);
    assert!(story().delta("b").facts().has_text);
    assert!(!story().says(" \n").delta(" ").says_partly("\t").facts().has_text);
    assert!(story().delta("a").facts().messages.is_empty());
}

/// Tool output, reasoning, errors, raw lines: none of them is a message or text.
#[test]
fn records_that_are_not_messages_give_no_text() {
    let facts = story()
        .calls()
        .returns()
        .record(RecordKind::Reasoning { text: "{\"__SKILL_DONE__\": true}".to_owned() })
        .error(Level::Error, ErrorCategory::Engine, "broken")
        .facts();
    assert!(facts.messages.is_empty() && !facts.has_text);
}

#[test]
fn tool_calls_lie_between_messages() {
    assert_eq!(story().says("a").calls().says("b").says("c").messages(), ["a", "!b", "c"]);
    assert_eq!(story().says("a").returns().says("b").messages(), ["a", "!b"]);
    let seen = RecordKind::ToolSeen { id: "t".into(), name: "shell".into(), input: None };
    assert_eq!(story().says("a").record(seen).says("b").messages(), ["a", "!b"]);
    let failed = RecordKind::ToolFailed { id: "t".into(), reason: "no".into(), output: None };
    assert_eq!(story().says("a").record(failed).says("b").messages(), ["a", "!b"]);
    // A message that does not count removes nothing.
    assert_eq!(story().says("a").calls().says(" ").says_partly("x").says("b").messages(), ["a", "!b"]);
}

#[test]
fn joined_texts_are_one_message() {
    assert_eq!(story().says("a").joins().says("b").says("c").messages(), ["ab", "c"]);
    assert_eq!(story().says("a").joins().says("b").joins().says("c").messages(), ["abc"]);
    assert_eq!(story().joins().says("a").messages(), ["a"]);
    assert_eq!(story().says("a").joins().calls().says("b").messages(), ["a", "!b"]);
    assert_eq!(story().says("a").calls().says("b").joins().says("c").messages(), ["a", "!bc"]);
    let facts = story().says("a").joins().says("b").facts();
    assert_eq!(facts.messages[0].message_id, "m20");
    assert_eq!(facts.messages[0].spans.len(), 2);
}

#[test]
fn a_named_message_is_taken_back() {
    assert_eq!(story().says_as("x", "a").says_as("y", "b").voids("y").messages(), ["a"]);
    assert_eq!(story().says_as("x", "a").says_as("y", "b").voids("x").messages(), ["b"]);
    assert_eq!(story().says_as("x", "a").voids("z").messages(), ["a"]);
    // Every text under the name.
    assert_eq!(story().says_as("x", "a").says_as("x", "b").voids("x").says("c").messages(), ["c"]);
    // Joined texts are one message, under each of their names.
    let joined = || story().says("a").says_as("x", "b").joins().says_as("y", "c");
    assert_eq!(joined().voids("x").messages(), ["a"]);
    assert_eq!(joined().voids("y").messages(), ["a"]);
    // There is nothing left to join.
    assert_eq!(story().says("a").says_as("x", "b").joins().voids("x").says("c").messages(), ["a", "c"]);
    assert_eq!(story().says_as("x", "a").says("b").joins().voids("x").says("c").messages(), ["bc"]);
}

#[test]
fn a_response_is_taken_back() {
    assert_eq!(story().says("a").says("b").voids_response().says("c").messages(), ["c"]);
    assert_eq!(story().says("a").calls().returns().says("b").voids_response().says("c").messages(), ["a", "!c"]);
    // A call without a result is still of the same response.
    assert_eq!(story().says("a").calls().voids_response().says("b").messages(), ["!b"]);
}

/// A tool call before a retracted message lies between the messages that remain. A call that was started before the
/// message and ends after it is not work that follows.
#[test]
fn reports_whether_a_call_follows_the_last_message() {
    let follows = |story: Story| story.facts().tool_follows;
    assert!(!follows(story()));
    assert!(!follows(story().calls()));
    assert!(!follows(story().calls().returns().says("a")));
    assert!(!follows(story().calls().says("a").returns()));
    assert!(follows(story().says("a").calls()));
    assert!(follows(story().says("a").calls().returns()));
    assert!(!follows(story().says("a").calls().returns().says("b")));
    assert!(follows(story().calls().returns().says("a").calls()));
    let seen = |story: Story| story.record(RecordKind::ToolSeen { id: "t".into(), name: "shell".into(), input: None });
    assert!(!follows(seen(story().calls().says("a")).returns()));
    assert!(follows(seen(story().says("a")).returns()));
    let voided = story().says("a").calls().returns().says_as("b", "b").voids("b");
    assert!(follows(voided));
    // Regardless of the length of its id.
    let long = || RecordKind::ToolStarted { id: "t".repeat(CALL_ID_BYTES + 1), name: "shell".into(), input: None };
    assert!(follows(story().record(long()).says("a").record(long())));
}

/// Messages are dropped when there are too many, but not the marker or denial in one of them.
#[test]
fn a_marker_outlives_its_message() {
    const DONE: &str = r#"{"__SKILL_DONE__": true}"#;
    const NOT_DONE: &str = r#"{"__SKILL\u005fDONE__": false}"#;
    let chat = |story: Story| (0..KEPT_MESSAGES).fold(story, |story, _| story.says("words"));
    let first = |story: Story| story.messages().swap_remove(0);
    let count = |story: Story| story.messages().len();
    assert_eq!(first(chat(story().says("a"))), "words");
    assert_eq!(first(chat(story().says(DONE).says("a"))), DONE);
    assert_eq!(count(chat(chat(story().says(DONE)))), KEPT_MESSAGES + 1);
    assert_eq!(first(chat(story().says(NOT_DONE).says(DONE))), DONE);
    assert_eq!(first(chat(story().says(DONE).says(NOT_DONE))), DONE);
    let again = format!("{DONE} again");
    assert_eq!(first(chat(story().says(DONE).says(&again))), DONE);
    assert_eq!(first(chat(story().says(DONE).says("a").calls().returns().says("b").says(&again))), format!("!{again}"));
    let after_work = chat(story().says(DONE).calls().returns().says("a").says("b")).messages();
    assert_eq!(after_work[..2], [DONE, "!words"]);
    assert_eq!(first(chat(story().says_as("a", DONE)).voids("a")), "words");
}

#[test]
fn a_void_keeps_tool_calls_between() {
    assert_eq!(story().says("a").calls().says_as("x", "b").voids("x").says("c").messages(), ["a", "!c"]);
    assert_eq!(story().says("a").calls().says_as("x", "b").says("c").voids("x").messages(), ["a", "!c"]);
    let two = story().says("a").calls().says_as("x", "b").says_as("x", "c").says("d").says("e");
    assert_eq!(two.voids("x").messages(), ["a", "!d", "e"]);
    assert_eq!(story().says("a").says_as("x", "b").says("c").voids("x").messages(), ["a", "c"]);
}

#[test]
fn the_last_messages_are_kept() {
    let many = (0..KEPT_MESSAGES + 3).fold(story(), |story, n| story.says(&n.to_string())).messages();
    assert_eq!((many.len(), many[0].as_str()), (KEPT_MESSAGES, "3"));
    // Regardless of size: the answer, one before it with the marker, and one before that with the output.
    let big = |letter: &str| letter.repeat(MESSAGE_BUDGET);
    let facts = ["a", "b", "c", "d"].into_iter().fold(story().says("small"), |s, l| s.says(&big(l))).facts();
    let firsts: Vec<_> = facts.messages.iter().map(|m| &m.text[..1]).collect();
    assert_eq!(firsts, ["b", "c", "d"]);
    assert_eq!(facts.messages.len(), KEPT_AT_LEAST);
    // Many small ones are dropped at once for a large one.
    let half = "x".repeat(KEPT_BYTES / 2 - 10);
    let facts = (0..20).fold(story(), |s, _| s.says("0123456789")).says(&half).says(&half).facts();
    assert_eq!(facts.messages.len(), 4);
}

/// "The gate looks at the last 4 MiB of a message."
#[test]
fn of_a_long_message_the_end_is_kept() {
    let text = format!("start{}end", "x".repeat(MESSAGE_BUDGET));
    let facts = story().says(&text).facts();
    assert!(facts.messages[0].truncated);
    assert_eq!(facts.messages[0].text.len(), MESSAGE_BUDGET);
    assert!(facts.messages[0].text.ends_with("xend") && facts.messages[0].text.starts_with('x'));
    let facts = story().says(&text).joins().says("more").facts();
    assert!(facts.messages[0].truncated && facts.messages[0].text.ends_with("xendmore"));
}

#[test]
fn the_first_session_counts() {
    assert_eq!(story().session("one").session("two").facts().session_id.as_deref(), Some("one"));
    let story = story().on(Stream::Stderr).session("err").on(Stream::Stdout).session("out");
    assert_eq!(story.facts().session_id.as_deref(), Some("out"));
    let other = Story::default().on(Stream::Stderr).session("err");
    assert_eq!(other.facts().session_id.as_deref(), Some("err"));
}

#[test]
fn the_last_end_decides() {
    let end = |story: Story| story.facts().end.map(|EndFact { kind, span, .. }| (kind, span.from));
    assert_eq!(end(story()), None);
    assert_eq!(end(story().ends(EndKind::Success)), Some((EndKind::Success, 0)));
    assert_eq!(end(story().ends(EndKind::Failure).ends(EndKind::Success)), Some((EndKind::Success, 10)));
    assert_eq!(end(story().ends(EndKind::Success).ends(EndKind::Limit)), Some((EndKind::Limit, 10)));
    assert_eq!(end(story().ends(EndKind::Success).ends(EndKind::Retracted)), None);
    let again = story().ends(EndKind::Success).ends(EndKind::Retracted).ends(EndKind::Success);
    assert_eq!(end(again), Some((EndKind::Success, 20)));
}

#[test]
fn acts_know_whether_the_turn_was_over() {
    let act = EndedBy::HardTimeout;
    let acts =
        |story: Story| story.facts().acts.into_iter().map(|a| a.after == Some(EndKind::Success)).collect::<Vec<_>>();
    assert_eq!(acts(story().act(act).ends(EndKind::Success)), [false]);
    assert_eq!(acts(story().ends(EndKind::Success).act(act)), [true]);
    assert_eq!(acts(story().ends(EndKind::Failure).act(act)), [false]);
    assert_eq!(acts(story().act(act).ends(EndKind::Success).act(act)), [false, true]);
    assert_eq!(acts(story().ends(EndKind::Success).act(act).ends(EndKind::Success)), [true]);
    // The end was retracted after the act: the turn was not over.
    let success = EndKind::Success;
    assert_eq!(acts(story().ends(success).act(act).ends(EndKind::Retracted).ends(success)), [false]);
    assert_eq!(acts(story().ends(success).ends(EndKind::Retracted).act(act).ends(success)), [false]);
    // An end on a stream that is not consulted has no effect.
    assert_eq!(acts(story().on(Stream::Stderr).ends(success).act(act).on(Stream::Stdout).ends(success)), [false]);
    assert_eq!(acts(story().ends(success).act(act).on(Stream::Stderr).ends(EndKind::Retracted)), [true]);
    let told = story().ends(success).act(EndedBy::Linger).facts().acts;
    assert_eq!(told, [HostAct { act: EndedBy::Linger, after: Some(EndKind::Success) }]);
    let many = (0..2 * KEPT_ACTS).fold(story(), |story, _| story.act(act));
    assert_eq!(many.facts().acts.len(), KEPT_ACTS);
}

/// Regression: an exhausted quota, a hang, and the message that claude writes when it is interrupted were reported as
/// the timeout.
#[test]
fn a_turn_that_had_failed_fails_by_its_own_word() {
    let act = EndedBy::HardTimeout;
    let (failure, limit, success) = (EndKind::Failure, EndKind::Limit, EndKind::Success);
    for (first, second) in [(failure, failure), (failure, limit), (limit, failure), (limit, limit)] {
        let facts = story().ends(first).act(act).ends(second).act(EndedBy::Stall).facts();
        let after: Vec<_> = facts.acts.iter().map(|seen| seen.after).collect();
        assert_eq!(after, [Some(first), Some(first)], "{first:?} {second:?}");
        let end = facts.end.map(|end| (end.kind, end.span.from));
        assert_eq!(end, Some((first, 0)), "{first:?} {second:?}");
    }
    // The first of them comes after the act, or the turn continued.
    let told = |story: Story| {
        let facts = story.facts();
        (facts.acts[0].after, facts.end.map(|end| end.span.from))
    };
    assert_eq!(told(story().act(act).ends(failure)), (None, Some(0)));
    assert_eq!(told(story().act(act).ends(failure).ends(limit)), (None, Some(10)));
    assert_eq!(told(story().ends(failure).act(act).ends(success)), (None, Some(10)));
    assert_eq!(told(story().ends(failure).act(act).ends(EndKind::Retracted).ends(failure)), (None, Some(20)));
    assert_eq!(told(story().ends(success).act(act).ends(failure)), (None, Some(10)));
}

/// "Nothing may depend on order across streams."
#[test]
fn streams_do_not_touch_each_other() {
    let mixed = story()
        .says_as("x", "a")
        .on(Stream::Stderr)
        .says("err")
        .calls()
        .joins()
        .voids("x")
        .voids_response()
        .ends(EndKind::Failure)
        .on(Stream::Stdout)
        .says("b")
        .ends(EndKind::Success);
    let facts = mixed.facts();
    let texts: Vec<_> = facts.messages.iter().map(|m| (m.text.as_str(), m.after_tool)).collect();
    assert_eq!(texts, [("a", false), ("b", false)]);
    assert_eq!(facts.end.expect("an end").kind, EndKind::Success);
}

#[test]
fn the_answer_comes_from_the_first_stream_that_has_one() {
    const BOTH: AnswerFrom = AnswerFrom::FirstOf(&[Stream::Stderr, Stream::Stdout]);
    let text = |story: Story, from| story.facts_from(from).messages.first().map(|m| m.text.clone());
    let both = || story().says("out").on(Stream::Stderr).says("err");
    assert_eq!(text(both(), BOTH).as_deref(), Some("err"));
    assert_eq!(text(both(), AnswerFrom::Only(Stream::Stdout)).as_deref(), Some("out"));
    assert_eq!(text(story().says("out"), BOTH).as_deref(), Some("out"));
    // The stream that has an end is the stream of the answer.
    assert_eq!(text(story().says("out").on(Stream::Stderr).ends(EndKind::Failure), BOTH), None);
    assert_eq!(text(both(), AnswerFrom::Only(Stream::Pty)), None);
}

#[test]
fn the_merged_recording_counts_only_when_it_is_trusted() {
    let merged = || story().on(Stream::Pty).says("merged").ends(EndKind::Success).act(EndedBy::Linger);
    let facts = merged().facts();
    assert!(facts.messages.is_empty() && facts.end.is_none() && !facts.has_text && facts.acts[0].after.is_none());
    let mut trusted = merged();
    trusted.fold.trust_merged();
    let facts = trusted.facts();
    assert_eq!(facts.messages[0].text, "merged");
    assert!(facts.end.is_some() && facts.has_text && facts.acts[0].after == Some(EndKind::Success));
}

#[test]
fn the_last_error_is_a_fact_and_warnings_are_not() {
    let story = story()
        .error(Level::Error, ErrorCategory::Network, "one")
        .error(Level::Error, ErrorCategory::Quota, "two")
        .error(Level::Warning, ErrorCategory::Auth, "three");
    let facts = story.facts();
    assert_eq!(facts.error.map(|e| e.message).as_deref(), Some("two"));
    assert!(!facts.session_refused);
}

#[test]
fn a_refused_session_is_known_on_any_stream() {
    let story = story().on(Stream::Stderr).error(Level::Error, ErrorCategory::Session, "session not found");
    assert!(story.facts().session_refused);
}

#[test]
fn the_last_reported_reset_counts() {
    use ErrorCategory::{Engine, Quota};
    let reset = |story: Story| story.facts().reset_at;
    let told = |level: Level, category: ErrorCategory, message: &str| story().error(level, category, message);
    assert_eq!(reset(told(Level::Error, Quota, "try again in 30s")), Some(second(30)));
    assert_eq!(reset(told(Level::Warning, Quota, "try again in 30s")), Some(second(30)), "a retry reports it too");
    assert_eq!(reset(told(Level::Error, Engine, "try again in 30s")), None, "not about quota");
    let again = |seconds: u64| {
        let first = told(Level::Warning, Quota, &format!("try again in {seconds}s"));
        reset(first.error(Level::Error, Quota, "last status: 429"))
    };
    assert_eq!(again(30), Some(second(30)), "still to come");
    assert_eq!(again(10), None, "over when it was refused again");
    let newer = told(Level::Error, Quota, "try again in 30s").error(Level::Error, Quota, "try again in 60s");
    assert_eq!(reset(newer), Some(second(70)));
}

#[test]
fn a_reset_field_takes_precedence_over_the_text() {
    let error = EngineError {
        level: Level::Error,
        code: Code::EngineError,
        message: "try again in 30s".to_owned(),
        category: ErrorCategory::Quota,
        reset: Reset::of_header("90"),
    };
    let facts = story().record(RecordKind::EngineError(error)).facts();
    assert_eq!(facts.reset_at, Some(second(90)));
    assert_eq!(facts.profile, Some(ProfileId::ClaudeStreamJson));
}

#[test]
fn unknown_events_are_counted_by_type() {
    let unknown = |name: &str| RecordKind::Unknown { name: name.to_owned(), text: None, has_marker: false };
    let facts = story().record(unknown("b")).record(unknown("a")).says("x").record(unknown("b")).facts();
    assert_eq!(facts.parse.unknown, 3);
    assert_eq!(facts.parse.unknown_types.iter().collect::<Vec<_>>(), [("a", 1), ("b", 2)]);
    let many = (0..70).fold(story(), |story, number| story.record(unknown(&format!("type {number}"))));
    let parse = many.facts().parse;
    let others = parse.unknown_types.iter().find(|(name, _)| *name == "(others)");
    assert_eq!((parse.unknown, parse.unknown_types.iter().count(), others), (70, 51, Some(("(others)", 20))));
    assert!(story().says("x").facts().parse.unknown_types.is_empty());
}
