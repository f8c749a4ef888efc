//! What is printed and written: a table for each group of engines, a column per engine, a line per scenario.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::engines::Group;
use crate::problem::Miss;
use crate::scenarios::Scenario;

/// What came of one scenario on one engine.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Passed(Duration),
    Skipped(Skip),
    /// With the folder where everything about it lies.
    Failed(Miss, PathBuf),
}

/// Why something was not tried, or not to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    /// This program is not installed, or the engine has no such setting.
    Without(&'static str),
    /// The time for everything is used up.
    NoTime,
    Interrupted,
}

impl Cell {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Passed(took) => format!("✓ {:.1} s", took.as_secs_f64()),
            Self::Skipped(Skip::Without(needed)) => format!("– no {needed}"),
            Self::Skipped(Skip::NoTime) => "– no time".to_owned(),
            Self::Skipped(Skip::Interrupted) => "– interrupted".to_owned(),
            Self::Failed(miss, _) => format!("✗ {}", miss.word.replace('|', "/")),
        }
    }
}

/// All that was tried on one engine.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) engine: String,
    pub(crate) version: String,
    pub(crate) group: Group,
    /// The scenarios that are made for it, in their order.
    pub(crate) cells: Vec<(Scenario, Cell)>,
}

#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) group: Group,
    pub(crate) scenarios: Vec<Scenario>,
    columns: Vec<&'a Tried>,
}

impl<'a> Table<'a> {
    /// None when nothing of the group was tried.
    pub(crate) fn of(group: Group, tried: &'a [Tried]) -> Option<Self> {
        let columns: Vec<_> = tried.iter().filter(|one| one.group == group).collect();
        let scenarios: Vec<_> = columns.first()?.cells.iter().map(|(scenario, _)| *scenario).collect();
        (!scenarios.is_empty()).then_some(Self { group, scenarios, columns })
    }

    /// Padded, so that it can be read as it is.
    pub(crate) fn markdown(&self) -> String {
        let column = |one: &&Tried| {
            let cells = one.cells.iter().map(|(_, cell)| cell.text());
            [one.engine.clone(), one.version.clone()].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let names = self.scenarios.iter().map(|scenario| scenario.as_str().to_owned());
        let first = [String::new(), "version".to_owned()].into_iter().chain(names).collect();
        let columns: Vec<Vec<String>> = std::iter::once(first).chain(self.columns.iter().map(column)).collect();
        let width = |cells: &Vec<String>| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = columns.iter().map(width).collect();
        let mut text = String::new();
        for line in 0..columns[0].len() {
            for (cells, width) in columns.iter().zip(&widths) {
                let _ = write!(text, "| {:width$} ", cells[line]);
            }
            text.push_str("|\n");
            if line == 0 {
                widths.iter().for_each(|width| text.push_str(&format!("| {} ", "-".repeat(*width.max(&3)))));
                text.push_str("|\n");
            }
        }
        text
    }
}

/// Everything that went wrong, one line each, with where to look.
pub(crate) fn failures(tried: &[Tried]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in tried {
        for (scenario, cell) in &one.cells {
            if let Cell::Failed(miss, folder) = cell {
                lines.push(format!("{} {}: {} (see {})", one.engine, scenario.as_str(), miss.why, folder.display()));
            }
        }
    }
    lines
}

/// What was not tried for this reason, an engine each.
pub(crate) fn left_out(tried: &[Tried], skip: Skip) -> Vec<String> {
    let mut lines = Vec::new();
    for one in tried {
        let is_left = |cell: &Cell| matches!(cell, Cell::Skipped(why) if *why == skip);
        let names: Vec<_> =
            one.cells.iter().filter(|(_, cell)| is_left(cell)).map(|(scenario, _)| scenario.as_str()).collect();
        if !names.is_empty() {
            lines.push(format!("{} ({})", one.engine, names.join(", ")));
        }
    }
    lines
}

#[cfg(test)]
pub(crate) fn example() -> Vec<Tried> {
    let failed = Cell::Failed(Miss::new("too long", "it did not end"), "folder".into());
    let cells = vec![
        (Scenario::Auto, Cell::Passed(Duration::from_millis(1260))),
        (Scenario::Cut, failed),
        (Scenario::Outside, Cell::Skipped(Skip::Without("strace"))),
    ];
    let cli = Tried { engine: "some".to_owned(), version: "1.2.3".to_owned(), group: Group::Clis, cells };
    let cells = vec![(Scenario::Denied, Cell::Skipped(Skip::NoTime))];
    let agent = Tried { engine: "other".to_owned(), version: "4.5".to_owned(), group: Group::Agents, cells };
    vec![cli, agent]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_shows_the_results_of_an_engine() {
        let tried = example();
        let table = Table::of(Group::Clis, &tried).expect("a table").markdown();
        let expected = "\
|         | some        |
| ------- | ----------- |
| version | 1.2.3       |
| auto    | ✓ 1.3 s     |
| cut     | ✗ too long  |
| outside | – no strace |
";
        assert_eq!(table, expected);
        assert!(Table::of(Group::Agents, &tried[..1]).is_none());
    }

    #[test]
    fn failures_and_skipped_trials_are_listed() {
        let tried = example();
        assert_eq!(failures(&tried), ["some cut: it did not end (see folder)"]);
        assert_eq!(left_out(&tried, Skip::NoTime), ["other (denied)"]);
        assert_eq!(left_out(&tried, Skip::Interrupted), Vec::<String>::new());
    }
}
