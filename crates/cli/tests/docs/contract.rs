//! The contract can be relied on: every reference leads to a rule, every rule has its tests, the rows of the table of
//! settling are those of the code, and every code links to its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skillrun_model::Code;
use skillrun_model::verdict::Rule;
use testkit::paths;

/// Folders and files that may refer to the contract.
const REFERRING: &[&str] = &["crates", "docs", "proof", "testkit", "web/src", "web/e2e", "e2e", "bench", "clients"];
const AT_ROOT: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "Makefile"];
const ENDINGS: &[&str] = &["rs", "md", "py", "toml", "ts", "svelte", "txt"];

/// Folders that no person writes.
const SKIPPED: &[&str] = &["target", "node_modules", "dist", "data-folders", "__pycache__", "test-results"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn contract() -> String {
    read(&paths::workspace().join("docs/contract.md"))
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !SKIPPED.contains(&name) {
                files_below(&path, found);
            }
        } else if ENDINGS.iter().any(|ending| path.extension().is_some_and(|extension| extension == *ending)) {
            found.push(path);
        }
    }
}

/// Every text that may refer to a rule, with its path.
fn referring() -> Vec<(PathBuf, String)> {
    let root = paths::workspace();
    let mut found: Vec<PathBuf> = AT_ROOT.iter().map(|name| root.join(name)).collect();
    for folder in REFERRING {
        files_below(&root.join(folder), &mut found);
    }
    // This file has examples of references that lead nowhere.
    found.retain(|path| !path.ends_with("crates/cli/tests/docs/contract.rs"));
    // Recordings hold any bytes.
    found.into_iter().filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect()
}

/// The anchors of a page, in order.
fn anchors(page: &str) -> Vec<&str> {
    page.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"')).map(|(id, _)| id).collect()
}

/// Whether an anchor is that of one rule, and not of a section: `r4-3` or `rule-8b`.
fn is_rule(anchor: &str) -> bool {
    let numbered = anchor.strip_prefix('r').and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    anchor.starts_with("rule-") || numbered.is_some_and(|(section, rule)| is_number(section) && is_number(rule))
}

/// The anchor of a rule's name: `R4.3` is `r4-3`, `R4` is `r4`, `rule 8b` is `rule-8b`.
fn anchor_of(name: &str) -> String {
    match name.strip_prefix("rule ") {
        Some(row) => format!("rule-{row}"),
        None => name.to_ascii_lowercase().replace('.', "-"),
    }
}

/// The longest beginning of a text that is the name of a rule or of a section.
fn rule_name(text: &str) -> Option<&str> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    if text.starts_with("rule ") {
        let end = 5 + digits(5);
        let letters = text[end..].bytes().take_while(u8::is_ascii_lowercase).count();
        return (end > 5).then_some(&text[..end + letters]);
    }
    let end = text.starts_with('R').then(|| 1 + digits(1)).filter(|end| *end > 1)?;
    let after = text[end..].strip_prefix('.').map_or(0, |_| digits(end + 1));
    Some(&text[..if after > 0 { end + 1 + after } else { end }])
}

/// The rules that a text refers to: `contract R4.3`, `contract rule 8b`, and links to anchors of the page.
fn references(text: &str) -> Vec<String> {
    // A reference may be broken by the end of a line, also inside a comment.
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!', '#', '*', ' ']));
    let joined = lines.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for before in ["contract ", "Contract "] {
        let after = joined.split(before).skip(1);
        found.extend(after.filter_map(rule_name).map(anchor_of));
    }
    for after in joined.split("contract.md#").skip(1) {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
        found.push(after[..end].to_owned());
    }
    found
}

#[test]
fn references_are_found() {
    let text =
        "// see contract R4.3, contract R10 and [x](contract.md#rule-8b).\n/// contract\n/// rule 3c; contract rules";
    assert_eq!(references(text), ["r4-3", "r10", "rule-3c", "rule-8b"]);
    assert_eq!(references("the contract. R4 contract Rx contract rule x"), Vec::<String>::new());
}

