//! A few rows at a time, and their short states.

use super::*;

fn refreshed(world: &World, catalog: &mut Catalog, run: RunId) -> Option<Row> {
    let current = catalog.refresh_some(&world.log, &[run]).expect("refreshed");
    current.into_iter().find_map(|current| current.row).map(|(_, row)| row)
}

#[test]
fn one_row_is_brought_up_and_no_other() {
    let world = World::new();
    let (mut catalog, _) = world.open();
    assert_eq!(refreshed(&world, &mut catalog, run_id(1)), None, "no folder, no run");
    world.append(run_id(1), &life());
    world.append(run_id(2), &life());
    let row = refreshed(&world, &mut catalog, run_id(1)).expect("a row");
    assert_eq!(Some(&row), world.rows_from_scratch().last());
    assert_eq!(catalog.list(&Query::default()).expect("a list"), [row], "the other was not requested");
    world.append(run_id(1), &[completed()]);
    let row = refreshed(&world, &mut catalog, run_id(1)).expect("a row");
    assert_eq!((row.status, row.skill.as_deref()), (Some(RunStatus::Succeeded), Some("haiku")));
    world.log.remove(run_id(1), moment(1)).expect("removed");
    assert_eq!(refreshed(&world, &mut catalog, run_id(1)), None);
    assert_eq!(catalog.get(run_id(1)).expect("asked"), None, "it left the catalog");
    let runs = [run_id(2), run_id(1), run_id(2)];
    let some = catalog.refresh_some(&world.log, &runs).expect("refreshed");
    assert_eq!(some.iter().map(|current| current.run_id).collect::<Vec<_>>(), runs);
    assert_eq!(some.iter().map(|current| current.row.is_some()).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(catalog.refresh_some(&world.log, &[]).expect("refreshed"), []);
}

#[test]
fn a_large_log_is_read_in_pieces_and_comes_out_the_same() {
    let world = World::new();
    let run = run_id(1);
    // Each piece is a page of a megabyte, so there must be more than one.
    (0..40).for_each(|_| world.append(run, &vec![text(8_000); 10]));
    world.append(run_id(2), &life());
    let (mut catalog, _) = world.open();
    let mut looks = 0;
    let row = loop {
        looks += 1;
        let (current, behind) = catalog.refresh_within(&world.log, &[run, run_id(2)], 1).expect("refreshed");
        assert!(current[1].row.is_some(), "the small one is there at once");
        if behind.is_empty() {
            break current[0].row.clone().expect("a row").1;
        }
        let bytes = fs::metadata(world.events(run)).expect("a Log").len();
        assert_eq!(behind, [PartlyRead { run_id: run, bytes }]);
    };
    assert!(looks > 2, "{looks}");
    assert_eq!(Some(&row), world.rows_from_scratch().iter().find(|row| row.run_id == run));
}

#[test]
fn a_repaired_file_has_all_rows_again() {
    let world = World::new();
    (1..4).for_each(|number| world.append(run_id(number), &life()));
    for damage in ["deleted", "no catalog", "emptied"] {
        let (mut catalog, _) = world.open();
        catalog.refresh(&world.log).expect("refreshed");
        match damage {
            "deleted" => fs::remove_file(world.path()).expect("removed"),
            "no catalog" => fs::write(world.path(), vec![b'x'; 9_000]).expect("written"),
            _ => {
                let other = rusqlite::Connection::open(world.path()).expect("opened");
                other.execute_batch("UPDATE meta SET making = making + 1; DELETE FROM runs; DELETE FROM details").ok();
            }
        }
        assert!(refreshed(&world, &mut catalog, run_id(2)).is_some(), "{damage}");
        assert_eq!(catalog.list(&Query::default()).expect("a list").len(), 3, "{damage}");
    }
}

#[test]
fn a_state_changes_with_its_row() {
    let world = World::new();
    let (mut catalog, _) = world.open();
    let run = run_id(1);
    world.append(run, &life());
    world.append(run_id(2), &life());
    let mut state = || {
        catalog.refresh(&world.log).expect("refreshed");
        let mut watch = catalog.watch().expect("a watch");
        let current = catalog.current(&[run]).expect("asked").remove(0).row.expect("a row");
        assert!(!watch.set(run, Some(current.0.clone())), "told the same way twice");
        assert!(watch.set(run, None), "it is known");
        current
    };
    let first = state();
    assert_eq!(state(), first);
    world.append(run, &[text(3)]);
    let second = state();
    assert_ne!(second.0, first.0);
    // The length of the Log is unchanged; its damage is not.
    let mut bytes = fs::read(world.events(run)).expect("a Log");
    let at = bytes.len() - 2;
    let mut damaged = Vec::new();
    for (byte, epoch) in [(b'!', "1\n"), (0, "1\n"), (b'}', "2\n")] {
        bytes[at] = byte;
        fs::write(world.events(run), &bytes).expect("written");
        fs::write(world.events(run).with_file_name("epoch"), epoch).expect("written");
        damaged.push(state());
    }
    assert_ne!(damaged[2].0, second.0, "another epoch");
    assert_eq!(damaged[2].1, second.1);
}

/// Each transaction created and deleted a file.
#[test]
fn the_journal_keeps_its_file() {
    use std::os::unix::fs::MetadataExt;
    let world = World::new();
    let (mut catalog, _) = world.open();
    let mut inodes = Vec::new();
    for number in 1..5 {
        world.append(run_id(number), &life());
        catalog.refresh(&world.log).expect("refreshed");
        inodes.push(fs::metadata(world.journal()).expect("the journal").ino());
    }
    inodes.dedup();
    assert_eq!(inodes.len(), 1);
    // It has no transaction in it, so another process does not roll anything back.
    let (mut other, opened) = world.open();
    assert_eq!((opened, world.rows(&mut other).len()), (Opened::Good, 4));
}

/// Another process reads lines that the writer of this process has written and not yet published. Its row is ahead of
/// what may be read here. Regression, found by analysis: the row went back to the published state.
#[test]
fn a_row_that_is_ahead_of_our_own_writer_does_not_go_back() {
    let world = World::new();
    let run = run_id(1);
    world.append(run, &[started(None, "codex"), text(1)]);
    let (mut catalog, _) = world.open();
    world.log.open(run).expect("opened");
    // As in the file during an append: one whole line, and the beginning of the next.
    let whole = serde_json::to_string(&event_of(run, 3, status(RunStatus::Running))).expect("JSON") + "\n";
    let mut file = fs::OpenOptions::new().append(true).open(world.events(run)).expect("opened");
    std::io::Write::write_all(&mut file, whole.as_bytes()).expect("written");
    catalog.refresh(&FileLog::new(world.log.runs())).expect("refreshed by another process");
    let ahead = catalog.get(run).expect("asked").expect("a row");
    assert_eq!(ahead.status, Some(RunStatus::Running));
    std::io::Write::write_all(&mut file, b"{\"the beginning").expect("written");
    assert_eq!(world.log.head(run).expect("a head").next_seq, skillrun_log::Seq(3), "not told yet");
    assert_eq!(refreshed(&world, &mut catalog, run), Some(ahead));
}

/// The turn ends, and names this message as its answer.
fn ended(turn: TurnState, answer: &str) -> Data {
    let verdict = Verdict {
        answer_message_id: Some(answer.to_owned()),
        ..Verdict::new(Rule::Waiting, turn, CompletionState::Unknown, Code::CleanFinal, RunStatus::WaitingUser)
    };
    let exit = Exit { code: Some(0), signal: None, ended_by: None };
    Data::Control(ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit))))
}

