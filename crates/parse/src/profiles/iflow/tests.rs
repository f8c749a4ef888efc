use proptest::prelude::*;
use skillrun_model::status::Phase;
use skillrun_model::{Code, ProfileId, Stream};

use crate::LINE_BUDGET;
use crate::profiles::story::{self, Story};
use crate::record::{AnswerFrom, EndPolicy, Record, RecordKind, Span};

const STDOUT_FIRST: AnswerFrom = AnswerFrom::FirstOf(&[Stream::Stdout, Stream::Stderr]);
const STDERR_FIRST: AnswerFrom = AnswerFrom::FirstOf(&[Stream::Stderr, Stream::Stdout]);

/// As iFlow writes it.
const BLOCK: &str = r#"<Execution Info>
{
  "session-id": "session-01",
  "conversation-id": "c-1",
  "assistantRounds": 3,
  "executionTimeMs": 20033,
  "tokenUsage": {
    "input": 900,
    "output": 25,
    "total": 925
  }
}
</Execution Info>
"#;

fn iflow(stdout: &str, stderr: &str) -> Story {
    story::read(ProfileId::IflowText, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)])
}

fn stdout(text: &str) -> Story {
    iflow(text, "")
}

/// As [`stdout`], for a text that is too long to be read byte by byte.
fn long_stdout(text: &str) -> Story {
    story::read_whole(ProfileId::IflowText, &[(Stream::Stdout, text)])
}

fn phases(told: &Story) -> Vec<Phase> {
    told.pick(|record| if let RecordKind::Status { phase, .. } = &record.kind { Some(*phase) } else { None })
}

fn exit(confidence: f64) -> EndPolicy {
    EndPolicy::Exit { confidence }
}

#[test]
fn a_block_reports_session_usage_and_end() {
    let told = iflow("Hello.\n", BLOCK);
    assert_eq!(told.sessions(), [("session-01", 1.0)]);
    assert_eq!(phases(&told), [Phase::TurnCompleted]);
    let [usage] = told.pick(|record| if let RecordKind::Usage(usage) = &record.kind { Some(usage) } else { None })[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(900), Some(25)));
    assert_eq!(usage.reported["total"], 925);
    assert_eq!(told.texts(), ["Hello."]);
}

#[test]
fn the_answer_is_the_text_of_the_stream_without_the_block() {
    let text = "An answer.\n";
    let both = format!("{text}{BLOCK}");
    let cases = [
        (text, BLOCK, STDOUT_FIRST, 0.8),
        (BLOCK, text, STDERR_FIRST, 0.8),
        (&both, "noise\n", STDERR_FIRST, 0.8),
        // FirstOf continues with stdout, because stderr has no message.
        (&both, "", STDERR_FIRST, 0.8),
        (&both, &both, STDOUT_FIRST, 0.8),
        (text, "other\n", STDOUT_FIRST, 0.6),
        ("", text, STDOUT_FIRST, 0.6),
    ];
    for (stdout, stderr, answer_from, confidence) in cases {
        let told = iflow(stdout, stderr);
        assert_eq!((told.answer_from, told.end_policy), (answer_from, exit(confidence)), "{stdout:?} {stderr:?}");
    }
}

#[test]
fn a_message_is_as_sure_with_the_block_on_the_other_stream() {
    let with = stdout(&format!("Text.\n\n{BLOCK}"));
    assert_eq!((with.texts(), with.messages()[0].confidence), (vec!["Text.\n"], 0.8));
    let without = iflow("Text.\n", BLOCK);
    assert_eq!((without.texts(), without.messages()[0].confidence), (vec!["Text."], 0.8));
}

#[test]
fn a_block_is_no_part_of_the_message() {
    let text = format!("before\n{BLOCK}after\n");
    let told = stdout(&text);
    let [message] = &told.messages()[..] else { panic!("{told:?}") };
    assert_eq!(message.text, "before\nafter");
    let end = text.len() as u64;
    let piece = |from, to| Span { stream: Stream::Stdout, from, to };
    assert_eq!(message.spans, [piece(0, 7), piece(end - 6, end)]);
}

#[test]
fn a_block_may_stand_on_one_line() {
    let told = stdout("<Execution Info>{\"session-id\":\"session-9\"}</Execution Info> and text\nmore\n");
    assert_eq!(told.sessions(), [("session-9", 1.0)]);
    assert_eq!(told.texts(), [" and text\nmore"]);
}

#[test]
fn a_block_of_a_terminal_has_escape_sequences() {
    let told =
        stdout("\x1b[2m<Execution Info>\x1b[0m\r\n{\x1b[1m\"session-id\": \"session-9\"}\r\n</Execution Info>\r\n");
    assert_eq!(told.sessions(), [("session-9", 1.0)]);
    assert_eq!(told.texts(), [""; 0]);
}

