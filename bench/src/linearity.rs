//! How processor time grows with hostile inputs.

use std::time::Duration;

use testkit::parallel;
use testkit::scratch::Recording;
use testkit::streams::{Profile, Shape};

use crate::problem::Problem;
use crate::program::{Output, Program, cost_with_coverage};
use crate::table::Table;

const MIB: u64 = 1024 * 1024;
const ROUNDS: usize = 3;
/// A quadratic would be 16.
const TARGET: f64 = 6.0;

/// How a shape is put before the program.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// Stdout is lines of it.
    Lines,
    /// Stdout is one line of it, just short enough to be read as a line.
    Line,
    /// It is the text of the one message.
    Message,
}

impl Form {
    const ALL: [Self; 3] = [Self::Lines, Self::Line, Self::Message];

    fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Line => "one line",
            Self::Message => "message",
        }
    }

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
    large: Duration,
    ratio: f64,
}

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    for form in Form::ALL {
        for shape in Shape::ALL {
            let grown = parallel::each(&Profile::ALL, |profile| growth(program, form, shape, *profile))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?;
            report(form, shape, &grown, table);
        }
    }
    Ok(())
}

/// What looks like a miss is measured once more: half a second of somebody else's work is enough for one, and real
/// growth shows both times.
fn growth(program: &Program, form: Form, shape: Shape, profile: Profile) -> Result<Growth, Problem> {
    let first = growth_once(program, form, shape, profile)?;
    if first.ratio < TARGET {
        return Ok(first);
    }
    let second = growth_once(program, form, shape, profile)?;
    Ok(if second.ratio < first.ratio { second } else { first })
}

fn growth_once(program: &Program, form: Form, shape: Shape, profile: Profile) -> Result<Growth, Problem> {
    let (small, large) = form.sizes();
    let best = |size: u64| {
        let recording = form.recording(shape, profile, size)?;
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let mut command = program.normalize(&recording, profile, Output::Summary);
            best = best.min(cost_with_coverage(&mut command, &recording, "growth")?.cpu);
        }
        Ok::<_, Problem>(best)
    };
    let (small, large) = (best(small)?, best(large)?);
    Ok(Growth { large, ratio: large.as_secs_f64() / small.as_secs_f64() })
}

fn report(form: Form, shape: Shape, grown: &[Growth], table: &mut Table) {
    let of = |profile: Profile| Profile::ALL.into_iter().position(|p| p == profile).and_then(|at| grown.get(at));
    let name = format!("{}, {}", form.name(), shape.name());
    let (_, mib) = form.sizes();
    let slowest = grown.iter().map(|growth| growth.large).max().unwrap_or_default();
    let worst = grown.iter().map(|growth| growth.ratio).fold(0.0, f64::max);
    eprintln!("growth: {name}: at most {worst:.1}, {:.3} s for {} MiB", slowest.as_secs_f64(), mib / MIB);
    table.row(format!("growth: {name} (s for {} MiB)", mib / MIB), "< 6", |profile| {
        let growth = of(profile)?;
        Some(format!("{:.1} ({:.2})", growth.ratio, growth.large.as_secs_f64()))
    });
    for profile in Profile::ALL {
        if let Some(growth) = of(profile).filter(|growth| growth.ratio >= TARGET) {
            table.missed(format!("growth: {name}: {} took {:.1} times as long", profile.name(), growth.ratio));
        }
    }
}
