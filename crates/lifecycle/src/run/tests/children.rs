//! Runs that the open turn asks for.

use skillrun_model::delegation::{OnParentEnd, SubagentRequested, SubagentStatus};
use skillrun_model::rasp::data::TextBlob;

use super::*;

fn child(number: u8) -> RunId {
    RunId::new(u64::from(number), [number; 10])
}

fn request(number: u8, key: &str) -> Input<'static> {
    Input::ChildRequested(Box::new(SubagentRequested {
        child_run_id: child(number),
        key: key.to_owned(),
        engine: "scripted".to_owned(),
        title: "A task.".to_owned(),
        on_parent_end: OnParentEnd::Cancel,
        timeout_ms: None,
        request: TextBlob { path: "x".to_owned(), bytes: 1, hash: String::new() },
    }))
}

fn end(world: &World, number: u8, status: SubagentStatus) -> Input<'static> {
    let known = world.state.child(child(number)).expect("a child");
    Input::ChildEnded(Box::new(known.ended(status, Code::CleanFinal, world.now())))
}

/// A run with an open turn that may have two children at once.
fn parent() -> World {
    let mut world = World::new(RunOptions { max_children: Some(2), ..RunOptions::default() });
    world.all(&[Happening::Accept, Happening::HostReady]);
    world
}

#[test]
fn a_child_is_asked_for_once_and_within_the_limits() {
    let mut world = parent();
    let effects = world.happens(request(1, "a")).expect("accepted");
    assert_eq!(effects, [Effect::MakeChild { child: child(1) }]);
    assert_eq!(world.happens(request(9, "a")), Err(Refusal::RepeatedChild { child: child(1) }));
    world.happens(request(2, "b")).expect("accepted");
    assert_eq!(world.happens(request(3, "c")), Err(Refusal::TooManyChildren { limit: 2 }));
    world.happens(end(&world, 1, SubagentStatus::Completed)).expect("noted");
    world.happens(request(3, "c")).expect("accepted");
    let mut alone = World::new(RunOptions::default());
    alone.all(&[Happening::Accept]);
    let status = Some(RunStatus::Queued);
    assert_eq!(alone.happens(request(1, "a")), Err(Refusal::NoTurnForChild { status }));
    alone.all(&[Happening::HostReady]);
    assert_eq!(alone.happens(request(1, "a")), Err(Refusal::NoDelegation));
}

#[test]
fn the_end_of_a_run_waits_for_the_ends_of_its_children() {
    let mut world = parent();
    world.happens(request(1, "a")).expect("accepted");
    world.happens(Input::ChildStarted { child: child(1) }).expect("noted");
    world.all(&[Happening::Settle(RunStatus::Succeeded)]);
    assert!(!world.state.is_over() && world.state.is_unfinished, "{:?}", world.types());
    assert_eq!(next_step(&world.state, None), RunStep::EndChildren);
    // Whatever is recovered in the meantime, the end is not written.
    let again = world.recovery(HostState::Ended, SessionLeft::Lost);
    assert!(!again.ends_run() && again.effects.contains(&Effect::MakeChild { child: child(1) }), "{again:?}");
    world.happens(end(&world, 1, SubagentStatus::Cancelled)).expect("noted");
    assert_eq!(next_step(&world.state, None), RunStep::End);
    let last = world.recovery(HostState::Ended, SessionLeft::Lost);
    world.carry_out(last);
    assert_eq!(world.state.status, Some(RunStatus::Succeeded), "{:?}", world.types());
    assert_eq!(world.types().iter().filter(|name| **name == "attempt.ended").count(), 1);
}

#[test]
fn a_canceled_run_ends_after_its_children() {
    let mut world = parent();
    world.happens(request(1, "a")).expect("accepted");
    world.all(&[Happening::Cancel, Happening::Settle(RunStatus::Canceled)]);
    assert!(!world.state.is_over(), "{:?}", world.types());
    world.happens(end(&world, 1, SubagentStatus::Cancelled)).expect("noted");
    let last = world.recovery(HostState::Ended, SessionLeft::Lost);
    world.carry_out(last);
    assert_eq!(world.state.status, Some(RunStatus::Canceled), "{:?}", world.types());
}

#[test]
fn only_a_detached_child_can_end_once_more() {
    let mut world = parent();
    world.happens(request(1, "a")).expect("accepted");
    world.happens(end(&world, 1, SubagentStatus::Detached)).expect("noted");
    world.happens(end(&world, 1, SubagentStatus::Detached)).expect("nothing new");
    world.happens(end(&world, 1, SubagentStatus::Failed)).expect("noted");
    world.happens(end(&world, 1, SubagentStatus::Completed)).expect("nothing new");
    assert_eq!(world.state.child(child(1)).expect("a child").progress, ChildProgress::Ended(SubagentStatus::Failed));
    assert_eq!(world.types().iter().filter(|name| **name == "subagent.ended").count(), 2);
}

/// Found by the simulation: the question was written without the end, and the run waited without an owner.
#[test]
fn a_cut_batch_whose_process_is_gone_is_completed_after_the_children() {
    let sticky = RunOptions { continuation: Continuation::Sticky, max_children: Some(2), ..RunOptions::default() };
    let mut world = World::new(sticky);
    world.all(&[Happening::Accept, Happening::HostReady]);
    world.happens(request(1, "a")).expect("accepted");
    world.dies_writing(&Happening::Settle(RunStatus::WaitingUser), 1);
    assert!(world.state.is_unfinished, "{:?}", world.types());
    let again = world.recovery(HostState::Ended, SessionLeft::Lost);
    world.carry_out(again);
    assert_eq!(next_step(&world.state, None), RunStep::EndChildren, "{:?}", world.types());
    world.happens(end(&world, 1, SubagentStatus::Cancelled)).expect("noted");
    assert_eq!(next_step(&world.state, None), RunStep::End);
    let last = world.recovery(HostState::Ended, SessionLeft::Lost);
    world.carry_out(last);
    assert_eq!(
        (world.state.status, world.failure()),
        (Some(RunStatus::Failed), Code::SessionLost),
        "{:?}",
        world.types()
    );
}
