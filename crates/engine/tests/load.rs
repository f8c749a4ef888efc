//! Files of the operator: they replace and add engines, and a mistake is reported with file, line and key.

use std::fs;
use std::path::Path;

use skillrun_engine::load::REFERENCE;
use skillrun_engine::{DescriptorOrigin, Engines, resume, start};
use skillrun_model::status::Continuation;

mod support;

/// Engines in the binary.
const SHIPPED: usize = 12;

const GOOD: &str = r#"name = "mine"
title = "Mine"
profile = "plain_text"
continuation = "resumable"
wiring = "pipes"
notes = ["one"]

[executable]
names = ["mine"]

[start]
argv = ["{{permission_flags}}", "{{prompt_flags}}"]

[resume]
argv = ["{{permission_flags}}", "-r", "{{session_id}}", "{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission.workspace]
posture = "asked"
flags = ["-w"]

[permission.read_only]
posture = "asked"

[permission.full]
posture = "not_enforced"

[environment]
pass = ["A"]
secret = ["B"]
set = { C = "{{home}}" }
"#;

fn load(files: &[(&str, &str)]) -> (tempfile::TempDir, Engines) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let engines = Engines::load(Some(folder.path()));
    (folder, engines)
}

/// The message for a file, without its folder.
fn sentence(text: &str) -> String {
    let (folder, engines) = load(&[("mine.toml", text)]);
    let broken: Vec<_> = engines.broken().map(ToString::to_string).collect();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(engines.iter().count(), SHIPPED, "the other engines stay usable");
    broken[0].replace(&format!("{}/", folder.path().display()), "")
}

/// The message for the good file with one change.
fn changed(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    sentence(&GOOD.replace(from, to))
}

/// Checks changes of the good file, like those of a diff, each with its message; what is only added comes at the end.
/// `\n` is the end of a line.
fn check(changes: &str) {
    let lines: Vec<String> = changes.trim().lines().map(|line| line.replace("\\n", "\n")).collect();
    let mut lines = lines.iter().map(String::as_str);
    while let Some(first) = lines.next() {
        let said = match first.strip_prefix("- ") {
            Some(from) => changed(from, lines.next().and_then(|to| to.strip_prefix('+')).expect("a text").trim_start()),
            None => sentence(&format!("{GOOD}{}\n", first.strip_prefix("+ ").expect("a change"))),
        };
        assert_eq!(Some(said.as_str()), lines.next());
    }
}

