//! What the live line says: functions of what is known, the moment and the width.

use skillrun_lifecycle::run::State;
use skillrun_model::{RunStatus, Timestamp};
use skillrun_translate::progress::{Activity, EngineRetry, Progress};

use crate::exit::{run_state, run_words};
use crate::output::{cut, plain};
use crate::words::{about, moment};

/// Output that is more recent than this is not worth a remark.
const SILENCE_MS: u64 = 5_000;

/// The line of one run; empty when there is nothing to show.
pub(crate) fn of_run(state: &State, progress: &Progress, now: Timestamp, width: usize) -> String {
    let words = match state.status {
        None => String::new(),
        Some(RunStatus::Queued) => match state.not_before.filter(|at| *at > now) {
            Some(at) => format!("queued · not before {} (in {})", moment(at), about(since(now, at))),
            None => "queued".to_owned(),
        },
        Some(RunStatus::WaitingUser) => run_words(run_state(state)).to_owned(),
        Some(RunStatus::Running) if !state.attempt_is_open => "starting".to_owned(),
        Some(RunStatus::Running) => working(state, progress, now),
        Some(RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled) => String::new(),
    };
    cut(&words, width)
}

fn working(state: &State, progress: &Progress, now: Timestamp) -> String {
    let elapsed = progress.began.map(|began| format!(" {}", clock(since(began, now)))).unwrap_or_default();
    let mut parts = vec![format!("{}{elapsed}", plain(&progress.engine))];
    if state.canceling.is_some() {
        parts.push("canceling".to_owned());
    } else if state.interrupting.is_some() {
        parts.push("interrupting".to_owned());
    }
    let activity = progress.activity.as_ref().map(activity);
    match progress.output_at.map(|at| since(at, now)) {
        None => parts.push("no output yet".to_owned()),
        Some(silence) if silence >= SILENCE_MS => parts.push(format!("last output {} ago", about(silence))),
        Some(_) => {}
    }
    match &progress.activity {
        // What went wrong is more important than how long ago it was.
        Some(Activity::Retry(_)) => parts.insert(1, activity.unwrap_or_default()),
        Some(
            Activity::Message(_) | Activity::Reasoning | Activity::Tool(_) | Activity::ToolEnded | Activity::Problem(_),
        )
        | None => parts.extend(activity),
    }
    parts.join(" · ")
}

fn activity(activity: &Activity) -> String {
    match activity {
        Activity::Message(text) => format!("assistant: {}", plain(text)),
        Activity::Reasoning => "reasoning".to_owned(),
        Activity::Tool(name) => format!("tool {}", plain(name)),
        Activity::ToolEnded => "waiting for the model".to_owned(),
        Activity::Retry(retry) => retrying(retry),
        Activity::Problem(message) => plain(message),
    }
}

/// Columns of the text of an engine about a retry, so that the rest of the line has room.
const MESSAGE_COLUMNS: usize = 40;

fn retrying(retry: &EngineRetry) -> String {
    match retry.status {
        Some(status) => format!("retrying: {status}"),
        None => format!("retrying: {}", cut(&plain(&retry.message), MESSAGE_COLUMNS)),
    }
}

/// A test case that runs.
#[derive(Debug, Clone)]
pub(crate) struct RunningCase {
    pub(crate) case: String,
    pub(crate) engine: String,
    pub(crate) progress: Progress,
}

/// The line of several test cases: how many are done, and those that run, the oldest first.
pub(crate) fn of_cases(done: usize, of: usize, running: &[RunningCase], now: Timestamp, width: usize) -> String {
    if running.is_empty() {
        return String::new();
    }
    let mut running: Vec<&RunningCase> = running.iter().collect();
    // A case without an attempt is the newest.
    running.sort_by_key(|case| case.progress.began.map_or((true, now), |began| (false, began)));
    let cases = running.into_iter().map(|case| {
        let elapsed = case.progress.began.map(|began| format!(" {}", clock(since(began, now)))).unwrap_or_default();
        let retries = if let Some(Activity::Retry(retry)) = &case.progress.activity {
            format!(", {}", retrying(retry))
        } else {
            String::new()
        };
        format!("{} on {}{elapsed}{retries}", plain(&case.case), plain(&case.engine))
    });
    cut(&format!("[{done}/{of}] {}", cases.collect::<Vec<_>>().join(" · ")), width)
}

/// Milliseconds; zero when the clock was set back.
fn since(earlier: Timestamp, later: Timestamp) -> u64 {
    later.millis_since(earlier).unwrap_or(0)
}

