//! A fold that was stored continues like one that was not.

use super::super::fold::{FOLD_VERSION, Fold, Folded, read_on};
use super::super::folders::{Runs, Seen};
use super::*;

/// As a reader of the Log gets it.
fn read(event: &Event) -> Event {
    Event::from_json(&serde_json::to_string(event).expect("JSON")).expect("an event")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn half_a_fold_can_be_resumed(data in prop::collection::vec(any_data(), 0..40), at in 0..40_usize) {
        let events: Vec<_> = (1..).zip(data).map(|(seq, data)| read(&event_of(run_id(1), seq, data))).collect();
        let mut whole = Fold::default();
        events.iter().for_each(|event| whole.add(event));
        let (first, rest) = events.split_at(at.min(events.len()));
        let mut half = Fold::default();
        first.iter().for_each(|event| half.add(event));
        let mut half: Fold = serde_json::from_str(&serde_json::to_string(&half).expect("JSON")).expect("a fold");
        rest.iter().for_each(|event| half.add(event));
        prop_assert_eq!(&half.state, &State::of(&events));
        prop_assert_eq!(half, whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    /// The writer folds the events that it appends, and another process those that it reads.
    #[test]
    fn a_live_fold_equals_one_that_is_read(data in prop::collection::vec(any_data(), 1..40), at in 0..40_usize) {
        let (world, run) = (World::new(), run_id(1));
        world.open().0.refresh(&world.log).expect("refreshed");
        world.log.create(run).expect("made");
        let events: Vec<_> = (1..).zip(data).map(|(seq, data)| event_of(run, seq, data)).collect();
        let (first, rest) = events.split_at(at.min(events.len()));
        for batch in [first, rest].into_iter().filter(|batch| !batch.is_empty()) {
            world.log.append(run, Seq(batch[0].seq), batch, Durability::Derived).expect("appended");
        }
        let (live, epoch, bytes) = world.log.fold(run).expect("a fold");
        let Seen::Log(seen) = Runs::open(world.log.runs()).expect("a folder").inspect(run) else { panic!("no Log") };
        let read = read_on(&FileLog::new(world.log.runs()), run, Folded::nothing(seen), seen).expect("a Log");
        prop_assert_eq!((&*live.downcast::<Fold>().expect("a fold"), epoch, bytes), (&read.fold, seen.epoch, seen.bytes));
        prop_assert_eq!((read.mark, read.damage), (seen, None));
    }
}

/// New optional fields of the state would be read from old rows as none, without an error.
#[test]
fn a_changed_fold_needs_a_new_version() {
    let json = serde_json::to_string(&Fold::default()).expect("JSON");
    let state = r#"{"status":null,"continuation":null,"attempt":0,"started":null,"attempt_is_open":false,"session_id":null,"question":null,"has_user_message":false,"interactions":0,"calls":0,"reply":null,"requests":{},"auto_decisions":0,"last_auto_decision_at":null,"canceling":null,"interrupting":null,"say":null,"interrupted":null,"closing":null,"lost_session":null,"lost_sessions":0,"failing":null,"verdict":null,"not_before":null,"retry":null,"process_ended":false,"is_unfinished":false,"last_seq":0}"#;
    let expected = format!(
        r#"{{"state":{state},"started":null,"ended":null,"created_at":null,"updated_at":null,"said":null,"usage":null,"cost":null}}"#
    );
    assert_eq!((json.as_str(), FOLD_VERSION.ends_with(" fold 8")), (expected.as_str(), true), "raise FOLD_VERSION");
}
