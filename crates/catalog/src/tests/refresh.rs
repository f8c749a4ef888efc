//! Which rows are behind, and what is read of their Logs.

use super::*;
use skillrun_log::Epoch;

/// Where each line begins, and where the last one ends.
fn starts(bytes: &[u8]) -> Vec<usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1)).collect()
}

#[test]
fn a_row_says_what_its_log_says() {
    let world = World::new();
    let (mut catalog, opened) = world.open();
    assert_eq!(opened, Opened::Made);
    assert_eq!(world.rows(&mut catalog), [], "no folder, no runs");
    let run = run_id(1);
    world.append(run, &life());
    let row = catalog_row(&world, &mut catalog, run);
    let question = row.question.clone().expect("a question");
    assert_eq!((question.prompt.as_str(), question.truncated), ("Which colour?", false));
    assert_eq!(question.interaction_id, InteractionId(1));
    let expected = Row {
        run_id: run,
        status: Some(RunStatus::WaitingUser),
        skill: Some("haiku".to_owned()),
        title: None,
        engine: Some("scripted".to_owned()),
        mode: Some(ExecutionMode::Interactive),
        created_at: Some(moment(10)),
        updated_at: Some(moment(80)),
        ended_at: None,
        attempt: AttemptNumber(0),
        question: Some(question),
        rests: false,
        reason_code: Some(Code::CleanFinal),
        error_code: None,
        error_message: None,
        last_words: None,
        usage: None,
        auto_decisions: 0,
        auto_decision_count: 0,
        last_auto_decision_at: None,
        not_before: None,
        retried_as: None,
        parent: None,
        warnings: 1,
        newer_events: None,
        log_bytes: fs::metadata(world.events(run)).expect("a Log").len(),
        damage: None,
    };
    assert_eq!(row, expected);
    // Canceled after a verdict: the terminal record is what counts.
    world.append(run, &[canceled()]);
    let row = catalog_row(&world, &mut catalog, run);
    assert_eq!((row.status, row.question), (Some(RunStatus::Canceled), None));
    assert_eq!(row.ended_at, Some(moment(90)));
    assert_eq!((row.reason_code, row.error_code), (Some(Code::Canceled), None));
    // Failed without one.
    world.append(run_id(2), &[started(None, "codex"), failed(Code::EngineNotFound)]);
    let row = catalog_row(&world, &mut catalog, run_id(2));
    assert_eq!((row.reason_code, row.error_code), (Some(Code::EngineNotFound), Some(Code::EngineNotFound)));
    assert_eq!((row.skill.as_deref(), row.engine.as_deref()), (None, Some("codex")));
}

/// A data folder with one run.
fn one_run() -> (World, RunId) {
    let world = World::new();
    world.append(run_id(1), &life());
    (world, run_id(1))
}

fn catalog_row(world: &World, catalog: &mut Catalog, run: RunId) -> Row {
    catalog.refresh(&world.log).expect("refreshed");
    catalog.get(run).expect("asked").expect("a row")
}

#[test]
fn delete_it_and_it_is_the_same_again() {
    let world = World::new();
    for number in 1..6 {
        world.append(run_id(number), &life());
    }
    let (mut catalog, _) = world.open();
    let rows = world.rows(&mut catalog);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows, world.rows_from_scratch());
    // While it is open, with its journal: the next refresh recreates it.
    fs::remove_file(world.path()).expect("removed");
    fs::remove_file(world.journal()).expect("removed");
    assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
    assert_eq!(catalog.refresh(&world.log).expect("refreshed").changed, 5);
    assert_eq!(catalog.news(), Some(Opened::Made));
    assert_eq!(catalog.news(), None, "told once");
    // Without its journal: SQLite refuses even to read, so the next query recreates it.
    fs::remove_file(world.path()).expect("removed");
    assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
    assert_eq!(catalog.news(), Some(Opened::Made));
    assert_eq!(catalog.refresh(&world.log).expect("refreshed").changed, 0);
    assert_eq!(catalog.news(), None, "told once");
    assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
    drop(catalog);
    let (mut catalog, opened) = world.open();
    assert_eq!(opened, Opened::Good);
    let as_before = Refreshed { runs: 5, changed: 0, removed: 0 };
    assert_eq!(catalog.refresh(&world.log).expect("refreshed"), as_before);
    assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
}

