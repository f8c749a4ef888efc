//! `given.N`: the mark that a host creates before its process gets the first input of attempt N. A host can be killed
//! at any moment, also between writing an answer and recording it. Without the mark, nothing was written; with it,
//! something may have been.

use std::io;
use std::path::Path;

use skillrun_base::files;
use skillrun_base::whole_file;
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};

/// What is known about the input of an attempt whose host is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputGiven {
    /// The process received nothing.
    Nothing,
    /// The process may have received input, or the host is of a version that creates no mark.
    Perhaps,
}

/// Creates the mark; it is on the disk when this returns.
pub(crate) fn mark(audit: &Path, attempt: AttemptNumber) -> io::Result<()> {
    let made = files::create_private(&audit.join(names::given(attempt)));
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => whole_file::sync_folder(audit),
    }
}

/// Whether the process of an attempt may have received input. A mark that cannot be read proves nothing.
pub fn input_given(audit: &Path, attempt: AttemptNumber) -> InputGiven {
    let marks = matches!(Claim::read(audit, attempt), Ok(Claimed::By(claim)) if claim.marks_input);
    match audit.join(names::given(attempt)).try_exists() {
        Ok(false) if marks => InputGiven::Nothing,
        Ok(_) | Err(_) => InputGiven::Perhaps,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CLAIM: &str = r#"{"run_id":"0198c0de-0000-7000-8000-000000000001","attempt":2,"nonce":"n","host_pid":1,
        "host_began":1,"boot_id":"b","temporary":"/tmp/x"MARKS}"#;

    #[test]
    fn only_a_missing_mark_of_a_marking_host_proves_no_input() {
        let audit = tempfile::tempdir().expect("a folder");
        let given = || input_given(audit.path(), AttemptNumber(2));
        let claim =
            |marks: &str| fs::write(audit.path().join("claim.2"), CLAIM.replace("MARKS", marks)).expect("written");
        assert_eq!(given(), InputGiven::Perhaps, "there is no claim");
        claim("");
        assert_eq!(given(), InputGiven::Perhaps, "a host of an earlier version");
        claim(",\"marks_input\":true");
        assert_eq!(given(), InputGiven::Nothing);
        mark(audit.path(), AttemptNumber(2)).expect("marked");
        mark(audit.path(), AttemptNumber(2)).expect("marked again");
        assert_eq!(given(), InputGiven::Perhaps);
        assert_eq!(input_given(audit.path(), AttemptNumber(3)), InputGiven::Perhaps);
    }
}
