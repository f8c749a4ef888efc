//! A run and all runs below it: what each parent says of its children, compared with what the Logs of the children say.
//!
//! [`diagnose`] reads the Logs and changes nothing; `checks` is pure.

mod checks;
mod lines;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_lifecycle::run::{ChildProgress, ChildRun, State};
use skillrun_log::{FileLog, LogError};
use skillrun_model::delegation::{ParentLink, SubagentEnded, SubagentStatus};
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::{Classified, ErrorClass, RunId, RunStatus, Timestamp};
use skillrun_runs::children::ChildLog;
use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::events::read_all;

use crate::diagnose::RunOwner;
use crate::error::InspectError;
pub use checks::{FamilyCheck, FamilyTopic};

/// Most runs that one diagnosis reads.
const RUNS_MAX: usize = 5_000;

/// A run and all runs below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FamilyDiagnosis {
    pub run_id: RunId,
    /// Each run after its parent; siblings in the order in which they were asked for.
    pub runs: Vec<FamilyMember>,
    pub checks: Vec<FamilyCheck>,
}

/// One run of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FamilyMember {
    pub run_id: RunId,
    /// The run above it in this diagnosis; null for the first one.
    pub parent: Option<RunId>,
    /// 0 for the first one.
    pub depth: u32,
    /// The name of the skill, or the beginning of the prompt.
    pub title: String,
    pub engine: String,
    pub log: MemberLog,
    /// By its own Log; null where that cannot be read.
    pub status: Option<RunStatus>,
    /// What the Log of its parent says of its end; null while the parent says nothing.
    pub parent_says: Option<SubagentStatus>,
    /// How it has ended by its own Log, as it counts for its parent; null while it has not ended.
    pub ended: Option<SubagentStatus>,
    /// The event of its own Log that `ended` follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_seq: Option<u64>,
    /// The parent says `detached`, and its own Log how it ended.
    pub reconciled: bool,
}

/// Whether the Log of a member could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberLog {
    Read,
    /// The run does not exist.
    NotMade,
    Removed,
    /// It is damaged, or of a newer version.
    Unreadable,
}

/// A run that names another one as its parent, as a list of runs has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedRun {
    pub run_id: RunId,
    pub parent: RunId,
}

/// Everything that is known of one member.
#[derive(Debug)]
struct Known {
    member: FamilyMember,
    /// As the parent has asked for it; none for the first one.
    child: Option<ChildRun>,
    /// What the parent has recorded of its end.
    record: Option<SubagentEnded>,
    content: Content,
    parent_is_over: bool,
    owner: RunOwner,
}

/// What the Log of a member has.
#[derive(Debug, Default)]
struct Content {
    state: Option<State>,
    link: Option<ParentLink>,
    ends: HashMap<RunId, SubagentEnded>,
    turn_began_at: Option<Timestamp>,
    own_end: Option<SubagentEnded>,
}

impl Content {
    fn event(&mut self, event: &Event) {
        if let Data::Control(data) = &event.data {
            if let ControlData::RunStarted(started) = data {
                self.link = started.parent.as_deref().cloned();
            } else if let ControlData::AttemptStarted(started) = data {
                self.turn_began_at = Some(started.started_at);
            } else if let ControlData::SubagentEnded(end) = data {
                self.ends.insert(end.child_run_id, end.clone());
            }
        }
    }

    fn is_over(&self) -> bool {
        self.state.as_ref().is_some_and(State::is_over)
    }
}

/// What stands above the first run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Above {
    /// It has no parent, or its parent knows it.
    Known,
    ParentGone(RunId),
    Unknown(RunId),
}

/// Everything that the checks are made of.
#[derive(Debug)]
struct Material {
    members: Vec<Known>,
    /// Runs that name a member as their parent, which has not asked for them; and runs whose parent does not exist.
    orphans: Vec<LinkedRun>,
    above: Above,
    is_cut: bool,
    now: Timestamp,
}

/// Diagnoses a run and all runs below it. `linked` are the runs of the same root that name a parent. `owner` is asked for
/// runs that are not over.
pub fn diagnose(
    data: &DataFolder,
    log: &FileLog,
    run: RunId,
    linked: &[LinkedRun],
    owner: &dyn Fn(RunId) -> RunOwner,
    now: Timestamp,
) -> Result<FamilyDiagnosis, InspectError> {
    let top = top(log, run, owner)?;
    let above = above(log, run, top.content.link.as_ref())?;
    let mut open = vec![top];
    let mut members: Vec<Known> = Vec::new();
    let mut is_cut = false;
    while let Some(known) = open.pop() {
        let below = known.content.state.as_ref().map_or(&[][..], |state| &state.children);
        // The last one first, so that the first one is taken first.
        for child in below.iter().rev() {
            if members.len() + open.len() + 1 >= RUNS_MAX {
                is_cut = true;
                break;
            }
            open.push(member(data, log, &known, child, owner));
        }
        members.push(known);
    }
    let orphans = orphans(log, &members, linked);
    let material = Material { members, orphans, above, is_cut, now };
    let checks = checks::checks(&material);
    Ok(FamilyDiagnosis { run_id: run, runs: material.members.into_iter().map(|known| known.member).collect(), checks })
}

