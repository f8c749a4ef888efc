//! The report for people: a table of 80 columns, then what is wrong, then what engines disagree about.

use skillrun_trial::report::{Disagreement, Overall, Row, RowSummary, RowVerdict, TrialReport};
use skillrun_trial::trials::Verdict;

use crate::output::{Ink, LastColumn, Output, cut, plain};
use crate::words::{counted, lasting};

/// Widest names, so that a row fits 80 columns.
const CASE_WIDTH: usize = 18;
const ENGINE_WIDTH: usize = 10;

/// Problems that are listed for one row.
const PROBLEMS_MAX: usize = 5;

pub(super) fn text(report: &TrialReport, output: &Output) -> String {
    let mut text = table(report, output);
    let failed = report.rows.iter().filter(|row| row.verdict != RowVerdict::Passed);
    let failed: String = failed.map(|row| problems(row, output)).collect();
    if !failed.is_empty() {
        text += &format!("\n{failed}");
    }
    text += &comparison(report, output);
    text += &summary(report, output);
    text
}

pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Error => "could not be run",
        Verdict::Interrupted => "interrupted",
    }
}

fn table(report: &TrialReport, output: &Output) -> String {
    let heading = ["case", "engine", "verdict", "output", "met", "time", "tokens", "att"];
    let mut rows = vec![heading.map(|word| (Ink::Bold, word.to_owned()))];
    rows.extend(report.rows.iter().map(|row| {
        [
            (Ink::Plain, cut(&plain(&row.case), CASE_WIDTH)),
            (Ink::Plain, cut(&row.engine, ENGINE_WIDTH)),
            verdict(row),
            (Ink::Plain, row.output.map_or("", |output| output.as_str()).to_owned()),
            (Ink::Plain, if row.checks == 0 { String::new() } else { format!("{}/{}", row.met, row.checks) }),
            (Ink::Plain, row.duration_ms.map(lasting).unwrap_or_default()),
            (Ink::Plain, row.tokens.map(thousands).unwrap_or_default()),
            (Ink::Plain, row.attempts.map(|attempts| attempts.to_string()).unwrap_or_default()),
        ]
    }));
    output.table(&rows, LastColumn::Cut)
}

fn verdict(row: &Row) -> (Ink, String) {
    let ink = match row.verdict {
        RowVerdict::Passed => Ink::Good,
        RowVerdict::Failed | RowVerdict::Error => Ink::Bad,
        RowVerdict::Flaky | RowVerdict::Interrupted => Ink::Warning,
    };
    let word = match (row.verdict, row.runs.len()) {
        (RowVerdict::Flaky, of) => format!("{} {}/{of}", row.verdict.as_str(), row.passed),
        (RowVerdict::Interrupted, _) => "stopped".to_owned(),
        (RowVerdict::Passed | RowVerdict::Failed | RowVerdict::Error, _) => row.verdict.as_str().to_owned(),
    };
    (ink, word)
}

/// Three digits are enough for a table.
fn thousands(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000.. => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

fn problems(row: &Row, output: &Output) -> String {
    let mut text = format!("{}\n", output.paint(Ink::Bold, &format!("{} on {}", plain(&row.case), row.engine)));
    let all = row.runs.iter().zip(1..).flat_map(|(run, time)| {
        let which = if row.runs.len() > 1 { format!("{time} of {}: ", row.runs.len()) } else { String::new() };
        run.problems.iter().map(move |problem| format!("{which}{}", plain(problem)))
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        text += "  interrupted\n";
    }
    for problem in all.iter().take(PROBLEMS_MAX) {
        text += &output.fit(&format!("  {problem}\n"));
    }
    if all.len() > PROBLEMS_MAX {
        text += &format!("  and {} more; --json lists all\n", all.len() - PROBLEMS_MAX);
    }
    text
}

fn comparison(report: &TrialReport, output: &Output) -> String {
    let mut text = String::new();
    if !report.disagreements.is_empty() {
        text += &format!("\n{}\n", output.paint(Ink::Bold, "Engines disagree"));
        text += &report.disagreements.iter().map(disagreement).collect::<String>();
    }
    if !report.flaky.is_empty() {
        text += &format!("\n{}\n", output.paint(Ink::Bold, "Flaky"));
        for flaky in &report.flaky {
            text += &format!("  {} on {}: passed {} of {}\n", plain(&flaky.case), flaky.engine, flaky.passed, flaky.of);
        }
    }
    text
}

fn disagreement(one: &Disagreement) -> String {
    let told = |(engine, told): (&String, &RowSummary)| {
        let status = told.status.map_or("not run", |status| status.as_str());
        let output = told.output.map_or(String::new(), |output| format!(", output {}", output.as_str()));
        format!("    {engine}: {} ({status}{output})\n", told.verdict.as_str())
    };
    format!("  {}\n{}", plain(&one.case), one.told.iter().map(told).collect::<String>())
}

fn summary(report: &TrialReport, output: &Output) -> String {
    let passed = report.rows.iter().filter(|row| row.verdict == RowVerdict::Passed).count();
    let (ink, word) = match report.verdict {
        Overall::Passed => (Ink::Good, "all tests passed"),
        Overall::Failed => (Ink::Bad, "not all tests passed"),
        Overall::Interrupted => (Ink::Warning, "interrupted"),
    };
    let tried = report.engines.iter().filter(|engine| engine.skipped.is_none()).count();
    let mut text = format!(
        "\n{}: {passed} of {} passed, on {}\n",
        output.paint(ink, word),
        counted(report.rows.len(), "row", "rows"),
        counted(tried, "engine", "engines"),
    );
    for engine in &report.engines {
        if let Some(why) = &engine.skipped {
            text += &format!("{} was skipped: {}\n", engine.name, plain(why));
        }
    }
    if let Some(folder) = &report.folder {
        text += &format!("the runs are kept: skillrun ls --data {}\n", plain(folder));
    }
    text
}
