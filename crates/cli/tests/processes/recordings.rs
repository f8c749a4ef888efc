//! What `normalize` says about recorded attempts: of the project's own corpus, and of real engines where their
//! recordings lie beside the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use skillrun_model::verdict::Rule;
use skillrun_model::{Code, ProfileId};
use testkit::recorded::{self, Case};
use testkit::{parallel, paths};

const SKILLRUN: &str = env!("CARGO_BIN_EXE_skillrun");

/// Reads each case and gives back its summaries; fails with all that differs from what is expected.
fn judge(cases: &[Case]) -> Vec<BTreeMap<u64, Value>> {
    let read = parallel::each(cases, |case| {
        let found = match recorded::summaries(&recorded::normalize(SKILLRUN, &case.folder, case.args())) {
            Ok(found) => found,
            Err(problem) => return (BTreeMap::new(), vec![format!("{}: {problem}", case.name)]),
        };
        let differences = case.attempts.iter().flat_map(|(number, expected)| {
            let differences = match found.get(number) {
                Some(found) => recorded::differences(expected, found),
                None => vec!["was not read".to_owned()],
            };
            differences.into_iter().map(move |text| format!("{}#{number}: {text}", case.name))
        });
        let differences = differences.collect();
        (found, differences)
    });
    let (found, differences): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    found
}

/// Folder of the real recordings; says so where there is none.
fn real_recordings() -> Option<PathBuf> {
    let dir = paths::recordings();
    if dir.is_none() {
        eprintln!("skipped: there are no recordings of real engines beside the repository");
    }
    dir
}

#[test]
fn the_corpus_is_judged_as_expected() {
    let cases = recorded::cases(&paths::corpus());
    judge(&cases);
}

#[test]
fn every_attempt_of_the_corpus_has_an_expectation() {
    let cases = recorded::cases(&paths::corpus());
    let expected: BTreeSet<String> = cases
        .iter()
        .flat_map(|case| case.attempts.keys().map(|number| format!("{}#{number}", case.folder.display())))
        .collect();
    for entry in fs::read_dir(paths::corpus()).expect("corpus").map(|entry| entry.expect("entry").path()) {
        let Ok(files) = fs::read_dir(entry.join(".audit")) else {
            assert!(entry.is_file(), "{}: no .audit", entry.display());
            continue;
        };
        for file in files.map(|file| file.expect("file").file_name()) {
            let name = file.to_string_lossy().into_owned();
            let number = name.split('.').nth(1).expect("a number");
            let attempt = format!("{}#{number}", entry.display());
            assert!(expected.contains(&attempt), "nothing is expected of {attempt} ({name})");
        }
    }
}

/// Modes in which a row of the settle table can be met.
fn modes_of(rule: Rule) -> &'static [&'static str] {
    match rule {
        Rule::Canceled
        | Rule::Limit
        | Rule::Failure
        | Rule::MarkerOutputInvalid
        | Rule::TimedOut
        | Rule::HostEnded
        | Rule::NotStarted
        | Rule::BadExit
        | Rule::EndMissing
        | Rule::ExitUnknown => &["auto", "interactive"],
        Rule::Interrupted => &["interactive"],
        Rule::MarkerAuto | Rule::AnswerMissing | Rule::AgentNotDone | Rule::AutoValid | Rule::AutoInvalid => &["auto"],
        Rule::MarkerInteractive | Rule::SoftCompletion | Rule::MaxAttempt | Rule::SessionMissing | Rule::Waiting => {
            &["interactive"]
        }
    }
}

/// Codes that take more bytes than a corpus should have; the crates that utter them test them.
const LARGE: &[Code] = &[Code::LineTooLong, Code::OutputTooLarge, Code::ToolCallsCut];

/// Codes that only a view utters.
const OF_VIEWS: &[Code] = &[Code::RawDuplicateSuppressed];

/// Codes of a host process, which the tests of `capture`, `boxed` and `limits` show.
const OF_HOSTS: &[Code] = &[
    Code::PipeSmall,
    Code::SecretShort,
    Code::SecretInFileName,
    Code::ConnectionRefused,
    Code::MemoryLimit,
    Code::ProcessLimit,
    Code::CpuLimit,
    Code::DiskLimit,
    Code::SnapshotFailed,
    Code::SnapshotLimited,
    Code::SurvivorsEnded,
    Code::SurvivorsLeft,
];

/// Codes of a run and what is around it: its questions, its skill, its disk, its login. A recording has none of these.
const OF_RUNS: &[Code] = &[
    // A conversation is closed between two turns; no attempt ends with it.
    Code::Closed,
    Code::SessionLost,
    Code::InteractionWaitTimeout,
    Code::InteractionAbortedByPolicy,
    Code::AutoDecisionLimit,
    Code::SkillUnreadable,
    Code::WorkspaceFailed,
    Code::ParserChanged,
    Code::EventsNotLogged,
    Code::LoginNotKept,
    Code::LoginCopiedBack,
    Code::LoginOtherAccount,
    Code::InputChanged,
    Code::LogLost,
    // A recording has no children.
    Code::ChildNotMade,
    Code::ParentEnded,
    // Commands that skillrun runs after the turn.
    Code::CheckFailed,
    // A workflow has no engine of its own.
    Code::WorkflowCompleted,
    Code::WorkflowPartial,
    Code::WorkflowFailed,
    Code::WorkflowTimedOut,
    Code::WorkflowHeld,
    Code::StepNotReady,
    Code::StepNotNeeded,
    Code::StepInputInvalid,
    Code::StepOutputInvalid,
    Code::OutputPartial,
    Code::StepRejected,
    // No recording has MCP servers; `traps/servers.rs` shows what the engines report about them.
    Code::McpServerFailed,
    // What is found in a workspace when a run is accepted.
    Code::WorkspaceSettingsIgnored,
    Code::WorkspaceSettingsNotStopped,
    Code::WorkspaceCredentials,
];

