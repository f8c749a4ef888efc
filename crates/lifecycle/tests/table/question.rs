//! Rows about ask_user and the question to the user.

use skillrun_model::Code;
use skillrun_model::TurnState::PartialFailed;
use skillrun_parse::record::EndKind;

use super::build::{ASK, GOOD, GOOD_DONE, auto, chat, interactive, said};
use super::expect::{Rows, done, rule_2b, rule_9, rule_11, rule_12, rule_13, rule_14};

const ANSWER: &str = r#"{"answer": 42}"#;
const SOFT: &str = "a turn that carries one, well-formed or not, is not soft-completed";
const BESIDE: &str = "beside a marker: ignored, ASK_USER_IGNORED";
const MALFORMED: &str = "malformed: ASK_USER_MALFORMED";
const NEVER: &str = "it never completes and never fails a run";
const PROMPT: &str =
    "prompt: the answer without envelope, then the envelope's own when it says something else; else a fallback";
const FALLBACK: &str = "The agent ended its turn without a result and without a question. How should it continue?";

pub(crate) fn rows(rows: &mut Rows) {
    let how = || interactive().schema();
    let envelopes = [
        ("tags", ASK.to_owned()),
        ("tags with a root key", "<ASK_USER_YAML>\nask_user:\n  prompt: Go on?\n</ASK_USER_YAML>".to_owned()),
        ("a fence", "```yaml\nask_user:\n  kind: confirm\n  prompt: Go on?\n```".to_owned()),
        ("JSON", r#"{"ask_user": {"kind": "confirm", "prompt": "Go on?"}}"#.to_owned()),
    ];
    for (name, envelope) in envelopes {
        let origin = "envelope: tags, a fence, or a JSON object";
        let turn = said(&format!("I wonder.\n{envelope}"));
        rows.row(&format!("{name} and prose"), origin, turn, how(), rule_14("I wonder.\n\nGo on?"));
        let turn = said(&format!("{envelope}\nI wonder."));
        rows.row(&format!("{name} before prose"), PROMPT, turn, how(), rule_14("I wonder.\n\nGo on?"));
        let turn = said(&format!("I wonder. Go\non?\n{envelope}"));
        rows.row(&format!("{name} after the same question"), PROMPT, turn, how(), rule_14("I wonder. Go\non?"));
        let turn = said(&format!("Go on? I wonder.\n{envelope}"));
        let expect = rule_14("Go on? I wonder.\n\nGo on?");
        rows.row(&format!("{name} far from the same question"), PROMPT, turn, how(), expect);
        rows.row(&format!("{name} alone"), PROMPT, said(&envelope), how(), rule_14("Go on?"));
        let valid = said(&format!("{GOOD}\n{envelope}"));
        let expect = rule_14(&format!("{GOOD}\n\nGo on?"));
        rows.row(&format!("{name} beside valid output"), SOFT, valid.clone(), how(), expect);
        let expect = rule_9().output(ANSWER);
        rows.row(&format!("{name} beside valid output, auto"), NEVER, valid, auto().schema(), expect);
        let marked = said(&format!("{envelope}\n{GOOD_DONE}"));
        let expect = |mode| done(mode).output(ANSWER).notes(&[Code::AskUserIgnored]);
        rows.each(&format!("{name} beside a marker"), BESIDE, marked, auto().schema(), expect);
    }
    malformed(rows);

    rows.row("a question in the last attempt", "12", said(ASK), how().max_attempt(1), rule_12());
    rows.row("a question without a session", "13", said(ASK).no_session(), how(), rule_13());
    rows.both("a question in a failed turn", NEVER, said(ASK).ends(EndKind::Failure), auto(), rule_2b(PartialFailed));
    let turn = said(ASK).then("Which colour?");
    rows.row("a question in the message before", "envelope, in the answer only", turn, how(), rule_14("Which colour?"));
    let turn = said(ASK).then(GOOD);
    let soft = rule_11().output(ANSWER);
    rows.row("a question before valid output", "envelope, in the answer only", turn, how(), soft);
    let turn = said(GOOD_DONE).then(ASK);
    let expect = |mode| done(mode).output(ANSWER).notes(&[Code::AskUserIgnored]);
    rows.each("a question after the marker's message", BESIDE, turn, auto().schema(), expect);
    let expect = rule_14("Which colour?");
    rows.row("no question at all", "not required for entering waiting_user", chat(), interactive(), expect);
    let colours = said("Which \u{1b}[31mcolour\u{1b}[0m?");
    rows.row("a prompt with escapes", "R8.7: control characters", colours, interactive(), rule_14("Which colour?"));
    let unseen = said("\u{1b}[0m");
    rows.row("a prompt of escapes alone", PROMPT, unseen, interactive(), rule_14(FALLBACK));
    let wrong = "<ASK_USER_YAML>\nkind: telepathy\nprompt: Go on?\n</ASK_USER_YAML>";
    let origin = "unknown becomes open_text with a diagnostic";
    let expect = rule_14("Go on?").notes(&[Code::AskUserKindUnknown]);
    rows.row("a question of an unknown kind", origin, said(wrong), how(), expect);
    let wrong = "<ASK_USER_YAML>\nprompt: Go on?\ndefault_decision_policy: pray\noptions: [[], a]\n</ASK_USER_YAML>";
    // In the order in which the fields are read.
    let expect = rule_14("Go on?").notes(&[Code::AskUserOptionUnreadable, Code::AskUserPolicyUnknown]);
    rows.row("a question with unreadable parts", "enrichment", said(wrong), how(), expect);
}

fn malformed(rows: &mut Rows) {
    let how = || interactive().schema();
    let envelopes = [
        ("unclosed", "<ASK_USER_YAML>\nkind: confirm"),
        ("not YAML", "<ASK_USER_YAML>\n\tkind: [\n</ASK_USER_YAML>"),
        ("without kind and prompt", "<ASK_USER_YAML>\ncolour: red\n</ASK_USER_YAML>"),
        ("JSON without kind and prompt", r#"{"ask_user": {}}"#),
        ("JSON that is no mapping", r#"{"ask_user": "Go on?"}"#),
        ("JSON that is cut", r#"{"ask_user": {"kind": "confirm", "prompt": "Go"#),
        ("JSON that is cut in its options", r#"{"ask_user": {"prompt": "Go on?", "options": [{"value": "a"}, "#),
        ("JSON with a trailing comma", r#"{ "ask_user" : {"prompt": "Go on?",}}"#),
        ("fenced JSON that is cut", "```json\n{\"ask_user\": {\"kind\":\n```"),
    ];
    for (name, envelope) in envelopes {
        let expect = rule_14(FALLBACK).notes(&[Code::AskUserMalformed]);
        rows.row(&format!("question {name}"), MALFORMED, said(envelope), how(), expect);
        let valid = format!("{GOOD}\n{envelope}");
        let [auto_valid, waits] =
            [rule_9().output(ANSWER), rule_14(GOOD)].map(|rule| rule.notes(&[Code::AskUserMalformed]));
        let name_beside = format!("question {name}, beside valid output");
        rows.modes(&name_beside, SOFT, said(&valid), how(), (auto_valid, waits));
        if !name.contains("unclosed") && !name.contains("is cut") {
            let marked = said(&format!("{envelope}\n{GOOD_DONE}"));
            let expect = |mode| done(mode).output(ANSWER).notes(&[Code::AskUserIgnored]);
            rows.each(&format!("question {name}, beside a marker"), BESIDE, marked, how(), expect);
        }
    }
}
