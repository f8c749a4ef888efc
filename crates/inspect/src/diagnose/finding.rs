//! What looks wrong about a run.

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_evidence::HostRecord;
use skillrun_model::interaction::OnDeadline;
use skillrun_model::rasp::Level;
use skillrun_model::{AttemptNumber, Code, EndedBy, RunStatus, Timestamp};

use super::story::Story;
use super::{EvidenceLeft, Material, Resolution, RunOwner};

/// Below this, something was guessed.
pub(super) const CONFIDENT: f64 = 0.7;
/// From this percentage of the output on, it was probably read with the wrong profile.
const MOSTLY: u64 = 50;

/// Something that looks wrong.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DiagnosisFinding")]
pub struct Finding {
    #[serde(flatten)]
    pub kind: FindingKind,
    /// For people; the text may change.
    pub words: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
#[schemars(rename = "DiagnosisFindingKind")]
pub enum FindingKind {
    /// A warning or diagnostic of the Log.
    Noticed {
        code: Code,
        count: u64,
        level: Level,
    },
    EngineUntested,
    LowConfidence {
        attempt: AttemptNumber,
        confidence: f64,
    },
    MostlyRaw {
        attempt: AttemptNumber,
        percent: u64,
    },
    NoOutput {
        attempt: AttemptNumber,
    },
    /// The question is decided at its deadline, and no process is there to do so.
    QuestionWithoutOwner,
    DeadlinePassed {
        deadline: Timestamp,
    },
    WithoutOwner,
    EvidenceMissing {
        attempt: AttemptNumber,
        file: String,
    },
    EvidenceRemoved,
    LogTorn {
        files: Vec<String>,
    },
    LogDamaged,
    NewerEvents {
        count: u64,
    },
    SurvivorsEnded {
        attempt: AttemptNumber,
        count: u64,
    },
    /// A command that skillrun has run after the turn did not pass.
    CheckFailed {
        check: String,
        evidence: String,
        /// The last lines of its output.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_tail: Option<String>,
    },
    DiskFull {
        attempt: AttemptNumber,
    },
}

fn found(kind: FindingKind, words: impl Into<String>) -> Finding {
    Finding { kind, words: words.into() }
}

pub(super) fn findings(material: &Material) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(of_checks(&material.story));
    findings.extend(of_log(material));
    findings.extend(of_owner(material));
    for attempt in &material.story.attempts {
        findings.extend(of_attempt(material, attempt));
    }
    findings.extend(of_evidence(material));
    findings.extend(noticed(&material.story));
    findings
}

fn of_log(material: &Material) -> Vec<Finding> {
    let damage = material.damage.iter().map(|words| found(FindingKind::LogDamaged, format!("the Log is {words}")));
    let torn = (!material.torn.is_empty()).then(|| {
        let words = format!(
            "the Log ended with bytes that are not an event; they were kept aside ({}); a process or the machine died",
            material.torn.join(", ")
        );
        found(FindingKind::LogTorn { files: material.torn.clone() }, words)
    });
    let newer = (material.newer_events > 0).then(|| {
        let words =
            "a newer version of skillrun wrote part of the Log, which is not shown; use that version for this run";
        found(FindingKind::NewerEvents { count: material.newer_events }, words)
    });
    damage.chain(torn).chain(newer).collect()
}

fn of_checks(story: &Story) -> Option<Finding> {
    let end = story.state.checks.failed.as_ref()?;
    let tail = end.output_tail.as_deref().unwrap_or_default();
    let lines: String = tail.lines().map(|line| format!("\n  {line}")).collect();
    let output = if lines.is_empty() { "; it wrote nothing" } else { "; its output ends with:" };
    let words = format!("{}, and is in {}{output}{lines}", end.failure(), end.evidence);
    let (check, evidence, output_tail) = (end.name.clone(), end.evidence.clone(), end.output_tail.clone());
    Some(found(FindingKind::CheckFailed { check, evidence, output_tail }, words))
}