#[test]
fn a_cut_block_counts_but_reports_no_end() {
    let whole = BLOCK.trim_end();
    let id_known_from = whole.find("session-01\"").expect("id") + "session-01\"".len();
    for cut in "<Execution Info>".len()..whole.len() {
        let told = stdout(&whole[..cut]);
        let expected = if cut >= id_known_from { vec!["session-01"] } else { vec![] };
        let ids: Vec<&str> = told.sessions().iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, expected, "{}", &whole[..cut]);
        assert_eq!(told.texts(), [""; 0]);
        assert_eq!(phases(&told), [Phase::Working]);
        assert_eq!((told.answer_from, told.end_policy), (STDERR_FIRST, exit(0.6)));
    }
}

#[test]
fn a_block_that_is_not_quite_json_still_names_its_session() {
    let told = stdout("<Execution Info>\n{\n  'a': 1,\n  \"session-id\": \"session-9\",\n}\n</Execution Info>\n");
    assert_eq!(told.sessions(), [("session-9", 0.8)]);
    assert_eq!(phases(&told), [Phase::TurnCompleted]);
}

#[test]
fn what_only_looks_like_a_block_is_text() {
    let cases = [
        "<Execution Info>\nis what iflow prints\n</Execution Info>\n",
        "<Execution Info></Execution Info>\n",
        "<Execution Info>\n\n</Execution Info>\n",
        "It prints <Execution Info>{\"session-id\":\"session-9\"}</Execution Info>\n",
        "> <Execution Info>\n> {\"session-id\": \"session-9\"}\n> </Execution Info>\n",
        // It was never closed, and being cut off does not explain that.
        "<Execution Info>\n{\"session-id\": \"session-9\"}\nand text\n",
    ];
    for text in cases {
        let told = stdout(text);
        assert_eq!(told.texts(), [text.trim_end()], "{text:?}");
        assert_eq!(told.sessions(), [], "{text:?}");
        assert_eq!(told.end_policy, exit(0.6), "{text:?}");
    }
}

#[test]
fn a_block_longer_than_its_budget_is_text() {
    let text = format!("<Execution Info>\n{{\n{}", "\"a\": 1,\n".repeat(10_000));
    assert_eq!(long_stdout(&text).texts(), [text.trim_end()]);
    let blank = format!("<Execution Info>\n{}", "\n".repeat(70_000));
    assert_eq!(long_stdout(&blank).texts().len(), 1);
}

#[test]
fn a_second_block_start_turns_the_first_into_text() {
    let told = stdout(&format!("<Execution Info>\n{{ \"session-id\": \"session-0\",\n{BLOCK}"));
    assert_eq!(told.texts(), ["<Execution Info>\n{ \"session-id\": \"session-0\","]);
    assert_eq!(told.sessions(), [("session-01", 1.0)]);
}

#[test]
fn of_several_blocks_the_last_one_counts() {
    let shown = BLOCK.replace("session-01", "session-00").replace("900", "1");
    let told = stdout(&format!("I ran iflow:\n{shown}Done.\n{BLOCK}"));
    assert_eq!(told.sessions(), [("session-01", 1.0)]);
}

#[test]
fn a_block_in_a_fence_is_text() {
    for (open, close) in [("```", "```"), ("~~~text", "~~~"), ("````", "````")] {
        let text = format!("It looks so:\n{open}\n{BLOCK}{close}\nDone.\n");
        let told = stdout(&text);
        assert_eq!(told.texts(), [text.trim_end()]);
        assert_eq!((told.sessions(), told.end_policy), (vec![], exit(0.6)));
        let own = BLOCK.replace("session-01", "session-02");
        let told = stdout(&format!("{text}{own}"));
        assert_eq!(told.sessions(), [("session-02", 1.0)]);
    }
}

#[test]
fn an_unclosed_fence_does_not_hide_the_block_at_the_end() {
    let told = stdout(&format!("```json\n{{\"a\": 1}}\n{BLOCK}\n"));
    assert_eq!(told.sessions(), [("session-01", 1.0)]);
    assert_eq!(told.texts(), ["```json\n{\"a\": 1}"]);
    let more = format!("```json\n{{\"a\": 1}}\n{BLOCK}\nmore");
    let told = stdout(&more);
    assert_eq!((told.texts(), told.sessions()), (vec![more.as_str()], vec![]));
}

#[test]
fn a_resume_hint_names_the_session_where_no_block_does() {
    let hints = [
        "iflow --resume=session-7f-1",
        "iflow --resume session-7f-1",
        "iflow -r session-7f-1",
        "session-id: session-7f-1",
    ];
    for hint in hints {
        let told = stdout(&format!("Text.\n{hint}\n"));
        assert_eq!((told.sessions(), told.texts()), (vec![("session-7f-1", 0.6)], vec!["Text."]), "{hint}");
        for text in [format!("{hint}\n{BLOCK}"), format!("{BLOCK}{hint}\n")] {
            assert_eq!(stdout(&text).sessions(), [("session-01", 1.0)], "{text}");
        }
    }
}

