//! All trials together: one row per case and engine, what engines disagree about, and what is not the same every time.
//!
//! The report is data; [docs/testing-skills.md] describes it as JSON.
//!
//! [docs/testing-skills.md]: ../../../docs/testing-skills.md

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use skillrun_model::{Code, RunId, RunStatus, word_enum};

use crate::judge::Validity;
use crate::trials::{Trial, TrialEnd, TrialPlan, Verdict};

/// What came of everything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialReport {
    pub skill: String,
    /// None: the skill has none, and was tried without input.
    pub cases_file: Option<String>,
    pub verdict: Overall,
    pub engines: Vec<EngineTried>,
    /// How often each case was run on each engine.
    pub times: u32,
    pub rows: Vec<Row>,
    /// Cases with different outcomes on different engines.
    pub disagreements: Vec<Disagreement>,
    /// Cases that passed on an engine at one time and not at another.
    pub flaky: Vec<Flaky>,
    /// Where the runs are, if they were kept.
    pub folder: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// All is as expected.
    Passed,
    Failed,
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineTried {
    pub name: String,
    /// As its runs say.
    pub version: Option<String>,
    /// Why it was left out.
    pub skipped: Option<String>,
}

/// One case on one engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub case: String,
    pub engine: String,
    pub verdict: RowVerdict,
    /// How many of the runs passed.
    pub passed: usize,
    /// The worst of all runs.
    pub output: Option<Validity>,
    /// Expectations of all runs, and how many of them were met.
    pub checks: usize,
    pub met: usize,
    /// The median of all runs.
    pub duration_ms: Option<u64>,
    /// The same, input and output together; none if the engine reports no tokens.
    pub tokens: Option<u64>,
    pub attempts: Option<u64>,
    pub runs: Vec<OneRun>,
}

word_enum! {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub RowVerdict {
        Passed = "passed",
        Failed = "failed",
        /// It passed at one time and not at another.
        Flaky = "flaky",
        /// It could not be run.
        Error = "error",
        Interrupted = "interrupted",
    }
}

/// One run of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneRun {
    pub verdict: Verdict,
    /// None when it was not accepted.
    pub run_id: Option<RunId>,
    pub status: Option<RunStatus>,
    pub error: Option<Code>,
    pub output: Option<Validity>,
    /// What is not as expected, in words.
    pub problems: Vec<String>,
    pub duration_ms: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub attempts: Option<u32>,
    #[serde(skip)]
    checks: usize,
    #[serde(skip)]
    met: usize,
}

/// The outcome of a case on each engine, where the outcomes differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    pub case: String,
    /// By engine.
    pub told: BTreeMap<String, RowSummary>,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowSummary {
    pub verdict: RowVerdict,
    /// Of the first run that did not pass, else of the first.
    pub status: Option<RunStatus>,
    pub output: Option<Validity>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaky {
    pub case: String,
    pub engine: String,
    pub passed: usize,
    pub of: usize,
}

/// What is known beside the trials.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub cases_file: Option<String>,
    /// By name.
    pub versions: BTreeMap<String, String>,
    /// Engines that were left out, and why.
    pub skipped: Vec<(String, String)>,
}

impl TrialReport {
    pub fn of(plan: TrialPlan<'_>, about: About, trials: &[Trial]) -> Self {
        let pairs = (0..plan.cases.len()).flat_map(|case| (0..plan.engines.len()).map(move |engine| (case, engine)));
        let rows: Vec<Row> = pairs.map(|(case, engine)| row(plan, case, engine, trials)).collect();
        let tried = plan.engines.iter().map(|engine| EngineTried {
            name: engine.name.clone(),
            version: about.versions.get(&engine.name).cloned(),
            skipped: None,
        });
        let skipped =
            about.skipped.into_iter().map(|(name, why)| EngineTried { name, version: None, skipped: Some(why) });
        let flaky = rows.iter().filter(|row| row.verdict == RowVerdict::Flaky).map(|row| Flaky {
            case: row.case.clone(),
            engine: row.engine.clone(),
            passed: row.passed,
            of: row.runs.len(),
        });
        Self {
            skill: plan.skill.name.clone(),
            cases_file: about.cases_file,
            verdict: overall(&rows),
            engines: tried.chain(skipped).collect(),
            times: plan.times,
            disagreements: disagreements(plan, &rows),
            flaky: flaky.collect(),
            rows,
            folder: None,
        }
    }
}

