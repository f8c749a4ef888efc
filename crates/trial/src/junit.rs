//! The report as JUnit XML, for the programs that show the outcome of tests.
//!
//! One `testsuite` per engine, one `testcase` per run. What engines and skills wrote is hostile: everything is escaped,
//! and what XML cannot hold, or a terminal obeys, is left out.

use std::fmt::Write;
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::report::{OneRun, Row, TrialReport};
use crate::trials::Verdict;

/// Longest text of one failure.
const TEXT_MAX: usize = 64 * 1024;

pub fn xml(report: &TrialReport) -> String {
    let mut xml = quick_junit::Report::unnamed();
    for engine in &report.engines {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.engine == engine.name).collect();
        xml.add_test_suite(suite(&report.skill, &engine.name, engine.skipped.as_deref(), &rows));
    }
    xml.to_string().expect("memory takes all text")
}

fn suite(skill: &str, engine: &str, skipped: Option<&str>, rows: &[&Row]) -> TestSuite {
    let mut suite = TestSuite::new(clean(&format!("{skill} on {engine}")));
    suite.set_time(rows.iter().flat_map(|row| &row.runs).map(duration).sum());
    let mut add = |mut test: TestCase| {
        test.set_classname(clean(&format!("{skill}.{engine}")));
        suite.add_test_case(test);
    };
    if let Some(why) = skipped {
        let mut status = TestCaseStatus::skipped();
        status.set_message(clean(why));
        let mut test = TestCase::new("engine", status);
        test.set_time(Duration::ZERO);
        add(test);
    }
    for row in rows {
        for (run, time) in row.runs.iter().zip(1..) {
            let name = match row.runs.len() {
                1 => row.case.clone(),
                of => format!("{} ({time} of {of})", row.case),
            };
            let mut test = TestCase::new(clean(&name), status(run));
            test.set_time(duration(run));
            add(test);
        }
    }
    suite
}

fn status(run: &OneRun) -> TestCaseStatus {
    let (kind, word) = match run.verdict {
        Verdict::Passed => return TestCaseStatus::success(),
        Verdict::Interrupted => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message("interrupted");
            return skipped;
        }
        Verdict::Failed => (NonSuccessKind::Failure, "failure"),
        Verdict::Error => (NonSuccessKind::Error, "error"),
    };
    let mut text = run.problems.join("\n");
    if let Some(id) = run.run_id {
        let _ = write!(text, "\nrun {id}");
    }
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_message(clean(run.problems.first().map_or("", String::as_str)))
        .set_type(run.error.map_or(word, skillrun_model::Code::as_str))
        .set_description(clean(&text));
    status
}

fn duration(run: &OneRun) -> Duration {
    Duration::from_millis(run.duration_ms.unwrap_or(0))
}

/// Text that XML can hold. The library escapes it and takes out sequences for terminals, with all that follows one that
/// has no end; here only their control characters go, and those that it leaves in.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(TEXT_MAX));
    for character in text.chars() {
        if clean.len() >= TEXT_MAX {
            clean.push('…');
            break;
        }
        match character {
            '\n' => clean.push('\n'),
            '\t' => clean.push(' '),
            // XML 1.0 cannot have these, in whatever spelling; a terminal that shows the file obeys the others.
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_left_out() {
        let hostile = "]]></failure><x a='\"'>&amp;\u{0}\u{1b}[31m\u{9b}\u{7f}\u{fffe}\u{ffff}\r\n\té\u{1f600}";
        assert_eq!(clean(hostile), "]]></failure><x a='\"'>&amp;[31m\n é\u{1f600}");
    }

    #[test]
    fn long_text_is_cut() {
        let text = clean(&"&".repeat(10 * TEXT_MAX));
        assert!(text.len() < TEXT_MAX + 10, "{}", text.len());
        assert!(text.ends_with("&…"));
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut suite = TestSuite::new(clean("<&\"'>"));
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_description(clean("]]></failure>\u{1b}]0;no end"));
        suite.add_test_case(TestCase::new(clean("a"), status));
        let mut report = quick_junit::Report::unnamed();
        let xml = report.add_test_suite(suite).to_string().expect("memory takes all text");
        assert!(xml.contains("<testsuite name=\"&lt;&amp;&quot;&apos;&gt;\""), "{xml}");
        assert!(xml.contains("<failure>]]&gt;&lt;/failure&gt;]0;no end</failure>"), "{xml}");
    }
}
