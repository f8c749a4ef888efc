//! Whether a run still has what was accepted: the copy of the skill, the files of the request, and those that came with
//! an answer, each against the hash that was recorded when it was taken.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use skillrun_base::whole_file;
use skillrun_model::InteractionId;
use skillrun_model::rasp::Data;
use skillrun_skill::SkillHash;

use crate::data_folder::RunFolder;
use crate::error::RuntimeError;
use crate::record::RunRecord;
use crate::run::{Run, read_all};

/// Reports what differs from what was accepted, before an attempt is started with it.
pub(super) fn check(run: &Run) -> Result<(), String> {
    let advice = "see `skillrun verify`, and run it again from the original";
    skill(&run.folder, &run.record).map_err(|changed| format!("{changed}; {advice}"))?;
    let mut hashes = run.record.input_hashes.clone();
    if let Some(reply) = run.state.reply.as_ref().filter(|reply| !reply.files.is_empty()) {
        let of_reply = reply_hashes(run, reply.interaction_id);
        hashes.extend(of_reply.map_err(|error| format!("the files of the answer cannot be compared ({error})"))?);
    }
    files(&run.folder.inputs(), &hashes).map_err(|changed| format!("{changed}; {advice}"))
}

/// The copy of the skill is the one that was accepted.
pub(crate) fn skill(folder: &RunFolder, record: &RunRecord) -> Result<(), String> {
    match SkillHash::of(&folder.skill()) {
        Ok(found) if found.to_string() == record.skill.hash => Ok(()),
        Ok(_) => {
            Err("the copy of the skill in skill/ is not what was accepted: a file in it has changed, is missing or is \
                      new"
            .to_owned())
        }
        Err(error) => Err(format!("the copy of the skill in skill/ is not what was accepted: {error}")),
    }
}

/// Files have the hashes that were recorded; otherwise the first that differs.
pub(crate) fn files(inputs: &Path, hashes: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, hash) in hashes {
        match whole_file::hash(&inputs.join(name)) {
            Ok((found, _)) if found == *hash => {}
            Ok((_, bytes)) => {
                return Err(format!("inputs/{name} is not what was accepted: it has {bytes} bytes and another hash"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(format!("inputs/{name} is missing")),
            Err(error) => return Err(format!("inputs/{name} cannot be read ({error})")),
        }
    }
    Ok(())
}

/// As the answer recorded them.
fn reply_hashes(run: &Run, interaction_id: InteractionId) -> Result<BTreeMap<String, String>, RuntimeError> {
    let mut hashes = BTreeMap::new();
    read_all(run.log(), run.id, |event| {
        if let Data::InteractionReplied(replied) = event.data
            && replied.interaction_id == interaction_id
        {
            hashes = replied.file_hashes;
        }
        Ok(())
    })?;
    Ok(hashes)
}
