//! `claim.N`: the host that creates it has attempt N. It identifies that host, so that other processes can distinguish
//! a living host from a dead one, and find what a dead one left.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::files;
use skillrun_evidence::{OsText, names};
use skillrun_model::{AttemptNumber, IgnoredError, RunId};

use crate::plan::HostPlan;
use crate::process::list::{self, Process};

/// Whether the host of any attempt in a folder is alive.
pub fn host_is_alive(audit: &Path) -> io::Result<bool> {
    let attempts = match Claim::all(audit) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    for attempt in attempts {
        match Claim::read(audit, attempt)? {
            Claimed::By(claim) if claim.host_is_alive() => return Ok(true),
            Claimed::By(_) | Claimed::BySomebody | Claimed::ByNobody => {}
        }
    }
    Ok(false)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) run_id: RunId,
    pub(crate) attempt: AttemptNumber,
    pub(crate) nonce: String,
    host_pid: u32,
    host_began: u64,
    boot_id: String,
    /// The engine's folder for temporary files; removed at the end.
    pub(crate) temporary: OsText,
    /// This host creates `given.N` before it sends any input to its process. Hosts of earlier versions did not.
    #[serde(default)]
    pub(crate) marks_input: bool,
}

/// Name of the folder for temporary files of a host with this nonce.
pub(crate) fn temporary_name(nonce: &str) -> OsString {
    format!("skillrun-{nonce}").into()
}

/// Whether an attempt is claimed.
#[derive(Debug)]
pub(crate) enum Claimed {
    By(Claim),
    /// The claim cannot be read, as after a power failure. Its host cannot be alive: claims are written atomically.
    BySomebody,
    ByNobody,
}

impl Claim {
    /// A claim of this process.
    pub(crate) fn new(plan: &HostPlan, temporary: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let me = Process::read(pid).ok_or_else(|| io::Error::other("failed to read /proc"))?;
        Ok(Self {
            run_id: plan.run_id,
            attempt: plan.attempt,
            nonce: plan.nonce.clone(),
            host_pid: pid,
            host_began: me.began,
            boot_id: list::boot_id(),
            temporary: temporary.into(),
            marks_input: true,
        })
    }

    /// Name of the folder for temporary files that a host creates.
    pub(crate) fn temporary_name(&self) -> OsString {
        temporary_name(&self.nonce)
    }

    /// The same host, for the next attempt of its process.
    pub(crate) fn for_next(&self, attempt: AttemptNumber) -> Self {
        Self { attempt, ..self.clone() }
    }

    /// Claims the attempt; an error of kind `AlreadyExists` when another host has it. The file is never seen
    /// half-written.
    pub(crate) fn take(&self, audit: &Path) -> io::Result<()> {
        let beside = self.beside(audit);
        let mut file = files::create_private(&beside)?;
        let taken = file
            .write_all(&serde_json::to_vec(self)?)
            .and_then(|()| fs::hard_link(&beside, audit.join(names::claim(self.attempt))));
        fs::remove_file(&beside)?;
        taken
    }

    /// The temporary name under which it is written.
    pub(crate) fn beside(&self, audit: &Path) -> PathBuf {
        audit.join(format!("{}.{}", names::claim(self.attempt), self.nonce))
    }

    /// Whether this is the name of a file that the host of the attempt had not finished. Other processes write some of
    /// these files too, under other temporary names.
    pub(crate) fn has_drafted(&self, name: &str) -> bool {
        let Some(name) = name.strip_suffix(".tmp") else { return false };
        let of_snapshot = ["fs-before", "fs-after", "fs-diff"];
        let is_snapshot = || of_snapshot.iter().any(|word| name.starts_with(&format!("{word}.{}.", self.attempt)));
        let whole = [names::host(self.attempt), names::meta(self.attempt)];
        whole.iter().any(|whole| name == format!("{whole}.{}", self.host_pid)) || is_snapshot()
    }

    /// Releases a claim of an attempt that did not begin.
    pub(crate) fn release(&self, audit: &Path) {
        fs::remove_file(audit.join(names::claim(self.attempt))).ignored();
    }

    /// The holder of the attempt.
    pub(crate) fn read(audit: &Path, attempt: AttemptNumber) -> io::Result<Claimed> {
        match fs::read(audit.join(names::claim(attempt))) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).map_or(Claimed::BySomebody, Claimed::By)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Claimed::ByNobody),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn host_is_alive(&self) -> bool {
        self.host().is_some()
    }

    /// The host, if it is alive.
    pub(crate) fn host(&self) -> Option<Process> {
        let is_it = |now: &Process| now.began == self.host_began && !now.is_over;
        Process::read(self.host_pid).filter(|now| is_it(now) && self.boot_id == list::boot_id())
    }

    /// All claimed attempts of a folder, in order.
    pub(crate) fn all(audit: &Path) -> io::Result<Vec<AttemptNumber>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(audit)? {
            if let Some(number) = entry?.file_name().to_str().and_then(|name| names::number_in(name, names::claim)) {
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}
