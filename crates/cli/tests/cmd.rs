//! The command line, as stories in `cmd/*.md`, and `docs/first-hour.md`, which is one as well. `TRYCMD=overwrite` writes
//! the current output into them.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::paths;

fn cases() -> trycmd::TestCases {
    // The stories speak of files as they lie in the repository.
    std::env::set_current_dir(paths::workspace()).expect("the repository");
    let cases = trycmd::TestCases::new();
    cases.register_bin("skillrun", Path::new(env!("CARGO_BIN_EXE_skillrun"))).env("COLUMNS", "80");
    // Nothing of the machine: no settings, no home folder, no engine. An empty variable is one that is not set.
    cases.env("SKILLRUN_CONFIG", "/dev/null").env("SKILLRUN_DATA", "data");
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR"] {
        cases.env(variable, "");
    }
    for engine in ["CLAUDE", "CODEX", "GEMINI", "IFLOW", "OPENCODE", "QWEN"] {
        cases.env(format!("SKILLRUN_{engine}"), "");
    }
    let logins =
        ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "GEMINI_API_KEY"];
    let more = ["GOOGLE_API_KEY", "IFLOW_API_KEY", "OPENAI_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY"];
    for variable in logins.into_iter().chain(more).chain(["SKILLRUN_PROGRAMS"]) {
        cases.env(variable, "");
    }
    cases
}

#[test]
fn stories() {
    cases().case("crates/cli/tests/cmd/*.md");
}

/// The page is executed in a folder that has the examples, as a reader has them in a clone.
#[test]
fn the_first_hour() {
    let page = paths::workspace().join("docs/first-hour.md");
    let folder = tempfile::tempdir().expect("a folder");
    let story = folder.path().join("first-hour.md");
    fs::copy(&page, &story).expect("the page");
    for name in ["first-hour.in", "first-hour.out"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let examples = paths::workspace().join("examples");
    let copied = Command::new("cp").arg("-R").args([&examples, &folder.path().join("first-hour.in")]).status();
    assert!(copied.expect("cp").success());
    let cases = cases();
    cases.case(&story);
    // The story is played when it is dropped.
    drop(cases);
    if std::env::var("TRYCMD").is_ok_and(|manner| manner == "overwrite") {
        fs::copy(&story, &page).expect("the page");
    }
}
