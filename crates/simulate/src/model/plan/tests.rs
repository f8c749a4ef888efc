//! What is decided, scenario by scenario.

use serde_json::json;

use super::super::asked::Offered;
use super::super::shell::Call;
use super::*;

fn asked() -> Asked {
    let parameters = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
    Asked { tools: vec![Offered { name: "bash".to_owned(), namespace: None, parameters }], ..Asked::default() }
}

fn choice(text: &str) -> Choice {
    text.parse().expect("a scenario")
}

fn plan_of(scenario: &str, asked: &Asked) -> Plan {
    match decide(&choice(scenario), asked, None, &mut Memory::default()) {
        Decision::Answer(plan) => plan,
        Decision::Error(failure) => panic!("{scenario}: {failure:?}"),
    }
}

/// What a plan says and runs, a line each.
fn summarized(plan: &Plan) -> Vec<String> {
    let summarized = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Tool(call) => format!("$ {}", call.arguments["command"].as_str().unwrap_or_default()),
    };
    plan.blocks.iter().map(summarized).collect()
}

fn after(results: usize) -> Asked {
    Asked { results, after_result: results > 0, ..asked() }
}

fn having_said(text: &str) -> Asked {
    Asked { assistant: format!("{text}\n"), turns: 1, ..asked() }
}

#[test]
fn a_command_then_the_end() {
    for (scenario, command, end) in [
        ("auto", texts::DATE, texts::done()),
        ("autofenced", texts::DATE, texts::done_fenced()),
        ("sleeptool", texts::SLEEP, texts::done()),
        ("bigtool", texts::BIG, texts::done()),
        ("cutafter", texts::DATE, texts::done()),
    ] {
        assert_eq!(summarized(&plan_of(scenario, &asked())), [format!("$ {command}")], "{scenario}");
        assert_eq!(summarized(&plan_of(scenario, &after(1))), [end], "{scenario}");
    }
    assert_eq!(plan_of("cutafter", &asked()).fate, Fate::Whole);
    assert_eq!(plan_of("cutafter", &after(1)).fate, Fate::Cut);
    assert_eq!(plan_of("parallel", &asked()).blocks.len(), 2);
    assert_eq!(summarized(&plan_of("parallel", &after(2))), [texts::done()]);
}

#[test]
fn questions_are_asked_once_each() {
    assert_eq!(summarized(&plan_of("interactive", &asked())), [texts::QUESTION]);
    assert_eq!(summarized(&plan_of("interactive", &having_said(texts::QUESTION))), [texts::done_fenced()]);
    assert_eq!(summarized(&plan_of("askuser", &asked())), [texts::ASK]);
    assert_eq!(summarized(&plan_of("askuser", &having_said(texts::ASK))), [texts::done()]);
    for asked in 0..3 {
        let said = texts::QUESTIONS[..asked].join("\n");
        assert_eq!(summarized(&plan_of("multi", &having_said(&said))), [texts::QUESTIONS[asked]]);
    }
    assert_eq!(summarized(&plan_of("multi", &having_said(&texts::QUESTIONS.join("\n")))), [texts::done()]);
}

#[test]
fn each_prompt_orders_what_becomes_of_its_turn() {
    let told = |words: &str, results| Asked { user: format!("[[say old]]\n{words}\n"), ..after(results) };
    assert_eq!(summarized(&plan_of("ordered", &told("[[say amber]]", 0))), ["The word is amber."]);
    assert_eq!(summarized(&plan_of("ordered", &told("[[run sleep 9]]", 0))), ["$ sleep 9"]);
    assert_eq!(summarized(&plan_of("ordered", &told("[[run sleep 9]]", 1))), [texts::COMMAND_OVER]);
    let begun = ["The word may be amber.".to_owned(), format!("$ {}", texts::DATE)];
    assert_eq!(summarized(&plan_of("ordered", &told("[[break amber]]", 0))), begun);
    for (words, results) in [("[[fail 500]]", 0), ("[[break amber]]", 1)] {
        let decided = decide(&choice("ordered.a-key"), &told(words, results), None, &mut Memory::default());
        assert_eq!(decided, failure(500), "{words}");
    }
    assert_eq!(summarized(&plan_of("ordered", &asked())), [texts::NO_ORDER]);
}