/// Codes of a workspace; a recording has none.
const OF_WORKSPACES: &[Code] = &[Code::ArtifactsCut, Code::ArtifactMissing, Code::ArtifactHardLink];

#[test]
fn the_corpus_has_every_rule_profile_and_code() {
    let cases = recorded::cases(&paths::corpus());
    let found = judge(&cases);
    let (mut rules, mut profiles, mut codes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (case, summaries) in cases.iter().zip(&found) {
        for (number, summary) in summaries {
            rules.insert((word(&summary["rule"]), case.mode(*number)));
            profiles.insert(word(&summary["profile"]));
            codes.extend([word(&summary["completion"]["reason_code"]), word(&summary["error"]["code"])]);
            codes.extend(summary["warnings"].as_array().into_iter().flatten().map(word));
            codes.extend(summary["diagnostics"].as_array().into_iter().flatten().map(|d| word(&d["code"])));
        }
    }
    let mut missing = Vec::new();
    for rule in Rule::ALL {
        let modes = modes_of(*rule).iter().filter(|mode| !rules.contains(&(rule.to_string(), (**mode).to_owned())));
        missing.extend(modes.map(|mode| format!("rule {rule} in mode {mode}")));
    }
    missing.extend(ProfileId::ALL.iter().map(ToString::to_string).filter(|profile| !profiles.contains(profile)));
    let elsewhere = [LARGE, OF_VIEWS, OF_HOSTS, OF_RUNS, OF_WORKSPACES];
    let small = Code::ALL.iter().filter(|code| !elsewhere.iter().any(|list| list.contains(code)));
    missing.extend(small.map(ToString::to_string).filter(|code| !codes.contains(code)));
    assert!(missing.is_empty(), "the corpus does not show: {}", missing.join(", "));
}

#[test]
fn real_recordings_are_judged_as_expected() {
    let Some(dir) = real_recordings() else { return };
    let mut cases = recorded::cases(&dir);
    assert!(cases.len() > 100, "only {} folders", cases.len());
    // What is expected there was written before an output that is missing had an error of its own.
    for expected in cases.iter_mut().flat_map(|case| case.attempts.values_mut()) {
        if expected["reason_code"] == Code::OutputMissing.as_str() && expected["error"].is_string() {
            expected["error"] = Code::OutputMissing.as_str().into();
        }
    }
    judge(&cases);
}

/// What a verdict says, without what differs from run to run.
fn verdict(summary: &Value) -> Vec<&Value> {
    let top = ["rule", "turn_state", "completion", "run_status", "warnings", "output", "prompt", "marker"];
    top.iter().map(|name| &summary[*name]).chain([&summary["error"]["code"]]).collect()
}

/// A terminal shows the same bytes with other line ends and stderr between the lines, and ids differ from run to run;
/// the verdict does not. No scenario is an exception.
#[test]
fn on_a_terminal_the_verdict_is_the_same() {
    let Some(dir) = real_recordings() else { return };
    let entries = fs::read_dir(&dir).expect("recordings").map(|entry| entry.expect("entry").path());
    let terminals: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "tty")).collect();
    assert!(terminals.len() > 30, "only {} terminal recordings", terminals.len());
    let differences = parallel::each(&terminals, |terminal| {
        let read = |folder| {
            let args = ["--schema".into(), paths::output_schema().into_os_string()];
            recorded::summaries(&recorded::normalize(SKILLRUN, folder, args)).expect("a summary")
        };
        let (on_terminal, piped) = (read(terminal), read(&terminal.with_extension("")));
        let name = terminal.display();
        let mut differences = Vec::new();
        for (number, summary) in &on_terminal {
            differences.extend(recorded::uncovered(summary).into_iter().map(|text| format!("{name}#{number}: {text}")));
            if verdict(summary) != verdict(&piped[number]) {
                let (here, there) = (verdict(summary), verdict(&piped[number]));
                differences.push(format!("{name}#{number}: {here:?}, through pipes {there:?}"));
            }
        }
        if on_terminal.len() != piped.len() {
            differences.push(format!("{name}: {} attempts, not {}", on_terminal.len(), piped.len()));
        }
        differences
    });
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Streams that others published. They spell the marker in lowercase, which counts for nothing.
#[test]
fn published_samples_are_read_whole() {
    let Some(dir) = real_recordings().map(|dir| dir.join("public-samples")).filter(|dir| dir.is_dir()) else { return };
    for case in recorded::cases(&dir) {
        let wanted = case.attempts.values().next().expect("an attempt")["profile"].as_str().expect("a profile");
        let profile: ProfileId = wanted.parse().expect("a profile");
        let args = ["--engine", profile.engine().expect("an engine"), "--exit-code", "0"];
        let found = recorded::summaries(&recorded::normalize(SKILLRUN, &case.folder, args)).expect("a summary");
        for (number, expected) in &case.attempts {
            let differences = recorded::differences(expected, &found[number]);
            assert!(differences.is_empty(), "{}#{number}: {}", case.name, differences.join("\n"));
            assert_eq!(found[number]["marker"]["found"], false, "{}#{number}", case.name);
            assert_ne!(found[number]["messages"], Value::Array(Vec::new()), "{}#{number}", case.name);
        }
    }
}
