//! Which crate may use which: an edge that is not in the table is refused, and so is one that is not needed any more.
//! The test kit is used by tests alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use testkit::paths;

/// One line per crate, sorted: its folder in `crates/`, and the crates that it uses outside of its tests.
const EDGES: &str = "
auth: base evidence model
base: model
catalog: base lifecycle log model
cli: auth base catalog collect confine engine evidence inspect lifecycle log mcp model replay runs runtime server settings simulate skill translate trial webhooks
collect: base confine evidence model plan
confine: evidence model
engine: base evidence model parse plan
evidence: base model
inspect: base engine evidence lifecycle log model parse replay runs skill translate
lifecycle: base evidence model parse translate
log: base model
mcp: model plan
model:
parse: model
plan: base confine evidence model
replay: model
runs: base collect engine evidence lifecycle log model parse skill translate
runtime: base catalog collect confine engine evidence inspect lifecycle log model parse replay runs skill translate
server: auth base catalog engine evidence inspect lifecycle log mcp model replay runs runtime skill webhooks
settings: base engine evidence lifecycle model runs runtime skill webhooks
simulate: base model plan
skill: base model
translate: evidence model parse
trial: base engine evidence lifecycle log model parse runs runtime simulate skill translate
webhooks: base log model runs runtime
";

/// Members that stand outside of the order: tests and measurements. The program never needs one of them.
const OUTSIDE: &[&str] = &["testkit", "lab", "bench", "e2e", "stand-ins"];

type Edges = BTreeMap<String, BTreeSet<String>>;

fn metadata() -> Metadata {
    MetadataCommand::new()
        .current_dir(paths::workspace())
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata")
}

/// The name of a package in the table.
fn short(package: &str) -> &str {
    if package == "skillrun" { "cli" } else { package.strip_prefix("skillrun-").unwrap_or(package) }
}

fn edges(table: &str) -> Edges {
    let lines = table.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, used)| (name.to_owned(), used.split_whitespace().map(str::to_owned).collect())).collect()
}

/// Members that a package needs to be built.
fn needed(package: &Package, metadata: &Metadata) -> BTreeSet<String> {
    let is_member = |name: &str| metadata.packages.iter().any(|member| member.name.as_str() == name);
    let needed = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    let names = needed.map(|dependency| dependency.name.as_str()).filter(|name| is_member(name));
    names.map(|name| short(name).to_owned()).collect()
}

/// Whether a file below a folder has a text.
fn mentions(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).any(|path| {
        if path.is_dir() {
            return mentions(&path, text);
        }
        path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(&path).expect("a source file").contains(text)
    })
}

/// Differences between the table and the manifests.
fn differences(listed: &Edges, found: &Edges) -> Vec<String> {
    let names: BTreeSet<_> = listed.keys().chain(found.keys()).collect();
    let of_one = |name: &String| -> Vec<String> {
        let (Some(listed), Some(found)) = (listed.get(name), found.get(name)) else {
            return vec![format!("{name} must be a line of the table and a folder in crates/")];
        };
        let outside = found.iter().filter(|used| OUTSIDE.contains(&used.as_str()));
        let outside = outside.map(|used| format!("{name} needs {used}, which is for tests alone"));
        let new = found.difference(listed).map(|used| format!("{name} uses {used}, which the table does not allow"));
        let old = listed.difference(found).map(|used| format!("{name} does not use {used}, which the table lists"));
        outside.chain(new).chain(old).collect()
    };
    names.into_iter().flat_map(of_one).collect()
}

#[test]
fn each_crate_uses_exactly_the_crates_that_the_table_lists() {
    let metadata = metadata();
    let members = metadata.packages.iter().filter(|package| !OUTSIDE.contains(&package.name.as_str()));
    let found: Edges = members.map(|package| (short(&package.name).to_owned(), needed(package, &metadata))).collect();
    assert!(found.len() > 5, "only {} crates", found.len());
    assert_eq!(differences(&edges(EDGES), &found), Vec::<String>::new());
    for (name, used) in &found {
        let source = paths::workspace().join("crates").join(name).join("src");
        for used in used {
            assert!(
                mentions(&source, &format!("skillrun_{used}")),
                "no line of {name} uses {used}, which its manifest lists"
            );
        }
    }
}

/// Both faults that the table is there for are found.
#[test]
fn an_edge_too_many_and_an_edge_too_few_are_found() {
    let listed = edges("a:\nb: a\nc: a b\n");
    let found = |table: &str| differences(&listed, &edges(table));
    assert_eq!(found("a:\nb: a\nc: a b\n"), Vec::<String>::new());
    assert_eq!(found("a: c\nb: a\nc: a b\n"), ["a uses c, which the table does not allow"]);
    assert_eq!(found("a:\nb: a\nc: b\n"), ["c does not use a, which the table lists"]);
    assert_eq!(found("a:\nb: a\n"), ["c must be a line of the table and a folder in crates/"]);
    assert_eq!(found("a:\nb: a\nc: a b\nd:\n"), ["d must be a line of the table and a folder in crates/"]);
    let with_testkit = edges("a: testkit\n");
    assert_eq!(differences(&with_testkit, &with_testkit), ["a needs testkit, which is for tests alone"]);
}

#[test]
fn the_table_is_sorted() {
    let lines: Vec<&str> = EDGES.trim().lines().collect();
    assert!(lines.is_sorted(), "the lines are not sorted");
    for line in lines {
        assert!(line.split_whitespace().skip(1).is_sorted(), "not sorted: {line}");
    }
}

/// The crates in ARCHITECTURE.md stand in an order in which each uses only those above it.
#[test]
fn dependencies_point_upward_in_the_architecture() {
    let text = fs::read_to_string(paths::workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(name, _)| name);
    let rows: Vec<&str> = rows.collect();
    for (name, used) in edges(EDGES) {
        let place = |name: &str| rows.iter().position(|row| *row == name);
        assert!(place(&name).is_some(), "{name} has no row in ARCHITECTURE.md");
        for used in used {
            assert!(place(&used) < place(&name), "{name} uses {used}, which is below it in ARCHITECTURE.md");
        }
    }
}

/// The crates that may say `unsafe`, with a reason each time.
const UNSAFE: &[&str] = &["skillrun-collect", "skillrun-confine"];

#[test]
fn unsafe_code_is_forbidden_but_in_two_crates() {
    let manifest = |path: &std::path::Path| fs::read_to_string(path).expect("a manifest");
    let workspace = manifest(&paths::workspace().join("Cargo.toml"));
    assert!(workspace.lines().any(|line| line == "unsafe_code = \"forbid\""), "the workspace allows unsafe code");
    for package in &metadata().packages {
        let text = manifest(package.manifest_path.as_std_path());
        let name = package.name.as_str();
        if UNSAFE.contains(&name) {
            // Cargo does not let a crate soften a lint of the workspace, so this one repeats them all.
            let lints = |text: &str| {
                let is_lint = |line: &&str| line.contains(" = ") && !line.starts_with("unsafe_code");
                let sections = text.split("\n[").filter(|section| section.contains("lints."));
                let names = sections.flat_map(|section| section.lines().filter(is_lint)).map(str::to_owned);
                names.collect::<Vec<_>>()
            };
            assert_eq!(lints(&text), lints(&workspace), "{name} does not have the workspace's lints");
            assert!(text.lines().any(|line| line == "unsafe_code = \"deny\""), "{name} allows unsafe code silently");
            continue;
        }
        let mut lints = text.lines().skip_while(|line| *line != "[lints]").skip(1);
        assert_eq!(lints.next(), Some("workspace = true"), "{} does not follow the workspace's lints", package.name);
    }
}
