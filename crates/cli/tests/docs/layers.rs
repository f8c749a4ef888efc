//! The order of the crates: a crate may use those before it, and the test kit is used by tests alone.

use std::fs;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use testkit::paths;

/// From the words to the command. Crates that do not exist yet have their place already.
const ORDER: &[&str] = &[
    "skillrun-model",
    "skillrun-base",
    "skillrun-evidence",
    "skillrun-plan",
    "skillrun-collect",
    "skillrun-parse",
    "skillrun-translate",
    "skillrun-lifecycle",
    "skillrun-log",
    "skillrun-catalog",
    "skillrun-skill",
    "skillrun-engine",
    "skillrun-simulate",
    "skillrun-runs",
    "skillrun-inspect",
    "skillrun-runtime",
    "skillrun-auth",
    "skillrun-webhooks",
    "skillrun-settings",
    "skillrun-server",
    "skillrun-trial",
    "skillrun",
];

/// Members that stand outside of the order: tests and measurements. The program never needs one of them.
const OUTSIDE: &[&str] = &["testkit", "bench", "e2e", "stand-ins"];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .current_dir(paths::workspace())
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata")
}

/// Names of the workspace's crates that a crate needs to be built.
fn needed<'a>(package: &'a Package, metadata: &'a Metadata) -> impl Iterator<Item = &'a str> {
    let is_member = |name: &str| metadata.packages.iter().any(|member| member.name.as_str() == name);
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
        .filter(move |name| is_member(name))
}

#[test]
fn crates_use_only_those_before_them() {
    let metadata = metadata();
    assert!(metadata.packages.len() > 5, "only {} members", metadata.packages.len());
    let place = |name: &str| ORDER.iter().position(|crate_name| *crate_name == name);
    for package in &metadata.packages {
        let name = package.name.as_str();
        let is_outside = OUTSIDE.contains(&name);
        assert!(is_outside || place(name).is_some(), "{name} has no place in the order of the crates");
        for used in needed(package, &metadata).filter(|_| !is_outside) {
            assert!(!OUTSIDE.contains(&used), "{name} needs {used}, which is for tests alone");
            assert!(place(used) < place(name), "{name} uses {used}, which comes after it");
        }
    }
}

/// The one crate that may say `unsafe`, with a reason each time.
const UNSAFE: &str = "skillrun-collect";

#[test]
fn unsafe_code_is_forbidden_but_in_one_crate() {
    let manifest = |path: &std::path::Path| fs::read_to_string(path).expect("a manifest");
    let workspace = manifest(&paths::workspace().join("Cargo.toml"));
    assert!(workspace.lines().any(|line| line == "unsafe_code = \"forbid\""), "the workspace allows unsafe code");
    for package in &metadata().packages {
        let text = manifest(package.manifest_path.as_std_path());
        if package.name.as_str() == UNSAFE {
            // Cargo does not let a crate soften a lint of the workspace, so this one repeats them all.
            let lints = |text: &str| {
                let is_lint = |line: &&str| line.contains(" = ") && !line.starts_with("unsafe_code");
                let sections = text.split("\n[").filter(|section| section.contains("lints."));
                let names = sections.flat_map(|section| section.lines().filter(is_lint)).map(str::to_owned);
                names.collect::<Vec<_>>()
            };
            assert_eq!(lints(&text), lints(&workspace), "{UNSAFE} does not have the workspace's lints");
            assert!(text.lines().any(|line| line == "unsafe_code = \"deny\""), "{UNSAFE} allows unsafe code silently");
            continue;
        }
        let mut lints = text.lines().skip_while(|line| *line != "[lints]").skip(1);
        assert_eq!(lints.next(), Some("workspace = true"), "{} does not follow the workspace's lints", package.name);
    }
}
