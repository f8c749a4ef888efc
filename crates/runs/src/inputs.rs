//! Whether a run still has what was accepted: the copy of its skill and its input files, each against the hash that was
//! recorded when it was taken.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use skillrun_base::whole_file;
use skillrun_skill::SkillHash;

use crate::data_folder::RunFolder;
use crate::record::RunRecord;

/// The copy of the skill is the one that was accepted. A run without a skill has none.
pub fn skill(folder: &RunFolder, record: &RunRecord) -> Result<(), String> {
    let Some(skill) = &record.skill else { return Ok(()) };
    match SkillHash::of(&folder.skill()) {
        Ok(found) if found.to_string() == skill.hash => Ok(()),
        Ok(_) => {
            Err("the copy of the skill in skill/ is not what was accepted: a file in it has changed, is missing or is \
                      new"
            .to_owned())
        }
        Err(error) => Err(format!("the copy of the skill in skill/ is not what was accepted: {error}")),
    }
}

/// Files have the hashes that were recorded; otherwise the first that differs.
pub fn files(inputs: &Path, hashes: &BTreeMap<String, String>) -> Result<(), String> {
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
