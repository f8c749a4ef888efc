//! Whether a run still has what was accepted: the copy of the skill, the files of the request, and those that came with
//! an answer, each against the hash that was recorded when it was taken.

use std::collections::BTreeMap;

use skillrun_model::InteractionId;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_runs::inputs;

use crate::error::RuntimeError;
use crate::run::Run;

/// Reports what differs from what was accepted, before an attempt is started with it.
pub(super) fn check(run: &Run) -> Result<(), String> {
    let advice = "see `skillrun verify`, and run it again from the original";
    inputs::skill(&run.folder, &run.record).map_err(|changed| format!("{changed}; {advice}"))?;
    let mut hashes = run.record.input_hashes.clone();
    if let Some(reply) = run.state.reply.as_ref().filter(|reply| !reply.files.is_empty()) {
        let of_reply = reply_hashes(run, reply.interaction_id);
        hashes.extend(of_reply.map_err(|error| format!("the files of the answer cannot be compared ({error})"))?);
    }
    inputs::files(&run.folder.inputs(), &hashes).map_err(|changed| format!("{changed}; {advice}"))
}

/// As the answer recorded them.
fn reply_hashes(run: &Run, interaction_id: InteractionId) -> Result<BTreeMap<String, String>, RuntimeError> {
    let mut hashes = BTreeMap::new();
    run.store().read_all(run.id, &mut |event, _| {
        if let Data::Control(ControlData::InteractionReplied(replied)) = &event.data
            && replied.interaction_id == interaction_id
        {
            hashes.clone_from(&replied.file_hashes);
        }
        Ok(())
    })?;
    Ok(hashes)
}
