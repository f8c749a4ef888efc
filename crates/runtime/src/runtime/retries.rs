//! The run that takes the place of one that ran out of quota. Its id and its moment stand in the last event of the failed
//! run; whoever finds that and no such run makes it, as the owner of the failed run, so that of several who look one does.

use std::io;
use std::sync::Arc;

use skillrun_collect::tree;
use skillrun_lifecycle::run::made_until;
use skillrun_model::RunId;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::status::OnQuota;

use super::Inner;
use crate::accept::{self, AcceptError};
use crate::error::RuntimeError;
use crate::looking::retry::the_same;
use crate::record::{QuotaRetry, RunRecord};
use crate::requests;
use crate::run::Run;
use crate::variables::SealedVariables;

/// So often it is tried where nothing but a person can help, before it is left to the next start.
const TRIES: u32 = 5;

impl Inner {
    /// A run is over: makes the one that takes its place, if one was planned and is not there.
    pub(super) fn retry_if_planned(self: &Arc<Self>, id: RunId) -> Result<(), RuntimeError> {
        let record = RunRecord::read(&self.surroundings.tools.data.run(id).record())?;
        match record.request.retry.quota {
            OnQuota::Fail => Ok(()),
            OnQuota::Wait => self.retry(&self.open_patiently(id)?).map(drop),
        }
    }

    /// The same of a run that is in our hands; gives the run that was made.
    pub(super) fn retry(self: &Arc<Self>, failed: &Run) -> Result<Option<RunId>, RuntimeError> {
        let Some(planned) = failed.state.retry else { return Ok(None) };
        if self.surroundings.tools.clock.now() > made_until(planned) {
            return Ok(None);
        }
        let tries = self.desk().troubles.get(&failed.id).map_or(0, |trouble| trouble.tries);
        match self.make_retry(failed, planned) {
            Ok(made) => Ok(made),
            Err(error) if tries >= TRIES && !may_get_better(&error) => Ok(None),
            Err(error) => Err(RuntimeError::file(failed.folder.root(), "tried again")(io::Error::other(error))),
        }
    }

    fn make_retry(self: &Arc<Self>, failed: &Run, planned: PlannedRetry) -> Result<Option<RunId>, AcceptError> {
        let tools = &self.surroundings.tools;
        if requests::was_made(&tools.log, planned.run_id)? {
            return Ok(None);
        }
        self.desk().queue.room_for_later().map_err(|full| AcceptError::QueueFull { queued: full.queued })?;
        // Somebody may have died over it. Nobody else makes it now: that takes the failed run.
        let folder = tools.data.run(planned.run_id);
        tree::remove(folder.root()).map_err(|error| AcceptError::Write { path: folder.root().to_owned(), error })?;
        // Nobody looks on, so that it is the skill that was asked for, whatever has become of its source.
        let new = the_same(&failed.record, &failed.folder)?;
        let mut checked = accept::check(&self.surroundings, new)?;
        // The process that makes it may have other variables than the one that the user called.
        checked.variables = SealedVariables::read(&failed.folder.variables())
            .map_err(RuntimeError::file(failed.folder.variables(), "read"))?;
        let number = failed.record.quota_retry.map_or(0, |before| before.number).saturating_add(1);
        checked.record.run_id = planned.run_id;
        checked.record.skill.source = failed.record.skill.source.clone();
        checked.record.quota_retry = Some(QuotaRetry { number, not_before: planned.not_before });
        let made = accept::make(&self.surroundings, checked)?;
        tools.counters.accepted();
        self.enqueue(made);
        Ok(Some(planned.run_id))
    }
}

/// Whether it may be made later without anybody changing the request, the skill, the engine or the settings.
fn may_get_better(error: &AcceptError) -> bool {
    match error {
        AcceptError::NotInstalled(_)
        | AcceptError::Runtime(_)
        | AcceptError::File { .. }
        | AcceptError::WorkspaceInUse { .. }
        | AcceptError::Write { .. }
        | AcceptError::QueueFull { .. } => true,
        // Its copy is in our own folder, and a disk that is full is told so as well.
        AcceptError::Skill(_) => true,
        AcceptError::Input(_)
        | AcceptError::Engine(_)
        | AcceptError::EngineNotSupported { .. }
        | AcceptError::ModeNotAllowed { .. }
        | AcceptError::NotInteractive { .. }
        | AcceptError::NoConsent { .. }
        | AcceptError::NoFile { .. }
        | AcceptError::NoFolder { .. }
        | AcceptError::FileTooLarge { .. }
        | AcceptError::NoScript { .. }
        | AcceptError::Option { .. }
        | AcceptError::Pattern(_) => false,
    }
}
