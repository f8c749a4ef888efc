//! kill -9 of the owner while it copies a folder for a child: the child is made again from nothing, once and whole, and
//! its changes are applied by the command.

use std::fs;
use std::path::{Path, PathBuf};

use lab::{Lab, kind, wait_until};

/// So many that the copy takes long enough to be killed in between.
const FILES: usize = 5_000;

const PARENT: &str = "
- - delegate: {do: spawn, request: {skill: writes, workspace: copy}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated.outcome}}'}
    done: true
";

const WRITES: &str = "- - write: {path: d7/7, content: by the child}\n  - output: {count: 1}\n    done: true\n";

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count(&entry.path()),
        Ok(_) => 1,
        Err(_) => 0,
    };
    entries.map(one).sum()
}

/// The folder of the child, as soon as anything of it exists.
fn child(lab: &Lab) -> Option<PathBuf> {
    let entries = fs::read_dir(lab.data().join("runs")).into_iter().flatten().flatten();
    let workspaces = entries.map(|entry| entry.path()).filter(|run| !run.join("workspace").is_symlink());
    workspaces.into_iter().find(|run| run.join("workspace").is_dir())
}

#[test]
fn owner_killed_while_it_copies_leaves_no_half_of_a_child() {
    let lab = Lab::new();
    lab.installed_skill("writes", WRITES);
    let skill = lab.skill("parent", PARENT);
    for number in 0..FILES {
        lab.write(&format!("project/d{}/{number}", number % 100), "content");
    }
    let project = lab.path("project");
    let project = project.to_str().expect("a path");
    let skill = skill.to_str().expect("a path");
    let run = ["run", skill, "--engine", "scripted", "--mode", "auto", "--delegate", "--workspace", project, "--json"];
    let mut owner = lab.start(&run);
    wait_until("a part of the copy", || child(&lab).is_some_and(|child| child.join("workspace/d1").exists()));
    lab::kill(&mut owner);
    let half = child(&lab).expect("a folder");
    assert!(!half.join("run.json").exists(), "it was killed too late; raise FILES");
    assert!(count(&half.join("workspace")) < FILES, "it was killed too late; raise FILES");
    // A file that is not in the folder: what is made again is made from nothing.
    fs::write(half.join("workspace/left"), "of the first copy").expect("written");
    let parent = lab.runs().into_iter().next().expect("the parent");

    assert!(lab.output(&["recover", "--json"]).status.success());
    assert_eq!(kind(&lab.wait_end(&parent)), "run.completed");
    lab.wait_quiet();
    assert_eq!(lab.runs().len(), 2, "one child");
    let workspace = half.join("workspace");
    assert!(!workspace.join("left").exists());
    let made = lab.run_json(half.file_name().and_then(|name| name.to_str()).expect("an id"), "run.json");
    assert_eq!(made["request"]["workspace"]["copy"]["files"], FILES);
    assert_eq!(fs::read_to_string(workspace.join("d7/7")).expect("there"), "by the child");
    assert_eq!(fs::read_to_string(lab.path("project/d7/7")).expect("there"), "content");

    let child = half.file_name().and_then(|name| name.to_str()).expect("an id");
    let said = |words: &[&str]| lab.printed(words);
    assert!(said(&["apply", child, "--check"]).contains("M d7/7\n1 change can be applied to "));
    assert_eq!(fs::read_to_string(lab.path("project/d7/7")).expect("there"), "content");
    assert!(said(&["apply", child]).contains("M d7/7\n1 change applied to "));
    assert_eq!(fs::read_to_string(lab.path("project/d7/7")).expect("there"), "by the child");
    assert!(said(&["apply", child]).contains("all changes are already applied to "));
    fs::write(lab.path("project/d7/7"), "by the user").expect("written");
    let refused = lab.output(&["apply", child]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("nothing was applied, because 1 file changed in") && message.contains(": d7/7;"),
        "{message}"
    );
    let none = lab.output(&["apply", &parent]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("did not work in a copy of a folder; name the folder"));
    assert!(said(&["show", child]).contains(&format!("a copy of {project} · {FILES} files")));
}
