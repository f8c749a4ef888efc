//! `skillrun recover`: resumes runs without an owner. `skillrun own`: the same in the background, for internal use.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use skillrun_base::wait;
use skillrun_log::EventLog;
use skillrun_model::RunId;
use skillrun_runtime::runtime::{Recovered, TakenUp};

use crate::args::{Global, OutputForm, Own, Recover};
use crate::failure::Failure;
use crate::output;
use crate::owner::{OwnerProcess, READY};
use crate::place::CommandContext;
use skillrun_model::IgnoredError;

/// How long the previous owner may take to release a run.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// As long as there is work to do.
const FOREVER: Duration = Duration::from_secs(u64::MAX / 4);

pub(crate) fn own(global: &Global, args: &Own) -> Result<ExitCode, Failure> {
    // Own session: no terminal, and no signals from one. It fails only if the process already leads a session.
    rustix::process::setsid().ignored();
    let taken = take_all(global, args);
    // The parent process shows this line to the user, unless it has exited.
    let _ = match &taken {
        Ok(_) => writeln!(io::stdout(), "{READY}"),
        Err(failure) => writeln!(io::stdout(), "{failure}"),
    };
    taken?.runtime.wait_idle(FOREVER);
    Ok(ExitCode::SUCCESS)
}

fn take_all(global: &Global, args: &Own) -> Result<OwnerProcess, Failure> {
    let place = CommandContext::open(global)?;
    let owner = OwnerProcess::new(&place.settings)?;
    for word in &args.run {
        take(&place, &owner, word)?;
    }
    if args.all {
        recover_all(&place, &owner)?;
    }
    Ok(owner)
}

fn take(place: &CommandContext, owner: &OwnerProcess, word: &str) -> Result<(), Failure> {
    let run = place.run(word)?;
    let attempt = || owner.runtime.take_up(run);
    let is_elsewhere = |taken: &Result<TakenUp, _>| matches!(taken, Ok(TakenUp::OwnedElsewhere));
    let taken = wait::retry(HANDOVER_TIMEOUT, Duration::from_millis(5), attempt, is_elsewhere)?;
    // The parent process should have released the run. If another process has it, the run makes progress, which is all
    // that is wanted.
    let parent = Some(std::os::unix::process::parent_id());
    match taken == TakenUp::OwnedElsewhere && place.log.last_writer(run) == parent {
        true => Err(Failure::Failed(format!("run {run} has another owner"))),
        false => Ok(()),
    }
}

fn recover_all(place: &CommandContext, owner: &OwnerProcess) -> Result<Recovered, Failure> {
    let mut catalog = place.catalog()?;
    Ok(owner.runtime.recover_from_dead(&mut catalog)?)
}

pub(crate) fn recover(global: &Global, args: &Recover) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    if let Some(word) = &args.cut {
        let run = place.run(word)?;
        let cut = place.log.cut_at_damage(run)?;
        place.log.release(run);
        let folder = place.folder(run);
        skillrun_runtime::views::forget(&folder)
            .map_err(|error| Failure::Write { path: folder.fcmp().display().to_string(), error })?;
        crate::place::note(&match cut.torn {
            Some(torn) => format!(
                "the Log of run {run} was truncated where the damage began; the rest is kept in {} next to it",
                torn.kept_as
            ),
            None => format!("nothing was truncated: no damaged line was found in the Log of run {run}"),
        });
    }
    let owner = OwnerProcess::new(&place.settings)?;
    let recovered = recover_all(&place, &owner)?;
    let form = args.json.form();
    if form == OutputForm::Text {
        let text = format!(
            "{} resumed, {} waiting for the user, {} owned by another process\n",
            recovered.working.len(),
            recovered.waiting,
            recovered.owned_elsewhere.len()
        );
        output::print(&text)?;
    }
    let stuck: Vec<RunId> = recovered.stuck.iter().map(|(run, _)| *run).collect();
    owner.runtime.wait_only_later(&stuck, FOREVER);
    let later = owner.runtime.later();
    // Hours may pass until then: an owner process in the background keeps them.
    drop(owner);
    let mut ended: BTreeMap<String, String> = BTreeMap::new();
    for run in &recovered.working {
        ended.insert(run.to_string(), status(&place, *run));
    }
    match form {
        OutputForm::Text => {
            for (run, status) in &ended {
                output::print(&format!("{run}  {status}\n"))?;
            }
            for (run, at) in &later {
                crate::place::note(&format!("{run} waits in the background and does not start before {at}"));
            }
            for (run, why) in &recovered.stuck {
                crate::place::note(&format!(
                    "{run} cannot be retried yet; this is attempted again in the background: {why}"
                ));
            }
            for (run, why) in &recovered.broken {
                crate::place::note(&format!("{run} cannot be resumed: {why}"));
            }
        }
        OutputForm::Json => output::print_json(&serde_json::json!({
            "taken_up": ended,
            "waiting": recovered.waiting,
            "with_an_owner": recovered.owned_elsewhere.len(),
            "later": later.iter().map(|(run, at)| (run.to_string(), at.to_string())).collect::<BTreeMap<_, _>>(),
            "stuck": words(&recovered.stuck),
            "broken": words(&recovered.broken),
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn words(runs: &[(RunId, String)]) -> BTreeMap<String, &str> {
    runs.iter().map(|(run, why)| (run.to_string(), why.as_str())).collect()
}

fn status(place: &CommandContext, run: RunId) -> String {
    let state = place.state(run).ok().and_then(|state| state.status);
    state.map_or_else(|| "unknown".to_owned(), |status| status.to_string())
}
