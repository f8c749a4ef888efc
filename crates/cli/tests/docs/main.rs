//! What is written down can be checked: pages of codes, glossary, links, the contract, the order of the crates, the
//! published schemas, and nothing of a machine.

mod contract;
mod layers;
mod names;
mod schemas;
mod wording;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use skillrun_model::Code;
use skillrun_server::problem::ProblemCode;
use testkit::paths;

/// Longest one-line summary; it must fit beside other things on a terminal.
const SUMMARY_MAX: usize = 110;

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn files(dir: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files_below(&paths::workspace().join(dir), &mut found);
    found.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    found
}

/// Words of letters, digits and `_`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[test]
fn every_code_has_a_whole_page() {
    for code in Code::ALL {
        let page = code.page();
        let mut lines = page.lines();
        assert_eq!(lines.next(), Some(format!("# {code}").as_str()), "{code}: heading");
        assert_eq!(lines.next(), Some(""), "{code}: blank line under the heading");
        let summary = lines.next().unwrap_or_default();
        assert_eq!(summary, code.summary(), "{code}");
        assert!((20..=SUMMARY_MAX).contains(&summary.chars().count()), "{code}: length of \"{summary}\"");
        assert!(summary.ends_with('.'), "{code}: \"{summary}\" is no sentence");
        assert_eq!(lines.next(), Some(""), "{code}: the summary is one line");
        for heading in ["## When", "## What to do"] {
            let body: String = page.lines().skip_while(|line| *line != heading).skip(1).take(2).collect();
            assert!(!body.trim().is_empty() && !body.starts_with('#'), "{code}: nothing under {heading}");
        }
    }
}

#[test]
fn every_page_has_a_code() {
    let known: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    let pages = fs::read_dir(paths::workspace().join("crates/model/codes")).expect("pages");
    let pages = pages.map(|page| page.expect("a page").file_name().to_string_lossy().into_owned());
    assert_eq!(pages.collect::<BTreeSet<String>>(), known);
}

/// Words in capitals with a `_` that are no codes.
const OTHER_CAPITALS: &str = "__SKILL_DONE__ ASK_USER_YAML CHAOS_MINUTES CHAOS_SEED FUZZ_SECONDS MY_AGENT_KEY \
    RUST_LOG SKILLRUN_CONFIG SKILLRUN_DATA SKILLRUN_DELEGATION_SOCKET SKILLRUN_DELEGATION_TOKEN SKILLRUN_PROGRAMS SKILLRUN_TOKEN SKILLRUN_URL SOAK_MINUTES \
    XDG_CONFIG_HOME XDG_DATA_HOME";

#[test]
fn codes_named_in_documents_exist() {
    let mut named = 0;
    let is_name = |word: &&str| word.contains('_') && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    // What the engines' own files name is a variable of theirs.
    let engines: Vec<String> =
        files("crates/engine/engines", "toml").iter().map(|path| fs::read_to_string(path).expect("a file")).collect();
    let variables: BTreeSet<&str> = engines.iter().flat_map(|text| words(text)).filter(is_name).collect();
    for path in files("crates/model/codes", "md").into_iter().chain(files("docs", "md")) {
        let text = fs::read_to_string(&path).expect("a page");
        let is_other = |word: &&str| OTHER_CAPITALS.split(' ').any(|other| other == *word) || variables.contains(*word);
        for word in words(&text).filter(is_name).filter(|word| !is_other(word)) {
            named += 1;
            // An exact match: `parse` would forgive the case.
            let is_code = Code::ALL.iter().any(|code| code.as_str() == word);
            let is_problem = ProblemCode::ALL.iter().any(|code| code.as_str() == word);
            let is_constant = path.ends_with("docs/glossary.md");
            assert!(is_code || is_problem || is_constant, "{}: there is no code {word}", path.display());
        }
    }
    assert!(named > Code::ALL.len(), "only {named} codes are named");
}

/// Rows of the glossary, each with its three cells.
fn glossary() -> Vec<[String; 3]> {
    let text = fs::read_to_string(paths::workspace().join("docs/glossary.md")).expect("docs/glossary.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows = rows.skip(2).map(|row| {
        let cells: Vec<String> = row.split(" | ").map(str::to_owned).collect();
        <[String; 3]>::try_from(cells).unwrap_or_else(|cells| panic!("not three cells: {cells:?}"))
    });
    rows.collect()
}

#[test]
fn names_in_the_glossary_are_in_the_code() {
    let source: String = files("crates", "rs")
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        .map(|path| fs::read_to_string(path).expect("source"))
        .collect();
    // A comment may speak of what is gone.
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let known: BTreeSet<&str> = code.flat_map(words).collect();
    let rows = glossary();
    assert!(rows.len() > 20, "only {} words", rows.len());
    let mut seen = BTreeSet::new();
    for [word, meaning, in_code] in &rows {
        assert!(seen.insert(word.to_lowercase()), "{word} stands in the glossary twice");
        assert!(meaning.ends_with('.'), "{word}: \"{meaning}\" is no sentence");
        let names: Vec<&str> = in_code.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{word}: names nothing in the code");
        for name in names {
            assert!(known.contains(name), "{word}: there is no `{name}` in the code any more");
        }
    }
}

/// Targets of the links in a Markdown text that are files.
fn linked_files(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).filter_map(|target| {
        let file = target.split(['#', ' ']).next().unwrap_or_default();
        (!file.is_empty() && !file.contains("://") && !file.starts_with("mailto:")).then_some(file)
    })
}

