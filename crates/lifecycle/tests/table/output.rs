//! Rows about the output: which object it is, and when there is none.

use skillrun_model::{Code, ExecutionMode};

use super::build::{ASK, BAD, BAD_DONE, DONE, GOOD, GOOD_DONE, auto, interactive, said};
use super::expect::{
    Expect, Rows, done, rule_3, rule_3_missing, rule_3b, rule_9, rule_9_no_schema, rule_10, rule_11, rule_14,
};

const ANSWER: &str = r#"{"answer": 42}"#;
const CARRIES: &str = "output with a marker: the object that carries it";
const NEAREST: &str = "if nothing is left of it, the nearest object before it in the same message";
const BEFORE: &str = "else the last object of the closing messages before it";
const WITHOUT: &str =
    "without: the closing messages from last to first, their objects likewise, the first that validates";
const EARLY: &str =
    "an object that fits and stands before the last tool call, when nothing after it does: OUTPUT_BEFORE_WORK";
const STANDING: &str = "for rule 11 the object must be the whole answer, a fence, or stand on lines of its own";
const CUT: &str = "objects after a { that opens a string key and never completes are no candidates";
const ENVELOPE: &str = "an ask_user envelope, and what is inside it, is never a candidate";
const NO_SCHEMA: &str = "no schema: the object if there is one, else the text without markers and their fences";
const TOO_LARGE: &str = "the last 4 MiB of a message; a larger output is missing, OUTPUT_TOO_LARGE";

pub(crate) fn rows(rows: &mut Rows) {
    with_marker(rows);
    message_before(rows);
    without_marker(rows);
    standing(rows);
    cut_objects(rows);
    envelopes(rows);
    no_schema(rows);
    too_large(rows);
}

/// The other object of a text; valid too, so that the choice matters.
const OTHER: &str = r#"{"answer": 7}"#;

