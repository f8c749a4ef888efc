//! The report as JUnit XML, for the programs that show the outcome of tests.
//!
//! One `testsuite` per engine, one `testcase` per run. What engines and skills wrote is hostile: everything is escaped,
//! and what XML cannot hold, or a terminal obeys, is left out.

use std::fmt::Write;

use crate::report::{OneRun, Row, TrialReport};
use crate::trials::Verdict;

/// Longest text of one failure.
const TEXT_MAX: usize = 64 * 1024;

pub fn xml(report: &TrialReport) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for engine in &report.engines {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.engine == engine.name).collect();
        suite(&mut xml, report, &engine.name, engine.skipped.as_deref(), &rows);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, report: &TrialReport, engine: &str, skipped: Option<&str>, rows: &[&Row]) {
    let runs = || rows.iter().flat_map(|row| &row.runs);
    let count = |verdict: Verdict| runs().filter(|run| run.verdict == verdict).count();
    let (tests, skips) = match skipped {
        Some(_) => (1, 1),
        None => (runs().count(), count(Verdict::Interrupted)),
    };
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{} on {}\" tests=\"{tests}\" failures=\"{}\" errors=\"{}\" skipped=\"{skips}\" time=\"{}\">",
        escaped(&report.skill),
        escaped(engine),
        count(Verdict::Failed),
        count(Verdict::Error),
        seconds(runs().filter_map(|run| run.duration_ms).sum()),
    );
    let class = format!("{}.{}", escaped(&report.skill), escaped(engine));
    if let Some(why) = skipped {
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{class}\" name=\"engine\" time=\"0\">\n      <skipped message=\"{}\"/>\n    </testcase>",
            escaped(why)
        );
    }
    for row in rows {
        for (run, time) in row.runs.iter().zip(1..) {
            test(xml, &class, row, run, time);
        }
    }
    xml.push_str("  </testsuite>\n");
}

fn test(xml: &mut String, class: &str, row: &Row, run: &OneRun, time: usize) {
    let name = match row.runs.len() {
        1 => row.case.clone(),
        of => format!("{} ({time} of {of})", row.case),
    };
    let seconds = seconds(run.duration_ms.unwrap_or(0));
    let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{}\" time=\"{seconds}\"", escaped(&name));
    let first = run.problems.first().map_or("", String::as_str);
    let element = match run.verdict {
        Verdict::Passed => {
            xml.push_str("/>\n");
            return;
        }
        Verdict::Interrupted => {
            xml.push_str(">\n      <skipped message=\"interrupted\"/>\n    </testcase>\n");
            return;
        }
        Verdict::Failed => "failure",
        Verdict::Error => "error",
    };
    let kind = run.error.map_or(element, skillrun_model::Code::as_str);
    let mut text: String = run.problems.join("\n");
    if let Some(id) = run.run_id {
        let _ = write!(text, "\nrun {id}");
    }
    let _ = write!(
        xml,
        ">\n      <{element} message=\"{}\" type=\"{}\">{}</{element}>\n    </testcase>\n",
        escaped(first),
        escaped(kind),
        escaped(&text)
    );
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

/// Text that can stand between tags and inside of quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if safe.len() >= TEXT_MAX {
            safe.push('…');
            break;
        }
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push(' '),
            // No XML 1.0 can have these, in whatever spelling; a terminal that shows the file obeys the others.
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "]]></failure><x a='\"'>&amp;\u{0}\u{1b}[31m\u{9b}\u{7f}\u{fffe}\u{ffff}\r\n\té\u{1f600}";
        assert_eq!(
            escaped(hostile),
            "]]&gt;&lt;/failure&gt;&lt;x a=&apos;&quot;&apos;&gt;&amp;amp;[31m&#10; é\u{1f600}"
        );
    }

    #[test]
    fn long_text_is_cut() {
        let text = escaped(&"&".repeat(10 * TEXT_MAX));
        assert!(text.len() < TEXT_MAX + 10, "{}", text.len());
        assert!(text.ends_with(";…"));
    }
}
