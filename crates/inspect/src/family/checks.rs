//! What every family is checked for, with a severity.

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::{Code, RunId, RunStatus, word_enum};

use super::{Above, Known, Material, MemberLog};
use crate::diagnose::{CheckSeverity, RunOwner};

/// A turn may be recorded this long after its limit was reached, because its host waits for the processes to end.
const LIMIT_GRACE_MS: u64 = 60_000;

/// Runs that a sentence names.
const NAMED: usize = 3;

word_enum! {
    /// What is checked of a family.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub FamilyTopic {
        /// Every record of an end has what its status requires, and every child names its parent.
        MissingFields = "missing_fields",
        /// What a parent says of a child is what the Log of the child says.
        StaleChildren = "stale_children",
        /// Children that ran out of time, and children that work for longer than their time limit.
        Timeouts = "timeouts",
        /// Every run below is known to its parent, and every child that was asked for exists.
        Orphans = "orphans",
        /// Children that their parent no longer controls; how they ended is read from their own Logs.
        Detached = "detached",
    }
}

/// One check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FamilyCheck {
    pub check: FamilyTopic,
    pub severity: CheckSeverity,
    /// The runs that it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// For people; the text may change.
    pub words: String,
}

struct Outcome {
    severity: CheckSeverity,
    runs: Vec<RunId>,
    words: String,
}

/// Something that one check has found.
struct Fault {
    severity: CheckSeverity,
    run: RunId,
    words: String,
}

fn failed(run: RunId, words: impl Into<String>) -> Fault {
    Fault { severity: CheckSeverity::Failed, run, words: words.into() }
}

fn warned(run: RunId, words: impl Into<String>) -> Fault {
    Fault { severity: CheckSeverity::Warning, run, words: words.into() }
}

pub(super) fn checks(material: &Material) -> Vec<FamilyCheck> {
    let check = |topic: &FamilyTopic| {
        let (faults, passed) = match topic {
            FamilyTopic::MissingFields => (missing_fields(material), "every record of an end is complete"),
            FamilyTopic::StaleChildren => (stale_children(material), "parents say what the Logs of their children say"),
            FamilyTopic::Timeouts => (timeouts(material), "no child ran out of time"),
            FamilyTopic::Orphans => (orphans(material), "every run is known to its parent"),
            FamilyTopic::Detached => (detached(material), "no child is detached"),
        };
        let Outcome { severity, runs, words } = outcome(faults, passed, material);
        FamilyCheck { check: *topic, severity, runs, words }
    };
    FamilyTopic::ALL.iter().map(check).collect()
}

/// The worst of the faults, with all runs of that severity.
fn outcome(faults: Vec<Fault>, passed: &str, material: &Material) -> Outcome {
    let has_failed = faults.iter().any(|fault| fault.severity == CheckSeverity::Failed);
    let severity = if has_failed { CheckSeverity::Failed } else { CheckSeverity::Warning };
    let worst: Vec<Fault> = faults.into_iter().filter(|fault| fault.severity == severity).collect();
    if !worst.is_empty() {
        let mut words: Vec<String> = worst.iter().take(NAMED).map(|fault| fault.words.clone()).collect();
        if worst.len() > NAMED {
            words.push(format!("and {} more", worst.len() - NAMED));
        }
        return Outcome { severity, runs: worst.into_iter().map(|fault| fault.run).collect(), words: words.join("; ") };
    }
    let unread: Vec<RunId> = material
        .members
        .iter()
        .filter(|known| known.member.log == MemberLog::Unreadable)
        .map(|known| known.member.run_id)
        .collect();
    // What these Logs do not show may be in them.
    if !unread.is_empty() {
        let words = format!("the Logs of {} runs cannot be read to their ends", unread.len());
        return Outcome { severity: CheckSeverity::Unknown, runs: unread, words };
    }
    if material.is_cut {
        let words = format!("only {} runs were read", material.members.len());
        return Outcome { severity: CheckSeverity::Unknown, runs: Vec::new(), words };
    }
    Outcome { severity: CheckSeverity::Passed, runs: Vec::new(), words: passed.to_owned() }
}

fn missing_fields(material: &Material) -> Vec<Fault> {
    let mut faults = Vec::new();
    for known in &material.members {
        let run = known.member.run_id;
        let missing = missing_of(known);
        if !missing.is_empty() {
            faults.push(failed(run, format!("the record of the end of {run} has no {}", missing.join(", no "))));
        }
        let Some(parent) = known.member.parent.filter(|_| known.member.log == MemberLog::Read) else { continue };
        match known.content.link.as_ref().map(|link| link.run_id) {
            Some(named) if named == parent => {}
            Some(named) => faults.push(failed(run, format!("{run} names {named} as its parent, and not {parent}"))),
            None => faults.push(failed(run, format!("{run} does not name its parent"))),
        }
    }
    faults
}

