//! A file that is not a catalog, a folder that cannot be written, a full disk: lists are still right.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::together::{CHILD, FOLDER, ROLE};
use super::*;

fn filled() -> (World, Vec<Row>) {
    let world = World::new();
    for number in 1..60 {
        world.append(run_id(number), &life());
    }
    let (mut catalog, _) = world.open();
    let rows = world.rows(&mut catalog);
    assert_eq!(rows.len(), 59);
    (world, rows)
}

/// Checks that everything read from a catalog is right; returns what happened to it.
fn is_right(world: &World, rows: &[Row]) -> Vec<Opened> {
    let (mut catalog, opened) = world.open();
    assert_eq!(world.rows(&mut catalog), rows);
    assert_eq!(catalog.waiting(None, None).expect("waiting").len(), rows.len());
    for row in rows {
        assert_eq!(catalog.get(row.run_id).expect("asked").as_ref(), Some(row));
    }
    let news = [Some(opened), catalog.news()].into_iter().flatten().filter(|news| *news != Opened::Good).collect();
    drop(catalog);
    let (mut catalog, opened) = world.open();
    assert_eq!((opened, catalog.refresh(&world.log).expect("refreshed").changed), (Opened::Good, 0), "kept");
    news
}

fn is_rebuilt(news: &[Opened]) -> bool {
    matches!(news, [Opened::Rebuilt { why: Rebuild::Damaged(_) }])
}

#[test]
fn a_file_that_is_not_a_catalog_is_rebuilt() {
    let (world, rows) = filled();
    let good = fs::read(world.path()).expect("a file");
    let noise = |len: usize| (0..len as u64).map(|at| (at * at * 31 % 251) as u8).collect::<Vec<_>>();
    for bytes in [noise(600), noise(50_000), [b"SQLite format 3\0", &*noise(9_000)].concat(), vec![0; 8_192]] {
        fs::write(world.path(), &bytes).expect("written");
        let news = is_right(&world, &rows);
        assert!(is_rebuilt(&news), "{} bytes: {news:?}", bytes.len());
    }
    for parts in 1..16 {
        let len = good.len() * parts / 16;
        fs::write(world.path(), &good[..len]).expect("written");
        let news = is_right(&world, &rows);
        assert!(is_rebuilt(&news), "cut after {len} bytes: {news:?}");
    }
    fs::write(world.path(), "").expect("written");
    assert_eq!(is_right(&world, &rows), [Opened::Made]);
    // A journal without a database.
    fs::write(world.path().with_extension("sqlite-journal"), noise(5_000)).expect("written");
    assert_eq!(is_right(&world, &rows), []);
}

#[test]
fn every_page_may_be_noise() {
    let (world, rows) = filled();
    let good = fs::read(world.path()).expect("a file");
    let mut rebuilt = 0;
    for page in 0..good.len() / 4_096 {
        let mut bytes = good.clone();
        for (at, byte) in bytes[page * 4_096..][..4_096].iter_mut().enumerate() {
            *byte = (at * at * 31 % 251) as u8;
        }
        fs::write(world.path(), &bytes).expect("written");
        let news = is_right(&world, &rows);
        assert!(news.is_empty() || is_rebuilt(&news), "page {page}: {news:?}");
        rebuilt += news.len();
    }
    assert!(rebuilt > 10, "{rebuilt}");
}

#[test]
fn a_damage_found_by_a_query_is_repaired_first() {
    let (world, rows) = filled();
    let (mut catalog, opened) = world.open();
    assert_eq!(opened, Opened::Good);
    assert_eq!(world.rows(&mut catalog), rows);
    let mut bytes = fs::read(world.path()).expect("a file");
    // The change counter, so that no connection relies on its cache.
    bytes[27] ^= 1;
    bytes[4_096..].fill(0xff);
    fs::write(world.path(), &bytes).expect("written");
    assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
    let news = catalog.news().expect("news");
    assert!(is_rebuilt(std::slice::from_ref(&news)), "{news:?}");
    assert!(news.to_string().contains("damaged and has been rebuilt: "), "{news}");
}

#[test]
fn other_versions_boots_and_tables_are_rebuilt() {
    let (world, rows) = filled();
    for (sql, why) in [
        ("PRAGMA user_version = 77", Some(Rebuild::OtherVersion)),
        ("UPDATE meta SET fold = 'another'", Some(Rebuild::OtherVersion)),
        ("DELETE FROM meta", Some(Rebuild::OtherVersion)),
        ("UPDATE meta SET boot = 'another'", Some(Rebuild::OtherBoot)),
        ("DROP TABLE meta", None),
        ("DROP TABLE details", None),
        ("ALTER TABLE runs DROP COLUMN inode", None),
        ("UPDATE details SET row = '{}'", None),
        ("UPDATE runs SET run_id = 'nonsense' WHERE run_id = (SELECT max(run_id) FROM runs)", None),
    ] {
        rusqlite::Connection::open(world.path()).expect("opened").execute_batch(sql).expect(sql);
        let news = is_right(&world, &rows);
        match why {
            Some(why) => assert_eq!(news, [Opened::Rebuilt { why }], "{sql}"),
            None => assert!(is_rebuilt(&news), "{sql}: {news:?}"),
        }
    }
    // A fold that cannot be read is rebuilt with its row, and the file is valid.
    let spoil = "UPDATE details SET fold = '{}'";
    rusqlite::Connection::open(world.path()).expect("opened").execute_batch(spoil).expect("spoiled");
    let (mut catalog, _) = world.open();
    world.append(run_id(1), &[completed()]);
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
    drop(catalog);
    let (mut catalog, opened) = world.open_in("the next boot");
    assert_eq!(opened, Opened::Rebuilt { why: Rebuild::OtherBoot });
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
    let unknown = Catalog::in_boot(&world.path(), world.log.runs(), Boot(None)).expect("a catalog").1;
    assert!(matches!(unknown, Opened::InMemory { .. }), "{unknown:?}");
}

