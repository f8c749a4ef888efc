//! Plays tapes, and prints what happened.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::faults::Fault;
use crate::laws::{Broken, Law};
use crate::tally::Tally;
use crate::tape::Tape;
use crate::world::World;

/// A story that broke a law.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) numbers: Vec<u16>,
    pub(crate) broken: Broken,
    pub(crate) steps: u64,
}

/// Plays a tape. What was reached is added to the tally.
pub(crate) fn play(tape: Tape, fault: Option<Fault>, tally: &mut Tally) -> Result<(), Failure> {
    let mut world = World::new(tape, fault);
    let played = played(&mut world);
    let steps = world.tally.steps;
    world.tally.stories = 1;
    tally.add(&world.tally);
    played.map_err(|broken| Failure { numbers: world.tape.into_numbers(), broken, steps })
}

fn played(world: &mut World) -> Result<(), Broken> {
    catch_unwind(AssertUnwindSafe(|| world.play())).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
        Err(Law::Panics.broken(words.unwrap_or_default()))
    })
}

/// The story of a tape, in numbered sentences, and its Log.
pub(crate) fn transcript(numbers: &[u16], fault: Option<Fault>) -> String {
    let mut world = World::new(Tape::given(numbers.to_vec()), fault);
    world.story = Some(Vec::new());
    let played = played(&mut world);
    let mut transcript = String::new();
    let scene = world.scene;
    writeln!(transcript, "{:?}, {:?}, {:?}", scene.options, scene.mode, scene.session).ok();
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
