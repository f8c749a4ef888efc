//! Where the program of an engine is looked for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use skillrun_engine::{Descriptor, Disk, EngineProgram, Engines, FindContext, FindError, find};

fn shipped(name: &str) -> Descriptor {
    Engines::shipped().get(name).expect("an engine").clone()
}

/// A folder to look in.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        // Without links, as the search returns it for native programs.
        fs::canonicalize(self.folder.path()).expect("a path").join(name)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, "").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }

    fn find(&self, engine: &str, path: &str, variable: Option<&str>) -> Result<EngineProgram, FindError> {
        let cwd = self.path("");
        let home = self.path("me");
        let programs = self.path("programs");
        let surroundings = FindContext {
            own: Path::new("/opt/skillrun"),
            cwd: &cwd,
            path: Some(OsStr::new(path)),
            user_home: Some(&home),
            variable: variable.map(OsStr::new),
            programs: Some(&programs),
        };
        find(&shipped(engine), &surroundings, &Disk)
    }
}

fn plain(program: PathBuf) -> Result<EngineProgram, FindError> {
    Ok(EngineProgram { program, wrapper: None, interpreter: None, version: None })
}

fn native_of(program: PathBuf, wrapper: PathBuf) -> Result<EngineProgram, FindError> {
    Ok(EngineProgram { program, wrapper: Some(wrapper), interpreter: None, version: None })
}

#[test]
fn the_first_in_path_that_can_be_executed() {
    let lab = Lab::new();
    lab.file("plain/gemini", 0o644);
    fs::create_dir_all(lab.path("folder/gemini")).expect("a folder");
    let third = lab.file("third/gemini", 0o755);
    lab.file("fourth/gemini", 0o755);
    let folders = ["nowhere", "plain", "folder", "third", "fourth"].map(|name| lab.path(name).display().to_string());
    assert_eq!(lab.find("gemini", &folders.join(":"), None), plain(third));
}

#[test]
fn relative_and_empty_entries_begin_at_the_current_folder() {
    let lab = Lab::new();
    let below = lab.file("bin/gemini", 0o755);
    assert_eq!(lab.find("gemini", "bin", None), plain(below));
    let here = lab.file("gemini", 0o755);
    for path in ["/nowhere:", ":/nowhere", "/nowhere::/nowhere", "."] {
        let found = lab.find("gemini", path, None).expect("found").program;
        assert_eq!(fs::canonicalize(found).expect("a path"), here, "{path}");
    }
    // An unset PATH means no folder, not the current one.
    assert!(lab.find("gemini", "", None).is_err());
}

#[test]
fn a_link_is_as_good_as_its_file() {
    let lab = Lab::new();
    lab.file("real/program", 0o755);
    fs::create_dir(lab.path("bin")).expect("a folder");
    symlink("../real/program", lab.path("bin/qwen")).expect("a link");
    assert_eq!(lab.find("qwen", "bin", None), plain(lab.path("bin/qwen")));
    symlink("../real/gone", lab.path("bin/gemini")).expect("a link");
    assert!(lab.find("gemini", "bin", None).is_err());
}

#[test]
fn the_native_codex_is_taken_instead_of_its_wrapper() {
    const NATIVE: &str = "codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    let modules = "lib/node_modules/@openai";
    for native in [format!("{modules}/codex/node_modules/@openai/{NATIVE}"), format!("{modules}/{NATIVE}")] {
        let lab = Lab::new();
        lab.file(&format!("{modules}/codex/bin/codex.js"), 0o755);
        fs::create_dir(lab.path("bin")).expect("a folder");
        symlink("../lib/node_modules/@openai/codex/bin/codex.js", lab.path("bin/codex")).expect("a link");
        assert_eq!(lab.find("codex", "bin", None), plain(lab.path("bin/codex")));
        let native = lab.file(&native, 0o755);
        assert_eq!(lab.find("codex", "bin", None), native_of(native, lab.path("bin/codex")));
    }
}

