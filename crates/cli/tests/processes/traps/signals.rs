//! Another program signals an engine in the middle of a tool call. However it takes that, the turn has failed, and
//! none of its processes is left.

use lab::{signal, signal_group};

use crate::traps::lab::Lab;
use crate::traps::tape::Tape;

/// A tool in a session of its own, as all of them start theirs.
const TOOL: &str = "session [ pid @tool.pid forever ] wait-file @tool.pid";

/// As recorded: failed in either mode, and nothing was said.
#[track_caller]
fn recorded(tape: &str, category: &str, reason: &str) -> Tape {
    let tape = Tape::of(tape);
    let told = tape.fails(category);
    assert_eq!((told.reason(), told.messages().len()), (reason, 0), "{}", told.0);
    tape
}

/// The engine does this in the middle of a tool call, and is signalled.
struct Signalled<'l> {
    engine: &'l str,
    does: &'l str,
    send: fn(u32, &str),
    signal: &'l str,
}

impl Signalled<'_> {
    /// It has exited by itself; its tool would have survived that.
    #[track_caller]
    fn exits(&self, exit: u64, code: &str) {
        self.fails(code, (Some(exit), None, Some(1)));
    }

    /// It was killed. The remaining process is in another session, so it is a tool and not an engine behind a wrapper:
    /// the host does not wait for it until a limit is reached.
    #[track_caller]
    fn dies(&self) {
        self.fails("ENGINE_FAILED", (None, Some(format!("SIG{}", self.signal)), Some(1)));
    }

    /// It was killed, and a remaining process in its session may be the real engine, so it may still write; it is ended
    /// when it writes nothing.
    #[track_caller]
    fn dies_before_the_engine(&self) {
        self.fails("TIMEOUT", (None, Some(format!("SIG{}", self.signal)), Some(0)));
    }

    #[track_caller]
    fn fails(&self, code: &str, process: (Option<u64>, Option<String>, Option<u64>)) {
        let lab = Lab::new();
        let run = lab.busy(self.engine, &format!("{TOOL} {}", self.does));
        (self.send)(lab.pid("main.pid"), self.signal);
        run.ends_as("failed", code);
        lab.nobody_is_left();
        assert_eq!(run.process(), process);
    }
}

#[test]
fn codex_exits_1_without_an_end_on_sigint() {
    recorded("codex-interrupted", "engine", "ENGINE_FAILED");
    Signalled { engine: "codex", does: "on SIGINT [ exit 1 ]", send: signal, signal: "INT" }.exits(1, "ENGINE_FAILED");
}

#[test]
fn codex_dies_of_sigterm_and_its_tool_survives() {
    Signalled { engine: "codex", does: "", send: signal, signal: "TERM" }.dies();
}

#[test]
fn codex_dies_of_sigterm_to_its_group_and_its_tool_survives() {
    recorded("codex-terminated", "engine", "ENGINE_FAILED");
    Signalled { engine: "codex", does: "", send: signal_group, signal: "TERM" }.dies();
}

#[test]
fn opencode_dies_of_sigint_and_its_tool_survives() {
    recorded("opencode-interrupted", "engine", "ENGINE_FAILED");
    Signalled { engine: "opencode", does: "", send: signal, signal: "INT" }.dies();
}

#[test]
fn opencode_dies_of_sigterm_and_its_tool_survives() {
    Signalled { engine: "opencode", does: "", send: signal, signal: "TERM" }.dies();
}

#[test]
fn opencode_dies_of_sigterm_to_its_group_and_its_tool_survives() {
    recorded("opencode-terminated", "engine", "ENGINE_FAILED");
    Signalled { engine: "opencode", does: "", send: signal_group, signal: "TERM" }.dies();
}

#[test]
fn gemini_exits_0_on_sigint_and_its_tool_survives() {
    Signalled { engine: "gemini", does: "on SIGINT [ exit 0 ]", send: signal, signal: "INT" }
        .exits(0, "ENGINE_END_MISSING");
}

#[test]
fn gemini_exits_0_on_sigterm_and_its_tool_survives() {
    Signalled { engine: "gemini", does: "on SIGTERM [ exit 0 ]", send: signal, signal: "TERM" }
        .exits(0, "ENGINE_END_MISSING");
}

#[test]
fn gemini_exits_0_without_a_result_on_sigterm_to_its_group() {
    let tape = recorded("gemini-terminated", "engine", "ENGINE_END_MISSING");
    assert!(tape.meta()["exit_code"] == 0 && !tape.stdout().contains(r#""type":"result""#));
    Signalled { engine: "gemini", does: "on SIGTERM [ exit 0 ]", send: signal_group, signal: "TERM" }
        .exits(0, "ENGINE_END_MISSING");
}

#[test]
fn claude_exits_0_on_sigint_with_a_result_that_is_an_error() {
    let tape = recorded("claude-interrupted", "engine", "ENGINE_FAILED");
    assert!(tape.meta()["exit_code"] == 0 && tape.stdout().contains(r#""terminal_reason":"aborted_tools""#));
}

#[test]
fn the_last_words_of_claude_when_its_time_is_up_are_no_success() {
    for why in ["hard_timeout", "stall"] {
        let told = Tape::of("claude-interrupted").with(&["--ended-by", why]).auto();
        assert_eq!((told.status(), told.messages().len()), ("failed", 0), "{why}: {}", told.0);
    }
}

#[test]
fn claude_exits_143_on_sigterm_without_a_result() {
    let tape = recorded("claude-terminated", "engine", "ENGINE_FAILED");
    assert!(tape.meta()["exit_code"] == 143 && !tape.stdout().contains(r#""type":"result""#));
}

/// The process behind the wrapper of qwen, which does not receive a signal to the wrapper.
const CHILD: &str = "child [ pid @child.pid forever ] wait-file @child.pid";

#[test]
fn the_wrapper_of_qwen_dies_of_sigint_and_leaves_child_and_tool() {
    recorded("qwen-interrupted", "engine", "ENGINE_FAILED");
    Signalled { engine: "qwen", does: CHILD, send: signal, signal: "INT" }.dies_before_the_engine();
}

#[test]
fn the_qwen_wrapper_dies_of_sigterm_and_leaves_its_child() {
    Signalled { engine: "qwen", does: CHILD, send: signal, signal: "TERM" }.dies_before_the_engine();
}

#[test]
fn the_wrapper_of_qwen_dies_of_sigterm_to_its_group() {
    recorded("qwen-terminated", "engine", "ENGINE_FAILED");
    Signalled { engine: "qwen", does: CHILD, send: signal_group, signal: "TERM" }.dies();
}

#[test]
fn exit_0_after_a_signal_is_no_success() {
    for (tape, answer) in [("gemini-terminated", "gemini"), ("claude-interrupted", "claude")] {
        let tape = Tape::of(tape);
        assert_eq!(tape.meta()["exit_code"], 0);
        assert_eq!(tape.auto().status(), "failed");
        // Nor would it be one if the answer had already been said.
        let said = Tape::done(answer).without_last_line();
        assert_eq!((said.auto().status(), said.interactive().status()), ("failed", "failed"), "{answer}");
    }
}
