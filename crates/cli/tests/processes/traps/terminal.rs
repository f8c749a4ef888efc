//! On a terminal an engine shows the same events among other bytes, and none of them needs one.

use serde_json::{Value, json};
use testkit::recorded;

use crate::traps::lab::Lab;
use crate::traps::tape::{ENGINES, Tape};

fn on_terminal(engine: &str) -> Tape {
    Tape::of(&format!("{engine}-on-terminal"))
}

#[test]
fn a_terminal_shows_the_same_events_as_a_pipe() {
    for engine in ENGINES {
        let (terminal, pipe) = (on_terminal(engine).succeeds(), Tape::done(engine).succeeds());
        assert_eq!(terminal.happened(), pipe.happened(), "{engine}");
        assert_eq!(terminal.messages().len(), 1, "{engine}");
    }
}

#[test]
fn line_ends_of_a_terminal_are_no_part_of_the_text() {
    for engine in ENGINES {
        let terminal = on_terminal(engine);
        assert!(terminal.text("pty-output.1.log").contains("}\r\n{"), "{engine}");
        let told = terminal.succeeds();
        let plain = terminal.with_stdout(|text| text.replace("\r\n", "\n")).succeeds();
        assert_eq!(told.happened(), plain.happened(), "{engine}");
    }
}

#[test]
fn stderr_between_the_json_lines_of_a_terminal() {
    for engine in ENGINES {
        let told = on_terminal(engine).succeeds();
        let lines = "Warning: no colours. Which one do you want?\r\n{\"warning\": true}\r\n";
        let mixed = on_terminal(engine).with_stdout(|text| text.replace("}\r\n{", &format!("}}\r\n{lines}{{")));
        let mixed = mixed.succeeds();
        assert_eq!(mixed.happened(), told.happened(), "{engine}");
        assert_eq!(recorded::uncovered(&mixed.0), Vec::<String>::new(), "{engine}");
    }
}

#[test]
fn claude_shows_the_cursor_again_behind_its_end() {
    let terminal = on_terminal("claude");
    assert!(terminal.text("pty-output.1.log").trim_end().ends_with("\u{1b}[?25h"));
    let told = terminal.succeeds();
    let without = on_terminal("claude").with_stdout(|text| text.replace("\u{1b}[?25h", "")).succeeds();
    assert_eq!(told.happened(), without.happened());
}

#[test]
fn codex_says_that_it_reads_stdin_but_not_on_a_terminal() {
    let line = "Reading additional input from stdin...";
    assert!(Tape::done("codex").text("stderr.1.log").contains(line));
    assert!(!on_terminal("codex").text("pty-output.1.log").contains(line));
    let told = Tape::done("codex").succeeds();
    assert!(!told.0["messages"].to_string().contains(line) && told.events("engine.error") == 1, "{}", told.0);
    // The one error is the warning about the model, which the terminal has as well.
    assert_eq!(on_terminal("codex").succeeds().happened(), told.happened());
}

#[test]
fn json_lines_are_not_wrapped_at_the_width_of_a_terminal() {
    let lab = Lab::new();
    let tape = Tape::done("claude");
    lab.put("stream", &tape.stdout());
    let longest = tape.stdout().lines().map(str::len).max().expect("lines");
    let told = lab.captured("claude", &["--wiring", "one_pty"], &["sh", "-c", "stty size >&2; cat stream"]);
    let shown = Tape::at(&lab.path("out")).stdout();
    let columns = shown.lines().next().and_then(|line| line.trim().rsplit(' ').next()?.parse().ok());
    let columns: usize = columns.expect("columns");
    assert!(columns < longest, "a terminal of {columns} columns shows nothing of a line of {longest} bytes");
    assert_eq!(told.happened(), tape.auto().happened());
}

#[test]
fn a_line_of_199_kb_in_68_reads_is_one_event() {
    let output = "0123456789abcdef ".repeat(199_000 / 17);
    let item = json!({
        "id": "item_9", "type": "command_execution", "command": "cat", "exit_code": 0, "status": "completed",
        "aggregated_output": output,
    });
    let line = json!({ "type": "item.completed", "item": item }).to_string();
    let others = Tape::done("codex").stdout();
    let (before, answer) =
        others.split_at(others.find(r#"{"type":"item.completed","item":{"id":"item_2""#).expect("it"));
    let tape = Tape::made("codex", &format!("{before}{line}\n{answer}"));
    let whole = tape.succeeds();
    tape.read_in_pieces(68);
    let in_pieces = tape.succeeds();
    assert_eq!(in_pieces.happened(), whole.happened());
    assert_eq!(whole.tools().len(), 2);
    assert_eq!(recorded::uncovered(&in_pieces.0), Vec::<String>::new());
}

#[test]
fn no_engine_is_given_a_terminal() {
    for engine in ENGINES {
        let lab = Lab::new();
        lab.stand_in(engine, &lab.steps("report"));
        let run = lab.run(engine, &[]);
        assert_eq!(run.meta()["wiring"], "pipes", "{engine}");
        assert_eq!(run.report()["tty"], Value::from(vec![false; 3]), "{engine}");
    }
}