#[test]
fn after_path_come_other_places() {
    let lab = Lab::new();
    let place = lab.file("me/.local/bin/claude", 0o755);
    assert_eq!(lab.find("claude", "bin", None), plain(place));
    let in_path = lab.file("bin/claude", 0o755);
    assert_eq!(lab.find("claude", "bin", None), plain(in_path));
}

#[test]
fn what_the_user_named_is_taken_or_refused() {
    let lab = Lab::new();
    lab.file("bin/gemini", 0o755);
    let mine = lab.file("mine/g", 0o755);
    assert_eq!(lab.find("gemini", "bin", Some("mine/g")), plain(mine.clone()));
    assert_eq!(lab.find("gemini", "bin", mine.to_str()), plain(mine));
    assert_eq!(lab.find("gemini", "bin", Some("")), plain(lab.path("bin/gemini")));
    let bad = lab.file("mine/not", 0o644);
    let expected = format!("SKILLRUN_GEMINI says that gemini is {}, and that is not an executable file", bad.display());
    assert_eq!(lab.find("gemini", "bin", Some("mine/not")).expect_err("refused").to_string(), expected);
}

#[test]
fn the_operators_path_is_taken_or_refused() {
    let lab = Lab::new();
    let good = lab.file("opt/c", 0o755);
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/gemini.toml")).expect("a file");
    let text = text.replace("[executable]", &format!("[executable]\npath = \"{}\"", good.display()));
    fs::create_dir(lab.path("engines")).expect("a folder");
    fs::write(lab.path("engines/gemini.toml"), text).expect("a file");
    let engines = Engines::load(Some(&lab.path("engines")));
    let gemini = engines.get("gemini").expect("gemini");
    let surroundings = FindContext {
        own: Path::new("/x"),
        cwd: Path::new("/"),
        path: None,
        user_home: None,
        variable: None,
        programs: None,
    };
    assert_eq!(find(gemini, &surroundings, &Disk), plain(good.clone()));
    fs::remove_file(&good).expect("gone");
    let expected = format!(
        "{} says that gemini is {}, and that is not an executable file",
        lab.path("engines/gemini.toml").display(),
        good.display()
    );
    assert_eq!(find(gemini, &surroundings, &Disk).expect_err("refused").to_string(), expected);
}

#[test]
fn a_missing_program_is_reported_with_a_next_step() {
    let lab = Lab::new();
    let said = |engine: &str| lab.find(engine, "bin", None).expect_err("not there").to_string();
    let expected = "codex is not installed: there is no codex in PATH; install it with `skillrun engines install \
                    codex`, or set SKILLRUN_CODEX to its path";
    assert_eq!(said("codex"), expected);
    let expected = format!(
        "opencode is not installed: there is no opencode in PATH, and no {}; \
         install it with `skillrun engines install opencode`, or set SKILLRUN_OPENCODE to its path",
        lab.path("me/.opencode/bin/opencode").display()
    );
    assert_eq!(said("opencode"), expected);
    assert_eq!(said("iflow"), "iflow is not installed: there is no iflow in PATH; set SKILLRUN_IFLOW to its path");
}

#[test]
fn scripted_is_always_there() {
    assert_eq!(Lab::new().find("scripted", "", None), plain("/opt/skillrun".into()));
}

fn of_version(program: PathBuf, version: &str) -> Result<EngineProgram, FindError> {
    Ok(EngineProgram { program, wrapper: None, interpreter: None, version: Some(version.to_owned()) })
}

/// A complete private install of an engine, whose program has this content.
fn private(lab: &Lab, engine: &str, version: &str, content: &str) -> PathBuf {
    let install = shipped(engine).install.expect("an [install]");
    let program = lab.file(&format!("programs/{engine}/{version}/{}", install.program.display()), 0o755);
    fs::write(&program, content).expect("written");
    lab.file(&format!("programs/{engine}/{version}/installed.json"), 0o600);
    program
}

