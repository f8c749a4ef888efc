//! Where engines work, and what is left there.

use std::fs;
use std::path::{Path, PathBuf};

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, on, reply, sticky};
use serde_json::json;
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runs::record::Sharing;
use skillrun_runtime::{AcceptError, NewRun, SlotLimits};
use skillrun_skill::Skill;

const WRITES: &str = "- - write: {path: artifacts/report.md, content: from the run}\n  \
                      - write: {path: src/new.txt, content: new}\n  \
                      - write: {path: README.md, content: changed}\n  \
                      - output: {answer: artifacts/report.md}\n    done: true\n";
const HANGS: &str = "- - say: I begin.\n  - hang\n";

/// A folder of the user's with a few things in it.
fn project(lab: &RuntimeLab) -> PathBuf {
    let folder = lab.path("project");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("README.md"), "mine").expect("written");
    fs::canonicalize(folder).expect("a path")
}

fn within(new: NewRun, folder: &Path, sharing: Sharing) -> NewRun {
    NewRun { workspace: Some((folder.to_owned(), sharing)), ..new }
}

/// All files and folders below, by their relative paths; folders end with a slash.
fn listing(folder: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, all: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below").display().to_string();
            if path.is_dir() {
                all.push(format!("{name}/"));
                walk(root, &path, all);
            } else {
                all.push(name);
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, folder, &mut all);
    all.sort();
    all
}

/// What the attempt changed, as its diff has it.
fn changes(lab: &RuntimeLab, run: RunId) -> Vec<String> {
    let diff = lab.evidence_json(run, "fs-diff.1.json");
    let mut all = Vec::new();
    for kind in ["created", "modified", "deleted"] {
        for change in diff[kind].as_array().into_iter().flatten() {
            let path = change["path"].as_str().or(change.as_str()).unwrap_or("?");
            all.push(format!("{kind} {path}"));
        }
    }
    all.sort();
    all
}

fn artifacts(lab: &RuntimeLab, run: RunId) -> Vec<String> {
    lab.result(run).artifacts.into_iter().map(|artifact| artifact.path).collect()
}

const CHANGED: [&str; 3] = ["created artifacts/report.md", "created src/new.txt", "modified README.md"];

#[test]
fn a_run_has_a_folder_of_its_own() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, WRITES);
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    let workspace = lab.data().run(run).workspace();
    assert_eq!(fs::read_to_string(workspace.join("src/new.txt")).expect("there"), "new");
    assert!(workspace.join(".agents/skills/probe/SKILL.md").is_file(), "the patched file stays, for later inspection");
    let created = ["README.md", "artifacts/report.md", "src", "src/new.txt"].map(|path| format!("created {path}"));
    assert_eq!(changes(&lab, run), created, "and nothing of skillrun");
    assert_eq!(artifacts(&lab, run), ["artifacts/report.md"]);
}

/// A small run left 35 files, most of them twice.
#[test]
fn an_ended_run_has_no_file_twice() {
    let changes_one = "- - write: {path: .agents/skills/probe/assets/output.json, content: changed}\n  \
                       - output: {answer: blue}\n    done: true\n";
    for (script, left_of_copy) in [
        ("- - output: {answer: blue}\n    done: true\n", &["SKILL.md"][..]),
        (changes_one, &["SKILL.md", "assets/", "assets/output.json"][..]),
    ] {
        let lab = RuntimeLab::new();
        let skill = lab.skill("probe", json!({}));
        fs::write(skill.root.join("assets/scripted.yaml"), script).expect("written");
        let (runtime, run) = lab.begin(NewRun { script: None, ..NewRun::new(skill, "scripted") });
        assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
        let folder = lab.data().run(run);
        assert_eq!(listing(&folder.workspace().join(".agents/skills/probe")), left_of_copy);
        assert_eq!(listing(&folder.skill()).len(), 5, "{:?}", listing(&folder.skill()));
        for gone in [folder.inputs(), folder.workspace().join("artifacts")] {
            assert!(!gone.exists(), "{}", gone.display());
        }
        let again = lab.begin(NewRun::new(Skill::load(&folder.skill()).expect("a skill"), "scripted"));
        assert_eq!(lab.finish(&again.0, again.1).status, Some(RunStatus::Succeeded), "the copy is a whole skill");
    }
}

#[test]
fn a_folder_of_the_users_is_worked_in_and_left_clean() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let new = within(lab.new_run(ExecutionMode::Auto, WRITES), &folder, Sharing::Alone);
    let (runtime, run) = lab.begin(new);
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    assert_eq!(changes(&lab, run), CHANGED, "over the user's folder, and without the copy of the skill");
    assert_eq!(listing(&folder), ["README.md", "artifacts/", "artifacts/report.md", "src/", "src/new.txt"]);
    assert_eq!(lab.result(run).artifacts[0].path, "artifacts/report.md");
    let link = lab.data().run(run).workspace();
    assert_eq!(fs::read_link(link).expect("a link"), folder);
    assert_eq!(listing(&lab.data().workspaces()), ["lock"], "no run works there any more");
}