fn of_owner(material: &Material) -> Vec<Finding> {
    let mut findings = Vec::new();
    let status = material.story.status();
    let is_left = match material.owner {
        RunOwner::NoProcess => true,
        RunOwner::Process { .. } | RunOwner::Unknown => false,
    };
    let is_active = match status {
        RunStatus::Queued | RunStatus::Running => true,
        RunStatus::WaitingUser | RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => {
            false
        }
    };
    if is_left && is_active {
        let words = format!("it is {status}, and no process works on it; resume it with `skillrun recover`");
        findings.push(found(FindingKind::WithoutOwner, words));
    }
    let open = material.story.questions.iter().find(|question| question.resolution == Resolution::Open);
    let Some((question, deadline)) = open.and_then(|question| Some((question, question.deadline?))) else {
        return findings;
    };
    let will = match question.on_deadline {
        OnDeadline::Wait => "nothing happens then",
        OnDeadline::AutoReply => "it is then answered automatically",
        OnDeadline::FailRun => "the run then fails",
        OnDeadline::HoldStep => "the step then counts as not decided",
    };
    if deadline <= material.now {
        let words = format!("question {} had the deadline {deadline}; {will}", question.interaction_id.0);
        findings.push(found(FindingKind::DeadlinePassed { deadline }, words));
    }
    if is_left {
        let words = format!(
            "question {} has a deadline ({will}), and no process owns the run to apply it",
            question.interaction_id.0
        );
        findings.push(found(FindingKind::QuestionWithoutOwner, words));
    }
    findings
}

fn of_attempt(material: &Material, story: &super::story::Attempt) -> Vec<Finding> {
    let mut findings = Vec::new();
    let attempt = story.number;
    let total = story.bytes.stdout + story.bytes.stderr;
    if total == 0 && story.ended.is_some() {
        let words = format!("the engine wrote nothing in attempt {attempt}");
        findings.push(found(FindingKind::NoOutput { attempt }, words));
    }
    let percent = (story.bytes.raw.saturating_mul(100)).checked_div(total).unwrap_or(0);
    if percent >= MOSTLY {
        let words = format!(
            "{percent} % of the output of attempt {attempt} is not in the format of {}",
            material.record.engine.profile
        );
        findings.push(found(FindingKind::MostlyRaw { attempt, percent }, words));
    }
    // Without an end and without an answer, there is nothing to be confident of.
    let read = story
        .ended
        .as_ref()
        .filter(|ended| !ended.verdict.evidence.end.is_empty() || !ended.verdict.evidence.answer.is_empty());
    if let Some(confidence) = read.map(|ended| ended.verdict.confidence).filter(|found| *found < CONFIDENT) {
        let words = format!("the end or the answer of attempt {attempt} was inferred, not read ({confidence})");
        findings.push(found(FindingKind::LowConfidence { attempt, confidence }, words));
    }
    findings.extend(material.hosts.get(&attempt).into_iter().flat_map(of_host));
    findings
}

fn of_host(host: &HostRecord) -> Vec<Finding> {
    let attempt = host.attempt_number;
    let mut findings = Vec::new();
    if host.survivors_total > 0 {
        let count = host.survivors_total;
        let names: Vec<&str> = host.survivors.iter().take(3).map(|survivor| survivor.name.as_str()).collect();
        let words = format!("processes that outlived the engine in attempt {attempt}: {count} ({})", names.join(", "));
        findings.push(found(FindingKind::SurvivorsEnded { attempt, count }, super::passage::shown(&words)));
    }
    if host.ended_by == Some(EndedBy::HostError) && host.capture.discarded > 0 {
        let words = format!("the disk was full in attempt {attempt}; {} bytes were lost", host.capture.discarded);
        findings.push(found(FindingKind::DiskFull { attempt }, words));
    }
    findings
}

fn of_evidence(material: &Material) -> Vec<Finding> {
    match material.evidence {
        EvidenceLeft::Removed => {
            vec![found(
                FindingKind::EvidenceRemoved,
                "its evidence was removed to save space; the Log has the events read from it",
            )]
        }
        EvidenceLeft::Kept => {
            let missing = material.missing.iter().map(|(attempt, file)| {
                let kind = FindingKind::EvidenceMissing { attempt: *attempt, file: file.clone() };
                found(kind, format!("{file} is missing, and its removal was not recorded"))
            });
            missing.collect()
        }
    }
}

fn noticed(story: &Story) -> Vec<Finding> {
    let told = |(code, noticed): (&Code, &super::story::Noticed)| {
        let (code, count, level) = (*code, noticed.count, noticed.level);
        if code == Code::EngineVersionUntested {
            return found(FindingKind::EngineUntested, noticed.message.clone());
        }
        let times = if count > 1 { format!(", {count} times") } else { String::new() };
        found(FindingKind::Noticed { code, count, level }, format!("{code}{times}: {}", noticed.message))
    };
    // Reported above, in more detail.
    let is_news = |(code, _): &(&Code, &super::story::Noticed)| **code != Code::SurvivorsEnded;
    story.noticed.iter().filter(is_news).map(told).collect()
}
