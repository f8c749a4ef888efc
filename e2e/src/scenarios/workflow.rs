//! A workflow with three steps on three engines. The check of the second step fails, because a file is absent. When the
//! file is there, the retry that the result advises takes the first step over and runs the others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use skillrun_model::Code;
use skillrun_model::codes::NextActionKind;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::workflow::{StepEnded, StepStanding, StepSummary, StepView, WorkflowOutcome, WorkflowView};
use skillrun_model::{RunId, RunStatus};

use super::talk::{last_request, requests};
use crate::bounded::Finished;
use crate::engines::Engine;
use crate::lab::Lab;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::{Over, Trial};

const STEPS: [&str; 3] = ["choose", "make", "report"];

/// How the prompt of each step begins. No other prompt contains these words.
const TASKS: [&str; 3] = ["Choose a word for the others.", "Make a file with the word.", "Report what was made."];

/// The value that the first step passes on.
const WORD: &str = "amber";

/// The file of the second step.
const MADE: &str = "artifacts/made.txt";

/// The answers of the second and the third step; no order contains either.
const MADE_ANSWER: &str = "The command is over.";
const REPORT_ANSWER: &str = "The word is coral.";

/// Exit codes of skillrun for a workflow.
const COMPLETED: i32 = 0;
const PARTIAL: i32 = 5;

/// The exit code of the check while its file is absent.
const CHECK_EXIT: i32 = 1;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let missing = || Miss::new("no engines", format!("two more engines beside {} are needed", trial.engine.name));
    let others = other_engines(trial.lab, trial.engine).ok_or_else(missing)?;
    let engines = [trial.engine, &others[0], &others[1]];
    let approval = trial.place.root().join("approved");
    let file = write_file(trial, engines, &approval)?;
    consent_to_checks(trial, &file)?;

    let words = ["workflow", "run", &file.display().to_string(), "--env", processes::TAG];
    let stopped = FinishedWorkflow::play(trial, engines, &words, "run", PARTIAL)?;
    must_have_stopped(trial, &stopped, engines)?;

    fs::write(&approval, "")?;
    let words = stopped.advised_retry()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = trial.lab.model.requests().last().map_or(0, |seen| seen.number);
    let completed = FinishedWorkflow::play(trial, engines, &words, "retry", COMPLETED)?;
    must_have_taken_over(trial, &completed, &stopped)?;
    must_have_passed_values_on(trial, number)?;

    let again = FinishedWorkflow::inspect(trial, engines, stopped.view.run_id, "again", PARTIAL)?;
    must(again.view == stopped.view, "old run", || "the retry has changed the earlier workflow".to_owned())
}

/// The engines of the second and the third step: the next ones of the table that are installed.
pub(crate) fn other_engines(lab: &Lab, first: &Engine) -> Option<[Engine; 2]> {
    let mut installed = first.others().filter_map(|name| lab.engine(name));
    Some([installed.next()?, installed.next()?])
}

fn write_file(trial: &Trial<'_>, engines: [&Engine; 3], approval: &Path) -> Result<PathBuf, Miss> {
    let step = |number: usize, order: &str| {
        let mut step = json!({
            "id": STEPS[number],
            "prompt": format!("{} [[{order}]]", TASKS[number]),
            "engine": engines[number].name,
        });
        if let Some(model) = &engines[number].model {
            step["model"] = json!(model);
        }
        step
    };
    let from = |step: usize, rest: &str| json!({"from": format!("/steps/{}/{rest}", STEPS[step])});

    let mut choose = step(0, &format!("say {}", json!({"word": WORD})));
    let word = json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    choose["output"] = json!({"schema": word});

    let mut make = step(1, &format!("run mkdir -p artifacts && printf made > {MADE}"));
    make["with"] = json!({"word": from(0, "output/word")});
    make["output"] = json!({"artifacts": [MADE]});
    make["check"] = json!([format!("test -s {MADE}"), format!("test -e '{}'", approval.display())]);

    let mut report = step(2, "say coral");
    report["with"] = json!({"word": from(0, "output/word"), "made": from(1, "text")});

    let outputs = json!({"word": from(0, "output/word"), "made": from(1, "text"), "report": from(2, "text")});
    let file = trial.place.root().join("three-engines.json");
    fs::write(&file, json!({"steps": [choose, make, report], "outputs": outputs}).to_string())?;
    Ok(file)
}

