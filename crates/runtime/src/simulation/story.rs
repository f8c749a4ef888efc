//! Plays tapes, and prints what happened.

use std::fmt::Write as _;

use super::desk::Story;
use super::faults::Fault;
use super::laws::Broken;
use super::tally::Tally;
use super::tape::Tape;

/// A story that broke a law.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) numbers: Vec<u16>,
    pub(crate) broken: Broken,
    pub(crate) steps: u64,
}

/// Plays a tape. What was reached is added to the tally.
pub(crate) fn play(tape: Tape, fault: Option<Fault>, tally: &mut Tally) -> Result<(), Failure> {
    let story = Story::new(tape, fault);
    let played = story.play();
    let mut world = story.lock();
    let steps = world.tally.steps;
    world.tally.stories = 1;
    tally.add(&world.tally);
    played.map_err(|broken| Failure { numbers: world.tape.numbers().to_vec(), broken, steps })
}

/// The story of a tape, in numbered sentences, and its Log.
pub(crate) fn transcript(numbers: &[u16], fault: Option<Fault>) -> String {
    let story = Story::new(Tape::given(numbers.to_vec()), fault);
    story.lock().story = Some(Vec::new());
    let played = story.play();
    let world = story.lock();
    let mut transcript = String::new();
    let scene = world.scene;
    writeln!(transcript, "{scene:?}").ok();
    for (number, sentence) in world.story.iter().flatten().enumerate() {
        writeln!(transcript, "{:>4}. {sentence}", number + 1).ok();
    }
    writeln!(transcript, "the Log:").ok();
    for event in &world.disk.log {
        writeln!(transcript, "{:>4} attempt {} {}", event.seq, event.attempt_number, event.event_type().as_str()).ok();
    }
    match played {
        Ok(()) => writeln!(transcript, "all laws hold"),
        Err(Broken { law, words }) => writeln!(transcript, "broken: {} ({law:?}): {words}", law.words()),
    }
    .ok();
    transcript
}
