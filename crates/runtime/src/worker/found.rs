//! Warnings of what was found in the workspace before a run started. From the record alone: the agent may have changed the
//! workspace since.

use std::collections::BTreeMap;

use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_model::Code;
use skillrun_model::workspace_settings::{StartState, WorkspaceStart};
use skillrun_runs::record::RunRecord;

/// One warning for each thing that the user may want to do something about.
pub(super) fn warnings(record: &RunRecord) -> Vec<ControlEvent> {
    let mut by_state: BTreeMap<StartState, Vec<String>> = BTreeMap::new();
    for start @ WorkspaceStart { state, .. } in &record.workspace_starts {
        by_state.entry(*state).or_default().push(start.to_string());
    }
    let mut events: Vec<_> = by_state.into_iter().map(|(state, found)| of_starts(state, &found.join(", "))).collect();
    if !record.workspace_credentials.is_empty() {
        let names = record.workspace_credentials.join(", ");
        let message = format!("the engine can read files that look like credentials: {names}");
        events.push(closing::warning(Code::WorkspaceCredentials, message));
    }
    events
}

fn of_starts(state: StartState, found: &str) -> ControlEvent {
    match state {
        StartState::NotStarted => closing::warning(
            Code::WorkspaceSettingsIgnored,
            format!("the workspace names what the engine does not start or use: {found}"),
        ),
        StartState::NotStopped => closing::warning(
            Code::WorkspaceSettingsNotStopped,
            format!("the workspace names what the engine cannot be kept from: {found}"),
        ),
    }
}