/// The checks of a file are commands, and need the consent that `validate` names.
fn consent_to_checks(trial: &Trial<'_>, file: &Path) -> Result<(), Miss> {
    let words = ["workflow", "validate", &file.display().to_string(), "--json"];
    let validated: Value = json_of(&trial.finish(trial.command(&words), "validate")?, "workflow validate")?;
    let missing = || Miss::new("no consent", "skillrun workflow validate names no consent for the checks".to_owned());
    let name = validated["consent"].as_str().ok_or_else(missing)?;
    let given = trial.finish(trial.command(&["consent", name, "--yes"]), "consent")?;
    must(given.code == Some(0), "no consent", || format!("skillrun consent exits with {:?}", given.code))
}

/// A workflow that is over, of which all commands report the same.
struct FinishedWorkflow {
    view: WorkflowView,
    over: Over,
    /// The runs of the steps that this workflow has run itself.
    children: Vec<Over>,
    /// The ends of its steps, as its Log has them.
    ends: Vec<(u64, StepEnded)>,
}

impl FinishedWorkflow {
    /// Runs a command that runs a workflow to its end.
    fn play(trial: &Trial<'_>, engines: [&Engine; 3], words: &[&str], name: &str, code: i32) -> Result<Self, Miss> {
        let command = trial.command_with_all(&engines, &[words, &["--json"]].concat());
        let finished = trial.finish(command, name)?;
        must(finished.code == Some(code), "exit code", || {
            let last = finished.stderr.trim().lines().next_back().unwrap_or_default();
            format!("skillrun workflow {name} exits with {:?} instead of {code}: {last}", finished.code)
        })?;
        let printed: Value = json_of(&finished, name)?;
        let run = printed["run_id"].as_str().and_then(|run| run.parse().ok());
        let run = run.ok_or_else(|| Miss::new("no id", format!("skillrun workflow {name} prints no run id")))?;
        Self::inspect(trial, engines, run, name, code)
    }

    /// Compares what all commands report of it. The files with their output begin with `name`.
    fn inspect(trial: &Trial<'_>, engines: [&Engine; 3], run: RunId, name: &str, code: i32) -> Result<Self, Miss> {
        let over = trial.workflow_over(run)?;
        let id = run.to_string();
        let ask = |words: &[&str]| {
            let name = format!("{name}-{}", words.join("-"));
            trial.finish(trial.command(&[words, &[&id, "--json"]].concat()), &name)
        };
        let view: WorkflowView = json_of(&ask(&["workflow", "show"])?, "workflow show")?;
        let result: Value = json_of(&ask(&["result"])?, "result")?;
        let shown: Value = json_of(&ask(&["show"])?, "show")?;
        let diagnosis: Value = json_of(&ask(&["diagnose"])?, "diagnose")?;
        let waited = ask(&["wait"])?;
        must(waited.code == Some(code), "exit code", || format!("skillrun wait exits with {:?}", waited.code))?;
        must_agree(&view, &over.json, [("result", &result), ("show", &shown["result"])])?;
        must_agree_with_diagnosis(&view, &result, &diagnosis)?;

        let mut children = Vec::new();
        for (step, engine) in view.steps.iter().zip(engines) {
            let is_named = step.engine.as_deref() == Some(&engine.name);
            must(is_named, "engine", || format!("{} names the engine {:?}", step.step_id, step.engine))?;
            // A step that was taken over has no run of its own here.
            if let Some(child) = step.child_run_id.filter(|_| step.reused_from.is_none()) {
                children.push(trial.over_with(engine, child)?);
            }
        }
        let tree: Value = json_of(&ask(&["tree"])?, "tree")?;
        let listed: BTreeSet<&str> =
            tree["runs"].as_array().into_iter().flatten().filter_map(|run| run["run_id"].as_str()).collect();
        let known: Vec<String> = children.iter().map(|child| child.run.to_string()).chain([id.clone()]).collect();
        let is_whole = listed == known.iter().map(String::as_str).collect();
        must(is_whole, "tree", || format!("the tree has {listed:?}, the steps name {known:?}"))?;
        let ends = step_ends(&over);
        must_follow_from_children(&ends, &children)?;
        Ok(Self { view, over, children, ends })
    }

    fn step(&self, number: usize) -> Result<&StepView, Miss> {
        let missing = || Miss::new("no step", format!("the workflow shows no step {}", STEPS[number]));
        self.view.steps.get(number).filter(|step| step.step_id.0 == STEPS[number]).ok_or_else(missing)
    }

    fn must_be(&self, outcome: WorkflowOutcome, standings: [StepStanding; 3]) -> Result<(), Miss> {
        let found: Vec<_> = self.view.steps.iter().map(|step| step.standing).collect();
        let is_so = self.view.outcome == Some(outcome) && found == standings;
        must(is_so, "outcome", || format!("the workflow is {:?} with the steps {found:?}", self.view.outcome))?;
        self.over.must_be(outcome.run_status())
    }

