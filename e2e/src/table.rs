//! What is printed and written: a row per engine, a column per scenario.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::problem::Miss;
use crate::scenarios::Scenario;

/// What came of one scenario on one engine.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Passed(Duration),
    /// It cannot be tried here, because this program is not installed.
    Skipped(&'static str),
    /// With the folder where everything about it lies.
    Failed(Miss, PathBuf),
}

impl Cell {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Passed(took) => format!("✓ {:.1} s", took.as_secs_f64()),
            Self::Skipped(needed) => format!("– no {needed}"),
            Self::Failed(miss, _) => format!("✗ {}", miss.word.replace('|', "/")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) engine: String,
    pub(crate) version: String,
    /// In the order of the columns.
    pub(crate) cells: Vec<Cell>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Scenario>,
    pub(crate) rows: Vec<Row>,
    /// What is wrong beside the rows, such as a HOME that was changed.
    pub(crate) failures: Vec<String>,
}

impl Table {
    pub(crate) fn markdown(&self) -> String {
        let names = self.columns.iter().map(|scenario| scenario.name().to_owned());
        let head: Vec<String> = ["engine".to_owned(), "version".to_owned()].into_iter().chain(names).collect();
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&head);
        line(&vec!["---".to_owned(); head.len()]);
        for row in &self.rows {
            let cells = row.cells.iter().map(Cell::text);
            line(&[row.engine.clone(), row.version.clone()].into_iter().chain(cells).collect::<Vec<_>>());
        }
        text
    }

    /// Everything that went wrong, one line each, with where to look.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut lines = self.failures.clone();
        for row in &self.rows {
            for (scenario, cell) in self.columns.iter().zip(&row.cells) {
                if let Cell::Failed(miss, folder) = cell {
                    lines.push(format!("{} {}: {} (see {})", row.engine, scenario.name(), miss.why, folder.display()));
                }
            }
        }
        lines
    }
}
