//! The command line, as stories in `cmd/*.md`, and `docs/first-hour.md`, which is one as well. `TRYCMD=overwrite` writes
//! the current output into them. The page shows real ids and times; they match anything when it is played.

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
    let text = fs::read_to_string(&page).expect("the page");
    let folder = tempfile::tempdir().expect("a folder");
    let story = folder.path().join("first-hour.md");
    fs::write(&story, loosened(&text)).expect("a story");
    for name in ["first-hour.in", "first-hour.out"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let examples = paths::workspace().join("examples");
    let copied = Command::new("cp").arg("-R").args([&examples, &folder.path().join("first-hour.in")]).status();
    assert!(copied.expect("cp").success());
    let cases = cases();
    // No engine of this machine is found.
    cases.env("PATH", "/nonexistent");
    cases.case(&story);
    // The story is played when it is dropped.
    drop(cases);
    if std::env::var("TRYCMD").is_ok_and(|manner| manner == "overwrite") {
        let played = fs::read_to_string(&story).expect("the story");
        fs::write(&page, merged(&text, &played)).expect("the page");
    }
}

/// The folder of the reader on the page.
const READER: &str = "/projects/demo";

/// The page as a story: ids, times and sizes that differ in every run match anything, and so does the space that
/// columns get by their width.
fn loosened(page: &str) -> String {
    let mut is_output = false;
    let mut story = String::new();
    for line in page.split_inclusive('\n') {
        if line.starts_with("```") {
            is_output = line.starts_with("```console");
        }
        match is_output && !line.starts_with(['$', '?']) && line.trim() != "..." {
            true => story.push_str(&loosened_line(&line.replace(READER, "[CWD]"))),
            false => story.push_str(line),
        }
    }
    story
}

fn loosened_line(line: &str) -> String {
    const UNITS: [&str; 7] = ["ms", "s", "min", "B", "kB", "MB", "GB"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(['(', ')', ',', '+']).to_owned();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && bare(word).parse::<f64>().is_ok();
    let is_measure = |at: usize| {
        let unit = words.get(at + 1).map(|word| bare(word));
        is_number(&bare(words[at])) && unit.is_some_and(|unit| UNITS.contains(&unit.as_str()))
    };
    let is_row = words.first().is_some_and(|word| is_short_id(word));
    let is_loose = |at: usize| {
        let word = words[at];
        let is_ago = bare(word) == "ago" || (is_row && word == "now");
        is_short_id(word) || is_time(word) || is_ago || is_measure(at) || (at > 0 && is_measure(at - 1))
    };
    // The columns before these words have a width that differs.
    let is_padded = |at: usize| at > 0 && ["STATUS", "TOOK", "tokens"].contains(&words[at]);
    let (mut loose, mut rest) = (String::new(), line);
    for (at, word) in words.iter().enumerate() {
        let Some((space, after)) = rest.split_once(word) else { break };
        rest = after;
        let is_after_loose = loose.ends_with("[..]") && space.len() > 1;
        match (is_loose(at), is_padded(at) || is_after_loose) {
            (true, _) if loose.ends_with("[..]") => {}
            (true, _) => loose.extend([if at == 0 { space } else { "" }, "[..]"]),
            (false, true) if loose.ends_with("[..]") => loose.push_str(word),
            (false, true) => loose.extend(["[..]", word]),
            (false, false) => loose.extend([space, &without_id(word)]),
        }
    }
    loose + rest
}

/// The beginning of an id, as it stands in lists.
fn is_short_id(word: &str) -> bool {
    word.starts_with("01a") && word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_time(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 6 && word.contains(':') || digits == 8 && word.matches('-').count() == 2
}

/// A word with what follows an id in it left open.
fn without_id(word: &str) -> String {
    let is_id = |at: usize| word[at..].starts_with("01a") && word[at..].len() >= 36 && word[at + 8..].starts_with('-');
    match (0..word.len()).filter(|at| word.is_char_boundary(*at)).find(|at| is_id(*at)) {
        Some(at) => format!("{}[..]{}", &word[..at], &word[at + 36..]),
        None => word.to_owned(),
    }
}

/// The page with the blocks of the story that changed when it was played.
fn merged(page: &str, played: &str) -> String {
    const FENCE: &str = "```console\n";
    let before = loosened(page);
    let blocks = page.split(FENCE).zip(before.split(FENCE)).zip(played.split(FENCE));
    let chosen = blocks.map(|((page, before), played)| match before == played {
        true => page.to_owned(),
        false => played.replace("[CWD]", READER),
    });
    chosen.collect::<Vec<_>>().join(FENCE)
}

#[test]
fn only_what_differs_in_every_run_is_loosened() {
    for (line, loose) in [
        ("output  {\"words\":3,\"longest\":\"three\"}\n", "output  {\"words\":3,\"longest\":\"three\"}\n"),
        ("RUN       STATUS     SKILL  BEGAN  TOOK\n", "RUN[..]STATUS     SKILL  BEGAN[..]TOOK\n"),
        ("01a1e600  succeeded  count-words  scripted  now    83 ms\n", "[..]succeeded  count-words  scripted[..]\n"),
        ("01a1e600-3b  failed  a  scripted  1 s ago  83 ms\n", "[..]failed  a  scripted[..]\n"),
        ("folder  [CWD]/data/runs/01a1e600-ebee-7a60-8bc5-95070a15557c\n", "folder  [CWD]/data/runs/[..]\n"),
        ("took    83 ms, 1 attempt\n", "took[..] 1 attempt\n"),
        ("ended       2026-11-18 13:52:30 UTC, after 83 ms\n", "ended[..] UTC, after[..]\n"),
        ("  run.json                  the request (1.5 kB)\n", "  run.json                  the request[..]\n"),
        ("tokens  412 in, 58 out\n", "tokens  412 in, 58 out\n"),
        ("4 checked, none is damaged\n", "4 checked, none is damaged\n"),
    ] {
        assert_eq!(loosened_line(line), loose);
    }
    let page = "a\n```console\n$ b 83 ms\nnow 83 ms\n...\n```\n83 ms\n";
    assert_eq!(loosened(page), "a\n```console\n$ b 83 ms\nnow[..]\n...\n```\n83 ms\n");
    let two = format!("{page}```console\n$ c\n/projects/demo\n```\n");
    let played = loosened(&two).replace("$ c\n[CWD]", "$ c\n[CWD]/x");
    assert_eq!(merged(&two, &played), two.replace("/projects/demo", "/projects/demo/x"));
}
