//! Queries.

use skillrun_model::interaction::Scope;
use skillrun_model::status::Continuation;

use super::*;

/// Five runs: the seventh waits, and so does the ninth.
fn world() -> (World, Catalog) {
    let world = World::new();
    world.append(run_id(5), &[started(Some("haiku"), "codex"), status(RunStatus::Running)]);
    world.append(run_id(6), &[started(Some("haiku"), "scripted"), status(RunStatus::Running), completed()]);
    world.append(run_id(7), &[started(None, "scripted"), ask(4, &"é".repeat(201)), status(RunStatus::WaitingUser)]);
    world.append(run_id(8), &[started(Some("poem"), "scripted"), failed(Code::EngineNotFound)]);
    world.append(run_id(9), &[started(Some("poem"), "codex"), ask(2, "?"), status(RunStatus::WaitingUser)]);
    world.append(run_id(10), &[text(1)]);
    let (mut catalog, _) = world.open();
    catalog.refresh(&world.log).expect("refreshed");
    (world, catalog)
}

#[test]
fn lists_are_newest_first_and_as_asked_for() {
    let (world, mut catalog) = world();
    // Older by its id, written last.
    let old = RunId::new(1_600_000_000_000, [200; 10]);
    world.append(old, &[started(Some("haiku"), "codex"), status(RunStatus::Queued)]);
    catalog.refresh(&world.log).expect("refreshed");
    let ids = |rows: Vec<Row>| rows.iter().map(|row| row.run_id).collect::<Vec<_>>();
    let mut list = |query: Query| ids(catalog.list(&query).expect("a list"));
    let runs = |numbers: &[u8]| numbers.iter().map(|number| run_id(*number)).collect::<Vec<_>>();
    let all = [runs(&[10, 9, 8, 7, 6, 5]), vec![old]].concat();
    assert_eq!(list(Query::default()), all);
    assert_eq!(list(Query { limit: Some(2), ..Query::default() }), runs(&[10, 9]));
    assert_eq!(list(Query { limit: Some(2), after: Some(run_id(9)), ..Query::default() }), runs(&[8, 7]));
    assert_eq!(list(Query { after: Some(old), ..Query::default() }), []);
    assert_eq!(list(Query { limit: Some(0), ..Query::default() }), []);
    assert_eq!(list(Query { skill: Some("poem".to_owned()), ..Query::default() }), runs(&[9, 8]));
    let statuses = vec![RunStatus::Running, RunStatus::Failed];
    assert_eq!(list(Query { statuses: statuses.clone(), ..Query::default() }), runs(&[8, 5]));
    let both = Query { statuses, engine: Some("codex".to_owned()), limit: Some(1), ..Query::default() };
    assert_eq!(list(both), runs(&[5]));
    assert_eq!(list(Query { since: Some(moment(10)), ..Query::default() }), all, "all began then");
    assert_eq!(list(Query { since: Some(moment(11)), ..Query::default() }), []);
    let hostile = Query { skill: Some("' OR 1=1 --".to_owned()), ..Query::default() };
    assert_eq!(list(hostile), []);
}

