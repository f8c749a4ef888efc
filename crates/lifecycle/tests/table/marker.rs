//! Rows about the marker: contract section 4, where it is looked for and what is one.

use skillrun_model::{Code, ExecutionMode};
use skillrun_parse::record::EndKind;

use super::build::{DONE, GOOD, GOOD_DONE, NOT_DONE, auto, interactive, said};
use super::expect::{Rows, done, rule_2b, rule_3, rule_3b, rule_9, rule_9_no_schema, rule_10, rule_11, rule_14};

const ANSWER: &str = r#"{"answer": 42}"#;
const PLACE: &str = "the object may be the whole message, in a fence, inside prose, on its own line";
const WHERE: &str = "looked for in the answer, and in the final message before it when no tool call lies between";
const MALFORMED: &str = "lowercase, \"true\", 1, false, nested, or an object that does not parse: not a marker";
const DENIED: &str = "another value than true in the answer: blocks rule 11, warns in rule 9";
const FIRST: &str = "the first marker of an attempt wins, later ones: DONE_MARKER_REPEATED";

pub(crate) fn rows(rows: &mut Rows) {
    places(rows);
    messages(rows);
    malformed(rows);
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
    rows.each("output with control characters", origin, said(escapes), auto().schema(), |mode| {
        done(mode).output(output)
    });
}

