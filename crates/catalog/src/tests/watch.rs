//! Outdated rows are found at a cost that ended runs do not add to.

use std::time::{Duration, Instant};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn numbered(number: u64) -> RunId {
    RunId::new(1_700_000_000_000 + number, [7; 10])
}

fn end(world: &World, run: RunId) {
    world.append(run, &life());
    world.append(run, &[completed()]);
}

/// A watch over a refreshed catalog, and the time at which its first looks are over.
fn watched(world: &World) -> (Catalog, RunsWatch, Instant) {
    let (mut catalog, _) = world.open();
    catalog.refresh(&world.log).expect("refreshed");
    let mut watch = catalog.watch().expect("a watch");
    let mut now = Instant::now();
    for _ in 0..4 {
        assert_eq!(look(world, &mut watch, now).behind, []);
        now += SECOND;
    }
    (catalog, watch, now)
}

fn look(world: &World, watch: &mut RunsWatch, now: Instant) -> WatchedRuns {
    watch.look(world.log.runs(), now).expect("looked")
}

/// Refreshes what is behind, and returns the runs that changed.
fn taken(world: &World, catalog: &mut Catalog, watch: &mut RunsWatch, now: Instant) -> Vec<RunId> {
    let behind = look(world, watch, now).behind;
    let current = catalog.refresh_some(&world.log, &behind).expect("refreshed");
    let changed = current.into_iter().filter(|current| {
        let state = current.row.clone().map(|(state, _)| state);
        watch.set(current.run_id, state)
    });
    changed.map(|current| current.run_id).collect()
}

/// One follower beside 10,000 ended runs cost 6 % of a processor: each second all of them were inspected.
#[test]
fn a_look_does_not_inspect_all_ended_runs() {
    let world = World::new();
    (0..350).for_each(|number| end(&world, numbered(number)));
    (350..355).for_each(|number| world.append(numbered(number), &life()));
    let (_, mut watch, mut now) = watched(&world);
    for _ in 0..20 {
        let looked = look(&world, &mut watch, now);
        assert!(looked.inspected <= 105 && !looked.has_read_names, "{looked:?}");
        now += SECOND;
    }
    assert!(look(&world, &mut watch, now + 60 * SECOND).has_read_names, "at least once a minute");
}

#[test]
fn all_that_other_processes_do_is_found_at_the_next_look() {
    let world = World::new();
    (0..150).for_each(|number| end(&world, numbered(number)));
    world.append(numbered(150), &life());
    let (mut catalog, mut watch, mut now) = watched(&world);
    let mut next = |catalog: &mut Catalog, watch: &mut RunsWatch| {
        now += SECOND;
        taken(&world, catalog, watch, now)
    };
    world.append(numbered(200), &life());
    assert_eq!(next(&mut catalog, &mut watch), [numbered(200)], "a new run");
    world.append(numbered(200), &[text(9)]);
    world.append(numbered(150), &[completed()]);
    assert_eq!(next(&mut catalog, &mut watch), [numbered(150), numbered(200)], "events");
    // The folder first, the Log later.
    fs::create_dir(world.log.runs().join(numbered(201).to_string())).expect("made");
    for _ in 0..4 {
        assert_eq!(next(&mut catalog, &mut watch), []);
    }
    world.append(numbered(201), &life());
    assert_eq!(next(&mut catalog, &mut watch), [numbered(201)], "a Log in an old folder");
    // Only the Log, then the whole folder.
    world.log.remove(numbered(3), moment(1)).expect("removed");
    assert_eq!(next(&mut catalog, &mut watch), [numbered(3)], "a removal");
    fs::remove_dir_all(world.log.runs().join(numbered(4).to_string())).expect("removed");
    assert_eq!(next(&mut catalog, &mut watch), [numbered(4)], "a folder that is gone");
    assert_eq!(catalog.list(&Query::default()).expect("a list").len(), 151);
}

#[test]
fn what_is_done_to_ended_and_waiting_runs_is_found_in_turn() {
    let world = World::new();
    (0..350).for_each(|number| end(&world, numbered(number)));
    world.append(numbered(400), &[started(None, "scripted"), status(RunStatus::WaitingUser)]);
    let (mut catalog, mut watch, mut now) = watched(&world);
    world.append(numbered(400), &[status(RunStatus::Running)]);
    now += SECOND;
    assert_eq!(taken(&world, &mut catalog, &mut watch, now), [numbered(400)], "it waits no longer");
    let log = world.events(numbered(340));
    let cut = fs::metadata(&log).expect("a Log").len() - 5;
    fs::OpenOptions::new().write(true).open(&log).expect("opened").set_len(cut).expect("cut");
    let mut looks = 0;
    while taken(&world, &mut catalog, &mut watch, now) != [numbered(340)] {
        looks += 1;
        now += SECOND;
        assert!(looks <= 4, "all have had their turn");
    }
}

/// One follower beside 10,000 runs that wait cost 2 % of a processor: a thousand of them were inspected at each look.
#[test]
fn a_waiting_run_is_inspected_only_when_its_log_has_changed() {
    let world = World::new();
    let waits = [started(None, "scripted"), status(RunStatus::WaitingUser)];
    (0..20).for_each(|number| world.append(numbered(number), &waits));
    let (mut catalog, mut watch, mut now) = watched(&world);
    for _ in 0..4 {
        now += SECOND;
        let looked = look(&world, &mut watch, now);
        assert_eq!((looked.inspected, looked.unchanged), (0, 20));
    }
    world.append(numbered(3), &[text(9)]);
    fs::remove_file(world.events(numbered(4))).expect("removed");
    now += SECOND;
    assert_eq!(taken(&world, &mut catalog, &mut watch, now), [numbered(3), numbered(4)]);
    now += SECOND;
    assert_eq!(look(&world, &mut watch, now).unchanged, 18, "one is inspected once more, and one is gone");

    // Another process cuts the last event and writes others, up to the same size.
    let log = world.events(numbered(5));
    let size = fs::metadata(&log).expect("a Log").len();
    fs::write(world.log.runs().join(numbered(5).to_string()).join("epoch"), "2\n").expect("written");
    fs::OpenOptions::new().write(true).open(&log).expect("opened").set_len(size - 5).expect("cut");
    fs::OpenOptions::new().write(true).open(&log).expect("opened").set_len(size).expect("written");
    now += SECOND;
    assert!(look(&world, &mut watch, now).behind.contains(&numbered(5)), "the same size, another epoch");
}

/// A refresh can fail, so what was found must be found again.
#[test]
fn a_run_is_behind_until_its_state_is_set() {
    let world = World::new();
    end(&world, numbered(1));
    let (mut catalog, mut watch, mut now) = watched(&world);
    end(&world, numbered(2));
    fs::remove_dir_all(world.log.runs().join(numbered(1).to_string())).expect("removed");
    for _ in 0..9 {
        now += SECOND;
        assert_eq!(look(&world, &mut watch, now).behind, [numbered(1), numbered(2)]);
    }
    assert_eq!(taken(&world, &mut catalog, &mut watch, now), [numbered(1), numbered(2)]);
    assert_eq!(look(&world, &mut watch, now).behind, []);
}