/// The fields that the record of an end lacks.
fn missing_of(known: &Known) -> Vec<&'static str> {
    let Some(record) = &known.record else { return Vec::new() };
    let mut missing = Vec::new();
    let was_made = record.reason != Code::ChildNotMade;
    match record.status {
        SubagentStatus::Detached => {}
        SubagentStatus::Completed | SubagentStatus::Failed | SubagentStatus::Cancelled | SubagentStatus::TimedOut => {
            if was_made && record.child_seq.is_none() {
                missing.push("child_seq");
            }
        }
    }
    if record.status == SubagentStatus::TimedOut {
        if record.timeout_ms.is_none() {
            missing.push("timeout_ms");
        }
        if record.next_actions.is_empty() {
            missing.push("next_actions");
        }
    }
    missing
}

fn stale_children(material: &Material) -> Vec<Fault> {
    material.members.iter().filter_map(stale).collect()
}

fn stale(known: &Known) -> Option<Fault> {
    let (run, end) = (known.member.run_id, known.content.own_end.as_ref());
    known.child.as_ref()?;
    if known.member.log != MemberLog::Read {
        return None;
    }
    match (&known.record, end) {
        (None, Some(end)) if known.parent_is_over => {
            Some(failed(run, format!("{run} is {}, and its parent has ended without a record of it", end.status)))
        }
        // Its parent looks every few seconds, or with its next owner.
        (None, Some(end)) => {
            Some(warned(run, format!("{run} is {}, and its parent has not recorded it yet", end.status)))
        }
        (None, None) if known.parent_is_over => {
            Some(failed(run, format!("{run} has not ended, and its parent has ended without a record of it")))
        }
        (None, None) => None,
        (Some(record), end) => match (record.status, end) {
            (SubagentStatus::Detached, _) => None,
            (told, None) => Some(failed(run, format!("the parent of {run} says {told}, and it has not ended"))),
            (told, Some(end)) if told != end.status => {
                Some(failed(run, format!("the parent of {run} says {told}, and its own Log {}", end.status)))
            }
            (_, Some(end)) if record.child_seq != end.child_seq => {
                Some(failed(run, format!("the parent of {run} cites another event than its end")))
            }
            (_, Some(_)) => None,
        },
    }
}

fn timeouts(material: &Material) -> Vec<Fault> {
    material.members.iter().filter_map(|known| timed_out(known, material)).collect()
}

fn timed_out(known: &Known, material: &Material) -> Option<Fault> {
    let run = known.member.run_id;
    let child = known.child.as_ref()?;
    if known.member.ended.or(known.member.parent_says) == Some(SubagentStatus::TimedOut) {
        let limit = child.timeout_ms.map(|limit| format!(" ({limit} ms)")).unwrap_or_default();
        return Some(warned(run, format!("{run} ran out of time{limit}")));
    }
    let is_running = known.member.status == Some(RunStatus::Running);
    let worked = known.content.turn_began_at.filter(|_| is_running).and_then(|at| material.now.millis_since(at))?;
    let limit = child.timeout_ms?;
    let is_late = worked > limit.saturating_add(LIMIT_GRACE_MS);
    let owner = match known.owner {
        RunOwner::NoProcess => ", and no process works on it",
        RunOwner::Process { .. } | RunOwner::Unknown => "",
    };
    is_late.then(|| warned(run, format!("{run} works for {worked} ms, with a limit of {limit} ms{owner}")))
}

fn orphans(material: &Material) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(top) = material.members.first() {
        let run = top.member.run_id;
        match material.above {
            Above::Known => {}
            Above::ParentGone(parent) => {
                faults.push(warned(run, format!("the parent of {run}, {parent}, does not exist any more")));
            }
            Above::Unknown(parent) => {
                faults.push(failed(run, format!("{run} names {parent} as its parent, which has not asked for it")));
            }
        }
    }
    for orphan in &material.orphans {
        let (run, parent) = (orphan.run_id, orphan.parent);
        let is_member = material.members.iter().any(|known| known.member.run_id == parent);
        faults.push(if is_member {
            failed(run, format!("{run} names {parent} as its parent, which has not asked for it"))
        } else {
            warned(run, format!("the parent of {run}, {parent}, does not exist any more"))
        });
    }
    for known in &material.members {
        let is_known_to_fail = known.record.as_ref().is_some_and(|record| record.reason == Code::ChildNotMade);
        if known.member.log == MemberLog::NotMade && known.parent_is_over && !is_known_to_fail {
            let run = known.member.run_id;
            faults.push(failed(run, format!("{run} was asked for and does not exist")));
        }
    }
    faults
}

fn detached(material: &Material) -> Vec<Fault> {
    let is_detached = |known: &&Known| known.member.parent_says == Some(SubagentStatus::Detached);
    let words = |known: &Known| {
        let run = known.member.run_id;
        let words = match (&known.content.own_end, known.member.log) {
            (Some(end), _) => {
                let seq = end.child_seq.map(|seq| format!(" (event {seq} of its Log)")).unwrap_or_default();
                format!("{run} was detached, and is {}{seq}", end.status)
            }
            (None, MemberLog::Read) => format!("{run} was detached, and has not ended"),
            (None, MemberLog::NotMade | MemberLog::Removed | MemberLog::Unreadable) => {
                format!("{run} was detached, and its Log is not there to be read")
            }
        };
        warned(run, words)
    };
    material.members.iter().filter(is_detached).map(words).collect()
}