#[test]
fn every_reference_leads_to_a_rule() {
    let page = contract();
    let known: BTreeSet<&str> = anchors(&page).into_iter().collect();
    let mut count = 0;
    for (path, text) in referring() {
        for reference in references(&text) {
            count += 1;
            assert!(known.contains(reference.as_str()), "{}: the contract has no {reference}", path.display());
        }
        // The form that was used before there were anchors.
        let lower = text.to_ascii_lowercase();
        let is_number = |after: &str| after.starts_with(|c: char| c.is_ascii_digit());
        for old in ["contract section ", "contract sections "] {
            let has_old = lower.split(old).skip(1).any(is_number);
            assert!(!has_old, "{}: name a rule, such as contract R3.5", path.display());
        }
    }
    assert!(count > 60, "only {count} references were found");
}

#[test]
fn anchors_are_unique_and_stand_beside_their_names() {
    let page = contract();
    let mut seen = BTreeSet::new();
    for anchor in anchors(&page) {
        assert!(seen.insert(anchor), "{anchor} stands in the contract twice");
        if !is_rule(anchor) {
            continue;
        }
        let after = page.split_once(&format!("<a id=\"{anchor}\"></a>")).map(|(_, after)| after).unwrap_or_default();
        let name = match anchor.strip_prefix("rule-") {
            Some(row) => format!("{row} |"),
            None => format!("**{}** ", anchor.to_ascii_uppercase().replace('-', ".")),
        };
        assert!(after.starts_with(&name), "{anchor} is not followed by \"{name}\"");
    }
    for internal in page.split("](#").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
        assert!(seen.contains(internal), "the contract links to #{internal}, which is not there");
    }
}

/// The table at the end of the contract: which tests each rule has, as path and names.
fn tests_of_rules(page: &str) -> BTreeMap<String, Vec<(String, Vec<String>)>> {
    let (_, table) = page.split_once("<a id=\"tests\"></a>").expect("the table of tests");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| [")?.strip_suffix(" |"));
    let mut tests = BTreeMap::new();
    for row in rows {
        let (rule, cell) = row.split_once(" | ").expect("two cells");
        let anchor = rule.split_once("](#").and_then(|(_, rest)| rest.strip_suffix(')')).expect("a link to a rule");
        let files = cell.split("; ").map(|file| {
            let mut names = file.split('`').skip(1).step_by(2).map(str::to_owned);
            (names.next().expect("a path"), names.collect())
        });
        let before = tests.insert(anchor.to_owned(), files.collect());
        assert!(before.is_none(), "{anchor} has two rows");
    }
    tests
}

/// Whether a file has a test of this name.
fn has_test(path: &str, text: &str, name: &str) -> bool {
    if path.ends_with(".rs") {
        let Some((before, _)) = text.split_once(&format!("fn {name}(")) else { return false };
        // Attributes stand right above the function.
        before.rsplit("\n\n").next().is_some_and(|above| above.contains("test]"))
    } else if path.ends_with(".py") {
        text.contains(&format!("def {name}("))
    } else {
        text.contains(&format!("test(\"{name}\""))
    }
}

#[test]
fn every_rule_has_a_test_that_exists() {
    let page = contract();
    let tests = tests_of_rules(&page);
    let rules: BTreeSet<String> =
        anchors(&page).into_iter().filter(|anchor| is_rule(anchor)).map(str::to_owned).collect();
    assert!(rules.len() > 100, "only {} rules", rules.len());
    assert_eq!(rules, tests.keys().cloned().collect(), "rules, and rules with tests");
    let root = paths::workspace();
    for (rule, files) in &tests {
        for (path, names) in files {
            let text = read(&root.join(path));
            assert!(!names.is_empty(), "{rule}: {path} without a test");
            for name in names {
                assert!(has_test(path, &text, name), "{rule}: {path} has no test {name}");
            }
        }
    }
}

/// Tests that a page names behind the end of a path, in the same cell: `owners/kill.rs` `a_name`.
fn named_tests(page: &str) -> Vec<(&str, &str)> {
    let is_name = |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let mut found = Vec::new();
    for cell in page.lines().filter(|line| line.starts_with("| ")).flat_map(|line| line.split(" | ")) {
        let mut path = None;
        for word in cell.split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") {
                path = Some(word.trim_start_matches("…/"));
            } else if let Some(path) = path.filter(|_| is_name(word)) {
                found.push((path, word));
            }
        }
    }
    found
}

#[test]
fn tests_that_other_pages_name_exist() {
    let root = paths::workspace();
    let mut sources = Vec::new();
    files_below(&root.join("crates"), &mut sources);
    for page in ["docs/failures.md", "docs/conformance.md"] {
        let text = read(&root.join(page));
        let named = named_tests(&text);
        assert!(!named.is_empty(), "{page} names no test");
        for (path, name) in named {
            let has_it = |source: &&PathBuf| source.ends_with(path) && has_test(path, &read(source), name);
            assert!(sources.iter().any(|source| has_it(&source)), "{page}: {path} has no test {name}");
        }
    }
}