#[test]
fn the_copy_of_the_skill_goes_where_the_engine_looks_for_it() {
    let lab = RuntimeLab::new();
    lab.add_engine("homely", "[skills]\nproject = [\".x/skills\"]\nhome = [\".x/skills\"]\n");
    let folder = project(&lab);
    let runtime = lab.runtime();
    let new = within(lab.new_run(ExecutionMode::Auto, HANGS), &folder, Sharing::Allowed);
    let [homely, other] = [on(new.clone(), "homely"), new].map(|new| runtime.submit(new).expect("accepted"));
    for run in [homely, other] {
        lab.wait_said(run, "I begin.");
    }
    let copy = lab.data().run(homely).home().join(".x/skills/probe/SKILL.md");
    assert!(copy.is_file(), "into the run's HOME, where the engine reads skills from there");
    let copies = fs::read_dir(folder.join(".agents/skills")).expect("a folder").flatten();
    let names: Vec<String> = copies.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names.len(), 1, "else into the folder");
    assert!(names[0].starts_with("probe-") && other.to_string().ends_with(&names[0]["probe-".len()..]), "{names:?}");
    for run in [homely, other] {
        runtime.cancel(run, "the test").expect("canceled");
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(listing(&folder), ["README.md", "src/"], "and out again");
}

#[test]
fn what_was_put_into_a_folder_is_taken_out_however_the_run_ends() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let runtime = lab.runtime();
    let interactive = ExecutionMode::Interactive;
    let fails = "- - say: I begin.\n  - exit: 3\n";
    let asks = "- - ask: {prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
    for (script, ends) in [(fails, "by itself"), (HANGS, "canceled"), (asks, "canceled"), (asks, "answered")] {
        for sticks in [false, true] {
            let new = within(lab.new_run(interactive, script), &folder, Sharing::Alone);
            let run = runtime.submit(if sticks { sticky(new) } else { new }).expect("accepted");
            if script == asks {
                lab.wait_asked(run, 1);
            } else {
                lab.wait_said(run, "I begin.");
            }
            match ends {
                "canceled" => runtime.cancel(run, "the test").expect("canceled"),
                "answered" => {
                    assert!(folder.join(".agents/skills").is_dir(), "it is needed again");
                    runtime.reply(run, reply(1, "blue")).expect("answered");
                }
                _ => {}
            }
            lab.finish(&runtime, run);
            assert_eq!(listing(&folder), ["README.md", "src/"], "{script} {ends}");
        }
    }
}

#[test]
fn an_owner_that_finds_a_run_takes_out_what_another_put_in() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let script = "- - say: I begin.\n  - sleep_ms: 300\n  - exit: 3\n";
    let (runtime, run) = lab.begin(within(lab.new_run(ExecutionMode::Auto, script), &folder, Sharing::Alone));
    lab.wait_said(run, "I begin.");
    drop(runtime);
    assert!(folder.join(".agents/skills").is_dir(), "the engine needs it still");
    let runtime = lab.runtime();
    let refused = runtime.submit(within(lab.new_run(ExecutionMode::Auto, WRITES), &folder, Sharing::Alone));
    assert!(matches!(refused, Err(AcceptError::WorkspaceInUse { run: other, .. }) if other == run), "{refused:?}");
    runtime.take_up(run).expect("taken up");
    lab.finish(&runtime, run);
    assert_eq!(listing(&folder), ["README.md", "src/"]);
    let next = runtime.submit(within(lab.new_run(ExecutionMode::Auto, WRITES), &folder, Sharing::Alone)).expect("free");
    assert_eq!(lab.wait_over(next).status, Some(RunStatus::Succeeded));
}

#[test]
fn the_copy_is_taken_out_whatever_the_agent_made_of_it() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let new = within(lab.new_run(ExecutionMode::Auto, HANGS), &folder, Sharing::Alone);
    let (runtime, run) = lab.begin(new);
    lab.wait_said(run, "I begin.");
    let skills = folder.join(".agents/skills");
    let copy = fs::read_dir(&skills).expect("a folder").flatten().next().expect("a copy").path();
    fs::remove_file(copy.join("SKILL.md")).expect("removed");
    fs::create_dir(copy.join("more")).expect("a folder");
    fs::create_dir(skills.join("of-the-user")).expect("a folder");
    runtime.cancel(run, "the test").expect("canceled");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(listing(&folder), [".agents/", ".agents/skills/", ".agents/skills/of-the-user/", "README.md", "src/"]);
}

