//! Rows about the marker: contract R4, where it is looked for and what is one.

use skillrun_model::TurnState::PartialFailed;
use skillrun_model::{Code, EndedBy};
use skillrun_parse::record::EndKind;

use super::build::{ASK, BAD, BAD_DONE, DONE, GOOD, GOOD_DONE, NOT_DONE, Turn, auto, interactive, said};
use super::expect::{
    Expect, Rows, done, rule_2b, rule_3, rule_3b, rule_6, rule_8b, rule_9, rule_9_failed, rule_10, rule_11, rule_14,
};

const ANSWER: &str = r#"{"answer": 42}"#;
const PLACE: &str = "the object may be the whole message, in a fence, inside prose, on its own line";
const WHERE: &str = "looked for in the closing messages: all final messages after the last tool call";
const EARLY: &str = "a marker that a tool call follows does not count: DONE_MARKER_BEFORE_WORK with its range";
const MALFORMED: &str = "lowercase, \"true\", 1, nested, or an object that does not parse: not a marker";
const OTHER: &str = "any other value is malformed and says nothing";
const DENIED: &str =
    "JSON false in a closing message: without a marker rule 8b in auto, in the answer it blocks rule 11";
const REQUIRED: &str = "9: with require_marker failed DONE_MARKER_MISSING";
const BROKEN: &str = "broken JSON near a marker: where it broke, not the JSON as if it were a question";
const FIRST: &str = "the first marker of an attempt wins, later ones: DONE_MARKER_REPEATED";

pub(crate) fn rows(rows: &mut Rows) {
    places(rows);
    messages(rows);
    malformed(rows);
    broken(rows);
    denied(rows);
    repeated(rows);
}