#[test]
fn links_lead_somewhere() {
    let mut pages = files("docs", "md");
    let at_root = fs::read_dir(paths::workspace()).expect("the repository").map(|entry| entry.expect("entry").path());
    pages.extend(at_root.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages.extend([paths::corpus().join("README.md")]);
    for page in pages {
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        for target in linked_files(&text) {
            let path = page.parent().expect("a folder").join(target);
            assert!(path.exists(), "{}: {target} is not there", page.display());
        }
    }
}

/// The files that the walk names in their order, and its steps.
#[test]
fn the_walk_names_files_that_exist() {
    let page = fs::read_to_string(paths::workspace().join("docs/walk.md")).expect("the walk");
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();
    let files: Vec<&str> = named.into_iter().filter(|word| !word.starts_with(".audit/")).collect();
    assert!(files.len() > 30, "{files:?}");
    for file in files {
        assert!(paths::workspace().join(file).is_file(), "docs/walk.md: {file} is not there");
    }
    let steps =
        page.lines().filter(|line| line.starts_with("| ") && line[2..].starts_with(|c: char| c.is_ascii_digit()));
    assert!((5..14).contains(&steps.count()), "the walk has become longer");
}

#[test]
fn links_are_found() {
    let text = "[a](docs/a.md) ![b](b.png \"b\") [c](https://example.org/c.md) [d](#here) [e](e.md#there) (f.md)";
    assert_eq!(linked_files(text).collect::<Vec<_>>(), ["docs/a.md", "b.png", "e.md"]);
}

/// Hosts that may stand in tracked files: public, and no package registry. The last are in what engines really wrote.
const HOSTS: &str = "api.openai.com cloudcode-pa.googleapis.com generativelanguage.googleapis.com github.com \
    json-schema.org modelcontextprotocol.io www.w3.org www.apache.org www.anthropic.com \
    chatgpt.com developers.openai.com";

/// Names that belong to nobody.
const NOBODYS: &str = "example.org example.com example.net localhost local internal test invalid example arpa";

/// Text that belongs to a machine. In pieces, so that this file has none of it.
fn of_a_machine() -> Vec<String> {
    let folders = [["/ro", "ot/"], ["/ho", "me/"], ["/wo", "rk/"], ["/Us", "ers/"], ["/srv/age", "ntlab"]];
    folders.iter().map(|pieces| pieces.concat()).collect()
}

/// Files that are, or are about to be, in the repository.
fn tracked() -> Vec<PathBuf> {
    let root = paths::workspace();
    let list = Command::new("git")
        .current_dir(&root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .expect("git runs");
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let names = String::from_utf8(list.stdout).expect("names");
    let paths = names.split('\0').filter(|name| !name.is_empty()).map(|name| root.join(name));
    paths.filter(|path| path.is_file()).collect()
}

#[test]
fn tracked_files_tell_nothing_of_a_machine() {
    let forbidden = of_a_machine();
    let files = tracked();
    assert!(files.len() > 100, "only {} files", files.len());
    // Written by a released version in a neutral folder; every run there has a folder `home` of its own.
    let older = paths::workspace().join("testkit/data-folders");
    for path in files.into_iter().filter(|path| !path.starts_with(&older)) {
        let bytes = fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        for word in &forbidden {
            assert!(!text.contains(word), "{}: has {word}", path.display());
        }
        if path.ends_with("package-lock.json") {
            // Where packages want to be paid is theirs to say; where they were fetched from is ours to keep out.
            assert!(!text.contains("\"resolved\""), "{}: names a registry", path.display());
            continue;
        }
        for url in text.split("://").skip(1) {
            let host = url.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-')).next().unwrap_or_default();
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            let is_nobodys = NOBODYS.split(' ').any(|name| host == name || host.ends_with(&format!(".{name}")));
            // Addresses, also in odd spellings; no name ends in a digit.
            let is_number = host.ends_with(|c: char| c.is_ascii_digit());
            let is_real = host.contains('.') && !host.contains("..") && !is_nobodys && !is_number;
            assert!(
                !is_real || HOSTS.split(' ').any(|known| known == host),
                "{}: {host} is no host we know",
                path.display()
            );
        }
    }
}

/// A patch that no longer applies plants no fault; `make chaos-planted` would notice it after a build.
#[test]
fn planted_faults_fit_the_sources() {
    let patches = files("proof/planted/patches", "patch");
    assert!(!patches.is_empty());
    for patch in patches {
        let text = fs::read_to_string(&patch).expect("a patch");
        let (mut source, mut hunk, mut hunks) = (String::new(), String::new(), 0);
        for line in text.lines().chain(["@@"]) {
            if line.starts_with("@@") || line.starts_with("--- ") {
                assert!(source.contains(&hunk), "{} does not apply:\n{hunk}", patch.display());
                hunks += usize::from(!hunk.is_empty());
                hunk.clear();
            } else if let Some(path) = line.strip_prefix("+++ b/") {
                source = fs::read_to_string(paths::workspace().join(path)).expect("a source");
            } else if let Some(expected) = line.strip_prefix([' ', '-']) {
                hunk += expected;
                hunk.push('\n');
            }
        }
        assert!(hunks > 0, "{} has no change", patch.display());
    }
}