/// As a clock that was started at zero: `0:05`, `1:12`, `1:02:03`.
fn clock(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn second(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000)
    }

    fn running() -> State {
        State { status: Some(RunStatus::Running), attempt_is_open: true, ..State::default() }
    }

    /// gemini, 72 seconds after its attempt began.
    fn told(output_at: Option<u64>, activity: Option<Activity>) -> String {
        told_in(79, output_at, activity)
    }

    fn told_in(width: usize, output_at: Option<u64>, activity: Option<Activity>) -> String {
        let progress = Progress {
            engine: "gemini".to_owned(),
            began: Some(second(100)),
            output_at: output_at.map(second),
            activity,
        };
        of_run(&running(), &progress, second(172), width)
    }

    fn retry(status: Option<u64>, message: &str) -> Option<Activity> {
        Some(Activity::Retry(EngineRetry { status, message: message.to_owned() }))
    }

    #[test]
    fn a_line_names_the_time_the_retry_and_the_silence() {
        assert_eq!(told(Some(127), retry(Some(503), "")), "gemini 1:12 · retrying: 503 · last output 45 s ago");
        assert_eq!(told(Some(171), retry(None, "fetch failed")), "gemini 1:12 · retrying: fetch failed");
        assert_eq!(told(None, None), "gemini 1:12 · no output yet");
        assert_eq!(told(Some(110), None), "gemini 1:12 · last output 1 min ago");
        let tool = Some(Activity::Tool("sh".to_owned()));
        assert_eq!(told(Some(152), tool), "gemini 1:12 · last output 20 s ago · tool sh");
        let message = Some(Activity::Message("Let me think.".to_owned()));
        assert_eq!(told(Some(172), message), "gemini 1:12 · assistant: Let me think.");
    }

    #[test]
    fn the_text_of_an_engine_cannot_move_the_cursor_or_leave_the_line() {
        let hostile = "\u{1b}[2J\u{202e}\r\nnext\u{9b}31m".to_owned();
        for activity in [
            Some(Activity::Message(hostile.clone())),
            Some(Activity::Tool(hostile.clone())),
            Some(Activity::Problem(hostile.clone())),
            retry(None, &hostile),
        ] {
            let line = told(Some(172), activity);
            assert!(!line.chars().any(crate::visible::is_hidden), "{line:?}");
            assert!(line.contains("\\u{1b}[2J\\u{202e}"), "{line:?}");
        }
    }

    #[test]
    fn a_line_fits_every_width() {
        let long = Some(Activity::Message("完成 and more ".repeat(50)));
        for width in 1..200 {
            let line = told_in(width, Some(110), long.clone());
            assert!(line.width() <= width, "{width}: {line}");
        }
    }

    #[test]
    fn a_run_without_a_working_engine_has_a_line_too() {
        let line = |state: State| of_run(&state, &Progress::default(), second(100), 79);
        let status = |status| State { status: Some(status), ..State::default() };
        assert_eq!(line(status(RunStatus::Queued)), "queued");
        let later = State { not_before: Some(second(220)), ..status(RunStatus::Queued) };
        assert_eq!(line(later), "queued · not before 1970-01-01 00:03:40 UTC (in 2 min)");
        assert_eq!(line(status(RunStatus::WaitingUser)), "waits for an answer");
        assert_eq!(line(status(RunStatus::Running)), "starting");
        assert_eq!(line(status(RunStatus::Succeeded)), "");
        assert_eq!(line(State::default()), "");
        let canceling = State { canceling: Some("user".to_owned()), ..running() };
        assert_eq!(of_run(&canceling, &Progress::default(), second(1), 79), " · canceling · no output yet");
    }

    #[test]
    fn cases_are_listed_from_the_oldest() {
        let case = |name: &str, began: Option<u64>, activity| RunningCase {
            case: name.to_owned(),
            engine: "qwen".to_owned(),
            progress: Progress { began: began.map(second), activity, ..Progress::default() },
        };
        let running =
            [case("new", None, None), case("young", Some(60), None), case("old", Some(10), retry(Some(429), ""))];
        let line = of_cases(3, 10, &running, second(100), 79);
        assert_eq!(line, "[3/10] old on qwen 1:30, retrying: 429 · young on qwen 0:40 · new on qwen");
        assert_eq!(of_cases(3, 10, &[], second(100), 79), "");
    }

    #[test]
    fn clocks_begin_at_zero() {
        for (ms, words) in [(0, "0:00"), (59_999, "0:59"), (60_000, "1:00"), (3_723_000, "1:02:03")] {
            assert_eq!(clock(ms), words);
        }
    }
}
