//! The run that takes the place of one that ran out of quota. Its id and its moment stand in the last event of the failed
//! run; whoever finds that and no such run makes it, as the owner of the failed run, so that of several who look one does.

use std::fs;
use std::io;
use std::sync::Arc;

use skillrun_model::RunId;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::status::OnQuota;

use super::Inner;
use crate::accept::{self, AcceptError};
use crate::error::RuntimeError;
use crate::looking::retry::{Again, Overrides, again};
use crate::record::{QuotaRetry, RunRecord};
use crate::requests;
use crate::run::Run;

/// So often it is tried before it is left to the next start.
const TRIES: u32 = 5;

impl Inner {
    /// A run is over: makes the one that takes its place, if one was planned and is not there.
    pub(super) fn retry_if_planned(self: &Arc<Self>, id: RunId) -> Result<(), RuntimeError> {
        let record = RunRecord::read(&self.surroundings.tools.data.run(id).record())?;
        match record.request.retry.quota {
            OnQuota::Fail => Ok(()),
            OnQuota::Wait => self.retry(&self.open_patiently(id)?),
        }
    }

    /// The same of a run that is in our hands.
    pub(super) fn retry(self: &Arc<Self>, failed: &Run) -> Result<(), RuntimeError> {
        let Some(planned) = failed.state.retry else { return Ok(()) };
        let tries = self.desk().troubles.get(&failed.id).map_or(0, |trouble| trouble.tries);
        match self.make_retry(failed, planned) {
            Ok(()) => Ok(()),
            // An engine that is gone does not come back by itself.
            Err(_) if tries >= TRIES => Ok(()),
            Err(error) => Err(RuntimeError::file(failed.folder.root(), "tried again")(io::Error::other(error))),
        }
    }

    fn make_retry(self: &Arc<Self>, failed: &Run, planned: PlannedRetry) -> Result<(), AcceptError> {
        let tools = &self.surroundings.tools;
        if requests::was_made(&tools.log, planned.run_id)? {
            return Ok(());
        }
        // Somebody may have died over it. Nobody else makes it now: that takes the failed run.
        let folder = tools.data.run(planned.run_id);
        match fs::remove_dir_all(folder.root()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(AcceptError::Write { path: folder.root().to_owned(), error });
            }
            Ok(()) | Err(_) => {}
        }
        let Again { new, .. } = again(&failed.record, &failed.folder, Overrides::default())?;
        let mut checked = accept::check(&self.surroundings, new)?;
        let number = failed.record.quota_retry.map_or(0, |before| before.number).saturating_add(1);
        checked.record.run_id = planned.run_id;
        checked.record.quota_retry = Some(QuotaRetry { number, not_before: planned.not_before });
        let made = accept::make(&self.surroundings, checked)?;
        tools.counters.accepted();
        self.enqueue(made);
        Ok(())
    }
}
