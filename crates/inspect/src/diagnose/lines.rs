//! A diagnosis as labelled text; the caller only has to wrap it.

use skillrun_base::text::lasting;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::Exit;
use skillrun_model::workflow::CONDUCTOR;
use skillrun_model::{EndedBy, RunStatus, Timestamp, TurnState};

use super::{
    AttemptEnding, AttemptStory, Diagnosis, DiagnosisCheck, DiagnosisQuestion, Moment, Passage, Resolution, RunOwner,
    words,
};

/// A label, empty where the line belongs to the label above it, and its text.
pub type DiagnosisLine = (&'static str, String);

impl Diagnosis {
    /// All of it, in the order in which a reader asks.
    pub fn lines(&self) -> Vec<DiagnosisLine> {
        let mut lines = vec![("run", self.run_id.to_string())];
        let version = self.engine_version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        let (label, title) = match (&self.skill, &self.title) {
            (Some(skill), _) => ("skill", skill.clone()),
            (None, Some(title)) if self.engine == CONDUCTOR => ("workflow", super::passage::shown(title)),
            (None, Some(title)) => ("prompt", super::passage::shown(title)),
            (None, None) => ("engine", String::new()),
        };
        let on = if title.is_empty() { self.engine.clone() } else { format!("{title} on {}", self.engine) };
        lines.push((label, format!("{on}{version}, {}", self.mode)));
        lines.push(("status", self.status_line()));
        if let RunOwner::Process { pid: Some(pid) } = self.owner {
            lines.push(("owner", format!("process {pid}")));
        }
        lines.extend(self.not_before.map(|at| ("begins", format!("not before {}", moment(at)))));
        if let Some(decided) = &self.decided {
            let rule = decided.rule.map_or_else(String::new, |rule| format!(" (rule {rule})"));
            lines.push(("because", format!("{}{rule}", decided.words)));
            lines.push(("reason", format!("{}: {}", decided.reason_code, decided.summary)));
        }
        if let Some(error) = &self.error {
            lines.push((
                "error",
                format!("{} ({}): {}", error.code, error.category, super::passage::shown(&error.message)),
            ));
            lines.extend(error.reset_at.map(|at| ("quota", format!("resets at {}", moment(at)))));
            lines.extend(error.details.iter().map(|detail| ("", super::passage::shown(detail))));
        }
        lines.extend(self.session_id.iter().map(|session| ("session", session.clone())));
        self.attempts.iter().for_each(|attempt| lines.extend(attempt_lines(attempt)));
        self.questions.iter().for_each(|question| lines.extend(question_lines(question)));
        lines.extend(labelled("timeline", self.timeline.iter().map(moment_line)));
        lines.extend(labelled("checked", self.checks.iter().map(check_line)));
        let findings = self.findings.iter().map(|finding| finding.words.clone());
        lines.extend(labelled("looks wrong", findings));
        let actions = self.next_actions.iter().map(|next| format!("{}: {}", next.action, next.command));
        lines.extend(labelled("you can", actions));
        lines
    }

    fn status_line(&self) -> String {
        let (words, time) = (words::run(self.state), lasting(self.elapsed_ms));
        match self.status {
            RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => {
                format!("{words}, for {time} (since {})", moment(self.since))
            }
            RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => {
                format!("{words}, after {time} (at {})", moment(self.since))
            }
        }
    }
}

/// The label before the first line only.
fn labelled(label: &'static str, texts: impl Iterator<Item = String>) -> impl Iterator<Item = DiagnosisLine> {
    texts.enumerate().map(move |(at, text)| (if at == 0 { label } else { "" }, text))
}

fn attempt_lines(attempt: &AttemptStory) -> Vec<DiagnosisLine> {
    let number = attempt.attempt;
    let bytes = format!("{} bytes on stdout, {} on stderr", attempt.bytes.stdout, attempt.bytes.stderr);
    let Some(ending) = &attempt.ending else {
        return vec![("attempt", format!("{number} is running: {bytes} so far"))];
    };
    let AttemptEnding { turn, rule, reason_code, exit, .. } = ending;
    let mut lines = vec![
        ("attempt", format!("{number} {} (rule {rule}, {reason_code}): {bytes}", words::turn(*turn))),
        ("", if attempt.process_continues { "its process continues".to_owned() } else { exit_line(exit) }),
    ];
    if let Some(limit) = ending.limit {
        let over = ending.deadline_at.map_or_else(String::new, |at| format!(", which was over at {}", moment(at)));
        lines.push(("", format!("it reached the limit {limit}{over}")));
    }
    let mut before = None;
    for passage in &attempt.evidence {
        lines.push(("", passage_line(passage, before, *turn)));
        before = Some(passage);
    }
    lines
}

fn exit_line(exit: &Exit) -> String {
    let left = match (exit.code, &exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {}", super::passage::shown(signal)),
        (None, None) => "no exit".to_owned(),
    };
    match exit.ended_by {
        // A process that ends by a signal did not exit by itself.
        Some(EndedBy::Exited) if exit.code.is_none() && exit.signal.is_some() => {
            format!("{left}, which the host did not send")
        }
        Some(by) => format!("{left}, {}", words::ended_by(by)),
        None => left,
    }
}

fn passage_line(passage: &Passage, before: Option<&Passage>, turn: TurnState) -> String {
    let Passage { what, file, from, to, excerpt } = passage;
    let what = words::passage(*what, turn);
    let is_same = |before: &Passage| (&before.file, before.from, before.to) == (file, *from, *to);
    if before.is_some_and(is_same) {
        // A marker is usually part of the answer.
        return format!("{what} in the same bytes");
    }
    let text = excerpt.as_deref().map_or_else(String::new, |excerpt| format!(": {excerpt}"));
    format!("{what} in {file} {from}..{to}{text}")
}

fn check_line(check: &DiagnosisCheck) -> String {
    format!("{} · {}: {}", check.severity, words::topic(check.check), check.words)
}

fn question_lines(question: &DiagnosisQuestion) -> Vec<DiagnosisLine> {
    match question.scope {
        Scope::Turn | Scope::Call | Scope::Step => {}
        // Nothing is asked, and the timeline has when the prompt came.
        Scope::Prompt => return Vec::new(),
    }
    let became = match &question.resolution {
        Resolution::Open => match question.deadline {
            Some(deadline) => {
                format!("open until {}, {}", moment(deadline), words::on_deadline(question.on_deadline))
            }
            None => format!("open, {}", words::on_deadline(question.on_deadline)),
        },
        Resolution::Answered { mode, at } => format!("{} at {}", words::resolution(*mode), moment(*at)),
        Resolution::TimedOut { fails_with, at } => format!("not answered by {} ({fails_with})", moment(*at)),
        Resolution::Closed => "closed without an answer".to_owned(),
    };
    let asked = format!("{} ({}): {}", question.interaction_id.0, question.kind, question.prompt);
    vec![("question", asked), ("", became)]
}

fn moment_line(told: &Moment) -> String {
    let attempt = told.attempt.map_or_else(String::new, |attempt| format!(" (attempt {attempt})"));
    format!("{} +{} {}{attempt}", moment(told.at), lasting(told.after_ms), words::moment(told.what))
}

/// To the millisecond, which is enough here.
fn moment(moment: Timestamp) -> String {
    let text = moment.to_string();
    text.split_once('.').map_or(text.clone(), |(whole, part)| format!("{whole}.{}Z", part.get(..3).unwrap_or("000")))
}
