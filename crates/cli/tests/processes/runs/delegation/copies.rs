//! Children that work in a copy of the folder of their parent, and what becomes of their changes.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::runtime::RuntimeLab;
use skillrun_model::delegation::{Delegation, SubagentStatus};
use skillrun_model::rasp::data::ArtifactIndexed;
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runs::apply::{ApplyError, ApplyMode, ApplyOutcome, ApplyReport, ApplyRequest, apply};
use skillrun_runs::copy::{CopiedFrom, patch_path};
use skillrun_runs::record::{RunRecord, Sharing, Snapshot};
use skillrun_runtime::{NewRun, Options};

use super::{check_family, ends, parent, skill, statuses};

const PARENT: &str = r#"
- - delegate: {do: spawn, request: {skill: writes, workspace: copy}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: "{{delegated.outcome}}"}
    done: true
"#;

const WRITES: &str = "- - write: {path: README.md, content: \"by the child\\n\"}\n  \
                      - write: {path: src/new.rs, content: \"new\\n\"}\n  \
                      - write: {path: out/built, content: ignored}\n  \
                      - output: {count: 1}\n    done: true\n";

fn put(folder: &Path, path: &str, content: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("written");
}

fn git(folder: &Path, words: &[&str]) -> Output {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"];
    let mut command = Command::new("git");
    command.current_dir(folder).args(identity).args(words).env("GIT_CEILING_DIRECTORIES", "/");
    command.output().expect("git is installed")
}