#[test]
fn what_is_there_is_never_touched() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    lab.add_engine(
        "settled",
        "[[files]]\npath = \"settings.json\"\nin = \"workspace\"\ntext = \"ours\"\n\
         [[files]]\npath = \".x/other.json\"\nin = \"workspace\"\ntext = \"ours\"\n",
    );
    let theirs = folder.join(".agents/skills/probe");
    fs::create_dir_all(&theirs).expect("a folder");
    fs::write(theirs.join("SKILL.md"), "theirs").expect("written");
    fs::create_dir_all(folder.join("artifacts")).expect("a folder");
    fs::write(folder.join("artifacts/old.md"), "theirs").expect("written");
    fs::write(folder.join("settings.json"), "theirs").expect("written");
    let before = listing(&folder);
    let new = within(lab.new_run(ExecutionMode::Auto, HANGS), &folder, Sharing::Alone);
    let (runtime, run) = lab.begin(on(new, "settled"));
    lab.wait_said(run, "I begin.");
    assert_eq!(fs::read_to_string(folder.join(".x/other.json")).expect("made"), "ours");
    runtime.cancel(run, "the test").expect("canceled");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(listing(&folder), before);
    for file in [theirs.join("SKILL.md"), folder.join("artifacts/old.md"), folder.join("settings.json")] {
        assert_eq!(fs::read_to_string(&file).expect("there"), "theirs", "{}", file.display());
    }
}

#[test]
fn two_runs_in_one_folder_are_refused_unless_both_allow_it() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let runtime = lab.runtime();
    let hangs = lab.new_run(ExecutionMode::Auto, HANGS);
    let link = lab.path("link");
    std::os::unix::fs::symlink(&folder, &link).expect("a link");
    for (first, second, accepted) in [
        (Sharing::Alone, Sharing::Alone, false),
        (Sharing::Allowed, Sharing::Alone, false),
        (Sharing::Alone, Sharing::Allowed, false),
        (Sharing::Allowed, Sharing::Allowed, true),
    ] {
        let holds = runtime.submit(within(hangs.clone(), &folder.join("src"), first)).expect("accepted");
        let nested = lab.path("project/src/deeper");
        fs::create_dir_all(&nested).expect("a folder");
        let before = lab.run_folders().len();
        for other in [folder.join("src"), folder.clone(), nested, link.join("src")] {
            let submitted = runtime.submit(within(hangs.clone(), &other, second));
            match (submitted, accepted) {
                (Ok(run), true) => runtime.cancel(run, "the test").expect("canceled"),
                (Err(AcceptError::WorkspaceInUse { run, .. }), false) => assert_eq!(run, holds),
                (other, _) => panic!("{first:?} {second:?}: {other:?}"),
            }
        }
        if !accepted {
            assert_eq!(lab.run_folders().len(), before, "nothing is left of those");
        }
        let beside = lab.path("project/srcs");
        fs::create_dir_all(&beside).expect("a folder");
        let free = runtime.submit(within(hangs.clone(), &beside, second)).expect("another folder");
        for run in [holds, free] {
            runtime.cancel(run, "the test").expect("canceled");
        }
        assert!(runtime.wait_idle(TEST_TIMEOUT));
    }
}

#[test]
fn a_folder_that_goes_away_while_the_run_is_queued_fails_it() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, ..SlotLimits::default() };
    let folder = project(&lab);
    let runtime = lab.runtime();
    let holds = runtime.submit(lab.new_run(ExecutionMode::Auto, HANGS)).expect("accepted");
    let run =
        runtime.submit(within(lab.new_run(ExecutionMode::Auto, WRITES), &folder, Sharing::Alone)).expect("accepted");
    fs::remove_dir_all(&folder).expect("removed");
    runtime.cancel(holds, "the test").expect("canceled");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Failed));
    assert_eq!(lab.failure(run), Some(Code::WorkspaceFailed));
    let result = lab.result(run);
    let error = result.error.expect("an error");
    assert!(error.message.contains("project"), "{}", error.message);
    assert_eq!((result.attempts, result.output), (0, None));
    assert!(!result.next_actions.is_empty());
    assert!(!folder.exists(), "nothing is made where it was");
}

#[test]
fn an_output_file_in_the_users_folder_is_an_artifact() {
    let lab = RuntimeLab::new();
    let folder = project(&lab);
    let script = "- - output: {answer: README.md}\n    done: true\n";
    let (runtime, run) = lab.begin(within(lab.new_run(ExecutionMode::Auto, script), &folder, Sharing::Alone));
    lab.finish(&runtime, run);
    assert_eq!(lab.output(run), json!({ "answer": "README.md" }));
    assert_eq!(artifacts(&lab, run), ["README.md"]);
    assert_eq!(fs::read_to_string(folder.join("README.md")).expect("there"), "mine");
    assert_eq!(listing(&folder), ["README.md", "src/"]);
}