fn with_marker(rows: &mut Rows) {
    let mut row = |name: &str, origin, text: String, expect: fn(ExecutionMode) -> Expect| {
        rows.each(name, origin, said(&text), auto().schema(), expect);
    };
    let good = |mode| done(mode).output(ANSWER);
    row("the carrying object", CARRIES, format!("{OTHER}\n{GOOD_DONE}\n{OTHER}"), good);
    row("the carrying object, invalid", CARRIES, format!("{GOOD}\n{BAD_DONE}"), |_| rule_3());
    row("a bare marker after objects", NEAREST, format!("{OTHER}\n{GOOD}\n{DONE}"), good);
    row("a bare marker between objects", NEAREST, format!("{GOOD}\n{DONE}\n{OTHER}"), good);
    row("a bare marker before an object", NEAREST, format!("{DONE}\n{GOOD}"), |_| rule_3_missing());
    row("the nearest object is invalid", NEAREST, format!("{GOOD}\n{BAD}\n{DONE}"), |_| rule_3());
    row("the nearest object is in prose", NEAREST, format!("So {GOOD} it is.\n{DONE}"), good);
    row("the nearest object cannot be held", NEAREST, format!("{GOOD}\n{{\"answer\": 1e999}}\n{DONE}"), good);
    row("a bare marker and prose", "schema but no candidate: missing", format!("Done.\n{DONE}"), |_| rule_3_missing());
    let keys = r#"{"note": "n", "__SKILL_DONE__": true, "answer": 42}"#;
    let origin = "control only: removed before validation in both modes";
    let expect = |mode| done(mode).output(r#"{"note": "n", "answer": 42}"#);
    rows.each("the marker is removed", origin, said(keys), auto().schema(), expect);
    rows.each("the marker is not in the output", "never in result.json", said(keys), auto(), expect);
}

fn message_before(rows: &mut Rows) {
    let mut row = |name: &str, origin, turn, expect: fn(ExecutionMode) -> Expect| {
        rows.each(name, origin, turn, auto().schema(), expect);
    };
    let good = |mode| done(mode).output(ANSWER);
    row("output, then the marker", BEFORE, said(&format!("{OTHER}\n{GOOD}")).then(DONE), good);
    let early: fn(ExecutionMode) -> Expect = |_| rule_3_missing().notes(&[Code::OutputBeforeWork]);
    row("output, a tool call, then the marker", EARLY, said(GOOD).tool().then(DONE), early);
    row("output two messages before", BEFORE, said(OTHER).then(GOOD).then("Wait.").then(DONE), good);
    let turn = said(OTHER).then(&format!("{GOOD}\n{DONE}"));
    row("the same message comes first", NEAREST, turn, good);
    let turn = said(GOOD).then(&format!("{BAD}\n{DONE}"));
    row("an invalid object is an object", NEAREST, turn, |_| rule_3());
    row("output, marker, last words", BEFORE, said(GOOD).then(DONE).then("Bye."), good);
    let turn = said(GOOD).tool().then(DONE).then("Bye.");
    row("output, tool call, marker, last words", EARLY, turn, early);
    let turn = said(OTHER).tool().then(&format!("{BAD}\n{DONE}"));
    let early_invalid = |_| rule_3().notes(&[Code::OutputBeforeWork]);
    row("output, tool call, invalid output and marker", EARLY, turn, early_invalid);
    let turn = said(BAD).tool().then(DONE);
    row("invalid output, tool call, marker", EARLY, turn, |_| rule_3_missing());
    let turn = said(GOOD_DONE).then(OTHER);
    row("an object after the marker's message", CARRIES, turn, good);
    let turn = said(&format!("{GOOD}\n{DONE}")).then(OTHER);
    row("nearest in the marker's message", NEAREST, turn, good);
}

fn without_marker(rows: &mut Rows) {
    let both = |rows: &mut Rows, name: &str, text: String| {
        rows.modes(name, WITHOUT, said(&text), auto().schema(), (rule_9().output(ANSWER), rule_11().output(ANSWER)));
    };
    both(rows, "the only object", GOOD.to_owned());
    both(rows, "the last of two valid", format!("{OTHER}\n{GOOD}"));
    both(rows, "valid before invalid", format!("{GOOD}\n{BAD}"));
    both(rows, "valid between invalid", format!("{BAD}\n{GOOD}\n{BAD}\n"));
    both(rows, "one that cannot be held is skipped", format!("{GOOD}\n{{\"answer\": 1e999}}"));
    let text = format!("{BAD} and {{\"note\": 1}}");
    let outcomes = (rule_10(Code::OutputInvalid, &[]), rule_14(&text));
    rows.modes("no object validates", WITHOUT, said(&text), auto().schema(), outcomes);
    let outcomes = (rule_10(Code::OutputMissing, &[]), rule_14("Hello."));
    rows.modes("no object at all", "schema but no candidate: missing", said("Hello."), auto().schema(), outcomes);
    let turns = [
        ("an object in the message before", said(OTHER).then(GOOD).then("That was all.")),
        ("an object two messages before", said(GOOD).then("Look.").then("That was all.")),
        ("an object before one that does not fit", said(GOOD).then(BAD).then("That was all.")),
        ("an object after a tool call", said(OTHER).tool().then(GOOD).then("That was all.")),
    ];
    for (name, turn) in turns {
        rows.modes(name, WITHOUT, turn, auto().schema(), (rule_9().output(ANSWER), rule_14("That was all.")));
    }
    let turns = [
        ("an object before a tool call", said(GOOD).tool().then("That was all.")),
        ("an object before a tool call, two messages", said(GOOD).tool().then("Look.").then("That was all.")),
    ];
    let early = [Code::OutputBeforeWork];
    for (name, turn) in turns {
        let outcomes = (rule_10(Code::OutputMissing, &early), rule_14("That was all.").notes(&early));
        rows.modes(name, EARLY, turn, auto().schema(), outcomes);
    }
    let outcomes = (rule_10(Code::OutputMissing, &early), rule_14(GOOD).notes(&early));
    let turn = said(GOOD).works_on();
    rows.modes("an object, then a tool call and nothing", EARLY, turn, auto().schema(), outcomes);
    let turn = said(GOOD).tool().then(BAD);
    let outcomes = (rule_10(Code::OutputInvalid, &early), rule_14(BAD).notes(&early));
    rows.modes("an object before a tool call, another after", EARLY, turn, auto().schema(), outcomes);
    let turn = said(OTHER).tool().then(&format!("It is {GOOD} now."));
    rows.row("objects before and after a tool call", EARLY, turn, auto().schema(), rule_9().output(ANSWER));
    let turn = said(GOOD).tool().then("That was all.");
    rows.row("an object before a tool call, no schema", EARLY, turn, auto(), rule_9_no_schema().text("That was all."));
    let nested = format!("[{GOOD}]");
    let expect = rule_10(Code::OutputMissing, &[]);
    rows.row("an object in an array", "nested, not a root", said(&nested), auto().schema(), expect);
    let origin = "10: with diagnostic UNEXPECTED_COMPLETION_STATE";
    rows.row("auto, output invalid", origin, said(BAD), auto().schema(), rule_10(Code::OutputInvalid, &[]));
    rows.row("soft completion needs a schema", "11: valid by a schema", said(GOOD), interactive(), rule_14(GOOD));
}

fn standing(rows: &mut Rows) {
    let how = || interactive().schema();
    let soft = || rule_11().output(ANSWER);
    rows.row("the whole answer", STANDING, said(&format!("\n {GOOD} \n")), how(), soft());
    rows.row("a fence", STANDING, said(&format!("Here:\n```json\n{GOOD}\n```\nBye.")), how(), soft());
    rows.row("lines of its own", STANDING, said("Here:\n{\n  \"answer\": 42\n}\nBye."), how(), soft());
    let prose = format!("Is it {GOOD} then?");
    rows.row("in prose", STANDING, said(&prose), how(), rule_14(&prose));
    rows.row("in prose, auto", STANDING, said(&prose), auto().schema(), rule_9().output(ANSWER));
    let inline = format!("It is `{GOOD}`.");
    rows.row("inline code", STANDING, said(&inline), how(), rule_14(&inline));
    let mixed = format!("{GOOD}\nor {OTHER} perhaps?");
    rows.row("one alone, one in prose", STANDING, said(&mixed), how(), soft());
    let text = format!("Done with {GOOD_DONE} now");
    rows.row("a marker may stand in prose", "inside prose", said(&text), how(), rule_3b().output(ANSWER));
}

fn cut_objects(rows: &mut Rows) {
    let cut = format!("{{\"results\": [\n{GOOD}");
    let outcomes = (rule_10(Code::OutputMissing, &[]), rule_14(&cut));
    rows.modes("parts of a cut object", CUT, said(&cut), auto().schema(), outcomes);
    let code = format!("fn f() {{ g(); }}\n{GOOD}");
    rows.row("a brace that opens no key", CUT, said(&code), auto().schema(), rule_9().output(ANSWER));
    let before = format!("{GOOD}\n{{\"results\": [");
    rows.row("an object before a cut one", CUT, said(&before), auto().schema(), rule_9().output(ANSWER));
    let marked = format!("{{\"results\": [\n{GOOD}\n{DONE}");
    rows.both("parts of a cut object and a marker", CUT, said(&marked), auto().schema(), rule_3_missing());
}

fn envelopes(rows: &mut Rows) {
    let json = r#"{"ask_user": {"kind": "confirm", "prompt": "Go on?"}}"#;
    let origin = ENVELOPE;
    rows.row("an envelope alone", origin, said(json), auto().schema(), rule_10(Code::OutputMissing, &[]));
    let beside = format!("{GOOD}\n{json}");
    rows.row("an object beside an envelope", origin, said(&beside), auto().schema(), rule_9().output(ANSWER));
    let inside = format!("<ASK_USER_YAML>\nkind: confirm\ncontext:\n{GOOD}\n</ASK_USER_YAML>");
    let expect = rule_10(Code::OutputMissing, &[Code::AskUserMalformed]);
    rows.row("an object inside an envelope", origin, said(&inside), auto().schema(), expect);
    let unclosed = format!("<ASK_USER_YAML>\nkind: confirm\n{GOOD}");
    let expect = rule_10(Code::OutputMissing, &[Code::AskUserMalformed]);
    rows.row("an object after an open tag", origin, said(&unclosed), auto().schema(), expect);
    let between = format!("{GOOD}\n{json}\n{DONE}");
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::AskUserIgnored]);
    rows.each("an envelope between output and marker", origin, said(&between), auto().schema(), expect);
    let turn = said(&format!("{GOOD}\n{json}")).then(DONE);
    rows.each("an envelope in the message before", origin, turn, auto().schema(), |mode| done(mode).output(ANSWER));
    let expect = rule_9_no_schema().text(json);
    rows.row("an envelope without a schema", origin, said(json), auto(), expect);
    let other_keys = r#"{"ask_user": 1, "answer": 42}"#;
    let expect = rule_9_no_schema().output(other_keys);
    rows.row("ask_user among other keys", "whose only key is ask_user", said(other_keys), auto(), expect);
}