fn messages(rows: &mut Rows) {
    let how = || auto().schema();
    let turn = said(GOOD_DONE).then("That was all.");
    rows.each("marker in the message before", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let turn = said(GOOD_DONE).tool().then("That was all.");
    rows.each("marker, a tool call, an answer", WHERE, turn, how(), |mode| match mode {
        ExecutionMode::Auto => rule_10(Code::OutputMissing, &[]),
        ExecutionMode::Interactive => rule_14("That was all."),
    });
    let turn = said("Working.").tool().then(GOOD_DONE);
    rows.each("a tool call, then the marker", WHERE, turn, how(), |mode| done(mode).output(ANSWER));
    let turn = said(GOOD_DONE).then("One.").then("Two.");
    rows.each("marker two messages before", WHERE, turn, how(), |mode| match mode {
        ExecutionMode::Auto => rule_10(Code::OutputMissing, &[]),
        ExecutionMode::Interactive => rule_14("Two."),
    });
    let plan = format!("I will end with {DONE} when done.");
    let turn = said(&plan).tool().then("Which colour?");
    rows.row(
        "marker quoted early",
        "an agent that quotes its plan early is not done",
        turn,
        interactive(),
        rule_14("Which colour?"),
    );
    let turn = said(&plan).tool().then(GOOD);
    rows.row(
        "marker quoted early, valid output",
        "quoted early",
        turn,
        interactive().schema(),
        rule_11().output(ANSWER),
    );
    // What tools print is no message; facts have none of it.
    let turn = said("I read the file.").tool().then("Nothing to do?");
    rows.row(
        "marker in tool output",
        "nor does tool output carry a marker",
        turn,
        interactive(),
        rule_14("Nothing to do?"),
    );
    let turn = said(GOOD_DONE).ends(EndKind::Failure);
    let partial = skillrun_model::TurnState::PartialFailed;
    rows.both("marker and a failure end", "no marker without a clean end", turn, how(), rule_2b(partial));
}

fn malformed(rows: &mut Rows) {
    let texts = [
        ("lowercase", r#"{"__skill_done__": true}"#),
        ("nested", r#"{"plan": {"__SKILL_DONE__": true}}"#),
        ("in an array", r#"[{"__SKILL_DONE__": true}]"#),
        ("unparsable", r#"{"__SKILL_DONE__": true,}"#),
        ("cut", r#"{"__SKILL_DONE__": true"#),
    ];
    for (name, text) in texts {
        let expect = rule_14(text).notes(&[Code::DoneMarkerMalformed]);
        rows.row(&format!("{name} marker"), MALFORMED, said(text), interactive(), expect);
        let valid = format!("{text}\n{GOOD}");
        let expect = rule_9().output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
        // What follows a cut object may be a part of it.
        if name != "unparsable" && name != "cut" {
            rows.row(&format!("{name} marker before output"), MALFORMED, said(&valid), auto().schema(), expect);
            let expect = rule_11().output(ANSWER).notes(&[Code::DoneMarkerMalformed]);
            rows.row(&format!("{name} marker is no denial"), DENIED, said(&valid), interactive().schema(), expect);
        }
    }
    let other = r#"{"__SKILL_DONE__": "true"} or {"__SKILL_DONE__": 1}"#;
    let expect = rule_14(other).notes(&[Code::DoneMarkerMalformed]);
    rows.row("\"true\" and 1", MALFORMED, said(other), interactive(), expect);
    let mentions = "I will write __SKILL_DONE__ when I am done.";
    rows.row("only mentioned", "key and value", said(mentions), interactive(), rule_14(mentions));
    let turn = said(r#"{"__skill_done__": true}"#).then("And now?");
    let expect = rule_14("And now?").notes(&[Code::DoneMarkerMalformed]);
    rows.row("lowercase marker in the message before", MALFORMED, turn, interactive(), expect);
    let both = format!("{{\"__skill_done__\": true}}\n{GOOD_DONE}");
    rows.each("a malformed one beside a marker", MALFORMED, said(&both), auto().schema(), |mode| {
        done(mode).output(ANSWER).notes(&[Code::DoneMarkerMalformed])
    });
}

fn denied(rows: &mut Rows) {
    for value in ["false", "\"true\"", "1", "null"] {
        let text = format!("{{\"__SKILL_DONE__\": {value}, \"answer\": 42}}");
        rows.each(&format!("marker {value} with valid output"), DENIED, said(&text), auto().schema(), |mode| {
            match mode {
                ExecutionMode::Auto => rule_9().output(ANSWER).warns(&[Code::DoneMarkerFalse]),
                ExecutionMode::Interactive => rule_14(&text),
            }
            .notes(&[Code::DoneMarkerMalformed])
        });
    }
    let apart = format!("{{\"__SKILL_DONE__\": false}}\n{GOOD}");
    let expect = rule_14(&apart).notes(&[Code::DoneMarkerMalformed]);
    rows.row("denied beside valid output", DENIED, said(&apart), interactive().schema(), expect);
    let expect = rule_9_no_schema().output(ANSWER).warns(&[Code::DoneMarkerFalse]).notes(&[Code::DoneMarkerMalformed]);
    rows.row("denied without a schema", DENIED, said(&apart), auto(), expect);
    let turn = said(NOT_DONE).then(GOOD);
    rows.each("denied in the message before", "in the answer", turn, auto().schema(), |mode| {
        match mode {
            ExecutionMode::Auto => rule_9(),
            ExecutionMode::Interactive => rule_11(),
        }
        .output(ANSWER)
        .notes(&[Code::DoneMarkerMalformed])
    });
    let corrected = format!("{{\"__SKILL_DONE__\": false}}\n{GOOD_DONE}");
    rows.each("denied, then done", "a marker is a marker", said(&corrected), auto().schema(), |mode| {
        done(mode).output(ANSWER).notes(&[Code::DoneMarkerMalformed])
    });
}

fn repeated(rows: &mut Rows) {
    let again = r#"{"__SKILL_DONE__": true, "answer": 43}"#;
    let twice = format!("{GOOD_DONE}\n{again}");
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::DoneMarkerRepeated]);
    rows.each("two markers in the answer", FIRST, said(&twice), auto().schema(), expect);
    rows.each("a marker in each of two messages", FIRST, said(GOOD_DONE).then(again), auto().schema(), expect);
    let turn = said(GOOD_DONE).tool().then(again);
    rows.each("markers with a tool call between", WHERE, turn, auto().schema(), |mode| {
        done(mode).output(r#"{"answer": 43}"#)
    });
    let turn = said(super::build::BAD_DONE).then(GOOD_DONE);
    let expect = rule_3().notes(&[Code::DoneMarkerRepeated]);
    rows.both("the first marker has bad output", FIRST, turn, auto().schema(), expect);
    let bare = format!("{DONE}\n{DONE}");
    let expect = rule_3b().text("").notes(&[Code::DoneMarkerRepeated]);
    rows.row("markers and nothing else", FIRST, said(&bare), interactive(), expect);
}