fn top(log: &FileLog, run: RunId, owner: &dyn Fn(RunId) -> RunOwner) -> Result<Known, InspectError> {
    let (mut content, mut state) = (Content::default(), State::default());
    let (mut title, mut engine) = (String::new(), String::new());
    let read = read_all(log, run, |event| {
        content.event(&event);
        state.evolve(&event);
        if let Data::Control(ControlData::RunStarted(started)) = &event.data {
            title = started.skill.clone().or(started.title.clone()).unwrap_or_default();
            engine.clone_from(&started.engine);
        }
        Ok(())
    });
    let log = match read {
        Ok(()) => MemberLog::Read,
        Err(error) => match error.class() {
            ErrorClass::NotFound | ErrorClass::Gone => return Err(error.into()),
            ErrorClass::Usage
            | ErrorClass::Conflict
            | ErrorClass::Busy
            | ErrorClass::StorageFull
            | ErrorClass::Internal => MemberLog::Unreadable,
        },
    };
    let owner = if state.is_over() { RunOwner::NoProcess } else { owner(run) };
    let member = FamilyMember {
        run_id: run,
        parent: None,
        depth: 0,
        title,
        engine,
        log,
        status: state.status,
        parent_says: None,
        ended: None,
        end_seq: None,
        reconciled: false,
    };
    content.state = Some(state);
    Ok(Known { member, child: None, record: None, content, parent_is_over: false, owner })
}

fn member(
    data: &DataFolder,
    log: &FileLog,
    parent: &Known,
    child: &ChildRun,
    owner: &dyn Fn(RunId) -> RunOwner,
) -> Known {
    let mut content = Content::default();
    let log = match ChildLog::read_with(log, data, child, |event| content.event(event)) {
        Ok(Some(found)) => {
            content.own_end = found.ending(child);
            content.state = Some(found.state().clone());
            MemberLog::Read
        }
        Ok(None) if is_removed(log, child.run_id) => MemberLog::Removed,
        Ok(None) => MemberLog::NotMade,
        Err(error) if error.class() == ErrorClass::Gone => MemberLog::Removed,
        Err(_) => MemberLog::Unreadable,
    };
    let parent_says = match child.progress {
        ChildProgress::Requested | ChildProgress::Started => None,
        ChildProgress::Ended(status) => Some(status),
    };
    let is_over = content.is_over();
    let member = FamilyMember {
        run_id: child.run_id,
        parent: Some(parent.member.run_id),
        depth: parent.member.depth + 1,
        title: child.title.clone(),
        engine: child.engine.clone(),
        log,
        status: content.state.as_ref().and_then(|state| state.status),
        parent_says,
        ended: content.own_end.as_ref().map(|end| end.status),
        end_seq: content.own_end.as_ref().and_then(|end| end.child_seq),
        reconciled: parent_says == Some(SubagentStatus::Detached) && content.own_end.is_some(),
    };
    Known {
        member,
        child: Some(child.clone()),
        record: parent.content.ends.get(&child.run_id).cloned(),
        parent_is_over: parent.content.is_over(),
        owner: if is_over || log != MemberLog::Read { RunOwner::NoProcess } else { owner(child.run_id) },
        content,
    }
}

fn is_removed(log: &FileLog, run: RunId) -> bool {
    use skillrun_log::EventLog;
    log.head(run).is_err_and(|error| error.class() == ErrorClass::Gone)
}

/// What the parent of the first run says of it.
fn above(log: &FileLog, run: RunId, link: Option<&ParentLink>) -> Result<Above, InspectError> {
    let Some(link) = link else { return Ok(Above::Known) };
    let parent = link.run_id;
    let mut state = State::default();
    let read = read_all(log, parent, |event| {
        state.evolve(&event);
        Ok::<(), LogError>(())
    });
    match read {
        Ok(()) if state.child(run).is_some() => Ok(Above::Known),
        Ok(()) => Ok(Above::Unknown(parent)),
        Err(error) => match error.class() {
            ErrorClass::NotFound | ErrorClass::Gone => Ok(Above::ParentGone(parent)),
            ErrorClass::Usage
            | ErrorClass::Conflict
            | ErrorClass::Busy
            | ErrorClass::StorageFull
            | ErrorClass::Internal => Err(error.into()),
        },
    }
}

/// Runs that name a parent of this family that does not know them, or a parent that does not exist.
fn orphans(log: &FileLog, members: &[Known], linked: &[LinkedRun]) -> Vec<LinkedRun> {
    use skillrun_log::EventLog;
    let known: HashSet<RunId> = members.iter().map(|known| known.member.run_id).collect();
    let is_orphan = |link: &&LinkedRun| {
        let is_read = |parent: &Known| parent.member.run_id == link.parent && parent.member.log == MemberLog::Read;
        let parent_is_gone = || {
            let head = log.head(link.parent);
            head.is_err_and(|error| matches!(error.class(), ErrorClass::NotFound | ErrorClass::Gone))
        };
        !known.contains(&link.run_id) && (members.iter().any(is_read) || parent_is_gone())
    };
    linked.iter().filter(is_orphan).copied().collect()
}
