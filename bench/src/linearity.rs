//! How processor time grows with hostile inputs.

use std::time::Duration;

use skillrun_model::word_enum;
use testkit::parallel;
use testkit::scratch::Recording;
use testkit::streams::{Profile, Shape};

use crate::args::Part;
use crate::problem::Problem;
use crate::program::{Output, Program, cost_with_coverage};
use crate::table::Table;

const MIB: u64 = 1024 * 1024;
const ROUNDS: usize = 3;
/// A quadratic would be 16.
const TARGET: f64 = 6.0;

word_enum! {
    /// How a shape is put before the program.
    Form {
        /// Stdout is lines of it.
        Lines = "lines",
        /// Stdout is one line of it, just short enough to be read as a line.
        Line = "one line",
        /// It is the text of the one message.
        Message = "message",
    }
}

impl Form {
    fn sizes(self) -> (u64, u64) {
        match self {
            Self::Lines | Self::Line => (2 * MIB, 8 * MIB),
            Self::Message => (MIB, 4 * MIB),
        }
    }

    fn recording(self, shape: Shape, profile: Profile, size: u64) -> Result<Recording, Problem> {
        Ok(match self {
            Self::Lines => Recording::new(|out| shape.write_lines(size, out))?,
            Self::Line => Recording::new(|out| shape.write_line(size, out))?,
            Self::Message => Recording::of_bytes(profile.message(&shape.text(size)).as_bytes())?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Growth {
    profile: Profile,
    large: Duration,
    ratio: f64,
}

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    for shape in Shape::ALL {
        let mut cells = vec![shape.name().to_owned()];
        for &form in Form::ALL {
            let grown = parallel::each(&Profile::ALL, |profile| growth(program, form, shape, *profile))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?;
            cells.push(report(form, shape, &grown, table));
        }
        cells.push("< 6".to_owned());
        table.row(Part::Linearity, cells);
    }
    Ok(())
}

/// Measured once; an apparent miss is measured three times, and the best of each size counts: half a second of work by
/// another process is enough for one miss, and real growth shows each time.
fn growth(program: &Program, form: Form, shape: Shape, profile: Profile) -> Result<Growth, Problem> {
    let first = growth_in(program, form, shape, profile, 1)?;
    if first.ratio < TARGET { Ok(first) } else { growth_in(program, form, shape, profile, ROUNDS) }
}

fn growth_in(program: &Program, form: Form, shape: Shape, profile: Profile, rounds: usize) -> Result<Growth, Problem> {
    let (small, large) = form.sizes();
    let best = |size: u64| {
        let recording = form.recording(shape, profile, size)?;
        let mut best = Duration::MAX;
        for _ in 0..rounds {
            let mut command = program.normalize(&recording, profile, Output::Summary);
            best = best.min(cost_with_coverage(&mut command, &recording, "growth")?.cpu);
        }
        Ok::<_, Problem>(best)
    };
    let (small, large) = (best(small)?, best(large)?);
    Ok(Growth { profile, large, ratio: large.as_secs_f64() / small.as_secs_f64() })
}

/// The profile that grows most, and what was missed.
fn report(form: Form, shape: Shape, grown: &[Growth], table: &mut Table) -> String {
    let name = format!("{}, {}", form.as_str(), shape.name());
    for growth in grown.iter().filter(|growth| growth.ratio >= TARGET) {
        table.missed(format!("growth: {name}: {} took {:.1} times as long", growth.profile.name(), growth.ratio));
    }
    let worst = grown.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let cell = worst.map_or_else(String::new, |worst| {
        format!("{:.1} ({}, {:.2} s)", worst.ratio, worst.profile.name().replace('_', " "), worst.large.as_secs_f64())
    });
    eprintln!("growth: {name}: {cell}");
    cell
}
