//! The binary as tests start it. `cargo test` builds a binary only where a test of its own package needs it, so this
//! file is also the reason that the tests of other packages find it.

use std::process::Command;

#[test]
fn the_first_word_says_which_program_it_is() {
    for (words, code, stdout, stderr) in [
        (&["steps", "out", "x", "exit", "3"][..], 3, "x", ""),
        (&["iflow", "--version"], 0, "0.5.0\n", ""),
        (&["acp"], 64, "", "acp: "),
        (&["simulate-acp"], 64, "", "stand-in: the first word must be steps, iflow or acp\n"),
        (&[], 64, "", "stand-in: the first word must be steps, iflow or acp\n"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_stand-in")).args(words).output().expect("started");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), out.as_ref()), (Some(code), stdout), "{words:?}: {err}");
        assert!(err.starts_with(stderr), "{words:?}: {err}");
    }
}