#[test]
fn only_what_is_new_is_read() {
    let (world, run) = one_run();
    let (mut catalog, _) = world.open();
    world.rows(&mut catalog);
    // The third line is not read again, so its changed content is not noticed.
    let mut bytes = fs::read(world.events(run)).expect("a Log");
    let at = memchr::memmem::find(&bytes, b"haiku").expect("the skill");
    bytes[at] = b'H';
    fs::write(world.events(run), &bytes).expect("written");
    world.append(run, &[completed()]);
    let row = catalog_row(&world, &mut catalog, run);
    assert_eq!((row.status, row.skill.as_deref()), (Some(RunStatus::Succeeded), Some("haiku")));
    assert_eq!(world.rows_from_scratch()[0].skill.as_deref(), Some("Haiku"));
}

#[test]
fn a_torn_end_is_not_a_change_but_later_events_are() {
    let (world, run) = one_run();
    let good = fs::read(world.events(run)).expect("a Log");
    world.append(run, &[completed()]);
    let whole = fs::read(world.events(run)).expect("a Log");
    // The same length as the later line: by size alone nothing has changed.
    let torn = [&good[..], &vec![b'x'; whole.len() - good.len()]].concat();
    fs::write(world.events(run), &torn).expect("written");
    let (mut catalog, _) = world.open();
    let row = catalog_row(&world, &mut catalog, run);
    assert_eq!((row.status, row.damage.as_deref()), (Some(RunStatus::WaitingUser), None));
    assert_eq!(row.log_bytes, good.len() as u64);
    assert_eq!(catalog.refresh(&world.log).expect("refreshed").changed, 0, "it says what it said");
    world.append(run, &[completed()]);
    assert_eq!(fs::metadata(world.events(run)).expect("a Log").len(), torn.len() as u64);
    assert_eq!(catalog_row(&world, &mut catalog, run).status, Some(RunStatus::Succeeded));
}

#[test]
fn a_damage_is_reported_and_does_not_affect_other_runs() {
    let world = World::new();
    let runs = [run_id(1), run_id(2), run_id(3)];
    runs.iter().for_each(|run| world.append(*run, &life()));
    let mut bytes = fs::read(world.events(runs[1])).expect("a Log");
    let starts = starts(&bytes);
    bytes[starts[4]] = b'!';
    fs::write(world.events(runs[1]), &bytes).expect("written");
    // Not a single event of this one can be read.
    fs::write(world.events(runs[2]), "no event\n").expect("written");
    let (mut catalog, _) = world.open();
    let row = catalog_row(&world, &mut catalog, runs[1]);
    assert_eq!((row.status, row.log_bytes), (Some(RunStatus::Running), starts[4] as u64));
    assert!(row.damage.as_deref().is_some_and(|damage| damage.contains("where seq 5 belongs")), "{row:?}");
    let row = catalog.get(runs[2]).expect("asked").expect("a row");
    assert_eq!((row.status, row.created_at, row.log_bytes), (None, None, 0));
    assert!(row.damage.is_some());
    assert_eq!(catalog.get(runs[0]).expect("asked").expect("a row").status, Some(RunStatus::WaitingUser));
    let again = catalog.refresh(&world.log).expect("refreshed");
    assert_eq!(again, Refreshed { runs: 3, changed: 0, removed: 0 });
    // Truncated by hand, without a new epoch.
    fs::OpenOptions::new().write(true).open(world.events(runs[1])).expect("opened").set_len(starts[4] as u64).ok();
    assert_eq!(catalog_row(&world, &mut catalog, runs[1]).damage, None);
    fs::write(world.events(runs[1]), &bytes).expect("written");
    assert!(catalog_row(&world, &mut catalog, runs[1]).damage.is_some());
    // Truncated correctly.
    world.log.cut_at_damage(runs[1]).expect("cut");
    let row = catalog_row(&world, &mut catalog, runs[1]);
    assert_eq!((row.status, row.damage), (Some(RunStatus::Running), None));
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
}