fn git_text(folder: &Path, words: &[&str]) -> String {
    let output = git(folder, words);
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A folder of the user with a few files.
fn project(lab: &RuntimeLab) -> PathBuf {
    let folder = lab.path("project");
    for (path, content) in
        [("README.md", "mine\n"), ("src/old.rs", "old\n"), ("gone.txt", "x\n"), (".gitignore", "/out/\n")]
    {
        put(&folder, path, content);
    }
    fs::canonicalize(folder).expect("a path")
}

/// All files below a folder, other than those of git, with their contents.
fn files(folder: &Path) -> Vec<(String, String)> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).expect("a folder").flatten() {
            let path = entry.path();
            if entry.file_type().expect("a kind").is_dir() {
                open.extend((entry.file_name() != ".git").then_some(path));
            } else {
                let name = path.strip_prefix(folder).expect("below").display().to_string();
                found.push((name, fs::read_to_string(path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// A parent that has played its part in a folder, and its child.
fn family(lab: &RuntimeLab, folder: &Path, script: &str) -> (RunId, RunId) {
    family_of(lab, folder, script, Delegation::default())
}

fn family_of(lab: &RuntimeLab, folder: &Path, script: &str, delegation: Delegation) -> (RunId, RunId) {
    let runtime = lab.runtime();
    let new = parent(lab, script, delegation);
    let run = runtime.submit(NewRun { workspace: Some((folder.to_owned(), Sharing::Alone)), ..new }).expect("accepted");
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    (run, check_family(lab, run).children[0].run_id)
}

fn apply_to(lab: &RuntimeLab, run: RunId, mode: ApplyMode) -> Result<ApplyReport, ApplyError> {
    let folder = lab.data().run(run);
    let record = RunRecord::read(&folder.record()).expect("a record");
    apply(&ApplyRequest { run: &folder, record: &record, state: &lab.state(run), to: None, mode })
}

/// The patch in the Log of a run, with the file that it names.
fn patch(lab: &RuntimeLab, run: RunId) -> (ArtifactIndexed, PathBuf) {
    let path = patch_path(run);
    let found = lab.result(run).artifacts.into_iter().find(|artifact| artifact.path == path).expect("a patch");
    let file = lab.data().run(run).workspace().join(path);
    let content = fs::read(&file).expect("a file");
    assert_eq!(found.hash, blake3::hash(&content).to_hex().as_str());
    assert_eq!(
        (found.size, found.role.as_deref(), &*found.media_type),
        (content.len() as u64, Some("patch"), "text/x-diff")
    );
    (found, file)
}

#[test]
fn changes_in_the_copy_of_a_repository_come_back_as_a_patch() {
    let mut lab = RuntimeLab::new();
    // The child alone removes a file, which scripts cannot do.
    lab.wrap_engine("[ -n \"$SKILLRUN_DELEGATION_SOCKET\" ] || rm -f gone.txt");
    skill(&lab, "writes", WRITES);
    let folder = project(&lab);
    git_text(&folder, &["init", "--quiet"]);
    git_text(&folder, &["add", "--all"]);
    git_text(&folder, &["commit", "--quiet", "--message=all"]);
    put(&folder, "README.md", "mine, and not committed\n");
    put(&folder, "src/staged.rs", "staged\n");
    git_text(&folder, &["add", "src/staged.rs"]);
    put(&folder, "untracked.txt", "untracked\n");
    put(&folder, "out/large", "not copied\n");
    fs::remove_file(folder.join("src/old.rs")).expect("removed");
    // A hook, a filter and a monitor of a hostile repository, each of which leaves a trace.
    let trace = lab.path("trace");
    let program = lab.path("hostile");
    fs::write(&program, format!("#!/bin/sh\ntouch '{}'\n", trace.display())).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-applypatch"] {
        fs::copy(&program, folder.join(".git/hooks").join(hook)).expect("a hook");
    }
    let status = git_text(&folder, &["status", "--porcelain"]);
    for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge"] {
        git_text(&folder, &["config", key, program.to_str().expect("text")]);
    }
    put(&folder, ".git/info/attributes", "* filter=evil\n");
    fs::remove_file(&trace).ok();
    let before = files(&folder);

    // The child may not delegate, and so has no socket.
    let delegation = Delegation { max_depth: 1, ..Delegation::default() };
    let (_, child) = family_of(&lab, &folder, PARENT, delegation);
    assert_eq!(files(&folder), before, "the folder of the parent has not changed");
    let copy = lab.data().run(child).workspace();
    let record = RunRecord::read(&lab.data().run(child).record()).expect("a record");
    let made = record.request.workspace.copy().expect("a copy");
    assert_eq!((made.kind, made.from.as_path(), record.format), (CopiedFrom::Repository, &*folder, 4));
    assert_eq!(record.request.snapshot, Snapshot::Taken);
    assert!(copy.join(".git").is_dir() && !copy.join(".git/hooks").exists() && !copy.join("out/large").exists());
    let (_, file) = patch(&lab, child);
    let text = fs::read_to_string(&file).expect("text");
    let touched: Vec<&str> = text.lines().filter(|line| line.starts_with("diff --git")).collect();
    assert_eq!(
        touched,
        [
            "diff --git a/src/new.rs b/src/new.rs",
            "diff --git a/README.md b/README.md",
            "diff --git a/gone.txt b/gone.txt"
        ],
        "{text}"
    );
    assert_eq!(apply_to(&lab, child, ApplyMode::Check).expect("applicable").outcome, ApplyOutcome::Applicable);
    assert_eq!(files(&folder), before);
    assert_eq!(apply_to(&lab, child, ApplyMode::Apply).expect("applied").outcome, ApplyOutcome::Applied);
    assert!(!trace.exists(), "a program of the repository was started");
    assert_eq!(fs::read_to_string(folder.join("README.md")).expect("there"), "by the child\n");
    assert_eq!(fs::read_to_string(folder.join("src/new.rs")).expect("there"), "new\n");
    assert!(!folder.join("gone.txt").exists() && !folder.join("out/built").exists());
    assert_eq!(fs::read_to_string(folder.join("out/large")).expect("there"), "not copied\n");
    let after = files(&folder);
    assert_eq!(apply_to(&lab, child, ApplyMode::Apply).expect("applied").outcome, ApplyOutcome::AlreadyApplied);
    assert_eq!(files(&folder), after);

    // git itself takes the patch back, so it is the same change.
    for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge"] {
        git_text(&folder, &["config", "--unset", key]);
    }
    fs::remove_dir_all(folder.join(".git/hooks")).expect("removed");
    fs::remove_file(folder.join(".git/info/attributes")).expect("removed");
    git_text(&folder, &["apply", "--reverse", file.to_str().expect("text")]);
    assert_eq!((files(&folder), git_text(&folder, &["status", "--porcelain"])), (before, status));
}

#[test]
fn changed_target_is_refused_and_nothing_is_applied() {
    let lab = RuntimeLab::new();
    skill(&lab, "writes", WRITES);
    let folder = project(&lab);
    let (_, child) = family(&lab, &folder, PARENT);
    let record = RunRecord::read(&lab.data().run(child).record()).expect("a record");
    assert_eq!(record.request.workspace.copy().expect("a copy").kind, CopiedFrom::Folder);
    put(&folder, "README.md", "changed in the meantime\n");
    let before = files(&folder);
    let error = apply_to(&lab, child, ApplyMode::Apply).expect_err("a conflict").to_string();
    assert!(error.starts_with("nothing was applied, because 1 file changed in"), "{error}");
    assert!(error.contains("since the run began: README.md; restore it"), "{error}");
    assert_eq!(files(&folder), before);
    put(&folder, "README.md", "mine\n");
    apply_to(&lab, child, ApplyMode::Apply).expect("applied");
    // Outside of a repository nothing is ignored.
    assert_eq!(fs::read_to_string(folder.join("out/built")).expect("there"), "ignored");
}

#[test]
fn folder_that_is_too_large_is_refused_with_a_sentence() {
    let (lab, runtime) = RuntimeLab::running();
    skill(&lab, "writes", WRITES);
    let folder = project(&lab);
    let large = File::create(folder.join("large")).expect("a file");
    large.set_len((1 << 30) + 1).expect("a file of holes");
    let script = PARENT
        .replace("{{delegated.outcome}}", "{{delegated.refusal.message}}")
        .replace("  - delegate: {do: wait, timeout_sec: 45}\n", "");
    let new = parent(&lab, &script, Delegation::default());
    let run = runtime.submit(NewRun { workspace: Some((folder, Sharing::Alone)), ..new }).expect("accepted");
    let state = lab.finish(&runtime, run);
    let message = lab.output(run)["answer"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("has more than 1073741824 bytes that would be copied"), "{message}");
    assert!(message.contains("use the workspace shared, or own with what the task needs in its prompt"), "{message}");
    assert!(state.children.is_empty() && lab.run_folders().len() == 1, "nothing is made");
}

/// The longest path of the kernel, with the byte at its end.
const PATH_MAX: usize = 4096;

/// What a request is checked for may change before the copy is made.
#[test]
fn child_whose_copy_fails_is_not_made() {
    let lab = RuntimeLab::new();
    skill(&lab, "writes", WRITES);
    let folder = project(&lab);
    put(&folder, ".git/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(folder.join(".git/objects")).expect("a folder");
    // Only making the copy reads references. The path of this one is as long as a path can be, and that of its copy
    // longer.
    let mut branch = folder.join(".git/refs/heads");
    while branch.as_os_str().len() < PATH_MAX - 300 {
        branch.push("b".repeat(200));
    }
    fs::create_dir_all(&branch).expect("a folder");
    branch.push("b".repeat(PATH_MAX - 2 - branch.as_os_str().len()));
    fs::write(branch, "0123456789012345678901234567890123456789\n").expect("written");
    let runtime = lab.runtime();
    let new = parent(&lab, PARENT, Delegation::default());
    let run = runtime.submit(NewRun { workspace: Some((folder, Sharing::Alone)), ..new }).expect("accepted");
    lab.finish(&runtime, run);
    let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
    assert_eq!((end.status, end.reason), (SubagentStatus::Failed, Code::ChildNotMade));
    assert!(end.details.as_ref().is_some_and(|why| why.contains("cannot be written (File name too long")), "{end:?}");
    assert_eq!(lab.run_folders().len(), 1, "nothing of it is left");
}

#[test]
fn grandchild_has_a_copy_of_the_copy_without_the_skill_of_its_parent() {
    let lab = RuntimeLab::new();
    skill(&lab, "writes", WRITES);
    skill(
        &lab,
        "nested",
        "- - write: {path: README.md, content: \"first\\n\"}\n  \
         - delegate: {do: spawn, request: {skill: writes, workspace: copy}}\n  \
         - delegate: {do: wait, timeout_sec: 45}\n  - output: {count: 1}\n    done: true\n",
    );
    let folder = project(&lab);
    let (_, child) = family(&lab, &folder, &PARENT.replace("writes", "nested"));
    let grandchild = lab.state(child).children[0].run_id;
    let copy = lab.data().run(grandchild).workspace();
    assert!(!copy.join(".agents/skills/nested").exists(), "the skill of its parent is not part of the folder");
    assert_eq!(apply_to(&lab, grandchild, ApplyMode::Apply).expect("applied").outcome, ApplyOutcome::Applied);
    let changed = lab.data().run(child).workspace().join("README.md");
    assert_eq!(fs::read_to_string(changed).expect("there"), "by the child\n");
    // What the copy of its parent has now is not what that run left there.
    let error = apply_to(&lab, child, ApplyMode::Apply).expect_err("changed").to_string();
    assert!(error.contains("no longer has what the run left there: README.md"), "{error}");
}

#[test]
fn plain_run_works_in_a_copy_and_is_retried_in_a_new_one() {
    let (lab, runtime) = RuntimeLab::running();
    let folder = project(&lab);
    let new = lab.new_run(ExecutionMode::Auto, &WRITES.replace("{count: 1}", "{answer: done}"));
    let new = NewRun {
        copy_of: Some(folder.clone()),
        options: Options { snapshot: Some(Snapshot::Off), ..new.options.clone() },
        ..new
    };
    let run = runtime.submit(new.clone()).expect("accepted");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    patch(&lab, run);
    assert_eq!(fs::read_to_string(folder.join("README.md")).expect("there"), "mine\n");
    let both = NewRun { workspace: Some((folder.clone(), Sharing::Alone)), ..new };
    let error = runtime.submit(both).expect_err("refused").to_string();
    assert_eq!(error, "a run works either in a folder or in a copy of one; give one of them");
    put(&folder, "later.txt", "later\n");
    let record = RunRecord::read(&lab.data().run(run).record()).expect("a record");
    let again = skillrun_runtime::retry::again(&record, &lab.data().run(run), Default::default()).expect("a request");
    let second = runtime.submit(again.new).expect("accepted");
    lab.finish(&runtime, second);
    assert!(lab.data().run(second).workspace().join("later.txt").exists(), "the folder as it is now");
    assert!(!lab.data().run(run).workspace().join("later.txt").exists());
}

#[test]
fn run_that_changes_nothing_has_no_patch() {
    let lab = RuntimeLab::new();
    skill(&lab, "writes", "- - output: {count: 1}\n    done: true\n");
    let (run, child) = family(&lab, &project(&lab), PARENT);
    assert_eq!(statuses(&lab, run), [SubagentStatus::Completed]);
    assert_eq!(lab.result(child).artifacts, []);
    assert_eq!(apply_to(&lab, child, ApplyMode::Apply).expect("nothing").outcome, ApplyOutcome::NothingToApply);
}

/// What the agent of a parent is told, by the tool that it has.
const READS: &str = r#"
{
  echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"spawn_run","arguments":{"skill":"writes","key":"k","workspace":"copy"}}}'
  n=0
  while [ $n -lt 1200 ] && ! grep -q '"id":2' answers; do sleep 0.05; n=$((n+1)); done
  echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait_runs","arguments":{}}}'
  while [ $n -lt 1200 ] && ! grep -q '"id":3' answers; do sleep 0.05; n=$((n+1)); done
  run=$(grep '"id":2' answers | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
  echo '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_result","arguments":{"run_id":"'"$run"'"}}}'
  while [ $n -lt 1200 ] && ! grep -q '"id":4' answers; do sleep 0.05; n=$((n+1)); done
} | PROGRAM mcp > answers
"#;

#[test]
fn agent_of_the_parent_reads_where_the_patch_is() {
    let mut lab = RuntimeLab::new();
    let reads = READS.replace("PROGRAM", crate::SKILLRUN);
    lab.wrap_engine(&format!("[ -z \"$SKILLRUN_DELEGATION_SOCKET\" ] || {{ {reads} }}"));
    skill(&lab, "writes", WRITES);
    let delegation = Delegation { max_depth: 1, ..Delegation::default() };
    let runtime = lab.runtime();
    let run =
        runtime.submit(parent(&lab, "- - output: {answer: done}\n    done: true\n", delegation)).expect("accepted");
    lab.finish(&runtime, run);
    let answers = fs::read_to_string(lab.data().run(run).workspace().join("answers")).unwrap_or_default();
    let child = lab.state(run).children[0].run_id;
    let (_, file) = patch(&lab, child);
    let told = answers.lines().find(|line| line.contains("\"id\":4")).expect("an answer");
    assert!(told.contains(&format!("\"file\":\"{}\"", file.display())), "{told}");
    assert!(told.contains(&format!("`skillrun apply {child}`")), "{told}");
}