fn overall(rows: &[Row]) -> Overall {
    let any = |verdict: RowVerdict| rows.iter().any(|row| row.verdict == verdict);
    if any(RowVerdict::Interrupted) {
        Overall::Interrupted
    } else if rows.iter().all(|row| row.verdict == RowVerdict::Passed) {
        Overall::Passed
    } else {
        Overall::Failed
    }
}

fn row(plan: TrialPlan<'_>, case: usize, engine: usize, trials: &[Trial]) -> Row {
    let of_row = trials.iter().filter(|trial| (trial.case, trial.engine) == (case, engine));
    let runs: Vec<OneRun> = of_row.map(OneRun::of).collect();
    let name = |names: Option<&String>| names.cloned().unwrap_or_default();
    let figures = |figure: fn(&OneRun) -> Option<u64>| median(runs.iter().filter_map(figure).collect());
    Row {
        case: name(plan.cases.get(case).map(|case| &case.name)),
        engine: name(plan.engines.get(engine).map(|engine| &engine.name)),
        verdict: row_verdict(&runs),
        passed: runs.iter().filter(|run| run.verdict == Verdict::Passed).count(),
        output: runs.iter().filter_map(|run| run.output).max(),
        checks: runs.iter().map(|run| run.checks).sum(),
        met: runs.iter().map(|run| run.met).sum(),
        duration_ms: figures(|run| run.duration_ms),
        tokens: figures(OneRun::tokens),
        attempts: figures(|run| run.attempts.map(u64::from)),
        runs,
    }
}

fn row_verdict(runs: &[OneRun]) -> RowVerdict {
    let count = |verdict: Verdict| runs.iter().filter(|run| run.verdict == verdict).count();
    if count(Verdict::Interrupted) > 0 {
        RowVerdict::Interrupted
    } else if count(Verdict::Passed) == runs.len() {
        RowVerdict::Passed
    } else if count(Verdict::Passed) > 0 {
        RowVerdict::Flaky
    } else if count(Verdict::Failed) > 0 {
        RowVerdict::Failed
    } else {
        RowVerdict::Error
    }
}

fn disagreements(plan: TrialPlan<'_>, rows: &[Row]) -> Vec<Disagreement> {
    let of_case = |case: &crate::cases::Case| {
        let told = |row: &Row| RowSummary {
            verdict: row.verdict,
            status: telling(&row.runs).and_then(|run| run.status),
            output: row.output,
        };
        // An interrupted row says nothing about its engine.
        let tell = |row: &&Row| row.case == case.name && row.verdict != RowVerdict::Interrupted;
        let told: BTreeMap<String, RowSummary> =
            rows.iter().filter(tell).map(|row| (row.engine.clone(), told(row))).collect();
        let mut all = told.values();
        let first = all.next()?;
        all.any(|other| other != first).then(|| Disagreement { case: case.name.clone(), told: told.clone() })
    };
    plan.cases.iter().filter_map(of_case).collect()
}

/// The most informative run.
fn telling(runs: &[OneRun]) -> Option<&OneRun> {
    runs.iter().find(|run| run.verdict != Verdict::Passed).or_else(|| runs.first())
}

/// The one in the middle; of two, the lower.
fn median(mut figures: Vec<u64>) -> Option<u64> {
    figures.sort_unstable();
    figures.get(figures.len().checked_sub(1)? / 2).copied()
}

impl OneRun {
    fn of(trial: &Trial) -> Self {
        let mut one = Self {
            verdict: trial.verdict(),
            run_id: None,
            status: None,
            error: None,
            output: None,
            problems: trial.problems(),
            duration_ms: None,
            input_tokens: None,
            output_tokens: None,
            attempts: None,
            checks: 0,
            met: 0,
        };
        let TrialEnd::Ended { ended, checks, validity, hindrance: _ } = &trial.came else { return one };
        one.run_id = Some(ended.run);
        one.status = Some(ended.status);
        one.output = Some(*validity);
        one.checks = checks.len();
        one.met = checks.iter().filter(|check| check.problem.is_none()).count();
        if let Some(result) = &ended.result {
            one.error = result.error.as_ref().map(|error| error.code);
            one.duration_ms = Some(result.timing.elapsed_ms);
            one.input_tokens = result.usage.as_ref().and_then(|usage| usage.input_tokens);
            one.output_tokens = result.usage.as_ref().and_then(|usage| usage.output_tokens);
            one.attempts = Some(result.attempts);
        }
        one
    }

    fn tokens(&self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}