    /// The words of the retry that the result advises, without the name of the program.
    fn advised_retry(&self) -> Result<Vec<String>, Miss> {
        let retry = self.view.next_actions.iter().find(|next| next.action == NextActionKind::RetryFailedSteps);
        let words: Vec<String> =
            retry.map(|next| next.command.split(' ').skip(1).map(str::to_owned).collect()).unwrap_or_default();
        let expected = ["workflow", "retry", &self.view.run_id.to_string(), "--from-failed"];
        must(words == expected, "no advice", || format!("the advice is {:?}", self.view.next_actions))?;
        Ok(words)
    }
}

/// The JSON that a command has printed.
fn json_of<T: for<'a> Deserialize<'a>>(finished: &Finished, name: &str) -> Result<T, Miss> {
    serde_json::from_str(&finished.stdout)
        .map_err(|error| Miss::new("no JSON", format!("skillrun {name}: {error}: {}", finished.stderr.trim())))
}

/// `workflow show` and every other place that has the result of a workflow report the same.
fn must_agree(view: &WorkflowView, file: &Value, others: [(&str, &Value); 2]) -> Result<(), Miss> {
    for (name, result) in others {
        for field in ["run_id", "status", "output", "error", "workflow", "next_actions"] {
            must(result[field] == file[field], "results differ", || {
                format!("{field} is {} according to skillrun {name}, and {} in result.json", result[field], file[field])
            })?;
        }
    }
    let shown = json!({
        "run_id": view.run_id,
        "status": view.status,
        "outcome": view.outcome,
        "ok": view.ok,
        "next_actions": view.next_actions,
    });
    let ended = &file["workflow"];
    let expected = json!({
        "run_id": file["run_id"],
        "status": file["status"],
        "outcome": ended["outcome"],
        "ok": ended["ok"],
        "next_actions": file["next_actions"],
    });
    must(shown == expected, "view differs", || format!("workflow show reports {shown}, result.json {expected}"))?;
    let bad = |error: serde_json::Error| Miss::new("bad result", format!("the steps in result.json: {error}"));
    let steps = Vec::<StepSummary>::deserialize(&ended["steps"]).map_err(bad)?;
    let in_result: Vec<_> = steps
        .iter()
        .map(|step| (&step.step_id, StepStanding::from(step.state), Some(step.reason), step.child_run_id))
        .collect();
    let in_view: Vec<_> =
        view.steps.iter().map(|step| (&step.step_id, step.standing, step.reason, step.child_run_id)).collect();
    must(in_result == in_view, "steps differ", || {
        format!("workflow show reports the steps {in_view:?}, result.json {in_result:?}")
    })
}

fn must_agree_with_diagnosis(view: &WorkflowView, result: &Value, diagnosis: &Value) -> Result<(), Miss> {
    for field in ["run_id", "status", "error", "next_actions"] {
        must(diagnosis[field] == result[field], "diagnosis differs", || {
            format!("{field} is {} according to diagnose, and {} in the result", diagnosis[field], result[field])
        })?;
    }
    let reason = &diagnosis["decided"]["reason_code"];
    let expected = view.outcome.map(WorkflowOutcome::reason);
    must(*reason == json!(expected), "diagnosis differs", || {
        format!("diagnose gives the reason {reason} instead of {expected:?}")
    })
}

fn step_ends(over: &Over) -> Vec<(u64, StepEnded)> {
    let mut ends = Vec::new();
    for event in &over.log {
        if let Data::Control(ControlData::StepEnded(end)) = &event.data {
            ends.push((event.seq, end.as_ref().clone()));
        }
    }
    ends
}

/// Each end of a step names the last event of the run that decided it.
fn must_follow_from_children(ends: &[(u64, StepEnded)], children: &[Over]) -> Result<(), Miss> {
    for child in children {
        let last = child.log.last().map(|event| event.seq);
        let named: Vec<_> = ends.iter().filter(|(_, end)| end.child_run_id == Some(child.run)).collect();
        let is_so = matches!(named[..], [(_, end)] if end.child_seq == last);
        must(is_so, "end differs", || format!("run {} ends with {last:?}, the workflow has {named:?}", child.run))?;
    }
    Ok(())
}

