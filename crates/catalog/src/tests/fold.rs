//! A fold that was stored continues like one that was not.

use super::super::fold::{FOLD_VERSION, Fold, Folded, read_on};
use super::super::folders::{Runs, Seen};
use super::super::front::{FrontReader, LineFront, has_no_session};
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

/// Evidence that no row shows, with all that could be mistaken for the end of its line.
fn any_evidence() -> impl Strategy<Value = EvidenceData> {
    let texts = prop_oneof![
        ".{0,40}",
        Just(
            r#"","correlation":{"interaction_id":null,"tool_call_id":null,"session_id":null,"request_id":null}"#
                .to_owned()
        ),
    ];
    (0..7_u8, texts).prop_map(|(kind, text)| match kind {
        0 => EvidenceData::RawStdout(RawText::new(text)),
        1 => EvidenceData::RawStderr(RawText::new(text)),
        2 => EvidenceData::ParserError(Diagnostic::new(Code::EngineFailed, text)),
        3 => EvidenceData::MessageDelta(MessageDelta { message_id: text.clone(), text, sanitized: false }),
        4 => EvidenceData::ReasoningSummary(ReasoningSummary { text, sanitized: false, truncated: false }),
        5 => {
            let input =
                json!({ "a": 1, "correlation": { "interaction_id": null, "session_id": null, "request_id": text } });
            let input = serde_json::value::to_raw_value(&input).expect("JSON");
            let call = ToolCallStarted { name: "a".to_owned(), input: Some(Foreign(input)), truncated: false };
            EvidenceData::ToolCallStarted(call)
        }
        _ => EvidenceData::MessageFinal(MessageFinal::new("m", text)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Most lines are not parsed, and the result is that of a fold of all events.
    #[test]
    fn a_fold_of_lines_equals_a_fold_of_events(
        kinds in prop::collection::vec((prop::option::weighted(0.7, any_evidence()), any_data()), 1..40),
        sessions in prop::collection::vec(prop::option::weighted(0.2, ".{0,9}"), 40),
        engine in prop_oneof![3 => Just("scripted".to_owned()), 1 => ".{0,9}"],
    ) {
        let (world, run) = (World::new(), run_id(1));
        let events = (1..).zip(kinds).zip(sessions).map(|((seq, (evidence, other)), session)| {
            let mut event = event_of(run, seq, evidence.map_or(other, Data::Evidence));
            event.source.engine = EngineName::new(&*engine);
            event.correlation.session_id = session.map(Into::into);
            event.correlation.tool_call_id = seq.is_multiple_of(3).then(|| r#","session_id":null,"request_id":"#.to_owned());
            event
        });
        let events: Vec<_> = events.collect();
        world.log.create(run).expect("made");
        world.log.append(run, Seq(1), &events, Durability::Derived).expect("appended");
        world.log.release(run);
        let mut whole = Fold::default();
        events.iter().for_each(|event| whole.add(&read(event)));
        let Seen::Log(seen) = Runs::open(world.log.runs()).expect("a folder").inspect(run) else { panic!("no Log") };
        let folded = read_on(&FileLog::new(world.log.runs()), run, Folded::nothing(seen), seen).expect("a Log");
        prop_assert_eq!((folded.fold, folded.mark, folded.damage), (whole, seen, None));
    }
}

/// A front that is not recognized any more would be slow, and no other test would fail.
#[test]
fn the_front_of_a_written_line_is_recognized() {
    let (mut event, mut fronts) = (event_of(run_id(1), 7, text(3)), FrontReader::default());
    for (stream, parser, confidence) in
        [(SourceStream::Stdout, Some(ProfileId::CodexNdjson), 1.0), (SourceStream::Control, None, 0.25)]
    {
        event.source = Source { engine: EngineName::new("codex"), stream, parser, confidence };
        let front = fronts.read(event.to_json().as_bytes());
        assert_eq!(front, Some(LineFront { ts: event.ts, event_type: event.event_type() }));
    }
    assert!(has_no_session(event.to_json().as_bytes()));
    event.correlation.session_id = Some("s".into());
    assert!(!has_no_session(event.to_json().as_bytes()));
    event.source.engine = EngineName::new("a \"name\"");
    assert_eq!(fronts.read(event.to_json().as_bytes()), None, "a name with an escape");
}

/// New optional fields of the state would be read from old rows as none, without an error.
#[test]
fn a_changed_fold_needs_a_new_version() {
    let json = serde_json::to_string(&Fold::default()).expect("JSON");
    let state = r#"{"status":null,"continuation":null,"attempt":0,"started":null,"attempt_is_open":false,"session_id":null,"question":null,"has_user_message":false,"interactions":0,"calls":0,"reply":null,"requests":{},"auto_decisions":0,"last_auto_decision_at":null,"canceling":null,"interrupting":null,"say":null,"interrupted":null,"closing":null,"lost_session":null,"lost_sessions":0,"failing":null,"missed_deadline":null,"verdict":null,"not_before":null,"retry":null,"process_ended":false,"children":[],"checks":{"passed":0,"is_open":false,"failed":null},"is_unfinished":false,"last_seq":0}"#;
    let expected = format!(
        r#"{{"state":{state},"started":null,"ended":null,"created_at":null,"updated_at":null,"said":null,"saying":[],"usage":null,"cost":null}}"#
    );
    assert_eq!((json.as_str(), FOLD_VERSION.ends_with(" fold 14")), (expected.as_str(), true), "raise FOLD_VERSION");
}
