//! A run that failed for lack of quota is retried automatically, as a new run, where its request asks for that.

use std::time::Duration;

use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::verdict::Verdict;
use skillrun_model::{RunId, RunStatus, Timestamp};

/// How a run waits for quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaWait {
    /// The number of earlier runs in the chain that were created this way.
    pub made: u32,
    /// The maximum number of such runs.
    pub max: u32,
    /// Determines the new run's id, and how much later than necessary it begins. The same for the same run.
    pub random: [u8; 10],
}

/// The waits of a chain: the first; each later one is twice as long.
struct Waits {
    first: Duration,
    longest: Duration,
}

/// Where no reset time was reported.
const WITHOUT_RESET: Waits = Waits { first: Duration::from_secs(60), longest: Duration::from_secs(60 * 60) };

/// The minimum where a reset time was reported: a service may report one millisecond again and again.
const WITH_RESET: Waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// How long after its moment a run that could not be created is still created. Later, the user no longer expects it.
const LATE: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum of the spread, and its share of the wait: runs that failed together do not start again together.
const SPREAD_MAX_MS: u64 = 30_000;
const SPREAD_SHARE: u64 = 10;

/// The run that replaces one that ended this way; none where none should.
pub(super) fn planned(verdict: &Verdict, wait: Option<QuotaWait>, now: Timestamp) -> Option<PlannedRetry> {
    let wait = wait.filter(|wait| wait.made < wait.max)?;
    let error = verdict.error.as_ref().filter(|error| error.category == ErrorCategory::Quota)?;
    if verdict.run_status != RunStatus::Failed {
        return None;
    }
    // A reset time that has passed was correct.
    let pause_ms = match error.reset_at {
        Some(reset) => reset.millis_since(now).unwrap_or(0).max(WITH_RESET.millis(wait.made)),
        None => WITHOUT_RESET.millis(wait.made),
    };
    let most = (pause_ms / SPREAD_SHARE).min(SPREAD_MAX_MS);
    let part = u64::from(u16::from_be_bytes([wait.random[0], wait.random[1]]));
    let spread_ms = most * part / u64::from(u16::MAX);
    let not_before = now.plus_nanos(pause_ms.saturating_add(spread_ms).saturating_mul(1_000_000));
    // Milliseconds are cut, and the quota must be available.
    let not_before = error.reset_at.map_or(not_before, |reset| not_before.max(reset));
    let millis = now.millis_since(Timestamp::EPOCH).unwrap_or(0);
    Some(PlannedRetry { run_id: RunId::new(millis, wait.random), not_before })
}

/// The last moment at which a planned run may be created.
pub fn made_until(planned: PlannedRetry) -> Timestamp {
    planned.not_before.plus_nanos(u64::try_from(LATE.as_nanos()).unwrap_or(u64::MAX))
}

impl Waits {
    fn millis(&self, made: u32) -> u64 {
        let wait = self.first.saturating_mul(2_u32.saturating_pow(made)).min(self.longest);
        u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::codes::Code;
    use skillrun_model::verdict::{Rule, RunError};
    use skillrun_model::{CompletionState, TurnState};

    use super::*;

    fn now() -> Timestamp {
        second(0)
    }

    fn second(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus_nanos((1_000_000 + seconds) * 1_000_000_000)
    }

    fn failed(category: ErrorCategory, reset_at: Option<Timestamp>) -> Verdict {
        let (completion, code) = (CompletionState::Interrupted, Code::EngineFailed);
        let error = Some(RunError { reset_at, ..RunError::new(category, code, "") });
        Verdict { error, ..Verdict::new(Rule::Failure, TurnState::Failed, completion, code, RunStatus::Failed) }
    }

    fn wait(made: u32, random: u8) -> Option<QuotaWait> {
        Some(QuotaWait { made, max: 5, random: [random; 10] })
    }

    fn quota(reset_at: Option<Timestamp>, wait: Option<QuotaWait>) -> Option<Timestamp> {
        planned(&failed(ErrorCategory::Quota, reset_at), wait, now()).map(|planned| planned.not_before)
    }

    #[test]
    fn only_a_lack_of_quota_is_retried_and_only_on_request() {
        assert!(quota(None, wait(0, 0)).is_some());
        assert_eq!(quota(None, None), None);
        assert_eq!(quota(None, wait(5, 0)), None, "so often and no more");
        assert!(quota(None, wait(4, 0)).is_some());
        for category in ErrorCategory::ALL.iter().filter(|category| **category != ErrorCategory::Quota) {
            assert_eq!(planned(&failed(*category, None), wait(0, 0), now()), None, "{category}");
        }
        let canceled = Verdict { run_status: RunStatus::Canceled, ..failed(ErrorCategory::Quota, None) };
        assert_eq!(planned(&canceled, wait(0, 0), now()), None);
    }

    #[test]
    fn a_reported_reset_counts_else_each_wait_doubles() {
        assert_eq!(quota(Some(second(90)), wait(3, 0)), Some(second(90)));
        let waits = (0..5).map(|made| quota(None, wait(made, 0)));
        assert!(waits.eq([60, 120, 240, 480, 960].map(|seconds| Some(second(seconds)))));
        let many = Some(QuotaWait { made: 40, max: 99, random: [0; 10] });
        assert_eq!(quota(None, many), Some(second(3600)));
    }

    /// Regression: an engine that says `try again in 1ms` each time made hundreds of runs within seconds.
    #[test]
    fn a_repeated_reset_time_still_makes_each_wait_longer() {
        let over = Timestamp::EPOCH.plus_nanos(1_000_000_000);
        for told in [over, now(), now().plus_nanos(1_000_000)] {
            let waits = (0..8).map(|made| quota(Some(told), Some(QuotaWait { made, max: 99, random: [0; 10] })));
            assert!(waits.eq([1, 2, 4, 8, 16, 32, 60, 60].map(|seconds| Some(second(seconds)))), "{told}");
        }
        assert_eq!(quota(Some(second(3)), wait(1, 0)), Some(second(3)), "a longer one counts");
    }

    /// The default number of a request.
    #[test]
    fn twenty_nine_waits_without_a_reset_take_a_day() {
        let hours = (0..29).map(|made| WITHOUT_RESET.millis(made)).sum::<u64>() / 3_600_000;
        assert_eq!(hours, 24);
    }

    #[test]
    fn a_run_that_was_planned_is_made_for_a_day() {
        let planned = PlannedRetry { run_id: RunId::new(1, [1; 10]), not_before: second(5) };
        assert_eq!(made_until(planned), second(5 + 86_400));
    }

    #[test]
    fn runs_do_not_come_back_together_and_never_early() {
        assert_eq!(quota(Some(second(100)), wait(0, 255)), Some(second(110)), "a tenth later at most");
        assert_eq!(quota(Some(second(86_400)), wait(0, 255)), Some(second(86_430)), "and half a minute");
        let exact = second(90).plus_nanos(999);
        assert_eq!(quota(Some(exact), wait(0, 0)), Some(exact));
        let id = |random: u8| planned(&failed(ErrorCategory::Quota, None), wait(0, random), now()).map(|p| p.run_id);
        assert_eq!(id(1), id(1));
        assert_ne!(id(1), id(2));
    }
}