#[test]
fn a_piece_of_text_finds_runs_whatever_stands_in_it() {
    let (world, mut catalog) = world();
    let greeting = [started(Some("100%_SÜSS\\"), "codex"), ask(1, "Schöne GRÜSSE?"), status(RunStatus::Queued)];
    world.append(run_id(12), &greeting);
    world.append(run_id(13), &[started(Some(""), "a\0b\u{1f}c"), ask(1, &format!("{}end", "é".repeat(201)))]);
    catalog.refresh(&world.log).expect("refreshed");
    let mut find = |text: &str| {
        let query = Query { text: Some(text.to_owned()), ..Query::default() };
        catalog.list(&query).expect("a list").iter().map(|row| row.run_id).collect::<Vec<_>>()
    };
    let runs = |numbers: &[u8]| numbers.iter().map(|number| run_id(*number)).collect::<Vec<_>>();
    assert_eq!(find("POEM"), runs(&[9, 8]));
    assert_eq!(find("oe"), runs(&[9, 8]));
    assert_eq!(find("engine_not"), runs(&[8]), "codes");
    assert_eq!(find(&run_id(7).to_string()[9..].to_uppercase()), runs(&[7]), "ids");
    assert_eq!(find("schöne grü"), runs(&[12]), "not only of our own letters");
    assert_eq!(find("ééend"), runs(&[13]), "what a list does not show of a question");
    assert_eq!((find("%"), find("_süss\\"), find("100%_")), (runs(&[12]), runs(&[12]), runs(&[12])));
    assert_eq!((find("0_süss"), find("*"), find("' OR 1=1 --")), (runs(&[]), runs(&[]), runs(&[])));
    assert_eq!((find("\u{1f}"), find("\0"), find("codex\u{1f}"), find("codex\0z")), Default::default());
    assert_eq!(find("abc"), runs(&[13]));
    let long = "é".repeat(200);
    assert_eq!((find(&long), find(&format!("{long}and more"))), (runs(&[13, 7]), runs(&[13, 7])), "bounded");
    assert_eq!(find("").len(), 8, "nothing is everywhere");
    // With other conditions, and not found once the question is answered.
    world.append(run_id(12), &[completed()]);
    catalog.refresh(&world.log).expect("refreshed");
    let query = Query { text: Some("schöne".to_owned()), ..Query::default() };
    assert_eq!(catalog.list(&query).expect("a list"), []);
    let query = Query { text: Some("codex".to_owned()), limit: Some(1), after: Some(run_id(12)), ..Query::default() };
    assert_eq!(catalog.list(&query).expect("a list").iter().map(|row| row.run_id).collect::<Vec<_>>(), [run_id(9)]);
}

#[test]
fn a_run_whose_beginning_is_unreadable_is_in_every_list_by_time() {
    let (world, mut catalog) = world();
    fs::write(world.events(run_id(5)), "no event\n").expect("written");
    catalog.refresh(&world.log).expect("refreshed");
    let rows = catalog.list(&Query { since: Some(moment(99)), ..Query::default() }).expect("a list");
    assert_eq!(rows.iter().map(|row| row.run_id).collect::<Vec<_>>(), [run_id(5)]);
}

#[test]
fn questions_are_whole_and_in_the_order_of_their_deadlines() {
    let (_world, mut catalog) = world();
    let waiting = catalog.waiting(None, None).expect("waiting");
    let prompt = "é".repeat(201);
    let waits = |number, skill: Option<&str>, engine: &str, question| Waiting {
        run_id: run_id(number),
        skill: skill.map(str::to_owned),
        title: None,
        engine: Some(engine.to_owned()),
        question,
    };
    let expected = [waits(9, Some("poem"), "codex", pending(2, "?")), waits(7, None, "scripted", pending(4, &prompt))];
    assert_eq!(waiting, expected);
    let row = catalog.get(run_id(7)).expect("asked").expect("a row");
    let question = row.question.expect("a question");
    assert_eq!((question.prompt.chars().count(), question.truncated), (200, true));
}

#[test]
fn a_run_at_rest_is_not_in_the_list_of_questions() {
    let world = World::new();
    for (number, scope) in [(1, Scope::Prompt), (2, Scope::Turn), (3, Scope::Call)] {
        let asked = Data::Control(ControlData::InteractionRequested(Pending { scope, ..pending(1, "?") }));
        world.append(run_id(number), &[started(None, "scripted"), asked]);
    }
    let (mut catalog, _) = world.open();
    catalog.refresh(&world.log).expect("refreshed");
    let listed: Vec<RunId> = catalog.waiting(None, None).expect("waiting").iter().map(|one| one.run_id).collect();
    assert_eq!(listed, [run_id(2), run_id(3)]);
    assert!(catalog.get(run_id(1)).expect("asked").expect("a row").question.is_some(), "a reply needs its number");
}

/// Found by `make bench`: each of 10,000 conversations was opened at every start.
#[test]
fn a_conversation_at_rest_needs_no_owner() {
    let world = World::new();
    for (number, scope) in [(1, Scope::Prompt), (2, Scope::Turn)] {
        let asked = Data::Control(ControlData::InteractionRequested(Pending { scope, ..pending(1, "?") }));
        let Data::Control(ControlData::RunStarted(begin)) = started(None, "scripted") else { panic!("a beginning") };
        let begin = RunStarted { continuation: Some(Continuation::Resumable), ..begin };
        let begin = Data::Control(ControlData::RunStarted(begin));
        world.append(run_id(number), &[begin, asked, status(RunStatus::WaitingUser)]);
    }
    world.append(run_id(3), &[started(None, "scripted"), status(RunStatus::Running)]);
    let (mut catalog, _) = world.open();
    catalog.refresh(&world.log).expect("refreshed");
    let unfinished = catalog.unfinished(moment(600)).expect("told");
    let resting: Vec<RunId> = unfinished.resting.iter().map(|one| one.run_id).collect();
    assert_eq!((resting, unfinished.restless), (vec![run_id(1), run_id(2)], vec![run_id(3)]));
}