#[test]
fn the_reference_is_a_file_that_loads_and_starts() {
    let (_folder, engines) = load(&[("example.toml", REFERENCE)]);
    let example = engines.get("example").unwrap_or_else(|error| panic!("{error}"));
    let launch = start(example, &support::request(&[])).expect("a launch");
    assert_eq!(support::words(&launch).join(" "), "run --no-updates --sandbox --ignore-project --in /run/workspace -");
    assert_eq!(launch.files[0].bytes, br#"{"mode": "auto"}"#);
    assert_eq!(
        support::variables(&launch),
        ["EXAMPLE_PROJECT=0", "EXAMPLE_TELEMETRY=0", "EXAMPLE_URL=https://example.com", "HOME=/run/own"]
    );
    assert!(resume(example, &support::request(&[]), "s").is_ok());
}

/// Every table and key that is read is in the reference: otherwise the reader would report an error.
#[test]
fn the_reference_has_every_key() {
    let tables = "executable version start resume prompt permission.full environment network gateway install login probe workspace_settings \
                  skills snapshot process";
    for table in ["", "[files]"].into_iter().chain(tables.split(' ')) {
        let text = match table {
            "" => format!("xyzxyz = 1\n{REFERENCE}"),
            table => REFERENCE.replace(&format!("[{table}]"), &format!("[{table}]\nxyzxyz = 1\n#")),
        };
        let (_folder, engines) = load(&[("example.toml", &text)]);
        let said = engines.get("example").expect_err("a slip").to_string();
        let (_, known) = said.split_once("the known ones are: ").unwrap_or_else(|| panic!("{said}"));
        for key in known.split(", ") {
            let has = |form: String| REFERENCE.lines().any(|line| line.starts_with(&form));
            assert!(
                has(format!("{key} = "))
                    || has(format!("# {key} = "))
                    || has(format!("[{key}"))
                    || has(format!("[[{key}")),
                "{table}: {key}"
            );
        }
    }
}

#[test]
fn a_new_name_adds() {
    let (folder, engines) = load(&[("mine.toml", GOOD), ("README.md", "not an engine")]);
    assert_eq!(engines.broken().count(), 0);
    assert_eq!(engines.iter().count(), SHIPPED + 1);
    assert_eq!(engines.get("mine").expect("mine").origin, DescriptorOrigin::File(folder.path().join("mine.toml")));
    assert_eq!(engines.get("codex").expect("codex").origin.to_string(), "codex.toml (shipped)");
}

#[test]
fn a_known_name_replaces() {
    let (_folder, engines) = load(&[("codex.toml", &GOOD.replace("\"mine\"\ntitle", "\"codex\"\ntitle"))]);
    assert_eq!(engines.iter().count(), SHIPPED);
    assert_eq!(engines.get("codex").expect("codex").title, "Mine");
}

#[test]
fn a_broken_file_does_not_fall_back_to_the_shipped_one() {
    let (folder, engines) = load(&[("codex.toml", "name = \"codex\"\ntitel = \"x\"\n")]);
    let path = folder.path().join("codex.toml");
    let expected = format!(
        "the engine \"codex\" cannot be used: {}, line 2, key \"titel\": there is no such key; did you mean \
         \"title\"?",
        path.display()
    );
    assert_eq!(engines.get("codex").expect_err("broken").to_string(), expected);
    assert!(engines.get("gemini").is_ok());
}

#[test]
fn an_unknown_name_is_answered_with_the_one_that_was_meant() {
    let engines = Engines::shipped();
    let said = |name: &str| engines.get(name).expect_err("unknown").to_string();
    assert_eq!(said("codx"), "there is no engine \"codx\"; did you mean \"codex\"?");
    let expected = "there is no engine \"aider\"; the known ones are: claude, claude-acp, codex, codex-acp, gemini, \
                    gemini-acp, iflow, opencode, opencode-acp, qwen, qwen-acp, scripted";
    assert_eq!(said("aider"), expected);
}

#[test]
fn folders_and_files_that_cannot_be_read() {
    assert_eq!(Engines::load(Some(Path::new("/nowhere/at/all"))).broken().count(), 0);
    assert_eq!(Engines::load(None).iter().count(), SHIPPED);

    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("file"), "").expect("a file");
    fs::create_dir(path("dir.toml")).expect("a folder");
    fs::write(path("latin.toml"), b"name = \"\xff\"").expect("a file");
    fs::write(path("big.toml"), " ".repeat((1 << 20) + 1)).expect("a file");
    fs::write(path("Bad Name.toml"), "").expect("a file");
    std::os::unix::fs::symlink("/nowhere", path("gone.toml")).expect("a link");
    let engines = Engines::load(Some(folder.path()));
    let broken: Vec<_> =
        engines.broken().map(|one| one.to_string().replace(&path("").display().to_string(), "")).collect();
    let expected = [
        "big.toml: is larger than 1048576 bytes",
        "dir.toml: is not an ordinary file",
        "gone.toml: cannot be read (No such file or directory (os error 2))",
        "latin.toml: is not UTF-8 text",
        "Bad Name.toml: a file must be named after its engine, with lower-case letters, digits, - and _",
    ];
    assert_eq!(broken, expected);
    assert_eq!(engines.iter().count(), SHIPPED);
    let engines = Engines::load(Some(&path("file")));
    assert_eq!(engines.broken().count(), 1);
}

#[test]
fn keys() {
    check(
        r#"
- notes =
+ note =
mine.toml, line 6, key "note": there is no such key; did you mean "notes"?
- [prompt]\nargument
+ [prompt]\ncolour
mine.toml, line 18, key "prompt.colour": there is no such key; the known ones are: argument, stdin, file, protocol, limit
- [permission.read_only]
+ [permission.readonly]
mine.toml, line 24, key "permission.readonly": there is no such key; did you mean "read_only"?
- title = "Mine"\n
+
mine.toml, line 1, key "title": is missing
- [permission.full]\nposture = "not_enforced"
+ [permission.full]
mine.toml, line 27, key "permission.full.posture": is missing
- [resume]\nargv = ["{{permission_flags}}", "-r", "{{session_id}}", "{{prompt_flags}}"]
+
mine.toml, line 1, key "resume": is missing
"#,
    );
}

