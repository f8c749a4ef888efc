//! The table in `docs/engines.md`, between two marks. The rest of the page is not touched.

use std::fmt::Write as _;
use std::path::Path;

use crate::problem::Problem;
use crate::table::Table;

const BEGIN: &str = "<!-- e2e: written by `make e2e` -->";
const END: &str = "<!-- e2e: end -->";

pub(crate) fn write(path: &Path, table: &Table, date: &str) -> Result<(), Problem> {
    let page = std::fs::read_to_string(path)?;
    std::fs::write(path, replaced(&page, &section(table, date))?)?;
    eprintln!("written to {}", path.display());
    Ok(())
}

fn section(table: &Table, date: &str) -> String {
    let mut text = format!(
        "## Tried with the real programs\n\nMade by `make e2e` on {date}: each program, installed from npm, run by \
         skillrun against a scripted model on loopback. ✓ with the seconds it took, or ✗ with a word for what is \
         wrong.\n\n{}\n",
        table.markdown()
    );
    for scenario in &table.columns {
        let _ = writeln!(text, "- *{}*: {}.", scenario.name(), scenario.meaning());
    }
    text
}

/// The page with another section between the marks, or with marks and section at its end.
fn replaced(page: &str, section: &str) -> Result<String, Problem> {
    let marked = format!("{BEGIN}\n\n{section}\n{END}");
    match (page.split_once(BEGIN), page.split_once(END)) {
        (Some((before, _)), Some((_, after))) => Ok(format!("{before}{marked}{after}")),
        (None, None) => Ok(format!("{}\n\n{marked}\n", page.trim_end())),
        (Some(_), None) | (None, Some(_)) => Err(Problem(format!("the page has one of {BEGIN} and {END} alone"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Miss;
    use crate::scenarios::Scenario;
    use crate::table::{Cell, Row};
    use std::time::Duration;

    #[test]
    fn a_row_tells_what_works_and_a_list_what_was_tried() {
        let failed = Cell::Failed(Miss::new("too long", "it did not end"), "folder".into());
        let cells = vec![Cell::Passed(Duration::from_millis(1260)), failed, Cell::Skipped("strace")];
        let rows = vec![Row { engine: "some".to_owned(), version: "1.2.3".to_owned(), cells }];
        let columns = vec![Scenario::Auto, Scenario::Cut, Scenario::Outside];
        let text = section(&Table { columns, rows, failures: Vec::new() }, "2026-11-15");
        assert!(text.contains("by `make e2e` on 2026-11-15"), "{text}");
        assert!(text.contains("| engine | version | auto | cut | outside |\n"), "{text}");
        assert!(text.contains("| some | 1.2.3 | ✓ 1.3 s | ✗ too long | – no strace |\n"), "{text}");
        assert!(text.contains("\n- *auto*: a command, then the result.\n"), "{text}");
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let first = replaced("# Page\n\nText.\n", "one\n").expect("written");
        assert_eq!(first, format!("# Page\n\nText.\n\n{BEGIN}\n\none\n\n{END}\n"));
        let more = format!("{first}\n## More\n");
        let second = replaced(&more, "two\n").expect("written");
        assert_eq!(second, more.replace("one", "two"));
        assert!(replaced(&format!("{BEGIN} text"), "x").is_err());
    }
}
