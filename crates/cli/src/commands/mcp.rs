//! `skillrun mcp`: the tools for agents on stdin and stdout. Of an attempt, they are about the children of its run;
//! of a user, about runs without a parent.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use skillrun_auth::random;
use skillrun_base::sync::lock;
use skillrun_mcp::attempt_desk::{AttemptDesk, SOCKET_VARIABLE, TOKEN_VARIABLE};
use skillrun_mcp::{DeskKind, RunDesk, serve_stdio};
use skillrun_model::delegation::{DelegationRefusal, DelegationRequest, DelegationResponse, RefusalReason};
use skillrun_model::{ErrorClass, IgnoredError, RunId};
use skillrun_runtime::top_level::{NewRuns, RunKeeper, SkillFolders, TopLevelConfig, TopLevelDesk};
use skillrun_runtime::{Reply, Runtime, SystemClock};

use crate::args::Global;
use crate::failure::Failure;
use crate::owner::{Given, OwnerProcess, Take, hand_to_server, in_background, reply_by_server, take_over_orphans};
use crate::settings::Settings;

/// The caller, in Logs.
const BY: &str = "skillrun mcp";

pub(crate) fn run(global: &Global) -> Result<(), Failure> {
    let failed = |error| Failure::internal(format!("the MCP server failed: {error}"), error);
    if let Some(desk) = attempt_desk()? {
        return serve_stdio(DeskKind::Children, Arc::new(desk)).map_err(failed);
    }
    let scope: [u8; 16] = random::bytes().map_err(|error| Failure::of_class(ErrorClass::Internal, error))?;
    let desk = Arc::new(UserDesk {
        settings: Settings::load(global)?,
        scope: scope.iter().map(|byte| format!("{byte:02x}")).collect(),
        owner: Mutex::new(None),
        desk: OnceLock::new(),
    });
    let served = serve_stdio(DeskKind::TopLevel, desk.clone());
    desk.leave();
    served.map_err(failed)
}

/// The desk of the attempt that this process belongs to.
fn attempt_desk() -> Result<Option<AttemptDesk>, Failure> {
    let incomplete =
        |set: &str, missing: &str| Failure::Input(format!("{set} is set, and {missing} is not; set both or neither"));
    match (env::var_os(SOCKET_VARIABLE), env::var(TOKEN_VARIABLE).ok()) {
        (Some(socket), Some(token)) => Ok(Some(AttemptDesk::new(PathBuf::from(socket), token))),
        (Some(_), None) => Err(incomplete(SOCKET_VARIABLE, TOKEN_VARIABLE)),
        (None, Some(_)) => Err(incomplete(TOKEN_VARIABLE, SOCKET_VARIABLE)),
        (None, None) => Ok(None),
    }
}

/// The runs of the user. An agent starts this process whether it uses it or not, so the data folder is opened by the
/// first call.
struct UserDesk {
    settings: Settings,
    /// Agents do not know of each other's keys: a key is that of this process.
    scope: String,
    owner: Mutex<Option<OwnerProcess>>,
    desk: OnceLock<TopLevelDesk>,
}

impl fmt::Debug for UserDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserDesk").finish_non_exhaustive()
    }
}

impl UserDesk {
    fn open(&self) -> Result<&TopLevelDesk, Failure> {
        let mut owner = lock(&self.owner);
        if owner.is_none() {
            take_over_orphans(&self.settings);
            *owner = Some(OwnerProcess::new(&self.settings)?);
        }
        let runtime = owner.as_ref().map(|owner| owner.runtime.clone());
        let runtime = runtime.ok_or_else(|| Failure::Failed("the server is ending".to_owned()))?;
        Ok(self.desk.get_or_init(|| {
            let keeper = BackgroundKeeper { settings: self.settings.clone(), runtime: Arc::downgrade(&runtime) };
            let config = TopLevelConfig {
                skills: self.settings.search_path(self.settings.cwd()),
                skill_folders: SkillFolders::Allowed,
                cwd: self.settings.cwd().to_owned(),
                engine: self.settings.engine.clone(),
                workspace: Some(self.settings.cwd().to_owned()),
                new_runs: NewRuns::Elsewhere,
                clock: Arc::new(SystemClock),
            };
            TopLevelDesk::new(runtime, config, Box::new(keeper))
        }))
    }

    /// Unfinished runs that are still here get an owner in the background.
    fn leave(&self) {
        if let Some(desk) = self.desk.get() {
            desk.stop();
        }
        drop(lock(&self.owner).take());
    }
}

impl RunDesk for UserDesk {
    fn ask(&self, request: DelegationRequest) -> DelegationResponse {
        match self.open() {
            Ok(desk) => desk.ask(request, &self.scope, BY),
            Err(failure) => {
                let message = format!("skillrun cannot use its data folder ({failure}); ask the user to repair that");
                let refusal = DelegationRefusal { reason: RefusalReason::Unavailable, message };
                DelegationResponse::Refused { refusal }
            }
        }
    }
}

/// Agents end their servers at any time and with any signal, so that no run stays with this process: the server works
/// on it if there is one that has the same variables, else an owner process in the background.
struct BackgroundKeeper {
    settings: Settings,
    runtime: Weak<Runtime>,
}

impl RunKeeper for BackgroundKeeper {
    fn keep(&self, run: RunId) {
        if let Some(runtime) = self.runtime.upgrade() {
            runtime.let_go(run);
            self.hand_over(run);
        }
    }

    fn hand_over(&self, run: RunId) {
        let is_taken = hand_to_server(&self.settings, run) == Given::Taken
            || in_background(&self.settings, Take::One(run)).is_ok();
        if !is_taken {
            // It stays here then.
            if let Some(runtime) = self.runtime.upgrade() {
                runtime.take_up(run).ignored();
            }
        }
    }

    fn reply_elsewhere(&self, run: RunId, reply: Reply) -> bool {
        reply_by_server(&self.settings, run, reply)
    }

    fn take_over_orphans(&self) {
        take_over_orphans(&self.settings);
    }
}