#[test]
fn what_is_in_the_way_stays_and_the_catalog_is_in_memory() {
    let (world, rows) = filled();
    fs::remove_file(world.path()).expect("removed");
    fs::create_dir(world.path()).expect("a folder");
    fs::write(world.path().join("mine"), "mine").expect("written");
    let file = world.folder.path().join("file");
    fs::write(&file, "a file").expect("written");
    for path in [world.path(), file.join("catalog.sqlite")] {
        let (mut catalog, opened) = Catalog::open(&path, world.log.runs()).expect("a catalog");
        assert!(opened.to_string().starts_with("the catalog is kept in memory, which is slower: "), "{opened}");
        assert_eq!(world.rows(&mut catalog), rows);
        assert_eq!(catalog.refresh(&world.log).expect("refreshed").changed, 0, "it is refreshed like any other");
    }
    assert_eq!(fs::read(world.path().join("mine")).expect("still there"), b"mine");
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let world = World::new();
    let path = world.folder.path().join("new").join("folder").join("catalog.sqlite");
    let (mut catalog, opened) = Catalog::open(&path, world.log.runs()).expect("a catalog");
    assert_eq!(opened, Opened::Made);
    catalog.refresh(&world.log).expect("refreshed");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
}

#[test]
fn a_process_that_gets_no_lock_uses_memory() {
    let (world, rows) = filled();
    let (mut catalog, _) = world.open();
    let other = rusqlite::Connection::open(world.path()).expect("opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    assert_eq!(world.rows(&mut catalog), rows, "reading still works");
    assert_eq!(catalog.news(), None);
    world.append(run_id(1), &[completed()]);
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
    let news = catalog.news().expect("news");
    assert!(matches!(news, Opened::InMemory { .. }), "{news:?}");
    other.execute_batch("COMMIT; BEGIN EXCLUSIVE").expect("locked");
    let (mut catalog, opened) = world.open();
    assert!(matches!(opened, Opened::InMemory { .. }), "{opened:?}");
    assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
}

/// Root ignores permissions, so the folder is on a file system that is first full and then read-only.
#[test]
fn a_disk_that_is_full_or_read_only_hides_no_run() {
    let folder = TempDir::new().expect("a folder");
    let script = r#"mount -t tmpfs -o size=2m tmpfs "$1" || exit 77; shift; exec "$@""#;
    let mut unshared = Command::new("unshare");
    unshared.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path()).arg(std::env::current_exe().expect("a program"));
    unshared.args([CHILD, "--exact", "--nocapture"]).env(ROLE, "small disk").env(FOLDER, folder.path());
    match unshared.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(77) || output.status.code() == Some(1) => {
            eprintln!("skipped: no small disk here ({})", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("skipped: unshare cannot be run ({error})"),
    }
}

pub(super) fn on_a_small_disk(folder: &Path) {
    let world = World { folder: TempDir::new_in(folder).expect("a folder"), log: FileLog::new(folder.join("runs")) };
    for number in 1..20 {
        world.append(run_id(number), &life());
    }
    let (mut catalog, opened) = world.open();
    assert_eq!(opened, Opened::Made);
    let rows = world.rows(&mut catalog);
    assert_eq!(rows.len(), 19);
    let remount = |how: &str| {
        let mounted = Command::new("mount").args(["-o", how]).arg(folder).status().expect("mount");
        assert!(mounted.success());
    };
    // Full: there is no space for new rows.
    for number in 20..40 {
        world.append(run_id(number), &life());
    }
    let filler = folder.join("filler");
    fs::write(&filler, vec![b'x'; 2 * 1024 * 1024]).ok();
    let all = world.rows(&mut catalog);
    assert_eq!(all.len(), 39);
    let news = catalog.news().expect("news");
    assert!(matches!(news, Opened::InMemory { .. }), "{news:?}");
    fs::remove_file(filler).expect("removed");
    // Read-only with a catalog that is behind, then with one that is not, then with none.
    remount("remount,ro");
    let (mut catalog, opened) = world.open();
    assert_eq!(opened, Opened::Good);
    assert_eq!(world.rows(&mut catalog), all);
    assert!(matches!(catalog.news(), Some(Opened::InMemory { .. })));
    remount("remount,rw");
    world.open().0.refresh(&world.log).expect("refreshed");
    remount("remount,ro");
    let (mut catalog, opened) = world.open();
    assert_eq!((opened, world.rows(&mut catalog), catalog.news()), (Opened::Good, all.clone(), None));
    drop(catalog);
    remount("remount,rw");
    fs::remove_file(world.path()).expect("removed");
    remount("remount,ro");
    let (mut catalog, opened) = world.open();
    assert!(matches!(opened, Opened::InMemory { .. }), "{opened:?}");
    assert_eq!(world.rows(&mut catalog), all);
    remount("remount,rw");
}
