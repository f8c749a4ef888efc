//! Whether a login in use belongs to no running process any more.

use skillrun_collect::host_is_alive;
use skillrun_lifecycle::run::State;
use skillrun_log::{FileLog, LogError, LogErrorKind};
use skillrun_model::RunId;

use crate::data_folder::DataFolder;
use crate::events::read_all;

/// The run is over, and no process of it is running: an agent that was asked to end may still write its login.
pub fn is_left(log: &FileLog, data: &DataFolder, run: RunId) -> bool {
    let mut state = State::default();
    let folded = read_all(log, run, |event| {
        state.evolve(&event);
        Ok(())
    });
    let is_over = match folded {
        Ok(()) => state.is_over(),
        Err(LogError { kind: LogErrorKind::Gone | LogErrorKind::NotFound, .. }) => true,
        // The run may be active, and only this check has failed.
        Err(_) => false,
    };
    is_over && matches!(host_is_alive(&data.run(run).audit()), Ok(false))
}
