//! The command line, told as stories in `cmd/*.md`. `TRYCMD=overwrite` writes what it says now into them.

use testkit::paths;

#[test]
fn stories() {
    // The stories speak of files as they lie in the repository.
    std::env::set_current_dir(paths::workspace()).expect("the repository");
    trycmd::TestCases::new()
        .register_bin("skillrun", std::path::Path::new(env!("CARGO_BIN_EXE_skillrun")))
        .env("COLUMNS", "80")
        .case("crates/cli/tests/cmd/*.md");
}