#[test]
fn questions_come_in_pages_that_miss_none_and_repeat_none() {
    let world = World::new();
    let asks = |number, deadline| {
        let question = Pending { deadline, ..pending(1, "?") };
        let asked = Data::Control(ControlData::InteractionRequested(question));
        world.append(run_id(number), &[started(None, "scripted"), asked]);
    };
    let deadlines = [None, Some(500), Some(20), None, Some(500), Some(9_000), Some(500)];
    (1..).zip(deadlines).for_each(|(number, deadline)| asks(number, deadline.map(moment)));
    let (mut catalog, _) = world.open();
    catalog.refresh(&world.log).expect("refreshed");
    let expected = [3, 2, 5, 7, 6, 1, 4].map(run_id);
    for limit in 1..9 {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = catalog.waiting(after, Some(limit)).expect("waiting");
            assert!(page.len() <= limit, "{limit}");
            let Some(last) = page.last() else { break };
            // As a client has it.
            after = Some(last.position().to_string().parse().expect("a position"));
            seen.extend(page.iter().map(|waiting| waiting.run_id));
        }
        assert_eq!(seen, expected, "{limit}");
    }
    assert_eq!(catalog.waiting_count().expect("a number"), 7);
    // The last question of a page is answered before the next page is read.
    let page = catalog.waiting(None, Some(3)).expect("waiting");
    world.append(run_id(5), &[completed()]);
    catalog.refresh(&world.log).expect("refreshed");
    let next = catalog.waiting(Some(page[2].position()), Some(2)).expect("waiting");
    assert_eq!(next.iter().map(|waiting| waiting.run_id).collect::<Vec<_>>(), [7, 6].map(run_id));
    for bad in ["", "none", "none_", "_", "none_x", "2026_x", "x_018bcfe5-6800-7000-8000-000000000001"] {
        assert_eq!(bad.parse::<WaitingPosition>(), Err(NoPosition), "{bad}");
    }
}

#[test]
fn runs_are_counted_and_those_that_go_on_are_known() {
    let (_world, mut catalog) = world();
    let counts = catalog.counts().expect("counts");
    let expected =
        [(RunStatus::Running, 1), (RunStatus::WaitingUser, 2), (RunStatus::Succeeded, 1), (RunStatus::Failed, 1)];
    assert_eq!(counts, Counts { by_status: expected.into_iter().collect(), unknown: 1 });
    assert_eq!(catalog.not_terminal().expect("ids"), [5, 7, 9, 10].map(run_id));
}

/// A retry is recognized once its row exists; until then it still has to be created.
#[test]
fn a_missing_retry_is_reported() {
    let world = World::new();
    let (mut catalog, _) = world.open();
    let (first, again) = (run_id(1), run_id(2));
    let planned = PlannedRetry { run_id: again, not_before: moment(500) };
    let end = RunFailed { retry: Some(planned), ..RunFailed::new(error(Code::EngineFailed), Vec::new()) };
    world.append(first, &[started(None, "scripted"), Data::Control(ControlData::RunFailed(end))]);
    world.append(run_id(3), &[started(None, "scripted"), failed(Code::EngineFailed)]);
    let unretried = |catalog: &mut Catalog| {
        catalog.refresh(&world.log).expect("refreshed");
        catalog.unfinished(moment(600)).expect("told").unretried
    };
    assert_eq!(unretried(&mut catalog), [first]);
    let late = moment(500).plus_nanos(86_400_000_000_001_000);
    assert_eq!(catalog.unfinished(late).expect("told").unretried, [], "it is not expected any more");
    assert_eq!(catalog.get(first).expect("told").and_then(|row| row.retried_as), Some(again));
    let Data::Control(ControlData::RunStarted(begin)) = started(None, "scripted") else { panic!("a beginning") };
    let begin = RunStarted { not_before: Some(moment(500)), ..begin };
    world.append(again, &[Data::Control(ControlData::RunStarted(begin))]);
    assert_eq!(unretried(&mut catalog), []);
    assert_eq!(catalog.get(again).expect("told").and_then(|row| row.not_before), Some(moment(500)));
}
