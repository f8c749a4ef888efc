use rustix::process::Signal;
use serde_json::json;

use super::*;

fn acts(yaml: &str) -> Vec<Act> {
    let mut script = Script::read(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    script.turns.remove(0).acts
}

fn refused(yaml: &str) -> String {
    Script::read(yaml).expect_err("a script that makes no sense").to_string()
}

fn fields(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { panic!("no object: {value}") }
}

#[test]
fn acts_are_read_as_they_are_written() {
    let yaml = r#"
- - say: no
  - think: |
      two
      lines
  - ask: {kind: confirm, prompt: Go on?}
  - tool: {name: t, input: {a: 1}, output: o, status: failed}
  - tool: {name: t}
  - write: {path: ./a/../b.txt, content: ""}
  - permission: {tool: t, input: {a: 1}}
  - permission: {tool: t}
"#
    .replace("/../", "/");
    let tool = |input, output: &str, status| {
        Act::Tool(Tool { name: "t".to_owned(), input, output: output.to_owned(), status })
    };
    let expected = [
        Act::Say("no".to_owned()),
        Act::Think("two\nlines\n".to_owned()),
        Act::Ask(fields(json!({"kind": "confirm", "prompt": "Go on?"}))),
        tool(fields(json!({"a": 1})), "o", ToolStatus::Failed),
        tool(Map::new(), "", ToolStatus::Completed),
        Act::Write { path: "a/b.txt".into(), content: String::new() },
        Act::Permission { tool: "t".to_owned(), input: fields(json!({"a": 1})) },
        Act::Permission { tool: "t".to_owned(), input: Map::new() },
    ];
    assert_eq!(acts(&yaml), expected);
    let yaml = r#"
session: my-1
turns:
- - output: {done: false, a: [1]}
    done: true
  - output: {}
  - sleep_ms: 20
  - usage: {input: 1, output: 2, cached: 3, reasoning: 4}
  - stderr: e
  - raw: r
  - expect_reply: x
  - echo_reply
  - echo_prompt:
  - flood: 64
  - cut: 3
  - cut: -3
  - ignore: [SIGINT, TERM]
  - ignore: HUP
  - end
  - exit: 7
- [fail: f, hang: true]
- [limit: l, crash: SIGKILL]
"#;
    let object = fields(json!({"done": false, "a": [1]}));
    let expected = [
        Act::Output { object, marker: Marker::Done },
        Act::Output { object: Map::new(), marker: Marker::Absent },
        Act::Sleep(Duration::from_millis(20)),
        Act::Usage(Usage { input: 1, output: 2, cached: 3, reasoning: 4 }),
        Act::Stderr("e".to_owned()),
        Act::Raw("r".to_owned()),
        Act::ExpectReply("x".to_owned()),
        Act::EchoReply,
        Act::EchoPrompt,
        Act::Flood(64),
        Act::Cut(Cut::After(3)),
        Act::Cut(Cut::Before(3)),
        Act::Ignore(vec![Signal::INT, Signal::TERM]),
        Act::Ignore(vec![Signal::HUP]),
        Act::End,
        Act::Exit(7),
    ];
    assert_eq!(acts(yaml), expected);
    let script = Script::read(yaml).expect("a script");
    assert_eq!(script.session.as_deref(), Some("my-1"));
    assert_eq!(script.turns[1].acts, [Act::Fail("f".to_owned()), Act::Hang]);
    assert_eq!(script.turns[2].acts, [Act::Limit("l".to_owned()), Act::Crash(Signal::KILL)]);
}

#[test]
fn every_act_is_read_under_its_own_word() {
    let yaml = r#"[[say: a, think: a, ask: {}, tool: {name: a}, permission: {tool: a}, write: {path: a, content: a},
        output: {}, sleep_ms: 1, usage: {}, stderr: a, raw: a, expect_reply: a, echo_reply, echo_prompt, flood: 1, cut: 1, ignore: INT, end]]"#;
    let words: Vec<_> = acts(yaml).iter().map(Act::word).collect();
    let keys = [
        "say think ask tool permission write output sleep_ms usage stderr raw",
        "expect_reply echo_reply echo_prompt flood cut ignore end",
    ];
    assert_eq!(words.join(" "), keys.join(" "));
    for (yaml, word) in
        [("fail: a", "fail"), ("limit: a", "limit"), ("exit: 1", "exit"), ("crash: INT", "crash"), ("hang", "hang")]
    {
        assert_eq!(acts(&format!("[[{yaml}]]"))[0].word(), word);
    }
}