#[test]
fn types_and_words() {
    check(
        r#"
- title = "Mine"
+ title = 7
mine.toml, line 2, key "title": must be a string, and is an integer
- title = "Mine"
+ title = " "
mine.toml, line 2, key "title": is empty
- notes = ["one"]
+ notes = "one"
mine.toml, line 6, key "notes": must be a list, and is a string
- argument = ["{{prompt}}"]
+ argument = ["{{prompt}}",\n true]
mine.toml, line 19, key "prompt.argument": must be a string, and is a boolean
- [start]\nargv = [
+ [start]\nargv = [1.5,
mine.toml, line 12, key "start.argv": must be a string or a group of strings, and is a float
- set = { C = "{{home}}" }
+ set = 1979-05-27
mine.toml, line 33, key "environment.set": must be a table, and is a date
- "plain_text"
+ "codex_njson"
mine.toml, line 3, key "profile": "codex_njson" is not known here; did you mean "codex_ndjson"?
- wiring = "pipes"
+ wiring = "socket"
mine.toml, line 5, key "wiring": "socket" is not known here; the known ones are: pipes, split_pty, one_pty
- wiring = "pipes"
+ stdin = "file"
mine.toml, line 5, key "stdin": "file" is not known here; the known ones are: null, pipe, tty
- wiring = "pipes"
+ stdin = "tty"
mine.toml, line 5, key "stdin": a terminal needs the wiring split_pty or one_pty
- continuation = "resumable"
+ continuation = "sticky"\nstdin = "null"
mine.toml, line 5, key "stdin": a sticky engine gets its replies on stdin, so this must be pipe or tty
- title = "Mine"
+ title =
mine.toml, line 2: is not TOML: string values must be quoted, expected literal string
- title = "Mine"
+ title = "a"\ntitle = "b"
mine.toml, line 3: is not TOML: duplicate key
"#,
    );
}

#[test]
fn placeholders() {
    check(
        r#"
- C = "{{home}}"
+ C = "{{hom}}"
mine.toml, line 33, key "environment.set.C": there is no placeholder {{hom}}; did you mean "home"?
- C = "{{home}}"
+ C = "{{home"
mine.toml, line 33, key "environment.set.C": {{ has no }} on its line
- C = "{{home}}"
+ C = "{{prompt}}"
mine.toml, line 33, key "environment.set.C": {{prompt}} is allowed only in the words of [prompt]
- C = "{{home}}"
+ C = "{{session_id}}"
mine.toml, line 33, key "environment.set.C": {{session_id}} is allowed only in [resume]
- [start]\nargv = ["{{permission_flags}}",
+ [start]\nargv = ["{{permission_flags}}", "{{session_id}}",
mine.toml, line 12, key "start.argv": {{session_id}} is allowed only in [resume]
- [start]\nargv = ["{{permission_flags}}", "{{prompt_flags}}"]
+ [start]\nargv = ["{{permission_flags}}", "-p={{prompt_flags}}"]
mine.toml, line 12, key "start.argv": {{prompt_flags}} must be a word of its own in argv, outside of groups
- [start]\nargv = ["{{permission_flags}}", "{{prompt_flags}}"]
+ [start]\nargv = ["{{permission_flags}}"]
mine.toml, line 12, key "start.argv": must have {{prompt_flags}} in it, once
- [start]\nargv = ["{{permission_flags}}", "{{prompt_flags}}"]
+ [start]\nargv = ["{{prompt_flags}}"]
mine.toml, line 12, key "start.argv": must have {{permission_flags}} in it, once
- "-r", "{{session_id}}", "{{prompt_flags}}"]
+ "{{prompt_flags}}"]
mine.toml, line 15, key "resume.argv": must have {{session_id}} in it, once
- argument = ["{{prompt}}"]
+ argument = ["-p"]
mine.toml, line 18, key "prompt.argument": must have {{prompt}} in it, once
- argument = ["{{prompt}}"]
+ limit = 5
mine.toml, line 17, key "prompt": must have argument, stdin, file or protocol
- [start]\nargv = [
+ [start]\nargv = [["-a", "-b"],
mine.toml, line 12, key "start.argv": a group without a placeholder is never left out; write its words in argv
- names = ["mine"]
+ names = ["mine"]\nplaces = ["{{home}}/x"]
mine.toml, line 10, key "executable.places": {{home}} is not allowed where an executable is looked for; {{user_home}} is
"#,
    );
}

#[test]
fn values_that_cannot_be_used() {
    check(
        r#"
- name = "mine"
+ name = "other"
mine.toml, line 1, key "name": the file of the engine "other" must be named other.toml
- name = "mine"
+ name = "Mine!"
mine.toml, line 1, key "name": an engine name has lower-case letters, digits, - and _, and is not "unknown"
- names = ["mine"]
+ names = ["bin/mine"]
mine.toml, line 9, key "executable.names": "bin/mine" is not the name of a file; paths go into path or places
- names = ["mine"]
+ names = []
mine.toml, line 8, key "executable": must have names or path
- pass = ["A"]
+ pass = ["B"]
mine.toml, line 32, key "environment.secret": B is named twice in the file
- pass = ["A"]
+ pass = ["A="]
mine.toml, line 31, key "environment.pass": "A=" cannot be the name of a variable
- pass = ["A"]
+ pass = ["TMPDIR"]
mine.toml, line 31, key "environment.pass": TMPDIR is set by the host
"#,
    );
    check(
        r#"
+ [[files]]\nin = "home"\npath = "../x"\ntext = ""
mine.toml, line 36, key "files.path": "../x" must be a relative path without ..
+ [skills]\nproject = ["/etc"]
mine.toml, line 35, key "skills.project": "/etc" must be a relative path without ..
+ [version]\nargv = ["-V"]\ntested = ["2.0", "1.0"]
mine.toml, line 36, key "version.tested": must be two versions, the first not above the second
+ [process]\nladder = [{ signal = "SIGTERM", pause_ms = 1 }]
mine.toml, line 35, key "process.ladder": the last signal must be SIGKILL
+ [process]\nladder = [{ signal = "TERM", pause_ms = 1 }]
mine.toml, line 35, key "process.ladder.signal": there is no signal TERM
+ [process]\nlinger_ms = -1
mine.toml, line 35, key "process.linger_ms": -1 is out of range
+ [process]\nlinger_ms = 3600001
mine.toml, line 35, key "process.linger_ms": is longer than an hour
"#,
    );
}

/// The message for the good file with one more section.
fn with_section(section: &str) -> String {
    sentence(&format!("{GOOD}\n{section}\n"))
}

#[test]
fn an_install_asks_npm_for_nothing_but_a_package() {
    for (package, version, expected) in [
        ("--global", "1.2.3", "\"--global\" is not the name of a package"),
        ("../x", "1.2.3", "\"../x\" is not the name of a package"),
        ("x", "latest", "\"latest\" is not a version such as 1.2.3"),
        ("x", "^1.2.3", "\"^1.2.3\" is not a version such as 1.2.3"),
    ] {
        let text = format!("[install]\npackage = \"{package}\"\nversion = \"{version}\"\nprogram = \"x\"");
        let said = with_section(&text);
        assert!(said.ends_with(expected), "{said}");
    }
    let outside = with_section("[install]\npackage = \"x\"\nversion = \"1.2.3\"\nprogram = \"../x\"");
    assert!(outside.ends_with("must be a relative path without .."), "{outside}");
}

/// A variable that the engine never receives would not be a login, an address or a probe.
#[test]
fn login_gateway_and_probe_variables_reach_the_engine() {
    for section in [
        "[login]\nvariables = [\"NOT_PASSED\"]",
        "[gateway]\nvariable = \"NOT_PASSED\"",
        "[probe]\nset = { NOT_PASSED = \"{{server}}\" }",
    ] {
        let said = with_section(section);
        assert!(said.ends_with("NOT_PASSED must be in environment.pass or environment.secret"), "{said}");
    }
    let said = with_section("[login]\nfiles = [{ path = \"/etc/passwd\", keep = \"link\" }]");
    assert!(said.ends_with("must be a relative path without .."), "{said}");
    let said = with_section("[login]\nfiles = [{ path = \"a\", keep = \"move\" }]");
    assert!(said.contains("\"move\" is not known here"), "{said}");
}

/// `sticky_process` is the longer form of `sticky`.
#[test]
fn a_sticky_process_has_two_words() {
    for word in ["sticky", "sticky_process"] {
        let text = REFERENCE.replace("continuation = \"resumable\"", &format!("continuation = \"{word}\""));
        assert_ne!(text, REFERENCE);
        // Such a process receives its replies there.
        let text = text.replace("stdin = \"null\"", "stdin = \"pipe\"");
        let (_folder, engines) = load(&[("example.toml", &text)]);
        let example = engines.get("example").unwrap_or_else(|error| panic!("{word}: {error}"));
        assert_eq!(example.continuation, Continuation::Sticky, "{word}");
    }
}