#[test]
fn a_line_that_only_mentions_a_session_is_not_a_hint() {
    let cases = [
        "iflow --resume=SESSION",
        "iflow --resume=session-id",
        "{\"next\": \"iflow --resume=session-7f-1\"}",
        "  \"Use iflow --resume=session-7f-1\",",
        "session-id: none-1",
        "```\niflow --resume=session-7f-1\n```",
        "  \"session-id\": \"session-7f-1\",",
    ];
    for text in cases {
        let told = stdout(text);
        assert_eq!((told.sessions(), told.texts()), (vec![], vec![text]));
    }
}

fn raws(told: &Story) -> Vec<&str> {
    told.raws().into_iter().flatten().collect()
}

/// Found in real use: the engine's line became part of the agent's answer.
#[test]
fn a_resume_hint_inside_a_line_is_raw() {
    for line in [
        "Resume with: iflow --resume session-7f-1",
        "Use iflow --resume=session-7f-1.",
        "iflow --resume=session-7f-1 to go on",
        "To go on: `iflow -r session-7f-1`",
    ] {
        let told = stdout(&format!("Text.\n{line}\nMore.\n"));
        assert_eq!((told.texts(), raws(&told)), (vec!["Text.\nMore."], vec![line]), "{line}");
        assert_eq!(told.sessions(), [("session-7f-1", 0.5)], "{line}");
        let told = stdout(&format!("iflow -r session-8\n{line}\n{BLOCK}"));
        assert_eq!(told.sessions(), [("session-01", 1.0)], "{line}");
    }
    let own = stdout("iflow -r session-8\nUse iflow -r session-7\n");
    assert_eq!(own.sessions(), [("session-8", 0.6)], "a line that is nothing else is surer");
}

/// Found in real use, and in public samples of iFlow's output.
#[test]
fn noise_of_the_start_is_raw() {
    let noise = "\u{2139}\u{fe0f}  Resuming session session-13ee-1 (6 messages loaded)";
    for (stdout, stderr) in
        [(format!("{noise}\n\nThanks.\n"), BLOCK.to_owned()), ("Thanks.\n".to_owned(), format!("{noise}\n{BLOCK}"))]
    {
        let told = iflow(&stdout, &stderr);
        let texts: Vec<&str> = told.texts().iter().map(|text| text.trim()).collect();
        assert_eq!((texts, raws(&told)), (vec!["Thanks."], vec![noise]));
        assert_eq!(told.sessions(), [("session-01", 1.0)]);
    }
    let later = stdout("I saw:\nLoaded cached credentials.\n");
    assert_eq!((later.texts(), raws(&later).len()), (vec!["I saw:\nLoaded cached credentials."], 0));
    let many = "Loaded cached credentials.\n".repeat(40);
    assert_eq!(raws(&stdout(&many)).len(), 32, "a flood of it is text");
}

#[test]
fn an_id_that_is_no_word_is_not_taken() {
    for id in ["", "a b", "--yolo", "a\\nb", "é", &"x".repeat(257)] {
        let told = stdout(&format!("<Execution Info>{{\"session-id\": \"{id}\"}}</Execution Info>\n"));
        assert_eq!((told.sessions(), told.end_policy), (vec![], exit(0.8)), "{id:?}");
    }
}

#[test]
fn error_words_at_the_start_of_a_line_are_engine_errors() {
    let lines = [
        "Error: no network",
        "ERROR request failed",
        "API Error: 500",
        "[API Error: 500]",
        "Error when talking to iFlow API",
        "fatal: not a git repository",
        "Traceback (most recent call last):",
        "\x1b[31mError: red\x1b[0m",
    ];
    for line in lines {
        let told = iflow("Text.\n", &format!("{line}\nmore\n"));
        let [error] = told.errors()[..] else { panic!("{line:?}") };
        assert_eq!(error.code, Code::EngineError);
        let is_error = |record: &&Record| matches!(record.kind, RecordKind::EngineError(_));
        assert_eq!(told.records.iter().find(is_error).map(|record| record.confidence), Some(0.7));
        let text = if line.starts_with("Traceback") { "Traceback (most recent call last):\nmore" } else { line };
        assert_eq!(error.message, crate::ansi::strip(text));
        assert!(!told.texts().iter().any(|text| text.contains(line)), "{line:?}");
    }
}

#[test]
fn other_words_and_places_are_no_errors() {
    let text = "error: lower\nERRORS abound\nAPI Errors\n Error: indented\nAn Error: inside\nTracebacks\n\
                ```\nError: fenced\n```\n~~~\nfatal: fenced\n~~~";
    let told = stdout(text);
    assert_eq!(told.errors(), Vec::<&crate::record::EngineError>::new());
    assert_eq!(told.texts(), [text]);
}