#[test]
fn commentary_comes_before_commands() {
    let expected = [texts::COMMENTARY[0].to_owned(), format!("$ {}", texts::DATE)];
    assert_eq!(summarized(&plan_of("commentary", &asked())), expected);
    assert_eq!(summarized(&plan_of("commentary", &after(1)))[0], texts::COMMENTARY[1]);
    assert_eq!(summarized(&plan_of("commentary", &after(2))), [texts::done()]);
}

#[test]
fn errors_are_for_everybody_and_titles_are_harmless() {
    let nobody = Asked::default();
    for (scenario, status, limit, wait_seconds) in [
        ("err400", 400, Limit::Rate, 1),
        ("err401", 401, Limit::Rate, 1),
        ("err429", 429, Limit::Rate, 1),
        ("err429.20", 429, Limit::Rate, 20),
        ("quota", 429, Limit::Plan, 3600),
        ("quota.60", 429, Limit::Plan, 60),
        ("err500", 500, Limit::Rate, 1),
    ] {
        let decision = decide(&choice(scenario), &nobody, None, &mut Memory::default());
        assert_eq!(decision, Decision::Error(Failure { status, limit, wait_seconds }), "{scenario}");
    }
    assert_eq!(decide(&choice("errmid"), &after(1), None, &mut Memory::default()), failure(500));
    assert!(plan_of("errmid", &asked()).calls_tools());
    let always = ["err400", "err401", "err429", "quota", "err500"];
    for scenario in Scenario::ALL.iter().filter(|scenario| !always.contains(&scenario.as_str())) {
        let plan = plan_of(scenario.as_str(), &nobody);
        assert_eq!((summarized(&plan), plan.fate), (vec![texts::TITLE.to_owned()], Fate::Whole), "{scenario}");
    }
    let json = Asked { wants_json: true, ..nobody };
    assert_eq!(summarized(&plan_of("auto", &json)), [texts::SIDE_OBJECT]);
}

#[test]
fn without_a_shell_it_says_so() {
    let tools = vec![Offered { name: "read_file".to_owned(), namespace: None, parameters: json!({}) }];
    for scenario in ["auto", "commentary", "parallel", "artifact"] {
        let plan = plan_of(scenario, &Asked { tools: tools.clone(), ..Asked::default() });
        assert_eq!(summarized(&plan), [texts::NO_SHELL], "{scenario}");
    }
}

#[test]
fn once_is_once_for_each_key() {
    let mut memory = Memory::default();
    let mut fate = |text: &str, asked: &Asked| match decide(&choice(text), asked, None, &mut memory) {
        Decision::Answer(plan) => plan.fate,
        Decision::Error(failure) => panic!("{failure:?}"),
    };
    assert_eq!(fate("cutonce.a", &Asked::default()), Fate::Whole, "a title does not count");
    assert_eq!(fate("cutonce.a", &asked()), Fate::Cut);
    assert_eq!(fate("cutonce.a", &asked()), Fate::Whole);
    assert_eq!(fate("cutonce.b", &asked()), Fate::Cut);
    assert_eq!(fate("endonce.a", &asked()), Fate::Ended);
    assert_eq!(fate("endonce.a", &asked()), Fate::Whole);
}

#[test]
fn half_an_answer_and_the_other_half() {
    let (first, second) = texts::done_halves();
    let plan = plan_of("maxtokensonce", &asked());
    assert_eq!((summarized(&plan), plan.finish), (vec![first.clone()], Finish::Length));
    let plan = plan_of("maxtokensonce", &having_said(&first));
    assert_eq!((summarized(&plan), plan.finish), (vec![second], Finish::Stop));
    assert_eq!(plan_of("maxtokens", &having_said(&first)).finish, Finish::Length);
}

