//! The command line, as stories in `cmd/*.md`. `TRYCMD=overwrite` writes the current output into them.

use testkit::paths;

#[test]
fn stories() {
    // The stories speak of files as they lie in the repository.
    std::env::set_current_dir(paths::workspace()).expect("the repository");
    let cases = trycmd::TestCases::new();
    cases.register_bin("skillrun", std::path::Path::new(env!("CARGO_BIN_EXE_skillrun"))).env("COLUMNS", "80");
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
    cases.case("crates/cli/tests/cmd/*.md");
}
