//! `skillrun skills`: installs from folders and repositories, and new skills that pass their own tests at once.
//!
//! Repositories are folders on this machine: the settings of git replace the address of GitHub.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::SKILLRUN;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        let github = place.at("github");
        fs::create_dir(&github).expect("a folder");
        let settings = format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = A\n\temail = a@example.com\n",
            github.display()
        );
        fs::write(place.at("gitconfig"), settings).expect("settings of git");
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    fn skill(&self, path: &str) {
        let name = path.rsplit('/').next().expect("a name");
        self.write(&format!("{path}/SKILL.md"), &format!("---\nname: {name}\ndescription: D.\n---\nDo it.\n"));
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("SKILLRUN_DATA", self.at("data")).env("SKILLRUN_CONFIG", "/dev/null").env("HOME", self.at("home"));
        command.env("GIT_CONFIG_GLOBAL", self.at("gitconfig")).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn git(&self, folder: &str, words: &[&str]) {
        let output = self.command("git", words).current_dir(self.at(folder)).output().expect("git is installed");
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a repository of a folder.
    fn commit(&self, folder: &str) {
        self.git(folder, &["init", "--quiet"]);
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--message", "x"]);
    }

    fn skillrun(&self, words: &[&str]) -> Output {
        self.command(SKILLRUN, words).output().expect("skillrun")
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.skillrun(words);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.skillrun(&[words, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {output:?}"))
    }

    fn is_installed(&self, name: &str) -> bool {
        self.at("data/skills").join(name).join("SKILL.md").is_file()
    }

    /// Nothing temporary is left.
    fn assert_tidy(&self) {
        let uploads = self.at("data/uploads");
        let left = fs::read_dir(&uploads).map(|entries| entries.count()).unwrap_or(0);
        assert_eq!(left, 0, "something is left in {}", uploads.display());
    }
}

#[test]
fn a_folder_is_installed_and_a_name_that_is_taken_is_refused() {
    let place = Place::new();
    place.skill("mine/tidy");
    assert_eq!(place.json(&["skills", "install", "mine/tidy"])["name"], "tidy");
    assert!(place.is_installed("tidy"));
    let again = place.refused(&["skills", "install", "mine/tidy"]);
    assert!(again.ends_with("the skill \"tidy\" already exists; give --replace to replace it\n"), "{again}");
    for word in ["--replace", "--force"] {
        assert_eq!(place.json(&["skills", "install", "mine/tidy", word])["replaced"], true);
    }
    // A folder that holds one skill, and one that holds two.
    fs::remove_dir_all(place.at("data/skills/tidy")).expect("removed");
    assert_eq!(place.json(&["skills", "install", "mine"])["name"], "tidy");
    place.skill("mine/other");
    let several = place.refused(&["skills", "install", "mine"]);
    assert_eq!(several, "error: mine: has 2 skills; name the folder of one: other, tidy\n");
}

#[test]
fn a_repository_is_installed_without_running_anything_in_it() {
    let place = Place::new();
    let ran = place.at("ran");
    let hook = format!("#!/bin/sh\ntouch '{}'\n", ran.display());
    for hook_folder in ["template/hooks", "user-hooks"] {
        let path = place.write(&format!("{hook_folder}/post-checkout"), &hook);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    place.skill("github/acme/tidy");
    place.write("github/acme/tidy/.gitattributes", "* filter=lfs\n");
    place.commit("github/acme/tidy");
    // Hooks and filters of the user must not run for a repository that is only fetched.
    let settings = fs::read_to_string(place.at("gitconfig")).expect("settings");
    let more = format!(
        "[init]\n\ttemplateDir = {0}/template\n[core]\n\thooksPath = {0}/user-hooks\n[filter \"lfs\"]\n\tsmudge = touch {1}\n",
        place.0.path().display(),
        ran.display()
    );
    fs::write(place.at("gitconfig"), settings + &more).expect("settings");
    let installed = place.json(&["skills", "install", "acme/tidy"]);
    assert_eq!((&installed["name"], &installed["replaced"]), (&"tidy".into(), &false.into()));
    assert!(place.is_installed("tidy"));
    assert!(!place.at("data/skills/tidy/.git").exists());
    assert!(!ran.exists(), "a hook or a filter was run");
    place.assert_tidy();
}

#[test]
fn one_skill_of_a_repository_with_several_is_installed_by_its_folder() {
    let place = Place::new();
    for name in ["pdf", "csv"] {
        place.skill(&format!("github/acme/skills/skills/{name}"));
    }
    place.commit("github/acme/skills");
    let several = place.refused(&["skills", "install", "acme/skills"]);
    assert_eq!(several, "error: acme/skills: has 2 skills; name the folder of one: skills/csv, skills/pdf\n");
    assert_eq!(place.json(&["skills", "install", "acme/skills/skills/pdf"])["name"], "pdf");
    assert!(place.is_installed("pdf") && !place.is_installed("csv"));
    place.assert_tidy();
}

#[test]
fn a_repository_that_cannot_be_installed_is_refused_in_one_sentence() {
    let place = Place::new();
    let missing = place.refused(&["skills", "install", "acme/none"]);
    assert_eq!(missing.lines().count(), 1, "{missing}");
    let begin = "error: \"acme/none\" is not a folder or a zip file here, and git could not fetch \
                 https://github.com/acme/none (";
    assert!(missing.starts_with(begin), "{missing}");
    place.write("github/acme/empty/README.md", "x");
    place.commit("github/acme/empty");
    let empty = place.refused(&["skills", "install", "acme/empty"]);
    assert!(empty.starts_with("error: acme/empty: has no skill: there is no SKILL.md in it"), "{empty}");
    let gone = place.refused(&["skills", "install", "acme/empty/skills/x"]);
    assert!(gone.starts_with("error: acme/empty/skills/x: "), "{gone}");
    // A link out of the repository.
    place.skill("github/acme/evil");
    std::os::unix::fs::symlink("/etc/passwd", place.at("github/acme/evil/passwd")).expect("a link");
    place.commit("github/acme/evil");
    let evil = place.refused(&["skills", "install", "acme/evil"]);
    assert!(evil.starts_with("error: acme/evil/passwd: contains no usable skill: is a link to /etc/passwd"), "{evil}");
    let no_zip = place.refused(&["skills", "install", "none.zip"]);
    assert!(no_zip.starts_with("error: none.zip: cannot be read or written (No such file"), "{no_zip}");
    assert!(!place.at("data/skills").exists());
    place.assert_tidy();
}

#[test]
fn a_new_skill_is_valid_and_passes_its_tests_at_once() {
    let place = Place::new();
    place.json(&["skills", "new", "my-skill"]);
    let valid = place.json(&["skills", "validate", "my-skill"]);
    assert_eq!((&valid["usable"], &valid["findings"]), (&true.into(), &Value::Array(Vec::new())), "{valid}");
    let tested = place.json(&["test", "my-skill", "--engines", "scripted"]);
    assert_eq!(tested["verdict"], "passed", "{tested:#}");
    assert_eq!(tested["rows"].as_array().map(Vec::len), Some(2), "{tested:#}");
    let run = place.json(&["run", "my-skill", "--engine", "scripted", "--input", "text=a b"]);
    assert_eq!(run["output"]["summary"], "The text has 2 words.", "{run:#}");
}

#[test]
fn a_skill_is_validated_by_name_or_by_folder() {
    let place = Place::new();
    place.skill("data/skills/good");
    place.write(".agents/skills/faulty/SKILL.md", "---\nname: faulty\ndescription: D.\n---\nx");
    place.write(".agents/skills/faulty/assets/runner.json", "{,}");
    place.skill("plain");
    for (wanted, usable) in [("good", true), ("faulty", false), ("plain", true), ("./plain", true), ("./none", false)] {
        let told = place.json(&["skills", "validate", wanted]);
        assert_eq!(told["usable"], usable, "{wanted}: {told:#}");
    }
    assert!(Path::new(place.json(&["skills", "validate", "good"])["folder"].as_str().expect("a folder")).is_absolute());
    let output = place.skillrun(&["skills", "validate", "god"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), told.as_ref()),
        (Some(4), "error: there is no skill \"god\"; did you mean \"good\"?\n")
    );
}
