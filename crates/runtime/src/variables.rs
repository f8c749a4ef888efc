//! `variables.json`: which variables a run was made with, so that no attempt of it starts with different ones.
//!
//! An engine reads its account and its address from variables. An owner that has other variables than the caller would
//! send the caller's prompts and files to another account, and an owner that has none would end the run. So an owner
//! compares before it starts an attempt, and before it writes an answer that starts one.
//!
//! The file contains no values: for each name it has a hash of the value with a salt of this run, or null where the
//! variable was not set. An empty variable counts as not set. Runs of versions that did not write the file are not
//! compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::whole_file;
use skillrun_engine::Descriptor;
use skillrun_evidence::os_text::{from_hex, to_hex};
use skillrun_runs::record::{HomeChoice, RunRequest};

#[cfg(test)]
mod tests;

const FORMAT: u32 = 1;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The folder in which logins are looked for.
const HOME: &str = "HOME";

/// For whom a process owns runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerRole {
    /// For the user of a command, whose variables count.
    Caller,
    /// For the clients of a server. The operator decides which account it uses, and may change that.
    Server,
}

/// The variables of this process.
pub(crate) struct ProcessVariables {
    pub(crate) role: OwnerRole,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) user_home: PathBuf,
}

impl fmt::Debug for ProcessVariables {
    /// Without values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessVariables").field("role", &self.role).finish_non_exhaustive()
    }
}

impl ProcessVariables {
    fn value(&self, name: &str) -> Option<&OsStr> {
        if name == HOME {
            return Some(self.user_home.as_os_str());
        }
        let found = self.environment.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// How a variable differs from its recorded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableChange {
    NotSetHere,
    OtherValueHere,
    /// It was not set when the run was made.
    SetOnlyHere,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedVariable {
    pub name: String,
    pub change: VariableChange,
}

impl fmt::Display for ChangedVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.change {
            VariableChange::NotSetHere => "is not set here",
            VariableChange::OtherValueHere => "has another value here",
            VariableChange::SetOnlyHere => "was not set and is set here",
        };
        write!(f, "{} {words}", self.name)
    }
}

/// All of them in one sentence.
pub(crate) fn listed(changed: &[ChangedVariable]) -> String {
    changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The content of `variables.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedVariables {
    format: u32,
    made_by: OwnerRole,
    salt: String,
    /// By name: the salted hash of the value, none where it was not set.
    variables: BTreeMap<String, Option<String>>,
}

/// The variables that an engine's descriptor and a request name. Where the engine has its login in files, HOME is one of
/// them.
pub(crate) fn names(descriptor: &Descriptor, request: &RunRequest) -> BTreeSet<String> {
    let (environment, login) = (&descriptor.environment, &descriptor.login);
    let lists = [
        &environment.pass,
        &environment.secret,
        &login.variables,
        &login.gateway_variables,
        &request.env,
        &request.secrets,
    ];
    let gateway = descriptor.gateway.iter().map(|gateway| &gateway.variable);
    let has_files = !login.files.is_empty() || !login.folders.is_empty();
    let home = (has_files || request.home == HomeChoice::User).then(|| HOME.to_owned());
    let servers = request.mcp_servers.variables().into_iter().map(str::to_owned);
    lists.into_iter().flatten().chain(gateway).cloned().chain(servers).chain(home).collect()
}

impl SealedVariables {
    pub(crate) fn of(names: BTreeSet<String>, now: &ProcessVariables, salt: [u8; 32]) -> Self {
        let variables = names.into_iter().map(|name| {
            let hash = now.value(&name).map(|value| hash(&salt, &name, value));
            (name, hash)
        });
        Self { format: FORMAT, made_by: now.role, salt: to_hex(&salt), variables: variables.collect() }
    }

    /// The same names, with the values of this process.
    pub(crate) fn again(&self, now: &ProcessVariables, salt: [u8; 32]) -> Self {
        Self::of(self.variables.keys().cloned().collect(), now, salt)
    }

    /// What differs in this process. A server may have been given another account since it made a run of its own; but
    /// no variable may be missing there either.
    pub(crate) fn changed(&self, now: &ProcessVariables) -> Vec<ChangedVariable> {
        let Some(salt) = from_hex(&self.salt).and_then(|salt| <[u8; 32]>::try_from(salt).ok()) else {
            return Vec::new();
        };
        let may_change = self.made_by == OwnerRole::Server && now.role == OwnerRole::Server;
        let mut changed = Vec::new();
        for (name, was) in &self.variables {
            let is = now.value(name).map(|value| hash(&salt, name, value));
            let change = match (was, is) {
                (Some(_), None) => VariableChange::NotSetHere,
                (Some(was), Some(is)) if *was != is && !may_change => VariableChange::OtherValueHere,
                (None, Some(_)) if !may_change => VariableChange::SetOnlyHere,
                (Some(_) | None, Some(_)) | (None, None) => continue,
            };
            changed.push(ChangedVariable { name: name.clone(), change });
        }
        changed
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        whole_file::replace(path, &text)
    }

    /// None for a run of a version that did not write it.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if found.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
        }
        Ok(Some(serde_json::from_slice(&fs::read(path)?)?))
    }
}

fn hash(salt: &[u8; 32], name: &str, value: &OsStr) -> String {
    let mut hasher = blake3::Hasher::new_keyed(salt);
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(value.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// A salt for one run.
pub(crate) fn random_salt() -> io::Result<[u8; 32]> {
    let mut salt = [0; 32];
    rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::empty())?;
    Ok(salt)
}