#[test]
fn a_refused_session_has_its_own_code() {
    let told = iflow("", "Error: No saved session found\n");
    assert_eq!(told.errors()[0].code, Code::SessionNotFound);
}

#[test]
fn a_stack_trace_belongs_to_its_error() {
    let told = stdout("Error: boom\n    at f (x.js:1)\n\tat g\nGoing on.\n");
    assert_eq!(told.errors()[0].message, "Error: boom\n    at f (x.js:1)\n\tat g");
    assert_eq!(told.texts(), ["Going on."]);
    let told = stdout("Traceback (most recent call last):\n  File \"x.py\"\nos.MyError: bad\nGoing on.\n");
    assert_eq!(told.errors()[0].message, "Traceback (most recent call last):\n  File \"x.py\"\nos.MyError: bad");
    assert_eq!(told.texts(), ["Going on."]);
    let told = stdout("Error: a\nError: b\n  ```\nError: c\n  ```\n");
    assert_eq!(told.errors().len(), 2);
    assert_eq!(told.texts(), ["  ```\nError: c\n  ```"]);
    let told = stdout(&format!("Error: a\n  {BLOCK}"));
    assert_eq!((told.errors().len(), told.sessions().len()), (1, 1));
}

#[test]
fn an_error_alone_is_no_answer() {
    let told = iflow("", "Error: no API key\n    at main\n");
    assert_eq!(told.texts(), [""; 0]);
}

#[test]
fn blank_streams_are_covered_and_no_message() {
    for blank in ["\n", "  \n\t", "\x1b[0m\r\n"] {
        let told = iflow(blank, &format!("\n{BLOCK}{blank}"));
        assert_eq!(told.texts(), [""; 0]);
        assert_eq!(told.answer_from, STDOUT_FIRST);
    }
    assert_eq!(iflow("", "").records, []);
}

#[test]
fn an_overlong_line_breaks_what_it_interrupts() {
    for begun in ["<Execution Info>\n{\n", "Error: a\n", "text\n"] {
        let told = long_stdout(&format!("{begun}{}\n}}</Execution Info>\n", " ".repeat(LINE_BUDGET + 1)));
        let text = if begun.starts_with("Error") { String::new() } else { begun.to_owned() };
        assert_eq!(told.texts(), [format!("{text}}}</Execution Info>")]);
        let [message] = &told.messages()[..] else { panic!("{begun}") };
        assert!(message.spans.iter().all(|span| span.to - span.from < 100), "{:?}", message.spans);
    }
}

/// Each would take minutes if its work grew with the square of its length.
#[test]
fn hostile_input_is_read_in_linear_time() {
    let units = [
        "<Execution Info>\n".to_owned(),
        "<Execution Info>\n{\n".to_owned(),
        format!("<Execution Info>\n{}x\n", "\n".repeat(60_000)),
        format!("```\n<Execution Info>\n{{}}</Execution Info>{}x\n", "\n".repeat(60_000)),
        "Error: a\n  b\n".to_owned(),
        format!("{}\n`\n", "`".repeat(100_000)),
        "<".to_owned(),
        "\u{1b}[".to_owned(),
    ];
    for unit in units {
        long_stdout(&unit.repeat(256 * 1024 / unit.len()));
    }
    long_stdout(&format!("{}\n{}", "`".repeat(256 * 1024), "```\n".repeat(100_000)));
}

proptest! {
    #[test]
    fn any_lines_are_covered_in_any_chunking(
        stdout in hostile(),
        stderr in hostile(),
    ) {
        let told = story::read(ProfileId::IflowText, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)]);
        let sessions = |stream| {
            let of = |r: &&Record| r.span.stream == stream && matches!(r.kind, RecordKind::Session { .. });
            told.records.iter().filter(of).count()
        };
        prop_assert!(sessions(Stream::Stdout) <= 1 && sessions(Stream::Stderr) <= 1);
        prop_assert!(told.messages().len() <= 2);
    }
}

/// Pieces of everything the profile looks for, in any order.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let block = ["<Execution Info>", "</Execution Info>", "</Execu", "{", "}", r#""session-id": "session-1","#];
    let lines = ["Error: ", "Traceback", "ValueError: x", "iflow --resume=session-2", "Loaded cached credentials."];
    let marks = ["```", "~~~", "  ", "\n", "\n", "\n", "\r\n", "\x1b[31m", "word", "\u{feff}é"];
    let texts = [&block[..], &[r#""tokenUsage": {"input": 1}"#], &lines, &marks].concat();
    let pieces = texts.into_iter().map(str::as_bytes).chain([&b"\xff"[..]]).collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}