#[test]
fn what_makes_no_sense_is_said_with_its_place() {
    for (yaml, sentence) in [
        ("", "a script is a list of turns, or a mapping with turns and optionally session and variants"),
        ("say: hello", "a script is a list of turns, or a mapping with turns and optionally session and variants"),
        ("[]", "it has no turn"),
        ("{turns: [], x: 1}", "it has no member x"),
        (
            "{turns: [[]], session: a/b}",
            "session needs 1 to 200 letters, digits, dots, colons, dashes and underscores, and no dash first",
        ),
        ("{turns: [[]], variants: {}}", "variants are a list of mappings, each with turns and given, mode or both"),
        (
            "{turns: [[]], variants: [{turns: [[]]}]}",
            "variant 1: variants are a list of mappings, each with turns and given, mode or both",
        ),
        (
            "{turns: [[]], variants: [{given: reply, turns: [[]]}]}",
            "variant 1: given needs input.NAME, parameter.NAME or file.SLOT",
        ),
        (
            "{turns: [[]], variants: [{mode: fast, turns: [[]]}]}",
            "variant 1: mode needs auto, interactive or conversation",
        ),
        ("{turns: [[]], variants: [{mode: auto, turns: []}]}", "variant 1: it has no turn"),
        (
            "{turns: [[]], variants: [{mode: auto, turns: [[dance]]}]}",
            "variant 1: turn 1, act 1 (dance): there is no act dance",
        ),
        ("{turns: [[]], variants: [{mode: auto, turns: [[]], x: 1}]}", "variant 1: it has no member x"),
        (
            "[[output: {a: ['{{imput.a}}']}]]",
            "turn 1, act 1 (output): {{imput.a}} names no value; the values are reply, prompt, permission, delegated, input.NAME, \
             parameter.NAME and file.SLOT",
        ),
        ("[say: hello]", "turn 1: a turn is a list of acts"),
        ("[[], [7]]", "turn 2, act 1: an act is one key with its value, or a word alone"),
        ("[[{}]]", "turn 1, act 1: an act is one key with its value, or a word alone"),
        ("[[{say: a, think: b}]]", "turn 1, act 1 (say): an act is one key with its value, or a word alone"),
        ("[[end, dance]]", "turn 1, act 2 (dance): there is no act dance"),
        ("[[say]]", "turn 1, act 1 (say): it needs a text, in quotes where YAML would take it for something else"),
        ("[[say: 7]]", "turn 1, act 1 (say): it needs a text, in quotes where YAML would take it for something else"),
        ("[[ask: what]]", "turn 1, act 1 (ask): it needs a mapping, the fields of the question"),
        ("[[output]]", "turn 1, act 1 (output): it needs a mapping, the object to put out"),
        ("[[{output: {}, done: 1}]]", "turn 1, act 1 (output): it needs true or false at done"),
        ("[[{output: {}, also: 1}]]", "turn 1, act 1 (output): it has no member also"),
        (
            "[[tool: {input: {}}]]",
            "turn 1, act 1 (tool): it needs a mapping with name, and optionally input, output and status",
        ),
        ("[[tool: {name: a, status: gone}]]", "turn 1, act 1 (tool): it needs completed, failed or open at status"),
        ("[[tool: {name: a, args: {}}]]", "turn 1, act 1 (tool): it has no member args"),
        ("[[permission: Bash]]", "turn 1, act 1 (permission): it needs a mapping with tool, and optionally input"),
        ("[[permission: {}]]", "turn 1, act 1 (permission): it needs a mapping with tool, and optionally input"),
        ("[[permission: {tool: a, input: b}]]", "turn 1, act 1 (permission): it needs a mapping at input"),
        ("[[permission: {tool: a, name: b}]]", "turn 1, act 1 (permission): it has no member name"),
        ("[[end, permission: {tool: a}]]", "turn 1, act 2 (permission): it comes after end, which ended the turn"),
        ("[[write: {path: a}]]", "turn 1, act 1 (write): it needs a mapping with path and content"),
        (
            "[[write: {path: ../a, content: x}]]",
            "turn 1, act 1 (write): ../a does not lie inside of the working folder",
        ),
        ("[[write: {path: /a, content: x}]]", "turn 1, act 1 (write): /a does not lie inside of the working folder"),
        ("[[write: {path: a/, content: x}]]", "turn 1, act 1 (write): a/ does not lie inside of the working folder"),
        ("[[write: {path: ., content: x}]]", "turn 1, act 1 (write): . does not lie inside of the working folder"),
        ("[[sleep_ms: 600001]]", "turn 1, act 1 (sleep_ms): it needs 0 to 600000 milliseconds"),
        (
            "[[usage: {input: -1}]]",
            "turn 1, act 1 (usage): it needs a mapping of input, output, cached and reasoning to numbers",
        ),
        ("[[exit: 256]]", "turn 1, act 1 (exit): it needs an exit code of 0 to 255"),
        ("[[flood: much]]", "turn 1, act 1 (flood): it needs a number of bytes"),
        ("[[cut: much]]", "turn 1, act 1 (cut): it needs a number of bytes, negative to count from the end"),
        ("[[crash: SIGNOT]]", "turn 1, act 1 (crash): SIGNOT is not a known signal"),
        ("[[ignore: [KILL]]]", "turn 1, act 1 (ignore): KILL cannot be ignored"),
        ("[[ignore: 2]]", "turn 1, act 1 (ignore): it needs a list of signals"),
        ("[[end: soon]]", "turn 1, act 1 (end): it needs no value"),
        ("[[end, stderr: x, say: y]]", "turn 1, act 3 (say): it comes after end, which ended the turn"),
        ("[[fail: x, end]]", "turn 1, act 2 (end): it comes after fail, which ended the turn"),
        ("[[hang, stderr: x]]", "turn 1, act 2 (stderr): it comes after hang, after which nothing is played"),
    ] {
        assert_eq!(refused(yaml), sentence, "{yaml}");
    }
    assert!(refused("[[say: \"a]]").starts_with("it is not YAML that can be read ("));
    assert!(refused("[[{say: a, say: b}]]").starts_with("it is not YAML that can be read ("));
    assert!(refused("[[end]]\n---\n[[end]]").starts_with("it is not YAML that can be read ("));
}

