//! How each scenario is run: whether the user can be asked, and what they answer.

use skillrun_model::ExecutionMode;
use skillrun_simulate::model::{Choice, Scenario};

use super::RecordingError;
use crate::cases::CaseAnswer;

/// Scenarios in which the user can be asked, and how often the user answers; the others are automatic.
const ASKING: &[(Scenario, usize)] = &[
    (Scenario::Interactive, 1),
    (Scenario::AskUser, 1),
    (Scenario::Multi, 3),
    (Scenario::AskUserBad, 0),
    (Scenario::EchoMarker, 0),
    (Scenario::Soft, 0),
];

/// What a scenario needs.
pub(super) struct How {
    /// As it stands in the name of the folder.
    pub(super) name: String,
    /// As it stands in the address of the model.
    pub(super) path: String,
    pub(super) mode: ExecutionMode,
    pub(super) answers: Vec<CaseAnswer>,
    /// In the middle of its tool call.
    pub(super) is_canceled: bool,
}

/// Those that can be recorded.
pub fn recordable() -> impl Iterator<Item = Scenario> {
    // One has to be given something to play.
    Scenario::ALL.iter().copied().filter(|scenario| *scenario != Scenario::Script)
}

pub(super) fn how(choice: &Choice) -> Result<How, RecordingError> {
    let scenario = choice.scenario;
    let name = match (scenario, &choice.key) {
        (Scenario::Script, _) => return Err(RecordingError::NeedsScript(scenario.as_str().to_owned())),
        (Scenario::Long, Some(kilobytes)) => format!("long{kilobytes}k"),
        (Scenario::Long, None) => "long60k".to_owned(),
        (other, _) => other.as_str().to_owned(),
    };
    let path = match (scenario, &choice.key) {
        // Scenarios with an effect that happens once are distinguished by a key.
        (Scenario::CutOnce | Scenario::EndOnce, None) => format!("{name}.record"),
        (Scenario::Long, _) | (_, None) => name.clone(),
        (_, Some(key)) => format!("{name}.{key}"),
    };
    let asking = ASKING.iter().find(|(asking, _)| *asking == scenario);
    let (mode, answers) = match asking {
        Some((_, answers)) => (ExecutionMode::Interactive, *answers),
        None => (ExecutionMode::Auto, 0),
    };
    let answers = vec![CaseAnswer::Next("ANSWER=blue".to_owned()); answers];
    Ok(How { name, path, mode, answers, is_canceled: scenario == Scenario::SleepTool })
}
