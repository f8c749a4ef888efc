//! What was measured: rows by part, and the targets that were missed. [`crate::page`] makes a page of it.

use testkit::streams::Profile;

use crate::args::Part;

const NONE: &str = "–";

/// A row: its name, and a cell for each column after the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) part: Part,
    pub(crate) cells: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) missed: Vec<(Part, String)>,
    /// The part that is being measured.
    part: Option<Part>,
}

impl Table {
    /// From now on misses belong to this part.
    pub(crate) fn begin(&mut self, part: Part) {
        self.part = Some(part);
    }

    /// A row with other columns than measured, floor, compared and target.
    pub(crate) fn row(&mut self, part: Part, cells: Vec<String>) {
        self.rows.push(Row { part, cells });
    }

    /// A row with a column for each profile; one that was not measured has nothing in it.
    pub(crate) fn profiles(
        &mut self,
        part: Part,
        name: impl Into<String>,
        target: &str,
        cell: impl Fn(Profile) -> Option<String>,
    ) {
        let of_profiles = Profile::ALL.into_iter().map(|profile| cell(profile).unwrap_or_else(|| NONE.to_owned()));
        let cells = std::iter::once(name.into()).chain(of_profiles).chain([target.to_owned()]).collect();
        self.row(part, cells);
    }

    /// A row of the part that is being measured: measured, the least that is possible here or the bare command, how they
    /// compare, target.
    pub(crate) fn measured(&mut self, name: &str, measured: &str, floor: &str, compared: &str, target: &str) {
        let Some(part) = self.part else { return };
        let cells = [name, measured, floor, compared, target];
        eprintln!("{}: {}", part.name(), cells.join(" | "));
        self.row(part, cells.map(str::to_owned).to_vec());
    }

    /// A target that was missed.
    pub(crate) fn missed(&mut self, what: String) {
        eprintln!("  MISSED: {what}");
        self.missed.extend(self.part.map(|part| (part, what)));
    }
}