#[test]
fn the_example_in_the_documentation_is_a_script() {
    let lines = include_str!("../mod.rs").lines().map(|line| line.trim_start_matches("//!"));
    let yaml = lines.skip_while(|line| *line != " ```yaml").skip(1).take_while(|line| *line != " ```");
    let script = Script::read(&yaml.collect::<Vec<_>>().join("\n")).expect("a script");
    let counts: Vec<_> = script.turns.iter().map(|turn| turn.acts.len()).collect();
    assert_eq!(counts, [3, 4]);
    ProfileId::ALL.iter().for_each(|profile| script.check(*profile, Life::OneTurn).expect("any format"));
}

#[test]
fn the_scripts_on_the_page_for_authors_are_scripts() {
    let page = include_str!("../../../../../docs/testing-skills.md");
    let (_, section) = page.split_once("\n## Scripts\n").expect("a section about scripts");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let scripts: Vec<_> = section.split("```yaml\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    let counts: Vec<_> = scripts
        .iter()
        .map(|yaml| Script::read(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}")))
        .map(|script| (script.variants.len(), script.turns.len()))
        .collect();
    assert_eq!(counts, [(0, 2), (1, 2)]);
    for function in
        ["words", "longest_word", "rows", "columns", "column_table", "choose KEY: TEXT, KEY: TEXT, else: TEXT"]
    {
        assert!(section.contains(&format!("\n| `{function}` |")), "{function}");
        Template::parse(&format!("{{{{input.a | {function}}}}}")).expect("a function");
    }
}

#[test]
fn a_script_has_bounds() {
    assert_eq!(refused(&" ".repeat(MAX_BYTES + 1)), "it is larger than 1048576 bytes");
    assert_eq!(refused(&"- []\n".repeat(MAX_TURNS + 1)), "it has more than 1000 turns");
    let turn = |acts| format!("- [{}]\n", "end, ".repeat(acts));
    let many = |acts: usize| "- [".to_owned() + &"stderr: x, ".repeat(acts) + "]\n";
    assert_eq!(acts(&many(MAX_ACTS)).len(), MAX_ACTS);
    assert_eq!(Script::read(&"- [end]\n".repeat(MAX_TURNS)).expect("a script").turns.len(), MAX_TURNS);
    assert_eq!(refused(&(many(MAX_ACTS) + &turn(1))), "it has more than 10000 acts");
    let variants =
        |count: usize| format!("{{turns: [[]], variants: [{}]}}", "{mode: auto, turns: [[]]}, ".repeat(count));
    assert_eq!(Script::read(&variants(MAX_VARIANTS)).expect("a script").variants.len(), MAX_VARIANTS);
    assert_eq!(refused(&variants(MAX_VARIANTS + 1)), "it has more than 20 variants");
    let deep = format!("[[ask: {}{}]]", "{a: ".repeat(100), "}".repeat(100));
    assert!(refused(&deep).starts_with("it is not YAML that can be read ("));
}

#[test]
fn a_turn_may_be_used_again_but_not_without_end() {
    let again = "[&t [say: a, tool: {name: t}], *t, *t]";
    assert_eq!(Script::read(again).expect("a script").turns.len(), 3);
    let mut bomb = "- &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='i').zip('a'..) {
        bomb.push_str(&format!("- &{name} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
    }
    assert!(refused(&bomb).starts_with("it is not YAML that can be read ("));
    let long = format!("- &a [say: \"{}\"]\n{}", "x".repeat(500_000), "- *a\n".repeat(63));
    assert!(refused(&long).starts_with("it is not YAML that can be read ("), "one text, many times");
}

#[test]
fn the_first_variant_that_fits_the_run_is_played() {
    let yaml = "
variants:
  - {given: input.theme, mode: auto, turns: [[say: both]]}
  - {given: input.theme, turns: [[say: given]]}
  - {mode: auto, turns: [[say: auto]]}
turns: [[say: other]]
";
    let script = Script::read(yaml).expect("a script");
    let played = |request: Option<&Request>| script.turns_for(request)[0].acts[0].clone();
    let request = |mode, input: Value| {
        let mut request = Request::default();
        (request.mode, request.input) = (Some(mode), fields(input));
        request
    };
    let (auto, interactive) = (ExecutionMode::Auto, ExecutionMode::Interactive);
    for (request, said) in [
        (Some(request(auto, json!({"theme": "x"}))), "both"),
        (Some(request(interactive, json!({"theme": null}))), "given"),
        (Some(request(auto, json!({"other": "x"}))), "auto"),
        (Some(request(interactive, json!({}))), "other"),
        (None, "other"),
    ] {
        assert_eq!(played(request.as_ref()), Act::Say(said.to_owned()));
    }
}
