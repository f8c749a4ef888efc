//! What it costs to continue a run of many turns: the replay of its Log, and the message with which the new run begins.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use skillrun_model::RunId;
use skillrun_runs::DataFolder;

use crate::capture::{median, wall};
use crate::problem::Problem;
use crate::program::Program;
use crate::replay;
use crate::runs::{Place, ms};
use crate::table::Table;

const ROUNDS: usize = 5;
/// The exit code of a command whose run waits for the next prompt.
const WAITS: i32 = 6;

/// Beyond the replay of the Log: a message of 384 KiB goes through the host, the engine and the new Log.
const TARGET: Duration = Duration::from_millis(100);

/// A Log of 100,000 events beside one with a single turn.
pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("continue")?;
    let words = ["run", "./skill", "--engine", "scripted", "--script", "talk.yaml", "--mode", "conversation"];
    rested(&mut place.command(program, &words))?;
    let runs = place.data().join("runs");
    let found = fs::read_dir(&runs)?.flatten().find(|entry| entry.path().is_dir());
    let short = found.ok_or_else(|| Problem("runs: there is no run".to_owned()))?.file_name();
    let short = short.to_string_lossy().into_owned();
    let run = RunId::new(1, [7; 10]);
    replay::write(&DataFolder::new(place.data()), run)?;
    let long = run.to_string();
    let record = fs::read_to_string(runs.join(&short).join("run.json"))?;
    fs::write(runs.join(&long).join("run.json"), record.replace(&short, &long))?;
    let (mut of_short, mut of_long, mut replays) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (times, run) in [(&mut of_short, &short), (&mut of_long, &long)] {
            let words = ["continue", run, "Go on.", "--engine", "scripted", "--script", "talk.yaml"];
            times.push(rested(&mut place.command(program, &words))?);
        }
        replays.push(wall(&mut place.command(program, &["replay", &long]))?);
    }
    let (of_short, of_long, replayed) = (median(of_short), median(of_long), median(replays));
    let more = of_long.saturating_sub(of_short);
    let beyond = more.saturating_sub(replayed);
    let name = format!(
        "`skillrun continue` of a Log with 100,000 events until the new run rests, beside one of a single turn, median of \
         {ROUNDS}"
    );
    let compared = format!("{} more; `skillrun replay` takes {}", ms(more), ms(replayed));
    let target = format!("at most a replay and {} more", ms(TARGET));
    table.measured(&name, &ms(of_long), &ms(of_short), &compared, &target);
    if beyond > TARGET {
        table.missed(format!("runs: to continue a long run takes {} more than its replay", ms(beyond)));
    }
    Ok(())
}

/// How long a command takes whose run then waits for the next prompt.
fn rested(command: &mut Command) -> Result<Duration, Problem> {
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let took = begin.elapsed();
    let is_at_rest = status.code() == Some(WAITS);
    if is_at_rest { Ok(took) } else { Err(Problem(format!("{command:?} ended with {status}"))) }
}
