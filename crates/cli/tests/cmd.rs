//! The command line, told as stories in `cmd/*.md`. `TRYCMD=overwrite` writes what it says now into them.

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
    cases.case("crates/cli/tests/cmd/*.md");
}