#[test]
fn a_script_is_played_turn_by_turn() {
    let turns = json!([{"say": "First", "tool": "ls"}, {"say": "Which?"}, {"answer": {"n": 1}}, {"status": 503}]);
    let script = Script::from_json(&json!({"turns": turns})).expect("a script");
    let turn = |turns| {
        let asked = Asked { turns, ..asked() };
        match decide(&choice("script.x"), &asked, Some(&script), &mut Memory::default()) {
            Decision::Answer(plan) => summarized(&plan).join(" "),
            Decision::Error(failure) => failure.status.to_string(),
        }
    };
    let all: Vec<String> = (0..5).map(turn).collect();
    assert_eq!(all, ["First $ ls", "Which?", r#"{"__SKILL_DONE__":true,"n":1}"#, "503", texts::SCRIPT_OVER]);
}

#[test]
fn long_texts_have_their_size() {
    let size = |scenario: &str| summarized(&plan_of(scenario, &asked())).concat().len();
    assert!((60_000..61_000).contains(&size("long60k")));
    assert!((2_000_000..2_001_000).contains(&size("longtext")));
    assert!((8_000_000..8_001_000).contains(&size("long9000k")), "there is a bound");
}

#[test]
fn an_order_calls_a_tool_of_a_server_and_repeats_what_it_printed() {
    let offered = Offered { name: "lab_wait_runs".to_owned(), namespace: None, parameters: json!({}) };
    let user = r#"[[call wait_runs {"run_ids": []}]]"#.to_owned();
    let begun = Asked { tools: vec![offered], user, ..Asked::default() };
    let plan = plan_of("ordered", &begun);
    let arguments = json!({"run_ids": []}).as_object().cloned().expect("an object");
    assert_eq!(plan.blocks, [Block::Tool(Call { namespace: None, name: "lab_wait_runs".to_owned(), arguments })]);
    let over = Asked { after_result: true, last_printed: "completed\n".to_owned(), ..begun };
    assert_eq!(summarized(&plan_of("ordered", &over)), ["The tool says: completed"]);
    let without = Asked { after_result: false, tools: asked().tools, ..over };
    assert_eq!(summarized(&plan_of("ordered", &without)), [texts::NO_TOOL]);
}

#[test]
fn an_order_plays_a_script_with_values_of_the_conversation() {
    let run = "0199aaaa-bbbb-7ccc-8ddd-0123456789ab";
    let turns = json!([{"call": "wait_runs", "arguments": {"run_ids": ["{{run}}"]}}, {"say": "It says {{printed}}."}]);
    let script = Script::from_json(&json!({"turns": turns})).expect("a script");
    let offered = Offered { name: "lab_wait_runs".to_owned(), namespace: None, parameters: json!({}) };
    let printed = format!("Run {run} is started.");
    let begun = Asked { tools: vec![offered], user: "[[play x]]".to_owned(), printed, ..Asked::default() };
    assert_eq!(script_name(&choice("ordered.y"), &begun), Some("x"));
    assert_eq!(script_name(&choice("auto"), &begun), None);
    let decided = |asked: &Asked| match decide(&choice("ordered.y"), asked, Some(&script), &mut Memory::default()) {
        Decision::Answer(plan) => plan,
        Decision::Error(failure) => panic!("{failure:?}"),
    };
    let plan = decided(&begun);
    let [Block::Tool(call)] = &plan.blocks[..] else { panic!("{plan:?}") };
    assert_eq!(call.arguments["run_ids"], json!([run]));
    let over = Asked { turns: 1, last_printed: "completed".to_owned(), ..begun };
    assert_eq!(summarized(&decided(&over)), ["It says completed."]);
}