#[test]
fn every_rule_of_the_code_has_its_row() {
    let page = contract();
    let rows: Vec<&str> = anchors(&page).into_iter().filter_map(|anchor| anchor.strip_prefix("rule-")).collect();
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(rows, rules, "rows of the table of settling, in order");
    // The gate's own table has a row of each, in every mode of the rule; so only their presence is looked at here.
    let settle = read(&paths::workspace().join("crates/lifecycle/src/settle.rs"));
    for rule in Rule::ALL {
        let name = format!("Rule::{rule:?}");
        assert!(settle.contains(&name), "settle.rs does not name {name}");
    }
}

/// The rule that a page of a code links to: its last line.
fn rule_of(page: &str) -> Option<(&str, &str)> {
    let line = page.trim_end().lines().last()?.strip_prefix("Rule: [")?;
    line.strip_suffix(')')?.split_once("](../../../docs/contract.md#")
}

#[test]
fn every_code_links_to_its_rule() {
    let page = contract();
    let known: BTreeSet<&str> = anchors(&page).into_iter().collect();
    for code in Code::ALL {
        let Some((name, anchor)) = rule_of(code.page()) else { panic!("{code}: the last line names no rule") };
        assert!(known.contains(anchor), "{code}: the contract has no {anchor}");
        assert_eq!(anchor_of(name), anchor, "{code}: the name and the link differ");
    }
}

#[test]
fn codes_of_the_contract_link_to_a_rule_that_names_them() {
    let page = contract();
    for code in Code::ALL {
        let Some((_, anchor)) = rule_of(code.page()) else { continue };
        let named: Vec<&str> = anchors(&page).into_iter().filter(|id| is_rule(id) && names(&page, id, *code)).collect();
        if is_rule(anchor) && !named.is_empty() {
            assert!(named.contains(&anchor), "{code}: links to {anchor}, and is named by {named:?}");
        }
    }
}

/// Whether the text of a rule has a code in it.
fn names(page: &str, anchor: &str, code: Code) -> bool {
    let after = page.split_once(&format!("<a id=\"{anchor}\"></a>")).map(|(_, after)| after).unwrap_or_default();
    let text = after.split("<a id=\"").next().unwrap_or_default();
    text.split('`').any(|word| word == code.as_str())
}

const SCHEMA: &str = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;

/// contract R11.19: script, further words, exit code.
const EXITS: &[(&str, &[&str], i32)] = &[
    ("- - output: {n: 1}\n    done: true\n  - end\n", &[], 0),
    ("- - exit: 3\n", &[], 1),
    ("- - sleep_ms: 60000\n", &["--timeout", "1"], 3),
    ("- - ask: {prompt: Which?}\n  - end\n", &["--mode", "interactive"], 6),
    ("- - output: {n: one}\n    done: true\n  - end\n", &[], 7),
    ("- - say: I have no number.\n  - end\n", &[], 7),
    ("- - end\n", &["--mode", "neither"], 2),
];

#[test]
fn a_run_exits_as_the_contract_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let skill = folder.path().join("count");
    fs::create_dir_all(skill.join("assets")).expect("folders");
    fs::write(skill.join("SKILL.md"), "---\nname: count\ndescription: Counts.\n---\nCount.\n").expect("a skill");
    fs::write(skill.join("assets/runner.json"), r#"{"schemas": {"output": "assets/output.json"}}"#).expect("a runner");
    fs::write(skill.join("assets/output.json"), SCHEMA).expect("a schema");
    let run = |skill: &Path, script: &str, words: &[&str]| {
        let file = folder.path().join("script.yaml");
        fs::write(&file, script).expect("a script");
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
        command.arg("run").arg(skill).args(["--engine", "scripted", "--script"]).arg(&file).args(words);
        command.env("SKILLRUN_DATA", folder.path().join("data")).env("SKILLRUN_CONFIG", "/dev/null");
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    for (script, words, code) in EXITS {
        let output = run(&skill, script, words);
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert_eq!(output.status.code(), Some(*code), "{script}{said:?}");
    }
    let output = run(Path::new("a-skill-that-is-not-there"), "- - end\n", &[]);
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}