#[test]
fn a_private_install_comes_before_path_once_it_is_complete() {
    let lab = Lab::new();
    let in_path = lab.file("bin/gemini", 0o755);
    let script = private(&lab, "gemini", "0.61.0", "\u{7f}ELF");
    fs::remove_file(lab.path("programs/gemini/0.61.0/installed.json")).expect("gone");
    assert_eq!(lab.find("gemini", "bin", None), plain(in_path));
    lab.file("programs/gemini/0.61.0/installed.json", 0o600);
    assert_eq!(lab.find("gemini", "bin", None), of_version(script, "0.61.0"));
    let mine = lab.file("mine/g", 0o755);
    assert_eq!(lab.find("gemini", "bin", Some("mine/g")), plain(mine));
}

#[test]
fn a_script_starts_with_its_node_and_a_native_program_alone() {
    let lab = Lab::new();
    let script = private(&lab, "qwen", "0.24.4", "#!/usr/bin/env node\n");
    // Regression: it was started with any Node in PATH, which the private install is there to avoid.
    let gone = "the private Node 22 that qwen was installed with is missing; install it with `skillrun engines install \
                qwen`, or set SKILLRUN_QWEN to its path";
    let said = || lab.find("qwen", "/usr/bin", None).expect_err("no Node").to_string();
    assert_eq!(said(), gone);
    let node = lab.file("programs/node/22/node_modules/node/bin/node", 0o755);
    assert_eq!(said(), gone, "a Node that is not complete does not count");
    lab.file("programs/node/22/installed.json", 0o600);
    let expected = EngineProgram {
        program: script,
        wrapper: None,
        interpreter: Some(node.clone()),
        version: Some("0.24.4".into()),
    };
    assert_eq!(expected.command().collect::<Vec<_>>(), [node.as_path(), expected.program.as_path()]);
    assert_eq!(lab.find("qwen", "", None), Ok(expected));
    let native = private(&lab, "claude", "2.1.325", "\u{7f}ELF and more");
    assert_eq!(lab.find("claude", "", None), of_version(native, "2.1.325"));
}

#[test]
fn of_private_installs_the_highest_tested_one_is_taken() {
    let lab = Lab::new();
    for version in ["0.9.0", "0.61.0", "0.99.0"] {
        private(&lab, "gemini", version, "\u{7f}ELF");
    }
    let found = lab.find("gemini", "", None).expect("found").program;
    assert!(found.starts_with(lab.path("programs/gemini/0.61.0")), "{}", found.display());
    fs::remove_dir_all(lab.path("programs/gemini/0.61.0")).expect("gone");
    let found = lab.find("gemini", "", None).expect("found").program;
    assert!(found.starts_with(lab.path("programs/gemini/0.99.0")), "{}", found.display());
    private(&lab, "gemini", "0.61.0-preview.3", "\u{7f}ELF");
    let found = lab.find("gemini", "", None).expect("found").program;
    assert!(found.starts_with(lab.path("programs/gemini/0.99.0")), "a preview is not what was tested");
}

#[test]
fn the_native_program_is_found_beside_a_private_install() {
    let lab = Lab::new();
    private(&lab, "codex", "0.166.0", "");
    let modules = "programs/codex/0.166.0/node_modules";
    fs::remove_file(lab.path(&format!("{modules}/.bin/codex"))).expect("gone");
    lab.file(&format!("{modules}/@openai/codex/bin/codex.js"), 0o755);
    symlink("../@openai/codex/bin/codex.js", lab.path(&format!("{modules}/.bin/codex"))).expect("a link");
    let native = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    let native = lab.file(&format!("{modules}/{native}"), 0o755);
    let expected = native_of(native, lab.path(&format!("{modules}/.bin/codex")));
    assert_eq!(lab.find("codex", "", None).map(|found| EngineProgram { version: None, ..found }), expected);
}
