//! Checks: commands that skillrun runs after the turn, with real processes.

use lab::runtime::{RuntimeLab, impatient, with};
use serde_json::json;
use skillrun_model::checks::{CheckCommand, CheckEnded, CheckRequest, CheckStatus};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Code, EndedBy, ExecutionMode, RunId, RunStatus, TurnState};
use skillrun_runtime::NewRun;
use skillrun_runtime::consent;

const DONE: &str = "- - write: {path: made.txt, content: from the agent}\n  - output: {answer: ok}\n    done: true\n";

fn checked(lab: &RuntimeLab, checks: &[CheckRequest]) -> NewRun {
    let new = impatient(lab.new_run(ExecutionMode::Auto, DONE));
    with(new, |options| options.checks = checks.to_vec())
}

fn lines(commands: &[&str]) -> Vec<CheckRequest> {
    commands.iter().map(|command| CheckRequest::line(*command)).collect()
}

fn ends(lab: &RuntimeLab, run: RunId) -> Vec<CheckEnded> {
    let end = |event: skillrun_model::rasp::Event| match event.data {
        Data::Control(ControlData::CheckEnded(end)) => Some(*end),
        Data::Control(_) | Data::Evidence(_) => None,
    };
    lab.events(run).into_iter().filter_map(end).collect()
}

#[test]
fn run_succeeds_when_its_checks_have_passed() {
    let (lab, runtime) = RuntimeLab::running();
    let words = CheckRequest {
        name: Some("words".to_owned()),
        command: CheckCommand::Words(vec!["printf".to_owned(), "%s".to_owned(), "a b".to_owned()]),
        timeout_sec: Some(20.0),
    };
    let checks = [lines(&["cat made.txt && echo of stderr >&2"]), vec![words]].concat();
    let run = runtime.submit(checked(&lab, &checks)).expect("accepted");
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    let types = lab.types(run);
    let checks = ["attempt.ended", "run.status", "check.ended", "run.status", "check.ended", "run.completed"];
    assert_eq!(types[types.len() - 6..], checks, "{types:?}");
    let [first, second] = &ends(&lab, run)[..] else { panic!("{types:?}") };
    assert_eq!((first.name.as_str(), first.status, first.exit.code), ("check 1", CheckStatus::Passed, Some(0)));
    assert_eq!(first.output_tail.as_deref(), Some("from the agentof stderr"));
    assert_eq!((second.name.as_str(), second.output_tail.as_deref()), ("words", Some("a b")));
    for end in [first, second] {
        let folder = lab.data().run(run).root().join(&end.evidence);
        let hash = |name: &str| blake3::hash(&std::fs::read(folder.join(name)).expect("evidence")).to_hex().to_string();
        assert_eq!(end.stdout.hash, Some(hash("stdout.1.log")));
        assert_eq!(end.stderr.hash, Some(hash("stderr.1.log")));
        assert_eq!(end.host_hash, Some(hash("host.1.json")));
    }
    let result = lab.result(run);
    let names: Vec<_> = result.checks.iter().map(|check| (check.name.as_str(), check.status)).collect();
    assert_eq!(names, [("check 1", CheckStatus::Passed), ("words", CheckStatus::Passed)]);
}

#[test]
fn check_that_fails_ends_the_run_and_not_the_turn() {
    let (lab, runtime) = RuntimeLab::running();
    let checks = lines(&["true", "echo one; echo '2 tests failed'; exit 3", "touch never"]);
    let run = runtime.submit(checked(&lab, &checks)).expect("accepted");
    lab.finish(&runtime, run);
    let failed = lab.failed(run).expect("a failure");
    assert_eq!(failed.error.code, Code::CheckFailed);
    assert_eq!(failed.error.message, "the check \"check 2\" exited with code 3: 2 tests failed");
    let commands: Vec<_> = failed.next_actions.iter().map(|next| next.command.clone()).collect();
    assert_eq!(commands, [format!("skillrun diagnose {run}"), format!("skillrun retry {run}")]);
    let statuses: Vec<_> = ends(&lab, run).iter().map(|end| end.status).collect();
    assert_eq!(statuses, [CheckStatus::Passed, CheckStatus::Failed]);
    assert!(!lab.data().run(run).workspace().join("never").exists(), "no check follows one that failed");
    let [verdict] = &lab.verdicts(run)[..] else { panic!("one turn") };
    assert_eq!((verdict.turn, verdict.run_status), (TurnState::Completed, RunStatus::Succeeded));
}

