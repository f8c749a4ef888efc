//! Without JSON, only the answer is on stdout; progress is reported on stderr.

use crate::traps::tape::Tape;

fn plain(engine: &str) -> Tape {
    Tape::of(&format!("{engine}-plain-text"))
}

/// The answer alone is the message, though stderr says more and even repeats it.
#[track_caller]
fn answer_is_stdout(engine: &str) {
    let tape = plain(engine).with(&["--profile", "plain_text"]);
    let told = tape.succeeds();
    assert_eq!(told.messages(), [tape.stdout().trim_end()], "{engine}");
    assert!(told.events("raw.stderr") > 5, "{engine}: {}", told.0);
}

#[test]
fn the_banner_of_codex_on_stderr_is_no_answer() {
    assert!(plain("codex").text("stderr.1.log").contains("session id: "));
    answer_is_stdout("codex");
}

#[test]
fn opencode_colours_stderr_even_without_a_terminal() {
    assert!(plain("opencode").text("stderr.1.log").contains("\u{1b}[0m"));
    answer_is_stdout("opencode");
}

#[test]
fn a_plain_answer_is_no_success_where_events_are_expected() {
    for engine in ["codex", "opencode"] {
        let told = plain(engine).auto();
        assert_eq!((told.status(), told.reason()), ("failed", "ENGINE_END_MISSING"), "{engine}");
        assert!(!told.has_marker() && told.messages().is_empty(), "{engine}: {}", told.0);
    }
}