fn places(rows: &mut Rows) {
    let places = [
        ("the whole message", GOOD_DONE.to_owned()),
        ("in a fence", format!("Here:\n```json\n{GOOD_DONE}\n```\nBye.")),
        ("inside prose", format!("I am done {GOOD_DONE} as you see.")),
        ("on its own line", format!("I am done:\n{GOOD_DONE}\nBye.")),
        ("spelled with an escape", r#"{"__SKILL\u005fDONE__": true, "answer": 42}"#.to_owned()),
        ("behind a brace that is no object", format!("fn f() {{ }} {GOOD_DONE}")),
    ];
    for (name, text) in places {
        rows.each(&format!("marker {name}"), PLACE, said(&text), auto().schema(), |mode| done(mode).output(ANSWER));
    }
    let lone = r#"{"__SKILL_DONE__": true, "answer": 42, "note": "\ud800"}"#;
    let output = "{\"answer\": 42, \"note\": \"\u{fffd}\"}";
    let origin = "a lone surrogate escape spoils nothing";
    rows.each("marker beside a lone surrogate", origin, said(lone), auto().schema(), |mode| done(mode).output(output));
    let escapes = "{\"__SKILL_DONE__\": true, \"answer\": 42, \"note\": \"\\u001b[31m\"}";
    let output = "{\"answer\": 42, \"note\": \"\\u001b[31m\"}";
    let origin = "text is decoded but not sanitised";
    let expect = |mode| done(mode).output(output);
    rows.each("output with control characters", origin, said(escapes), auto().schema(), expect);
}

fn messages(rows: &mut Rows) {
    let how = || auto().schema();
    let turn = said(GOOD_DONE).then("That was all.");
    rows.each("marker in the message before", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let early = [Code::DoneMarkerBeforeWork, Code::OutputBeforeWork];
    let turn = said(GOOD_DONE).tool().then("That was all.");
    let outcomes = (rule_10(Code::OutputMissing, &early), rule_14("That was all.").notes(&early));
    rows.modes("marker, a tool call, an answer", EARLY, turn, how(), outcomes);
    let turn = said(GOOD_DONE).works_on();
    let outcomes = (rule_10(Code::OutputMissing, &early), rule_14(GOOD_DONE).notes(&early));
    rows.modes("marker, then a tool call and nothing", EARLY, turn, how(), outcomes);
    let turn = said(GOOD_DONE).tool().then("One.").then("Two.");
    let outcomes = (rule_10(Code::OutputMissing, &early), rule_14("Two.").notes(&early));
    rows.modes("marker, a tool call, two messages", EARLY, turn, how(), outcomes);
    let turn = said("Working.").tool().then(GOOD_DONE);
    rows.each("a tool call, then the marker", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let turn = said(GOOD_DONE).then("One.").then("Two.");
    rows.each("marker two messages before", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let turn = said("Working.").tool().then(GOOD_DONE).then("One.").then("Two.").then("Three.");
    rows.each("marker three messages before", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let plan = format!("I will end with {DONE} when done.");
    let turn = said(&plan).tool().then("Which colour?");
    let expect = rule_14("Which colour?").notes(&[Code::DoneMarkerBeforeWork]);
    let origin = "an agent that quotes its plan and then works is not done";
    rows.row("marker quoted early", origin, turn, interactive(), expect);
    let turn = said(&plan).tool().then(GOOD);
    let expect = rule_11().output(ANSWER).notes(&[Code::DoneMarkerBeforeWork]);
    rows.row("marker quoted early, valid output", EARLY, turn, interactive().schema(), expect);
    // Tool output is not a message; facts contain none of it.
    let turn = said("I read the file.").tool().then("Nothing to do?");
    let expect = rule_14("Nothing to do?");
    rows.row("marker in tool output", "nor does tool output carry a marker", turn, interactive(), expect);
    let turn = said(GOOD_DONE).ends(EndKind::Failure);
    rows.both("marker and a failure end", "no marker without a clean end", turn, how(), rule_2b(PartialFailed));
}

fn malformed(rows: &mut Rows) {
    let texts = [
        ("lowercase", r#"{"__skill_done__": true}"#),
        ("nested", r#"{"plan": {"__SKILL_DONE__": true}}"#),
        ("in an array", r#"[{"__SKILL_DONE__": true}]"#),
    ];
    for (name, text) in texts {
        let expect = rule_14(text).notes(&[Code::DoneMarkerMalformed]);
        rows.row(&format!("{name} marker"), MALFORMED, said(text), interactive(), expect);
        let valid = format!("{text}\n{GOOD}");
        let expect = rule_9().output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
        rows.row(&format!("{name} marker before output"), MALFORMED, said(&valid), auto().schema(), expect);
        let expect = rule_11().output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
        rows.row(&format!("{name} marker is no denial"), DENIED, said(&valid), interactive().schema(), expect);
    }
    let mentions = "I will write __SKILL_DONE__ when I am done.";
    rows.row("only mentioned", "key and value", said(mentions), interactive(), rule_14(mentions));
    let turn = said(r#"{"__skill_done__": true}"#).then("And now?");
    let expect = rule_14("And now?").notes(&[Code::DoneMarkerMalformed]);
    rows.row("lowercase marker in the message before", MALFORMED, turn, interactive(), expect);
    let both = format!("{{\"__skill_done__\": true}}\n{GOOD_DONE}");
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
    rows.each("a malformed one beside a marker", MALFORMED, said(&both), auto().schema(), expect);
    for value in ["\"true\"", "\"false\"", "1", "0", "null", "[]"] {
        let text = format!("{{\"__SKILL_DONE__\": {value}, \"answer\": 42}}");
        let [auto_valid, soft] =
            [rule_9(), rule_11()].map(|rule| rule.output(ANSWER).notes(&[Code::DoneMarkerMalformed]));
        let name = format!("marker {value} with valid output");
        rows.modes(&name, OTHER, said(&text), auto().schema(), (auto_valid, soft));
    }
}

/// The message to the user about a marker that is not JSON.
fn unreadable(problem: &str) -> String {
    format!(
        "The agent tried to say that it is done, but its marker cannot be read: {problem}. Ask it to write the marker \
         again, or reply how it should continue."
    )
}

fn broken(rows: &mut Rows) {
    let comma = r#"{"answer": 42, "__SKILL_DONE__": true,}"#;
    let cut = r#"{"answer": 42, "__SKILL_DONE__": true"#;
    let wait = |prompt: &str| rule_14(prompt).notes(&[Code::DoneMarkerMalformed]);
    let how = || interactive().schema();
    let problem = unreadable("trailing comma at column 39");
    rows.row("a marker with a trailing comma", BROKEN, said(comma), how(), wait(&problem));
    let problem = unreadable("the text ends inside the object, at column 37");
    rows.row("a marker that is cut", BROKEN, said(cut), how(), wait(&problem));
    let fenced = format!("Here it is:\n```json\n{comma}\n```\nAnything else?");
    let prompt = format!("Here it is:\n\nAnything else?\n\n{}", unreadable("trailing comma at line 3, column 39"));
    rows.row("a broken marker in a fence", BROKEN, said(&fenced), how(), wait(&prompt));
    let turn = said(comma).then("That was all.");
    let prompt = format!("That was all.\n\n{}", unreadable("trailing comma at column 39"));
    rows.row("a broken marker in the message before", BROKEN, turn, how(), wait(&prompt));
    let turn = said(comma).tool().then("And now?");
    rows.row("a broken marker before a tool call", BROKEN, turn, how(), rule_14("And now?"));
    let turn = said(comma).then(GOOD_DONE);
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
    rows.each("a broken marker, then a good one", BROKEN, turn, how(), expect);
    let expect = rule_10(Code::OutputMissing, &[Code::DoneMarkerMalformed]);
    rows.row("a marker with a trailing comma, auto", BROKEN, said(comma), auto().schema(), expect);
    let beside = format!("{comma}\n{}", ASK);
    let prompt = format!("{}\n\nGo on?", unreadable("trailing comma at line 1, column 39"));
    rows.row("a broken marker beside a question", BROKEN, said(&beside), how(), wait(&prompt));
}

fn denied(rows: &mut Rows) {
    let note = &[Code::DoneMarkerFalse];
    let each = |rows: &mut Rows, name: &str, turn: Turn, waits: Expect| {
        rows.modes(name, DENIED, turn, auto().schema(), (rule_8b(), waits.notes(note)));
    };
    each(rows, "marker false with valid output", said(NOT_DONE), rule_14(NOT_DONE));
    let apart = format!("{{\"__SKILL_DONE__\": false}}\n{GOOD}");
    each(rows, "denied beside valid output", said(&apart), rule_14(&apart));
    let prose = "I could not log in.\n{\"__SKILL_DONE__\": false}";
    each(rows, "denied without output", said(prose), rule_14(prose));
    rows.row("denied without a schema", DENIED, said(&apart), auto(), rule_8b());
    let turn = said(NOT_DONE).then(GOOD);
    each(rows, "denied in the message before", turn, rule_11().output(ANSWER));
    let turn = said(NOT_DONE).then("One.").then(GOOD);
    each(rows, "denied two messages before", turn, rule_11().output(ANSWER));
    let turn = said(NOT_DONE).tool().then(GOOD);
    let outcomes = (rule_9().output(ANSWER), rule_11().output(ANSWER));
    rows.modes("denied, then worked on", WHERE, turn, auto().schema(), outcomes);
    let corrected = format!("{{\"__SKILL_DONE__\": false}}\n{GOOD_DONE}");
    let expect = |mode| done(mode).output(ANSWER).notes(note);
    rows.each("denied, then done", "without a marker", said(&corrected), auto().schema(), expect);
    let expect = |mode| done(mode).output(ANSWER).notes(note);
    rows.each("done, then denied", "without a marker", said(GOOD_DONE).then(NOT_DONE), auto().schema(), expect);
    rows.row("denied and a bad exit", "6 before 8b", said(NOT_DONE), auto().exit(1), rule_6(PartialFailed).notes(note));
    let lingered = auto().ended_by(EndedBy::Linger).signal();
    let expect = rule_8b().warns(&[Code::LingerEnded]);
    rows.row("denied and lingered", "8b: linger is reported", said(NOT_DONE), lingered, expect);
    required(rows);
}

fn required(rows: &mut Rows) {
    let how = || auto().require_marker();
    let expect = rule_9_failed(Code::OutputValid).output(ANSWER);
    rows.row("required and not there", REQUIRED, said(GOOD), how().schema(), expect);
    let expect = rule_9_failed(Code::CleanFinal).text("Hello.");
    rows.row("required and not there, no schema", REQUIRED, said("Hello."), how(), expect);
    rows.each("required and there", REQUIRED, said(GOOD_DONE), how().schema(), |mode| done(mode).output(ANSWER));
    let expect = rule_10(Code::OutputInvalid, &[]);
    rows.row("required, output invalid", "10", said(BAD), how().schema(), expect);
    rows.row("required and denied", "8b before 9", said(NOT_DONE), how().schema(), rule_8b());
    let interactive = interactive().schema().require_marker();
    rows.row("required, interactive", "9: auto alone", said(GOOD), interactive, rule_11().output(ANSWER));
}

fn repeated(rows: &mut Rows) {
    let again = r#"{"__SKILL_DONE__": true, "answer": 43}"#;
    let twice = format!("{GOOD_DONE}\n{again}");
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::DoneMarkerRepeated]);
    rows.each("two markers in the answer", FIRST, said(&twice), auto().schema(), expect);
    rows.each("a marker in each of two messages", FIRST, said(GOOD_DONE).then(again), auto().schema(), expect);
    let turn = said(GOOD_DONE).tool().then(again);
    let expect = |mode| done(mode).output(r#"{"answer": 43}"#).notes(&[Code::DoneMarkerBeforeWork]);
    rows.each("markers with a tool call between", WHERE, turn, auto().schema(), expect);
    let turn = said(BAD_DONE).then(GOOD_DONE);
    let expect = rule_3().notes(&[Code::DoneMarkerRepeated]);
    rows.both("the first marker has bad output", FIRST, turn, auto().schema(), expect);
    let bare = format!("{DONE}\n{DONE}");
    let expect = rule_3b().text("").notes(&[Code::DoneMarkerRepeated]);
    rows.row("markers and nothing else", FIRST, said(&bare), interactive(), expect);
}