#[test]
fn limits_of_a_check_are_enforced_and_nothing_is_left() {
    let (lab, runtime) = RuntimeLab::running();
    let slow = CheckRequest { timeout_sec: Some(0.3), ..CheckRequest::line("sleep 600 & sleep 600") };
    let missing = CheckRequest {
        name: None,
        command: CheckCommand::Words(vec!["no-such-program-of-skillrun".to_owned()]),
        timeout_sec: None,
    };
    let killed = CheckRequest::line("kill -9 $$");
    let expected = [
        (slow, CheckStatus::TimedOut, None, Some(EndedBy::HardTimeout)),
        (missing, CheckStatus::NotStarted, Some(127), Some(EndedBy::NotStarted)),
        (killed, CheckStatus::Failed, None, Some(EndedBy::Exited)),
    ];
    for (check, status, code, ended_by) in expected {
        let run = runtime.submit(checked(&lab, &[check])).expect("accepted");
        lab.finish(&runtime, run);
        assert_eq!(lab.failure(run), Some(Code::CheckFailed));
        let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
        assert_eq!((end.status, end.exit.code, end.exit.ended_by), (status, code, ended_by), "{end:?}");
        assert_eq!(lab.processes(run), Vec::<String>::new());
    }
    // What a check leaves in the background is ended with it.
    let run = runtime.submit(checked(&lab, &lines(&["sleep 600 >/dev/null 2>&1 & echo left"]))).expect("accepted");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    assert_eq!(lab.processes(run), Vec::<String>::new());
}

#[test]
fn environment_of_a_check_is_minimal() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(checked(&lab, &lines(&["env | cut -d= -f1 | sort; echo $HOME; pwd"]))).expect("accepted");
    lab.finish(&runtime, run);
    let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
    let tail = end.output_tail.clone().expect("output");
    let folder = lab.data().run(run);
    let mut words: Vec<&str> = tail.lines().collect();
    assert_eq!(words.pop(), folder.workspace().canonicalize().expect("a folder").to_str());
    assert_eq!(words.pop(), folder.home().to_str());
    let known = ["HOME", "LANG", "OLDPWD", "PATH", "PWD", "SHLVL", "SKILLRUN_ATTEMPT", "TMPDIR", "TZ", "_"];
    let others: Vec<_> = words.iter().filter(|word| !known.contains(word) && !word.starts_with("LC_")).collect();
    assert!(others.is_empty() && words.contains(&"PATH"), "{words:?}");
}

#[test]
fn cancel_ends_an_open_check() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(checked(&lab, &lines(&["echo begun; sleep 600", "touch never"]))).expect("accepted");
    lab.wait_until("output of the check", || {
        let log = lab.data().run(run).check(1).join("stdout.1.log");
        std::fs::read(log).is_ok_and(|text| text == b"begun\n")
    });
    assert_eq!(lab.state(run).status, Some(RunStatus::Running));
    runtime.cancel_anywhere(run, "test").expect("canceled");
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Canceled), "{:?}", lab.types(run));
    let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
    assert_eq!((end.status, end.output_tail.as_deref()), (CheckStatus::Canceled, Some("begun")));
    assert_eq!(lab.processes(run), Vec::<String>::new());
}

#[test]
fn secrets_of_the_request_are_masked_in_the_output_of_a_check() {
    let mut lab = RuntimeLab::new();
    lab.environment.push(("CHECK_KEY".into(), "sk-of-the-check-0123456789".into()));
    lab.environment.push(("OTHER_KEY".into(), "sk-of-another-0123456789".into()));
    let runtime = lab.runtime();
    let name = "CHECK_KEY".to_owned();
    let new =
        with(checked(&lab, &lines(&["echo \"is $CHECK_KEY$OTHER_KEY\""])), |options| options.secrets = vec![name]);
    let run = runtime.submit(new).expect("accepted");
    lab.finish(&runtime, run);
    let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
    let tail = end.output_tail.clone().expect("output");
    assert!(tail.starts_with("is *") && !tail.contains("sk-of"), "{tail}");
}