fn answered(answer: &str) -> Data {
    ended(TurnState::Completed, answer)
}

/// Found by reading: a whole message of a turn that failed was shown as the last words of its run.
#[test]
fn text_of_a_turn_that_broke_off_is_not_last_words() {
    for turn in TurnState::ALL.iter().copied().filter(|turn| *turn != TurnState::Completed) {
        let world = World::new();
        let (mut catalog, _) = world.open();
        let run = run_id(1);
        let good = [started(None, "codex"), message("a", "Blue.", false), answered("a")];
        world.append(run, &good);
        world.append(run, &[message("b", "Red, no", false), ended(turn, "b")]);
        let row = refreshed(&world, &mut catalog, run).expect("a row");
        assert_eq!(row.last_words.as_deref(), Some("Blue."), "{turn}");
        world.append(run, &[message("c", "Green.", false), answered("c")]);
        let row = refreshed(&world, &mut catalog, run).expect("a row");
        assert_eq!(row.last_words.as_deref(), Some("Green."), "{turn}");
        assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
    }
}

#[test]
fn rows_show_the_last_answer_and_the_usage() {
    let world = World::new();
    let (mut catalog, _) = world.open();
    let run = run_id(1);
    let mut said = |data: &[Data]| {
        world.append(run, data);
        refreshed(&world, &mut catalog, run).expect("a row").last_words
    };
    assert_eq!(said(&[started(None, "codex")]), None);
    assert_eq!(said(&[message("a", " Hello. ", false)]), None, "the turn is open");
    assert_eq!(said(&[answered("a")]).as_deref(), Some("Hello."));
    let marked = "Done.\n{\"__SKILL_DONE__\": true, \"answer\": 1}\n";
    assert_eq!(said(&[message("b", marked, false)]).as_deref(), Some("Hello."), "the last answer stays");
    assert_eq!(said(&[answered("b")]).as_deref(), Some("Done."), "no markers");
    let asks = "<ASK_USER_YAML>\nprompt: Which?\n</ASK_USER_YAML>";
    assert_eq!(
        said(&[message("q", asks, false), answered("q")]).as_deref(),
        Some("Done."),
        "the question is in the row"
    );
    let passed_over = [message("c", " \n", false), message("d", "I was", true), text(3), answered("d")];
    assert_eq!(said(&passed_over).as_deref(), Some("Done."));
    let long = [message("e", &"é".repeat(300), false), message("f", "And more.", false), answered("e")];
    assert_eq!(said(&long), Some("é".repeat(200)), "the answer need not be the last message");
    let withdrawn = [message("g", "No.", false), taken_back("g"), answered("g")];
    assert_eq!(said(&withdrawn), Some("é".repeat(200)));
    let mut usage_after = |data: &[Data]| {
        world.append(run, data);
        refreshed(&world, &mut catalog, run).expect("a row").usage
    };
    assert_eq!(usage_after(&[]), None);
    let tokens = |input_tokens, output_tokens| Some(TokenUsage { input_tokens, output_tokens, cost_usd: None });
    assert_eq!(usage_after(&[usage(Some(3), None)]), tokens(Some(3), None));
    assert_eq!(usage_after(&[usage(Some(4), Some(1)), usage(None, None)]), tokens(Some(7), Some(1)));
    assert_eq!(usage_after(&[usage(Some(u64::MAX), None)]), tokens(Some(u64::MAX), Some(1)), "bounded");
    let cost = |total: f64| {
        let reported = [("total_cost_usd".to_owned(), total.into())].into();
        Data::Control(ControlData::TurnUsage(TurnUsage { reported, ..TurnUsage::default() }))
    };
    let cost_after = usage_after(&[cost(0.25), cost(0.75)]).and_then(|usage| usage.cost_usd);
    assert_eq!(cost_after, Some(0.75), "the totals of one session");
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
}