#[test]
fn a_log_that_cannot_be_read_keeps_what_was_known() {
    let (world, run) = one_run();
    let (mut catalog, _) = world.open();
    let before = catalog_row(&world, &mut catalog, run);
    // Root may read everything, so the test uses another obstacle.
    let epoch = world.events(run).with_file_name("epoch");
    fs::create_dir(&epoch).expect("a folder");
    let row = catalog_row(&world, &mut catalog, run);
    assert!(row.damage.as_deref().is_some_and(|damage| damage.starts_with("epoch: ")), "{row:?}");
    assert_eq!(Row { damage: None, ..row }, before);
    fs::remove_dir(&epoch).expect("removed");
    assert_eq!(catalog_row(&world, &mut catalog, run), before);
    // Never seen before.
    fs::create_dir_all(world.events(run_id(2))).expect("a folder");
    let row = catalog_row(&world, &mut catalog, run_id(2));
    assert_eq!((row.status, row.damage.is_some()), (None, true));
}

#[test]
fn another_inode_or_epoch_is_another_log() {
    let (world, run) = one_run();
    let (mut catalog, _) = world.open();
    catalog_row(&world, &mut catalog, run);
    let mut bytes = fs::read(world.events(run)).expect("a Log");
    let at = memchr::memmem::find(&bytes, b"haiku").expect("the skill");
    for (skill, is_replaced) in [(b"hallo", true), (b"guten", false)] {
        bytes[at..at + 5].copy_from_slice(skill);
        if is_replaced {
            let beside = world.folder.path().join("beside");
            fs::write(&beside, &bytes).expect("written");
            fs::rename(&beside, world.events(run)).expect("renamed");
        } else {
            fs::write(world.events(run), &bytes).expect("written");
            fs::write(world.events(run).with_file_name("epoch"), "7\n").expect("written");
        }
        let row = catalog_row(&world, &mut catalog, run);
        assert_eq!(row.skill.as_deref().map(str::as_bytes), Some(&skill[..]));
    }
    assert_eq!(world.log.head(run).expect("a head").epoch, Epoch(7));
    assert_eq!(catalog.refresh(&world.log).expect("refreshed").changed, 0);
    // Shorter.
    bytes.truncate(starts(&bytes)[2]);
    fs::write(world.events(run), &bytes).expect("written");
    assert_eq!(catalog_row(&world, &mut catalog, run).status, Some(RunStatus::Queued));
}

#[test]
fn other_folders_are_skipped_and_removed_runs_disappear() {
    let world = World::new();
    for number in 1..4 {
        world.append(run_id(number), &life());
    }
    let runs = world.log.runs();
    world.log.create(run_id(9)).expect("accepted, and nothing more");
    fs::create_dir(runs.join(run_id(10).to_string())).expect("a folder");
    fs::write(runs.join(run_id(11).to_string()), "a file").expect("a file");
    fs::create_dir(runs.join("lost+found")).expect("a folder");
    let (upper, simple) = (run_id(12).to_string().to_uppercase(), run_id(13).to_string().replace('-', ""));
    for name in [upper, simple] {
        fs::create_dir(runs.join(&name)).expect("a folder");
        fs::copy(world.events(run_id(1)), runs.join(name).join("events.jsonl")).expect("copied");
    }
    world.append(run_id(14), &[text(10)]);
    fs::write(world.events(run_id(14)), "{\"the beginning of a first line").expect("written");
    let (mut catalog, _) = world.open();
    assert_eq!(catalog.refresh(&world.log).expect("refreshed"), Refreshed { runs: 4, changed: 4, removed: 0 });
    let cut = catalog.get(run_id(14)).expect("asked").and_then(|row| row.damage).expect("it had a first event");
    assert!(cut.contains("first event is incomplete"), "{cut}");
    world.log.remove(run_id(1), moment(1)).expect("removed");
    fs::remove_dir_all(runs.join(run_id(2).to_string())).expect("removed");
    assert_eq!(catalog.refresh(&world.log).expect("refreshed"), Refreshed { runs: 2, changed: 0, removed: 2 });
    assert_eq!(catalog.list(&Query::default()).expect("a list").len(), 2);
    assert_eq!(catalog.get(run_id(1)).expect("asked"), None);
    fs::remove_dir_all(runs).expect("removed");
    assert_eq!(catalog.refresh(&world.log).expect("refreshed"), Refreshed { runs: 0, changed: 0, removed: 2 });
    fs::write(runs, "a file").expect("a file");
    let error = catalog.refresh(&world.log).expect_err("no folder");
    assert!(error.to_string().contains("failed to list the runs in"), "{error}");
}

