//! Places are granted and taken back within their bounds.

use proptest::prelude::*;

use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn token(name: &str) -> Who {
    Who::Token(name.parse().expect("a name"))
}

fn elsewhere(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

struct World {
    table: Table,
    now: Instant,
}

impl World {
    fn new(connections: usize) -> Self {
        Self { table: Table::new(Bounds::new(connections)), now: Instant::now() }
    }

    fn enter(&mut self, peer: IpAddr) -> ConnectionId {
        self.table.enter(peer, Arc::new(Notify::new()), self.now).expect("a place")
    }

    fn busy(&mut self, who: &Who, purpose: Purpose) -> Result<ConnectionId, Refused> {
        let id = self.enter(HERE);
        self.table.begin(id, who, purpose).map(|_| id)
    }

    fn is_open(&self, id: ConnectionId) -> bool {
        self.table.connections.contains_key(&id)
    }
}

#[test]
fn the_oldest_without_a_credential_makes_room() {
    let mut world = World::new(40);
    let first = world.enter(elsewhere(1));
    let kept = world.busy(&token("a"), Purpose::Read).expect("a place");
    let idle = world.busy(&token("a"), Purpose::Read).expect("a place");
    let turn = world.table.last;
    world.table.end(idle, Turn(turn), world.now);
    let others: Vec<_> = (0..37).map(|number| world.enter(elsewhere(number + 2))).collect();
    assert!(world.is_open(first));
    world.enter(elsewhere(99));
    assert!(!world.is_open(first) && others.iter().all(|id| world.is_open(*id)));
    for number in 0..37 {
        world.enter(elsewhere(number + 100));
    }
    assert!(others.iter().all(|id| !world.is_open(*id)));
    assert!(world.is_open(kept) && world.is_open(idle), "those that have shown a credential stay longer");
    assert_eq!(world.table.connections.len(), 40);
}

#[test]
fn one_peer_takes_no_place_of_the_newcomers_of_others() {
    let mut world = World::new(40);
    let other = world.enter(elsewhere(1));
    for _ in 0..1_000 {
        world.enter(HERE);
    }
    assert!(world.is_open(other));
    assert_eq!(world.table.counts(), Counts { new: 21, evicted: 980, ..Counts::default() });
    let v6 = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
    for number in 0..100 {
        world.enter(v6(number));
    }
    assert_eq!(world.table.new_of_peer[&network(v6(7))].len(), 20, "all of one network are one peer");
}

#[test]
fn one_credential_never_has_all_places() {
    let mut world = World::new(2048);
    let reader = token("reader");
    let mut streams = 0;
    for _ in 0..2_060 {
        let Ok(id) = world.busy(&reader, Purpose::Read) else { continue };
        match world.table.stream(id) {
            Ok(()) => streams += 1,
            Err(refused) => {
                assert_eq!(refused, Refused::CredentialStreams { limit: 1_024 });
                world.table.end(id, Turn(world.table.last), world.now);
            }
        }
    }
    assert_eq!((streams, world.table.counts().streams), (1_024, 1_024));
    assert!(world.busy(&reader, Purpose::Read).is_ok(), "it can still ask something else");
    assert!(world.busy(&token("other"), Purpose::Read).is_ok());
    let mut held = 0;
    while world.busy(&reader, Purpose::Read).is_ok() {
        held += 1;
    }
    assert_eq!(held + 1_025, 1_536);
}

#[test]
fn places_are_kept_for_changes_and_for_health() {
    let mut world = World::new(64);
    let readers: Vec<Who> = (0..4).map(|number| token(&format!("r{number}"))).collect();
    for number in 0..400 {
        world.busy(&readers[number % 4], Purpose::Read).ok();
    }
    assert_eq!(world.table.counts().busy, 56);
    assert_eq!(world.busy(&readers[0], Purpose::Read), Err(Refused::All { limit: 56 }));
    assert!(world.busy(&token("other"), Purpose::Read).is_ok(), "one that holds few places");
    assert!(world.busy(&readers[0], Purpose::Change).is_ok());
    for number in 0..400 {
        world.busy(&readers[number % 4], Purpose::Change).ok();
    }
    assert_eq!(world.table.counts().busy, 60);
    for _ in 0..100 {
        let id = world.enter(HERE);
        assert!(world.table.begin_without(id, world.now).is_ok(), "health checks are admitted");
    }
}

#[test]
fn a_credential_gives_a_connection_more_time() {
    let mut world = World::new(8);
    let id = world.enter(HERE);
    assert_eq!(world.table.deadline(id), Some(world.now + NEW_HEAD));
    let request = world.table.begin_without(id, world.now + NEW_HEAD / 2).expect("begun");
    assert_eq!(world.table.deadline(id), Some(world.now + NEW_HEAD / 2 + NEW_ANSWER));
    world.table.end(id, request, world.now + NEW_HEAD);
    assert_eq!(world.table.deadline(id), Some(world.now + NEW_HEAD * 2));
    let request = world.table.begin(id, &token("a"), Purpose::Read).expect("begun");
    assert_eq!(world.table.deadline(id), None);
    world.table.end(id, request, world.now);
    assert_eq!(world.table.deadline(id), None);
    assert_eq!(world.table.counts(), Counts { idle: 1, ..Counts::default() });
}

#[test]
fn a_request_of_a_connection_that_lost_its_place_is_not_begun() {
    let mut world = World::new(8);
    let id = world.enter(HERE);
    world.table.make_room().expect("room");
    assert_eq!(world.table.begin(id, &token("a"), Purpose::Change), Err(Refused::Gone));
    assert_eq!(world.table.begin_without(id, world.now), Err(Refused::Gone));
    assert_eq!(world.table.stream(id), Err(Refused::Gone));
}

#[test]
fn a_credential_that_is_revoked_loses_its_streams() {
    let mut world = World::new(64);
    let (gone, stays) = (token("gone"), token("stays"));
    let of_gone: Vec<_> = (0..3).map(|_| world.busy(&gone, Purpose::Read).expect("a place")).collect();
    let other = world.busy(&stays, Purpose::Read).expect("a place");
    world.table.close_others(&gone, of_gone[1]);
    let open: Vec<bool> = of_gone.iter().map(|id| world.is_open(*id)).collect();
    assert_eq!((open, world.is_open(other)), (vec![false, true, false], true));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever happens: the lists agree with each other, no bound is passed, and there is always room for one more.
    #[test]
    fn there_is_always_room_for_one_more(
        connections in 1_usize..40,
        steps in prop::collection::vec((0_u8..7, 0_usize..40, 0_u8..4), 0..400),
    ) {
        let mut world = World::new(connections);
        let mut open: Vec<(ConnectionId, Turn)> = Vec::new();
        for (step, at, which) in steps {
            let who = token(&format!("t{which}"));
            let known = open.get(at % open.len().max(1)).copied();
            match (step, known) {
                (0 | 1, _) | (_, None) => open.push((world.enter(elsewhere(which)), Turn(0))),
                (2 | 3, Some((id, _))) => {
                    let purpose = if step == 2 { Purpose::Read } else { Purpose::Change };
                    open.extend(world.table.begin(id, &who, purpose).map(|turn| (id, turn)));
                }
                (4, Some((id, _))) => { world.table.stream(id).ok(); }
                (5, Some((id, turn))) => world.table.end(id, turn, world.now),
                (_, Some((id, _))) => { world.table.remove(id); }
            }
            let Table { bounds, connections, new, idle, shares, total, new_of_peer, .. } = &world.table;
            prop_assert!(connections.len() <= bounds.all && total.busy <= bounds.busy);
            prop_assert!(total.streams <= bounds.streams);
            prop_assert_eq!(connections.len(), new.len() + idle.len() + total.busy);
            prop_assert_eq!(new_of_peer.values().map(BTreeSet::len).sum::<usize>(), new.len());
            prop_assert_eq!(shares.values().map(|share| share.busy).sum::<usize>(), total.busy);
            prop_assert_eq!(shares.values().map(|share| share.streams).sum::<usize>(), total.streams);
            for share in shares.values() {
                prop_assert!(share.busy <= bounds.busy_per_credential);
                prop_assert!(share.streams <= bounds.streams_per_credential);
            }
        }
    }
}
