//! Conversations, and turns that are interrupted.

use super::*;

fn conversation(continuation: Continuation) -> World {
    let mode = ExecutionMode::Conversation;
    let mut world = World::new(RunOptions { mode, continuation, ..RunOptions::default() });
    world.all(&[Happening::Accept, Happening::HostReady]);
    world
}

#[test]
fn a_conversation_rests_after_each_turn_without_a_deadline() {
    for continuation in [Continuation::Resumable, Continuation::Sticky] {
        let mut world = conversation(continuation);
        for turn in 1..4 {
            world.all(&[Happening::Settle(RunStatus::Failed)]);
            assert!(world.state.is_at_rest() && world.timers.is_empty(), "turn {turn}");
            world.all(&[Happening::Reply { id: turn, request: None }]);
            if continuation == Continuation::Resumable {
                world.all(&[Happening::HostReady]);
            }
            world.check();
        }
    }
}

#[test]
fn an_interrupt_needs_an_open_turn_and_a_mode_with_a_user() {
    let mut world = conversation(Continuation::Resumable);
    let effects = world.play(&Happening::Interrupt { say: false }).expect("interrupted");
    assert_eq!(effects, [Effect::InterruptTurn]);
    let written = world.log.len();
    assert_eq!(world.play(&Happening::Interrupt { say: false }), Ok(vec![Effect::InterruptTurn]), "sent once more");
    assert_eq!(world.log.len(), written, "and not written again");
    world.all(&[Happening::Settle(RunStatus::WaitingUser)]);
    let status = Some(RunStatus::WaitingUser);
    assert_eq!(world.play(&Happening::Interrupt { say: false }), Err(Refusal::NoOpenTurn { status }));

    let mut world = World::new(RunOptions { mode: ExecutionMode::Auto, ..RunOptions::default() });
    world.all(&[Happening::Accept, Happening::HostReady]);
    assert_eq!(world.play(&Happening::Interrupt { say: false }), Err(Refusal::NotInterruptible));
}

#[test]
fn the_prompt_of_an_interrupt_follows_the_interrupted_turn() {
    for (continuation, tail) in [
        (Continuation::Resumable, ["interaction.requested", "run.status", "interaction.replied", "run.status"]),
        (Continuation::Sticky, ["interaction.replied", "run.status", "attempt.started", "message.user"]),
    ] {
        let mut world = conversation(continuation);
        world.all(&[Happening::Interrupt { say: true }, Happening::Settle(RunStatus::WaitingUser)]);
        assert_eq!(world.types()[world.log.len() - 4..], tail);
        let reply = world.state.reply.as_ref().expect("the prompt");
        assert_eq!((reply.text.as_str(), reply.scope), ("go on", Scope::Prompt));
        world.check();
    }
}

#[test]
fn a_conversation_is_closed_only_at_rest() {
    let mut world = conversation(Continuation::Sticky);
    let status = Some(RunStatus::Running);
    assert_eq!(world.play(&Happening::Close), Err(Refusal::NotAtRest { status }));
    world.all(&[Happening::Settle(RunStatus::WaitingUser)]);
    let effects = world.play(&Happening::Close).expect("closed");
    assert!(effects.contains(&Effect::EndProcess), "{effects:?}");
    assert_eq!(world.state.status, Some(RunStatus::Closed));
    assert_eq!(world.types()[world.log.len() - 2..], ["run.status", "run.completed"]);
    world.check();
    // A question is answered or canceled, not closed.
    let mut world = with(Continuation::Resumable, true);
    assert_eq!(world.play(&Happening::Close), Err(Refusal::NotAtRest { status: Some(RunStatus::WaitingUser) }));
}

/// Found by killing owners: the reason of a close was in the Log and its end was not, so that every further `skillrun close`
/// was refused because the run was about to end.
#[test]
fn a_close_that_was_cut_off_is_finished_by_the_next() {
    let mut world = conversation(Continuation::Sticky);
    world.all(&[Happening::Settle(RunStatus::WaitingUser)]);
    let change = RunStatusChange::new(None, Some(Phase::Closing), Some("test".to_owned()));
    world.append(AttemptNumber(1), closing::control(Level::Info, ControlData::RunStatus(change)));
    let reply = Happening::Reply { id: 1, request: None };
    assert!(world.play(&reply).is_err(), "it is closed");
    let effects = world.play(&Happening::Close).expect("closed");
    assert!(effects.contains(&Effect::EndProcess), "{effects:?}");
    assert_eq!(world.state.status, Some(RunStatus::Closed));
    assert_eq!(world.types()[world.log.len() - 2..], ["run.status", "run.completed"]);
    world.check();
}

#[test]
fn a_session_lost_twice_in_a_row_ends_the_run() {
    let lost = |world: &mut World| {
        let facts = FactsFold::default().finish(EndPolicy::Event, AnswerFrom::Only(Stream::Stdout));
        let mut settled = world.gate(RunStatus::WaitingUser);
        settled.verdict.turn = TurnState::Failed;
        settled.verdict.error = Some(RunError::new(ErrorCategory::Session, Code::SessionNotFound, "no such session"));
        let ending = ProcessEnding::new(ProcessExit::Code(1), Some(EndedBy::Exited));
        let (artifacts, process) = (Vec::new(), ProcessLeft::Gone);
        let attempt = SettledAttempt { facts: &facts, settled: &settled, ending, artifacts, process };
        world.happens(Input::Settled(attempt)).expect("settled")
    };
    let next = [1, 2].map(|id| [Happening::Reply { id, request: None }, Happening::HostReady]);
    let mut world = conversation(Continuation::Resumable);
    let beat = ControlData::RunHeartbeat(RunHeartbeat { elapsed_ms: 1, bytes: 1 });
    let correlation = Correlation { session_id: Some("s-1".into()), ..Correlation::default() };
    world.append(AttemptNumber(1), ControlEvent { level: Level::Info, data: beat, correlation });
    assert_eq!(world.state.session_id.as_deref(), Some("s-1"));
    lost(&mut world);
    assert!(world.state.is_at_rest(), "the next prompt begins another session");
    assert_eq!(world.state.session_id, None);
    world.all(&next[0]);
    lost(&mut world);
    assert_eq!(world.failure(), Code::SessionLost);
    world.check();
    // A turn that completes in between makes the next loss the first again.
    let mut world = conversation(Continuation::Resumable);
    lost(&mut world);
    world.all(&next[0]);
    world.all(&[Happening::Settle(RunStatus::WaitingUser)]);
    world.all(&next[1]);
    lost(&mut world);
    assert!(world.state.is_at_rest());
}