#[test]
fn checks_of_a_skill_need_consent() {
    let (lab, runtime) = RuntimeLab::running();
    let skill = lab.skill("careful", json!({"checks": [{"name": "made", "command": "test -s made.txt"}]}));
    let new = || {
        let new = impatient(lab.new_run(ExecutionMode::Auto, DONE));
        NewRun { task: skill.clone().into(), ..new }
    };
    let refused = runtime.submit(new()).expect_err("no consent");
    assert!(refused.to_string().contains("agree once with `skillrun consent check:careful`"), "{refused}");
    assert!(lab.run_folders().is_empty(), "nothing is made");
    let now = skillrun_model::Timestamp::EPOCH;
    consent::give(&lab.data(), &consent::of_checks("careful"), now).expect("given");
    let run = runtime.submit(new()).expect("accepted");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    assert_eq!(ends(&lab, run)[0].name, "made");
}

#[test]
fn unusable_checks_are_refused_before_anything_is_made() {
    let (lab, runtime) = RuntimeLab::running();
    let named = |name: &str| CheckRequest { name: Some(name.to_owned()), ..CheckRequest::line("true") };
    let wrong = [
        vec![CheckRequest::line(" ")],
        vec![CheckRequest { command: CheckCommand::Words(Vec::new()), ..named("a") }],
        vec![CheckRequest::line("x".repeat(17 << 10))],
        vec![CheckRequest::line("a\0b")],
        vec![CheckRequest { timeout_sec: Some(0.0), ..named("a") }],
        vec![CheckRequest { timeout_sec: Some(1e6), ..named("a") }],
        vec![named("a"), named("a")],
        vec![named("two\nlines")],
        vec![named("a"); 33],
    ];
    for checks in wrong {
        let refused = runtime.submit(checked(&lab, &checks)).expect_err("refused");
        assert!(refused.to_string().starts_with("options: checks"), "{refused}");
    }
    let conversation = NewRun { mode: Some(ExecutionMode::Conversation), ..checked(&lab, &lines(&["true"])) };
    let refused = runtime.submit(conversation).expect_err("refused");
    assert!(refused.to_string().contains("a conversation is closed, and does not succeed"), "{refused}");
    assert!(lab.run_folders().is_empty());
}

/// Every reader of a run has its checks: diagnosis, bundle, verification and retention.
#[test]
fn evidence_of_checks_is_verified_exported_and_removed() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(checked(&lab, &lines(&["true", "echo why; exit 3"]))).expect("accepted");
    lab.finish(&runtime, run);
    let (id, data) = (run.to_string(), lab.data());
    let skillrun = |words: &[&str]| {
        let mut command = std::process::Command::new(lab::skillrun());
        command.env("HOME", lab.path("home")).arg("--data").arg(data.root()).args(words);
        command.output().expect("skillrun runs")
    };
    let text = |words: &[&str]| String::from_utf8_lossy(&skillrun(words).stdout).into_owned();
    let told = text(&["diagnose", &id]);
    assert!(told.contains("the check \"check 2\" exited with code 3: why") && told.contains("CHECK_FAILED"), "{told}");
    let shown = text(&["show", &id]);
    assert!(shown.contains("check 2"), "{shown}");
    let logged = text(&["logs", &id]);
    assert!(logged.contains("running check 2 of 2") && logged.contains("check check 2 failed"), "{logged}");
    let zip = lab.path("run.zip");
    let exported = skillrun(&["export", &id, "--full", "--out", zip.to_str().expect("a path")]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let names = std::fs::read(&zip).expect("a bundle");
    let has = |name: &[u8]| names.windows(name.len()).any(|part| part == name);
    assert!(has(b".audit/checks/2/stdout.1.log") && has(b".audit/checks/1/host.1.json"));
    assert!(text(&["verify", &id]).contains("evidence of checks"));
    assert!(skillrun(&["verify", &id]).status.success());
    let log = data.run(run).check(2).join("stdout.1.log");
    std::fs::write(&log, "another\n").expect("written");
    let broken = skillrun(&["verify", &id]);
    assert!(
        !broken.status.success() && String::from_utf8_lossy(&broken.stdout).contains(".audit/checks/2: stdout.1.log")
    );
    std::fs::write(lab.path("settings.toml"), "[retention]\nevidence_days = 0.000001\n").expect("written");
    let settings = lab.path("settings.toml");
    let removed = skillrun(&["--config", settings.to_str().expect("a path"), "gc"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert!(!log.exists(), "retention removes it with the other evidence");
}
