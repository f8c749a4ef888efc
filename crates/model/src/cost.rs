//! What a run has cost, from the figures that engines report.

use serde::{Deserialize, Serialize};

use crate::rasp::data::TurnUsage;

/// The figure of claude: US dollars since its session began.
pub const SESSION_COST: &str = "total_cost_usd";

/// The cost of a run, from the totals of its sessions.
///
/// claude reports with every turn what the session has cost so far, also when another process resumes the session (see
/// the recording `claude-interactive`: 0.0006, then 0.0012 for a second turn of the same size). The figures of the
/// turns are therefore not added. A total that is smaller than the one before it belongs to another session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCost {
    earlier_sessions: f64,
    session: f64,
}

impl RunCost {
    /// Takes the total of the session after a turn.
    pub fn turn(&mut self, session_total: f64) {
        if session_total < self.session {
            self.earlier_sessions += self.session;
        }
        self.session = session_total;
    }

    pub fn usd(self) -> f64 {
        self.earlier_sessions + self.session
    }
}

impl TurnUsage {
    /// What the engine's session has cost so far, if the engine reports it.
    pub fn session_cost_usd(&self) -> Option<f64> {
        self.reported.get(SESSION_COST)?.as_f64().filter(|cost| *cost >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_one_session_are_not_added() {
        let mut cost = RunCost::default();
        [0.0006, 0.0012, 0.0012, 0.003].into_iter().for_each(|total| cost.turn(total));
        assert!((cost.usd() - 0.003).abs() < 1e-12, "{cost:?}");
        // The session was lost, and another one begins.
        [0.001, 0.002].into_iter().for_each(|total| cost.turn(total));
        assert!((cost.usd() - 0.005).abs() < 1e-12, "{cost:?}");
    }

    #[test]
    fn a_cost_that_is_no_amount_is_not_reported() {
        let usage = |cost: serde_json::Value| TurnUsage {
            reported: [(SESSION_COST.to_owned(), cost)].into(),
            ..TurnUsage::default()
        };
        assert_eq!(usage(0.into()).session_cost_usd(), Some(0.0));
        assert_eq!(usage(0.25.into()).session_cost_usd(), Some(0.25));
        assert_eq!(usage((-1).into()).session_cost_usd(), None);
        assert_eq!(usage("0.25".into()).session_cost_usd(), None);
        assert_eq!(TurnUsage::default().session_cost_usd(), None);
    }
}
