//! Hosts of the checks of a run on this machine.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;

use skillrun_base::whole_file;
use skillrun_collect::{Attached, CollectError, attach_within, end_host, start};
use skillrun_evidence::host_record::HostRecord;
use skillrun_model::AttemptNumber;
use skillrun_model::checks::CheckEnded;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_runs::checks;
use skillrun_runs::record::RunCheck;

use super::super::outside::{CheckFound, Checks, HostLink, NoHost};
use super::super::start::no_host;
use super::{HOST_ATTACH_TIMEOUT, Machine, reap};
use crate::attempt::{check, launch};
use crate::error::RuntimeError;
use crate::run::Run;

impl Checks for Machine<'_> {
    fn find(&self, number: u32) -> Result<CheckFound, CollectError> {
        let audit = self.folder.check(number);
        if !audit.is_dir() {
            return Ok(CheckFound::NotBegun);
        }
        let last = start::last_number(&audit)?;
        if last == AttemptNumber::BEFORE_FIRST {
            return Ok(CheckFound::NotBegun);
        }
        Ok(match attach_within(&audit, last, HOST_ATTACH_TIMEOUT)? {
            Attached::Live(connection) => CheckFound::Live(self.link(connection, None)),
            Attached::Ended(record) => CheckFound::Ended(record),
            // Files without a claim are not written over.
            Attached::Lost { .. } | Attached::NotBegun => CheckFound::Lost(last),
        })
    }

    fn start(
        &self,
        run: &Run,
        (number, check): (u32, &RunCheck),
        recording: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError> {
        let audit = self.folder.check(number);
        let unusable = |error: std::io::Error| {
            let message = format!("{}: cannot be created ({error})", audit.display());
            NoHost::Never(launch::error(ErrorCategory::Host, Code::HostError, message))
        };
        // The host syncs its files; the folders above it are new for the first check.
        let above: Vec<_> = audit.ancestors().take(3).map(ToOwned::to_owned).collect();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&audit);
        if let Err(error) = made.and_then(|()| whole_file::sync_each(&above)) {
            return Ok(Err(unusable(error)));
        }
        let plan = match check::plan(self.config, run, (number, check), recording) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(NoHost::Never(error))),
        };
        let child = match start::start((self.config.host_command)(), &plan) {
            Ok(child) => child,
            Err(error @ (CollectError::Taken(_) | CollectError::HostGone)) => {
                return Ok(Err(NoHost::InTheWay(no_host(&error))));
            }
            Err(error) => return Ok(Err(NoHost::Never(no_host(&error)))),
        };
        match attach_within(&audit, recording, HOST_ATTACH_TIMEOUT) {
            Ok(Attached::Live(connection)) => Ok(Ok(self.link(connection, Some(child)))),
            // It is over already, and its record says how.
            Ok(Attached::Ended(_) | Attached::Lost { .. } | Attached::NotBegun) => {
                reap(child);
                Ok(Ok(Box::new(super::GoneLink { attempt: recording })))
            }
            Err(error) => {
                reap(child);
                Err(error.into())
            }
        }
    }

    fn terminate(&self, number: u32) -> Result<(), CollectError> {
        let audit = self.folder.check(number);
        end_host(&audit, start::last_number(&audit)?)
    }

    fn ended(
        &self,
        run: &Run,
        (number, check): (u32, &RunCheck),
        record: &HostRecord,
    ) -> Result<CheckEnded, RuntimeError> {
        let patterns = run.record.patterns(&run.folder.record())?;
        Ok(checks::ended(&run.folder, check, number, record, &patterns)?)
    }

    fn lost(&self, run: &Run, (number, check): (u32, &RunCheck), recording: AttemptNumber) -> CheckEnded {
        let patterns = run.record.patterns(&run.folder.record()).unwrap_or_default();
        checks::lost(&run.folder, check, number, recording, &patterns)
    }
}
