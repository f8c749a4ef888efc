//! Figures, by hand: `cargo test --release -p skillrun-catalog --lib measure -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

fn timed<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = act();
    eprintln!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1_000.0);
    done
}

#[test]
#[ignore = "takes seconds and says nothing about right or wrong"]
fn ten_thousand_runs() {
    let world = World::new();
    let ids: Vec<_> = (0..10_000_u64).map(|at| RunId::new(1_700_000_000_000 + at * 977, [7; 10])).collect();
    let mut data = life();
    data.extend((0..12).map(|_| text(40)));
    timed("10,000 Logs made", || ids.iter().for_each(|run| world.append(*run, &data)));
    eprintln!("bytes of one Log: {}", fs::metadata(world.events(ids[0])).expect("a Log").len());
    let (mut catalog, opened) = timed("opened, none", || world.open());
    assert_eq!(opened, Opened::Made);
    let mut refresh = |what| timed(what, || catalog.refresh(&world.log).expect("refreshed"));
    assert_eq!(refresh("refreshed, all new").changed, 10_000);
    for _ in 0..5 {
        assert_eq!(refresh("refreshed, all as before").changed, 0);
    }
    world.append(ids[77], &[text(10)]);
    assert_eq!(refresh("refreshed, one longer").changed, 1);
    ids.iter().for_each(|run| world.append(*run, &[text(10)]));
    assert_eq!(refresh("refreshed, all longer by one event").changed, 10_000);
    drop(catalog);
    let (mut catalog, opened) = timed("opened, good", || world.open());
    assert_eq!(opened, Opened::Good);
    timed("list of 50", || catalog.list(&Query { limit: Some(50), ..Query::default() }).expect("a list"));
    timed("list of all", || catalog.list(&Query::default()).expect("a list"));
    let none = Query { skill: Some("none".to_owned()), ..Query::default() };
    timed("list of none", || catalog.list(&none).expect("a list"));
    timed("counts", || catalog.counts().expect("counts"));
    timed("waiting, all 10,000", || catalog.waiting(None, None).expect("waiting"));
    timed("not terminal", || catalog.not_terminal().expect("ids"));
    eprintln!("bytes of the catalog: {}", fs::metadata(world.path()).expect("a file").len());
    timed("in memory, all new", || world.rows_from_scratch());
}

#[test]
#[ignore = "takes seconds and says nothing about right or wrong"]
fn one_long_log() {
    let world = World::new();
    let run = run_id(1);
    world.append(run, &life());
    for _ in 0..100 {
        world.append(run, &vec![text(1_000); 1_000]);
    }
    eprintln!("bytes of the Log: {}", fs::metadata(world.events(run)).expect("a Log").len());
    let (mut catalog, _) = world.open();
    timed("refreshed, new", || catalog.refresh(&world.log).expect("refreshed"));
    world.append(run, &[text(10)]);
    timed("refreshed, one event longer", || catalog.refresh(&world.log).expect("refreshed"));
}
