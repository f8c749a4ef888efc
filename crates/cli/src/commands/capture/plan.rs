//! From arguments to a plan. Environment, clock and randomness enter here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skillrun_collect::plan::{self, HostPlan, Limits, SnapshotPlan, StartWhen, StdinPlan, Variable, VariableKind};
use skillrun_collect::{environment, start};
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::Label;
use skillrun_model::{AttemptNumber, ProfileId, RunId, Wiring};

use super::CaptureError;
use crate::args::Capture;

/// Everything that is decided before a host is started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: HostPlan,
    pub(crate) audit: PathBuf,
    /// The standard input of this process is passed on.
    pub(crate) passes_stdin: bool,
}

pub(crate) fn prepare(args: &Capture) -> Result<Prepared, CaptureError> {
    let here = std::env::current_dir()
        .map_err(|error| CaptureError::Input(format!("there is no current folder ({error})")))?;
    let given = args.workspace.as_deref();
    // A workspace that does not exist is reported by the host, in the record.
    let workspace = given.map_or_else(|| here.clone(), |dir| fs::canonicalize(dir).unwrap_or_else(|_| here.join(dir)));
    if args.out.is_none() && !workspace.is_dir() {
        return Err(CaptureError::Input(format!("the workspace {} is not a folder", workspace.display())));
    }
    let variables = variables(args)?;
    let stdin = stdin(args, &here);
    let audit = start::prepare_folder(args.out.as_deref().unwrap_or(&workspace))?;
    let attempt = match args.attempt {
        Some(number) => AttemptNumber(number),
        None => start::next_number(&audit)?,
    };
    let nonce =
        start::random_nonce().map_err(|error| CaptureError::Input(format!("failed to read random bytes: {error}")))?;
    let plan = HostPlan {
        confinement: None,
        resources: None,
        run_id: run_id(&audit, &nonce),
        attempt,
        nonce,
        audit: audit.clone().into(),
        workspace: workspace.into(),
        argv: args.command.iter().map(|word| OsText::from(word.as_os_str())).collect(),
        variables,
        wiring: args.wiring,
        stdin: stdin.plan,
        label: Label {
            engine: args.engine.clone(),
            engine_version: None,
            profile: None::<ProfileId>,
            execution_mode: None,
        },
        limits: Limits {
            hard: args.timeout,
            stall: args.stall,
            linger: args.linger,
            max_bytes: args.max_bytes,
            ..Limits::default()
        },
        ladder: plan::ladder(args.grace),
        snapshot: if args.no_snapshot { SnapshotPlan::Off } else { SnapshotPlan::On { ignore: args.ignore.clone() } },
        temporary: here.join(std::env::temp_dir()).into(),
        keys: Vec::new(),
        start: StartWhen::AtOnce,
    };
    Ok(Prepared { plan, audit, passes_stdin: stdin.is_passed_on })
}

struct Stdin {
    plan: StdinPlan,
    is_passed_on: bool,
}

fn stdin(args: &Capture, here: &Path) -> Stdin {
    let Some(given) = &args.stdin else {
        // Most programs do not recognize a terminal unless standard input is one too.
        let plan = match args.wiring {
            Wiring::Pipes => StdinPlan::Null,
            Wiring::SplitPty | Wiring::OnePty => StdinPlan::Tty,
        };
        return Stdin { plan, is_passed_on: false };
    };
    match given.as_os_str().as_bytes() {
        b"null" => Stdin { plan: StdinPlan::Null, is_passed_on: false },
        b"pipe" => Stdin { plan: StdinPlan::Pipe, is_passed_on: true },
        b"tty" => Stdin { plan: StdinPlan::Tty, is_passed_on: true },
        _ => Stdin { plan: StdinPlan::File(here.join(given).into()), is_passed_on: false },
    }
}

/// The environment of the command.
fn variables(args: &Capture) -> Result<Vec<Variable>, CaptureError> {
    let is_secret = |name: &OsStr| args.secret.iter().any(|secret| secret == name);
    let mut variables: Vec<Variable> = Vec::new();
    let mut set = |name: &OsStr, value: OsString| {
        let kind = if is_secret(name) { VariableKind::Secret } else { VariableKind::Plain };
        variables.retain(|variable| variable.name.as_os_str() != name);
        variables.push(Variable { name: name.into(), value: value.into(), kind });
    };
    for (name, value) in std::env::vars_os().filter(|(name, _)| environment::is_allowed(name.as_bytes())) {
        set(&name, value);
    }
    let mut given = Vec::new();
    for variable in &args.env {
        let bytes = variable.as_bytes();
        match bytes.iter().position(|byte| *byte == b'=') {
            Some(0) => return Err(CaptureError::Input(format!("--env {}: the name is missing", variable.display()))),
            Some(at) => {
                let name = OsStr::from_bytes(&bytes[..at]);
                given.push(name.to_owned());
                set(name, OsStr::from_bytes(&bytes[at + 1..]).to_owned());
            }
            // A variable that is not set stays unset.
            None => {
                if let Some(value) = std::env::var_os(variable) {
                    set(variable, value);
                }
            }
        }
    }
    for name in args.secret.iter().filter(|name| !given.contains(name)) {
        match std::env::var_os(name) {
            Some(value) => set(name, value),
            None => {
                let shown = name.display();
                return Err(CaptureError::Input(format!(
                    "--secret {shown}: the variable is not set; set it, or give --env {shown}=VALUE too"
                )));
            }
        }
    }
    Ok(variables)
}

/// The run that the folder belongs to, or a new one.
fn run_id(audit: &Path, nonce: &str) -> RunId {
    #[derive(serde::Deserialize)]
    struct RunRecord {
        run_id: RunId,
    }
    let known = fs::read(audit.with_file_name("run.json")).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<RunRecord>(&bytes).ok());
    known.map_or_else(
        || {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let mut random = [0; 10];
            for (byte, digits) in random.iter_mut().zip(nonce.as_bytes().chunks(2)) {
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
            }
            RunId::new(u64::try_from(since.as_millis()).unwrap_or_default(), random)
        },
        |record| record.run_id,
    )
}