/// The second step failed by its second check alone, and the third one did not begin.
fn must_have_stopped(trial: &Trial<'_>, workflow: &FinishedWorkflow, engines: [&Engine; 3]) -> Result<(), Miss> {
    workflow.must_be(WorkflowOutcome::Partial, [StepStanding::Ready, StepStanding::Failed, StepStanding::Skipped])?;
    let reason = workflow.step(1)?.reason;
    must(reason == Some(Code::CheckFailed), "reason", || format!("the step failed with {reason:?}"))?;
    let output = &workflow.over.json["output"];
    must(*output == json!({"word": WORD}), "output", || format!("the output of the partial workflow is {output}"))?;
    let [_, failed] = &workflow.children[..] else {
        return Err(Miss::new("children", format!("{} steps have a run instead of two", workflow.children.len())));
    };
    failed.must_be(RunStatus::Failed)?;
    let code = failed.result.error.as_ref().map(|error| error.code);
    must(code == Some(Code::CheckFailed), "child differs", || format!("the run of the step failed with {code:?}"))?;
    must(failed.commands() == 1, "no command", || format!("{} shows no command", engines[1].name))?;
    let checks = failed.json["checks"].as_array().cloned().unwrap_or_default();
    let checks: Vec<_> = checks.iter().map(|check| (check["status"].clone(), check["exit"]["code"].clone())).collect();
    let expected = [(json!("passed"), json!(0)), (json!("failed"), json!(CHECK_EXIT))];
    must(checks == expected, "checks", || format!("the checks are {checks:?}"))?;
    let diagnosis = trial.finish(trial.command(&["diagnose", &failed.run.to_string(), "--json"]), "diagnose-child")?;
    let diagnosis: Value = json_of(&diagnosis, "diagnose")?;
    let is_found = diagnosis["findings"].as_array().into_iter().flatten().any(|one| one["finding"] == "check_failed");
    let is_so = is_found && diagnosis["error"] == failed.json["error"];
    must(is_so, "diagnosis differs", || format!("diagnose has the error {} and no failed check", diagnosis["error"]))?;
    let is_asked = TASKS.map(|task| requests(trial, task).next().is_some());
    must(is_asked == [true, true, false], "asked", || format!("the model was asked for the steps: {is_asked:?}"))
}

/// The first step counts with the run that it had before; the others have new runs.
fn must_have_taken_over(trial: &Trial<'_>, workflow: &FinishedWorkflow, before: &FinishedWorkflow) -> Result<(), Miss> {
    workflow.must_be(WorkflowOutcome::Completed, [StepStanding::Ready; 3])?;
    let old = before.view.run_id;
    must(workflow.view.retry_of == Some(old), "retry of", || format!("retry_of is {:?}", workflow.view.retry_of))?;
    let reused: Vec<_> = workflow.view.steps.iter().map(|step| step.reused_from).collect();
    must(reused == [Some(old), None, None], "reused", || format!("the steps are taken over from {reused:?}"))?;
    let (new_run, old_run) = (workflow.step(0)?.child_run_id, before.step(0)?.child_run_id);
    must(new_run == old_run, "reused", || format!("the step was taken over with {new_run:?} instead of {old_run:?}"))?;
    must(workflow.children.len() == 2, "children", || format!("{} steps have a new run", workflow.children.len()))?;
    let is_new = workflow.children.iter().all(|child| before.children.iter().all(|other| other.run != child.run));
    must(is_new, "children", || "a step has a run of the earlier workflow".to_owned())?;
    // The Log names the event of the earlier Log that ended the step.
    let reuses: Vec<_> =
        workflow.ends.iter().filter_map(|(_, end)| Some((&end.step_id, end.reused.as_ref()?))).collect();
    let is_named = |seq: u64| before.ends.iter().any(|(at, end)| *at == seq && end.step_id.0 == STEPS[0]);
    let is_so =
        matches!(reuses[..], [(step, reused)] if step.0 == STEPS[0] && reused.run_id == old && is_named(reused.seq));
    must(is_so, "reused", || format!("the Log names the steps {reuses:?}"))?;
    let expected = json!({"word": WORD, "made": MADE_ANSWER, "report": REPORT_ANSWER});
    let output = &workflow.over.json["output"];
    must(*output == expected, "output", || format!("the output is {output}"))?;
    let made = fs::read_to_string(trial.place.file(workflow.children[0].run, "workspace").join(MADE));
    must(made.is_ok_and(|text| text == "made"), "no file", || format!("{MADE} is not as the step left it"))
}

/// Since the request of this number, the second and the third engine sent their models what the steps before them had
/// left, and the first engine sent nothing.
fn must_have_passed_values_on(trial: &Trial<'_>, number: u64) -> Result<(), Miss> {
    let is_asked = TASKS.map(|task| requests(trial, task).any(|(later, _)| later > number));
    must(is_asked == [false, true, true], "asked", || format!("the retry asked for the steps: {is_asked:?}"))?;
    for (task, values) in [(TASKS[1], &[WORD][..]), (TASKS[2], &[WORD, MADE_ANSWER])] {
        let last = last_request(trial, task)?;
        for value in values {
            must(last.contains(value), "value missing", || {
                format!("the request with \"{task}\" does not have \"{value}\"")
            })?;
        }
    }
    Ok(())
}
