//! Makes a diagnosis from the gathered material.

use skillrun_lifecycle::advice;
use skillrun_model::codes::{NextAction, NextActionKind};
use skillrun_model::presenters::RunState;
use skillrun_model::rasp::data::AttemptEnded;
use skillrun_model::{RunStatus, Timestamp};

use super::finding::{FindingKind, findings};
use super::story::Attempt;
use super::{AttemptEnding, AttemptStory, Decided, Diagnosis, Material, Moment, MomentKind, check, words};

pub(super) fn diagnosis(material: &Material) -> Diagnosis {
    let Material { record, story, .. } = material;
    let status = story.status();
    let findings = findings(material);
    let timeline = timeline(&story.moments);
    let elapsed = match status {
        RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => material.now.millis_since(story.since),
        RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => {
            // As in the result: the record is made before the first event.
            story.since.to_micros().millis_since(story.created_at.to_micros())
        }
    };
    let is_full = findings.iter().any(|finding| matches!(finding.kind, FindingKind::DiskFull { .. }));
    Diagnosis {
        run_id: material.run_id,
        skill: record.skill.as_ref().map(|skill| skill.name.clone()),
        title: record.skill.is_none().then(|| record.title()),
        engine: record.engine.name.clone(),
        engine_version: record.engine.version.clone(),
        mode: record.request.mode,
        status,
        state: state(material),
        since: story.since,
        elapsed_ms: elapsed.unwrap_or(0),
        not_before: story.state.not_before.filter(|_| status == RunStatus::Queued),
        owner: material.owner,
        decided: decided(material),
        error: story.failed.as_ref().map(|failed| failed.error.clone()),
        session_id: story.state.session_id.as_deref().map(super::passage::shown),
        attempts: story.attempts.iter().map(|attempt| attempt_story(material, attempt)).collect(),
        questions: story.questions.clone(),
        timeline,
        checks: check::checks(story, &material.hosts, material.replay.as_ref(), material.damage.as_deref()),
        next_actions: next_actions(material, is_full),
        findings,
    }
}

/// The state as it is shown.
fn state(material: &Material) -> RunState {
    let story = &material.story;
    let scope = story.state.question.as_ref().map(|question| question.scope);
    let failed = story.failed.as_ref().map(|failed| RunState::of_error(&failed.error));
    failed.unwrap_or_else(|| RunState::of(story.status(), scope))
}

/// The rule of the last turn, if it put the run into its state.
fn decided(material: &Material) -> Option<Decided> {
    let story = &material.story;
    let last = story.attempts.last().and_then(|attempt| attempt.ended.as_ref());
    let by_turn = last.filter(|AttemptEnded { verdict, .. }| match story.ended_with {
        Some(reason_code) => verdict.run_status == story.status() && verdict.reason_code == reason_code,
        None => verdict.run_status == story.status(),
    });
    if let Some(ended) = by_turn {
        let verdict = &ended.verdict;
        let reason_code = verdict.reason_code;
        return Some(Decided {
            rule: Some(verdict.rule),
            words: words::decided(ended).to_owned(),
            reason_code,
            summary: reason_code.summary().to_owned(),
        });
    }
    let reason_code = story.ended_with?;
    Some(Decided {
        rule: None,
        words: words::without_turn(story.status(), story.attempts.len(), reason_code).to_owned(),
        reason_code,
        summary: reason_code.summary().to_owned(),
    })
}

fn attempt_story(material: &Material, attempt: &Attempt) -> AttemptStory {
    let ending = attempt.ended.as_ref().zip(attempt.ended_at).map(|(ended, at)| AttemptEnding {
        at,
        turn: ended.verdict.turn,
        rule: ended.verdict.rule,
        reason_code: ended.verdict.reason_code,
        confidence: ended.verdict.confidence,
        exit: ended.exit.clone(),
        limit: ended.limit,
        deadline_at: ended.deadline_at,
        next_actions: ended.next_actions.clone(),
    });
    AttemptStory {
        attempt: attempt.number,
        started_at: attempt.started_at,
        bytes: attempt.bytes,
        process_continues: material.hosts.get(&attempt.number).is_some_and(|host| host.process_continues),
        ending,
        evidence: material.passages.get(&attempt.number).cloned().unwrap_or_default(),
    }
}

/// What the user can do about a run that waits: the actions of a turn that did not complete have more than a reply.
fn waiting_actions(material: &Material) -> Vec<NextAction> {
    let last = material.story.attempts.last().and_then(|attempt| attempt.ended.as_ref());
    let of_turn = last.map(|ended| ended.next_actions.clone()).unwrap_or_default();
    let of_run = |kind| NextAction { action: kind, command: advice::command(kind, material.run_id) };
    match (state(material), of_turn.is_empty()) {
        (_, false) => of_turn,
        (RunState::WaitingPrompt, true) => vec![of_run(NextActionKind::Reply), of_run(NextActionKind::Close)],
        (_, true) => vec![of_run(NextActionKind::Reply)],
    }
}

fn timeline(moments: &[(MomentKind, Option<skillrun_model::AttemptNumber>, Timestamp)]) -> Vec<Moment> {
    let mut moments = moments.to_vec();
    // Evidence has the times of its bytes, which came before they were read. Equal times stay in the order of the Log.
    moments.sort_by_key(|(_, _, at)| *at);
    let mut before = None;
    let told = |(what, attempt, at): (MomentKind, _, Timestamp)| {
        let after_ms = before.and_then(|before| at.millis_since(before)).unwrap_or(0);
        before = Some(at);
        Moment { what, attempt, at, after_ms }
    };
    moments.into_iter().map(told).collect()
}

fn next_actions(material: &Material, is_full: bool) -> Vec<NextAction> {
    let (run, story) = (material.run_id, &material.story);
    let mut actions = match story.status() {
        RunStatus::WaitingUser => waiting_actions(material),
        RunStatus::Failed => story.failed.as_ref().map(|failed| failed.next_actions.clone()).unwrap_or_default(),
        RunStatus::Canceled => advice::after_cancel(run),
        RunStatus::Queued | RunStatus::Running | RunStatus::Succeeded | RunStatus::Closed => Vec::new(),
    };
    // That has just been done.
    actions.retain(|next| next.action != NextActionKind::Diagnose);
    if is_full {
        actions.insert(0, NextAction { action: NextActionKind::FreeDisk, command: "skillrun gc".to_owned() });
    }
    actions
}
