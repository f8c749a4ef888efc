//! The run that replaces one that ran out of quota. Its id and its moment are in the last event of the failed run; a
//! process that finds that and no such run creates it, as the owner of the failed run, so that only one of several
//! processes does.

use std::io;
use std::sync::Arc;

use skillrun_collect::tree;
use skillrun_lifecycle::run::made_until;
use skillrun_model::RunId;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::status::OnQuota;
use skillrun_runs::copy::CopyError;
use skillrun_runs::record::{QuotaRetry, RunRecord};
use skillrun_runs::request_entries::was_made;

use super::Inner;
use crate::accept::{self, AcceptError};
use crate::error::RuntimeError;
use crate::retry::the_same;
use crate::run::Run;
use crate::variables::SealedVariables;

/// Number of tries where only the user can help, before it is left to the next start.
const TRIES: u32 = 5;

impl Inner {
    /// A run is over: creates the run that replaces it, if one was planned and does not exist.
    pub(super) fn retry_if_planned(self: &Arc<Self>, id: RunId) -> Result<(), RuntimeError> {
        let record = RunRecord::read(&self.config.tools.data.run(id).record())?;
        match record.request.retry.quota {
            OnQuota::Fail => Ok(()),
            OnQuota::Wait => self.retry(&self.open_with_retry(id)?).map(drop),
        }
    }

    /// The same for a run that this process holds; returns the run that was created.
    pub(super) fn retry(self: &Arc<Self>, failed: &Run) -> Result<Option<RunId>, RuntimeError> {
        let Some(planned) = failed.state.retry else { return Ok(None) };
        if self.config.tools.clock.now() > made_until(planned) {
            return Ok(None);
        }
        let tries = self.table().tries(failed.id);
        match self.make_retry(failed, planned) {
            Ok(made) => Ok(made),
            Err(error) if tries >= TRIES && !may_get_better(&error) => Ok(None),
            Err(error) => Err(RuntimeError::file(failed.folder.root(), "tried again")(io::Error::other(error))),
        }
    }

    fn make_retry(self: &Arc<Self>, failed: &Run, planned: PlannedRetry) -> Result<Option<RunId>, AcceptError> {
        let tools = &self.config.tools;
        if was_made(&tools.log, planned.run_id).map_err(RuntimeError::from)? {
            return Ok(None);
        }
        self.table().queue.room_for_later().map_err(|full| AcceptError::QueueFull { queued: full.queued })?;
        // An earlier process may have died while creating it. No other process creates it now: that needs the failed
        // run.
        let folder = tools.data.run(planned.run_id);
        tree::remove(folder.root()).map_err(|error| AcceptError::Write { path: folder.root().to_owned(), error })?;
        // No user is watching, so the skill is the one of the request, whatever has happened to its source.
        let new = the_same(&failed.record, &failed.folder)?;
        let mut checked = accept::check(&self.config, new)?;
        // The process that creates it may have other variables than the one that the user called.
        checked.variables = SealedVariables::read(&failed.folder.variables())
            .map_err(RuntimeError::file(failed.folder.variables(), "read"))?;
        let number = failed.record.quota_retry.map_or(0, |before| before.number).saturating_add(1);
        checked.record.run_id = planned.run_id;
        if let (Some(skill), Some(before)) = (&mut checked.record.skill, &failed.record.skill) {
            skill.source.clone_from(&before.source);
        }
        checked.record.quota_retry = Some(QuotaRetry { number, not_before: planned.not_before });
        let made = accept::make(&self.config, checked)?;
        tools.counters.accepted();
        self.enqueue(made);
        Ok(Some(planned.run_id))
    }
}

/// Whether it may be created later without a change of the request, the skill, the engine or the settings.
fn may_get_better(error: &AcceptError) -> bool {
    match error {
        AcceptError::NotInstalled(_)
        | AcceptError::Runtime(_)
        | AcceptError::File { .. }
        | AcceptError::WorkspaceInUse { .. }
        | AcceptError::Write { .. }
        | AcceptError::QueueFull { .. } => true,
        AcceptError::Copy(CopyError::Read { .. } | CopyError::Write { .. }) => true,
        // Its copy is in the data folder, and a full disk is reported like this too.
        AcceptError::Skill(_) => true,
        AcceptError::Prompt(_)
        | AcceptError::OnlyWithSkill { .. }
        | AcceptError::Input(_)
        | AcceptError::Engine(_)
        | AcceptError::EngineNotSupported { .. }
        | AcceptError::ModeNotAllowed { .. }
        | AcceptError::NotInteractive { .. }
        | AcceptError::CannotDelegate { .. }
        | AcceptError::NoConsent { .. }
        | AcceptError::NoConsentToChecks { .. }
        | AcceptError::NoConsentToWorkflow { .. }
        | AcceptError::NoFile { .. }
        | AcceptError::NoFolder { .. }
        | AcceptError::FolderAndCopy
        | AcceptError::NetworkWithoutBox { .. }
        | AcceptError::BadHost(_)
        | AcceptError::HostsWithoutList { .. }
        | AcceptError::TooManyHosts { .. }
        | AcceptError::ModelAddressUnknown { .. }
        | AcceptError::BoxNotEnforced { .. }
        | AcceptError::WorkspaceInBox { .. }
        | AcceptError::WorkspaceStarts { .. }
        | AcceptError::Copy(
            CopyError::TooMany { .. }
            | CopyError::TooLarge { .. }
            | CopyError::TooDeep { .. }
            | CopyError::Repository { .. },
        )
        | AcceptError::FileTooLarge { .. }
        | AcceptError::NoScript { .. }
        | AcceptError::NotOfWorkflows { .. }
        | AcceptError::Option { .. }
        | AcceptError::McpServers(_)
        | AcceptError::McpRefusal(_)
        | AcceptError::SkillServer { .. }
        | AcceptError::SkillServerVariable { .. }
        | AcceptError::ServerVariable { .. }
        | AcceptError::Pattern(_) => false,
    }
}