fn no_schema(rows: &mut Rows) {
    let text = |rows: &mut Rows, name: &str, answer: String, expected: &str| {
        rows.each(name, NO_SCHEMA, said(&answer), auto(), |mode| done(mode).text(expected));
    };
    text(rows, "prose and a marker", format!("All is well. {DONE} Bye."), "All is well.  Bye.");
    text(rows, "prose and a marker on its line", format!("All is well.\n{DONE}\n"), "All is well.");
    text(rows, "prose and a fenced marker", format!("All is well.\n```json\n{DONE}\n```\n"), "All is well.");
    text(rows, "an unclosed fence with a marker", format!("All is well.\n```\n{DONE}"), "All is well.");
    text(rows, "a fence with more than a marker", format!("Well.\n```\nso\n{DONE}\n```"), "Well.\n```\nso\n\n```");
    text(rows, "a fence with more behind a marker", format!("Well.\n```\n{DONE}\nso\n```"), "Well.\n```\n\nso\n```");
    text(rows, "nothing but a marker", DONE.to_owned(), "");
    let fences = format!("```\ncode\n```\nWell.\n```\n{DONE}\n```\n```\nmore\n```");
    text(rows, "other fences stay", fences, "```\ncode\n```\nWell.\n\n```\nmore\n```");
    let origin = NO_SCHEMA;
    let twice = format!("Well.\n```\n{DONE}\n\n{DONE}\n```\n{DONE}");
    let expect = |mode| done(mode).text("Well.").notes(&[Code::DoneMarkerRepeated]);
    rows.each("a fence with two markers", origin, said(&twice), auto(), expect);
    let turn = said(&format!("Work.\n{DONE}")).then("Last words.");
    rows.each("the text is the answer", origin, turn, auto(), |mode| done(mode).text("Last words."));
    rows.row("prose alone", origin, said(" Hello. \n"), auto(), rule_9_no_schema().text("Hello."));
    rows.row("an object alone", origin, said(BAD), auto(), rule_9_no_schema().output(BAD));
    let prose = format!("First {OTHER}, then {GOOD}.");
    rows.row("the last object", origin, said(&prose), auto(), rule_9_no_schema().output(ANSWER));
    let malformed = r#"Done: {"__SKILL_DONE__": true,}"#;
    let expect = rule_9_no_schema().text(malformed).notes(&[Code::DoneMarkerMalformed]);
    rows.row("what is no marker stays", origin, said(malformed), auto(), expect);
    let expect = |mode| done(mode).output(BAD);
    rows.each("an object and a bare marker", origin, said(&format!("{BAD}\n{DONE}")), auto(), expect);
    let expect = |mode| done(mode).output(BAD);
    rows.each("an object in the message before, no schema", origin, said(BAD).then(DONE), auto(), expect);
    let expect = rule_14(&format!("{GOOD}\n\nGo on?"));
    rows.row("a question is no output", "14", said(&format!("{GOOD}\n{ASK}")), interactive(), expect);
}

