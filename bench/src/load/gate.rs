//! A gate that many engines wait at without using the processor: a file that one process has locked, and that the others
//! want to lock too. It opens when its keeper says so, and also when its keeper dies.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::problem::Problem;

/// A closed gate. It opens when it is dropped.
#[derive(Debug)]
pub(crate) struct Gate(File);

impl Gate {
    pub(crate) fn closed(path: &Path) -> Result<Self, Problem> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(std::io::Error::from)?;
        Ok(Self(file))
    }

    pub(crate) fn open(self) {
        drop(self.0);
    }
}

/// Waits until it is open.
pub(crate) fn pass(path: &Path) -> Result<(), Problem> {
    Ok(flock(File::open(path)?, FlockOperation::LockShared).map_err(std::io::Error::from)?)
}

pub(crate) fn is_open(path: &Path) -> Result<bool, Problem> {
    match flock(File::open(path)?, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_closed_until_its_keeper_opens_it() {
        let path = std::env::temp_dir().join(format!("skillrun-gate-{}", std::process::id()));
        let gate = Gate::closed(&path).unwrap();
        assert!(!is_open(&path).unwrap());
        gate.open();
        assert!(is_open(&path).unwrap());
        pass(&path).unwrap();
        fs::remove_file(path).unwrap();
    }
}