/// What may happen to the Logs between two refreshes.
#[derive(Debug, Clone)]
enum Happening {
    Append(u8, Vec<Data>),
    /// A number of bytes of a line that was never written.
    Tear(u8, usize),
    /// A byte somewhere.
    Damage(u8, usize),
    Cut(u8),
    Remove(u8),
    Look,
    LookAnew,
}

fn happening() -> impl Strategy<Value = Happening> {
    let run = 1..5_u8;
    prop_oneof![
        8 => (run.clone(), prop::collection::vec(any_data(), 1..8)).prop_map(|(run, data)| Happening::Append(run, data)),
        2 => (run.clone(), 1..900_usize).prop_map(|(run, bytes)| Happening::Tear(run, bytes)),
        1 => (run.clone(), any::<usize>()).prop_map(|(run, at)| Happening::Damage(run, at)),
        1 => run.clone().prop_map(Happening::Cut),
        1 => run.prop_map(Happening::Remove),
        8 => Just(Happening::Look),
        1 => Just(Happening::LookAnew),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn step_by_step_is_as_from_scratch(happenings in prop::collection::vec(happening(), 1..25)) {
        let world = World::new();
        let (mut catalog, _) = world.open();
        // Removed runs never come back, and a damaged one accepts nothing until it is truncated.
        let (mut removed, mut damaged) = (Vec::new(), Vec::new());
        for happening in happenings.into_iter().chain([Happening::Look]) {
            match happening {
                Happening::Append(run, data) if !removed.contains(&run) && !damaged.contains(&run) => {
                    world.append(run_id(run), &data);
                }
                Happening::Tear(run, bytes) if world.events(run_id(run)).exists() && !damaged.contains(&run) => {
                    let path = world.events(run_id(run));
                    let torn = [fs::read(&path).expect("a Log"), vec![b'x'; bytes]].concat();
                    fs::write(path, torn).expect("written");
                }
                Happening::Damage(run, at) if world.events(run_id(run)).exists() => {
                    // Only what no row has yet may be damaged: a Log is never changed in the middle.
                    let known = catalog.get(run_id(run)).expect("asked").map_or(0, |row| row.log_bytes);
                    let path = world.events(run_id(run));
                    let mut bytes = fs::read(&path).expect("a Log");
                    let known = usize::try_from(known).expect("small");
                    if known < bytes.len() {
                        let at = known + at % (bytes.len() - known);
                        bytes[at] ^= 1;
                        fs::write(path, bytes).expect("written");
                        damaged.push(run);
                    }
                }
                Happening::Cut(run) if world.events(run_id(run)).exists() => {
                    world.log.cut_at_damage(run_id(run)).expect("cut");
                    damaged.retain(|other| *other != run);
                }
                Happening::Remove(run) if world.events(run_id(run)).exists() => {
                    world.log.remove(run_id(run), moment(1)).expect("removed");
                    removed.push(run);
                }
                Happening::LookAnew => {
                    drop(catalog);
                    catalog = world.open().0;
                }
                Happening::Look => prop_assert_eq!(world.rows(&mut catalog), world.rows_from_scratch()),
                Happening::Append(..) | Happening::Tear(..) | Happening::Damage(..) | Happening::Cut(_) | Happening::Remove(_) => {}
            }
        }
    }
}