fn too_large(rows: &mut Rows) {
    let expect = rule_10(Code::OutputMissing, &[Code::OutputTooLarge]);
    rows.row("only the end, no object", TOO_LARGE, said("...no braces").cut(), auto().schema(), expect.clone());
    let end = format!("\"}}, {GOOD}, {GOOD}]}}");
    rows.row("the end of an object", TOO_LARGE, said(&end).cut(), auto().schema(), expect);
    let expect = rule_14(&end).notes(&[Code::OutputTooLarge]);
    rows.row("the end of an object, interactive", TOO_LARGE, said(&end).cut(), interactive().schema(), expect);
    let after = format!("{OTHER}, 1]}}\nSee [this]({{x}}).\n{GOOD}\n");
    let outcomes = (rule_9().output(ANSWER), rule_11().output(ANSWER));
    rows.modes("an object after the end of one", TOO_LARGE, said(&after).cut(), auto().schema(), outcomes);
    let between = format!("{OTHER}, 1]}}\n{GOOD}\nSee [this](x).");
    rows.row("a link is no end", TOO_LARGE, said(&between).cut(), auto().schema(), rule_9().output(ANSWER));
    let marked = format!("{GOOD}]}}\n{DONE}");
    let expect = rule_3_missing().notes(&[Code::OutputTooLarge]);
    rows.both("the end of an object, then a marker", TOO_LARGE, said(&marked).cut(), auto().schema(), expect.clone());
    let before = said(&format!("{GOOD}]}}")).cut().then(DONE);
    rows.both("too large, then a marker's message", TOO_LARGE, before, auto().schema(), expect);
    let turn = said("...long").cut().then(DONE).then("Bye.");
    let expect = rule_3_missing().notes(&[Code::OutputTooLarge]);
    rows.both("too large, a marker, last words", TOO_LARGE, turn, auto().schema(), expect);
    let long = said("...long prose\n").cut();
    let expect = rule_9_no_schema().text("...long prose").notes(&[Code::OutputTooLarge]);
    rows.row("long prose", TOO_LARGE, long, auto(), expect);
    let whole = format!("{OTHER}]}}\n{GOOD_DONE}");
    let expect = |mode| done(mode).output(ANSWER);
    rows.each("a whole object at the end", TOO_LARGE, said(&whole).cut(), auto().schema(), expect);
    // A complete message may contain stray brackets.
    let stray = format!("a] {GOOD} b]");
    let expect = rule_9().output(ANSWER);
    rows.row("stray brackets", "only where the beginning is not there", said(&stray), auto().schema(), expect);
}
