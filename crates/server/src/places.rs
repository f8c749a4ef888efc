//! Places for connections. Their number is bounded, and no client can hold all of them: a connection without a valid
//! credential loses its place when another connection needs it, the oldest first, and one credential never has more
//! than its share.
//!
//! ```text
//! accept ─▶ New ── a request with a valid credential ─▶ Busy ── answered ─▶ Idle ─▶ Busy …
//!            │                                                              │
//!            └── closed when its place is needed, or after a few seconds    └── closed when its place is needed
//! ```
//!
//! A `Busy` connection keeps its place until its request is answered. So some places are reserved: a few for requests
//! that change something, and a last few for health checks, which need no credential.
//!
//! [`Table`] decides, without a clock and without I/O. [`Places`] is shared by connections and requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use skillrun_base::sync::lock;
use tokio::sync::Notify;

use skillrun_auth::Who;

#[cfg(test)]
mod tests;

/// Minimum number of places that can be divided up.
const ALL_MIN: usize = 8;

/// Time limit for the head of a request on a connection without a valid credential.
const NEW_HEAD: Duration = Duration::from_secs(5);

/// Time limit for a request that needs no credential, from its head to the end of the response.
const NEW_ANSWER: Duration = Duration::from_secs(30);

/// A credential that holds fewer places than this is still admitted when the others have used up the places for
/// reading.
const SMALL: usize = 8;

/// How many places there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    all: usize,
    /// Connections of one peer without a valid credential.
    new_per_peer: usize,
    /// Connections with a request under way; the rest is reserved for health checks and for new connections.
    busy: usize,
    /// Of those, with a request that reads; the rest is reserved for requests that change something.
    reading: usize,
    /// Of those, with a stream.
    streams: usize,
    busy_per_credential: usize,
    streams_per_credential: usize,
}

impl Bounds {
    pub(crate) fn new(connections: usize) -> Self {
        let all = connections.max(ALL_MIN);
        Self {
            all,
            new_per_peer: all / 2,
            busy: all - (all / 16).max(1),
            reading: all - (all / 8).max(2),
            streams: all - all / 4,
            busy_per_credential: all - all / 4,
            streams_per_credential: all / 2,
        }
    }

    pub(crate) fn all(&self) -> usize {
        self.all
    }
}

/// In the order in which connections were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ConnectionId(u64);

/// In the order of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Turn(u64);

/// What a request uses its place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Head,
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    /// No valid credential yet.
    New { waits_for: WaitsFor, since: Instant, turn: Turn },
    /// A valid credential, and no request with one is under way.
    Idle { since: Turn },
    /// A request with a valid credential is under way.
    Busy { who: Who, has_stream: bool, turn: Turn },
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    standing: Standing,
    closing: Arc<Notify>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    busy: usize,
    streams: usize,
}

/// Why a request does not get the place it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The limit of requests of one credential.
    Credential { limit: usize },
    /// The limit of streams of one credential.
    CredentialStreams { limit: usize },
    /// The limit of streams of all credentials together.
    Streams { limit: usize },
    /// The limit of requests of all credentials together.
    All { limit: usize },
    /// The connection has lost its place meanwhile.
    Gone,
}

/// The state of the places for `/metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) new: usize,
    pub(crate) idle: usize,
    pub(crate) busy: usize,
    pub(crate) streams: usize,
    /// Closed because another connection needed the place.
    pub(crate) evicted: u64,
    /// Closed because no valid credential arrived in time.
    pub(crate) timed_out: u64,
    /// Requests that got no place.
    pub(crate) refused: u64,
}

#[derive(Debug)]
struct Table {
    bounds: Bounds,
    last: u64,
    connections: HashMap<ConnectionId, Connection>,
    new: BTreeSet<ConnectionId>,
    new_of_peer: HashMap<IpAddr, BTreeSet<ConnectionId>>,
    idle: BTreeMap<Turn, ConnectionId>,
    shares: HashMap<Who, Share>,
    total: Share,
    evicted: u64,
    timed_out: u64,
    refused: u64,
}

impl Table {
    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            last: 0,
            connections: HashMap::new(),
            new: BTreeSet::new(),
            new_of_peer: HashMap::new(),
            idle: BTreeMap::new(),
            shares: HashMap::new(),
            total: Share::default(),
            evicted: 0,
            timed_out: 0,
            refused: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A place for a connection; none when every place is busy, which the bounds prevent.
    fn enter(&mut self, peer: IpAddr, closing: Arc<Notify>, now: Instant) -> Option<ConnectionId> {
        let peer = network(peer);
        if let Some(own) = self.new_of_peer.get(&peer)
            && own.len() >= self.bounds.new_per_peer
            && let Some(oldest) = own.first().copied()
        {
            self.evict(oldest);
        }
        if self.connections.len() >= self.bounds.all {
            self.make_room()?;
        }
        let id = ConnectionId(self.next());
        let standing = Standing::New { waits_for: WaitsFor::Head, since: now, turn: Turn(id.0) };
        self.connections.insert(id, Connection { peer, standing, closing });
        self.new.insert(id);
        self.new_of_peer.entry(peer).or_default().insert(id);
        Some(id)
    }

    /// Closes the least useful connection: the oldest without a credential, else the one idle for longest.
    fn make_room(&mut self) -> Option<()> {
        let victim = self.new.first().copied().or_else(|| self.idle.values().next().copied())?;
        self.evict(victim);
        Some(())
    }

    fn evict(&mut self, id: ConnectionId) {
        if let Some(connection) = self.remove(id) {
            self.evicted += 1;
            connection.closing.notify_one();
        }
    }

    fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        self.forget(id, connection.peer, &connection.standing);
        Some(connection)
    }

    /// Removes a connection from every list for its standing.
    fn forget(&mut self, id: ConnectionId, peer: IpAddr, standing: &Standing) {
        match standing {
            Standing::New { .. } => {
                self.new.remove(&id);
                if let Some(own) = self.new_of_peer.get_mut(&peer) {
                    own.remove(&id);
                    if own.is_empty() {
                        self.new_of_peer.remove(&peer);
                    }
                }
            }
            Standing::Idle { since } => {
                self.idle.remove(since);
            }
            Standing::Busy { who, has_stream, .. } => {
                let streams = usize::from(*has_stream);
                self.total = Share { busy: self.total.busy - 1, streams: self.total.streams - streams };
                if let Some(share) = self.shares.get_mut(who) {
                    *share = Share { busy: share.busy - 1, streams: share.streams - streams };
                    if share.busy == 0 {
                        self.shares.remove(who);
                    }
                }
            }
        }
    }

    fn stand(&mut self, id: ConnectionId, standing: Standing) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let before = std::mem::replace(&mut connection.standing, standing.clone());
        let peer = connection.peer;
        self.forget(id, peer, &before);
        match standing {
            Standing::New { .. } => {
                self.new.insert(id);
                self.new_of_peer.entry(peer).or_default().insert(id);
            }
            Standing::Idle { since } => {
                self.idle.insert(since, id);
            }
            Standing::Busy { who, .. } => {
                self.total.busy += 1;
                self.shares.entry(who).or_default().busy += 1;
            }
        }
    }

    /// A request with a valid credential begins.
    fn begin(&mut self, id: ConnectionId, who: &Who, purpose: Purpose) -> Result<Turn, Refused> {
        if !self.connections.contains_key(&id) {
            return Err(Refused::Gone);
        }
        let turn = Turn(self.next());
        // The connection is identified, whatever the outcome of the request.
        self.stand(id, Standing::Idle { since: turn });
        let own = self.shares.get(who).copied().unwrap_or_default();
        let limit = match purpose {
            Purpose::Read if own.busy >= SMALL => self.bounds.reading,
            Purpose::Read | Purpose::Change => self.bounds.busy,
        };
        let refused = if own.busy >= self.bounds.busy_per_credential {
            Refused::Credential { limit: self.bounds.busy_per_credential }
        } else if self.total.busy >= limit {
            Refused::All { limit }
        } else {
            self.stand(id, Standing::Busy { who: who.clone(), has_stream: false, turn });
            return Ok(turn);
        };
        self.refused += 1;
        Err(refused)
    }

    /// A request without a valid credential begins; the connection may have presented one before.
    fn begin_without(&mut self, id: ConnectionId, now: Instant) -> Result<Turn, Refused> {
        let turn = Turn(self.next());
        let connection = self.connections.get_mut(&id).ok_or(Refused::Gone)?;
        if let Standing::New { waits_for, since, turn: of } = &mut connection.standing {
            (*waits_for, *since, *of) = (WaitsFor::Answer, now, turn);
        }
        Ok(turn)
    }

    /// The request under way turns out to be a stream.
    fn stream(&mut self, id: ConnectionId) -> Result<(), Refused> {
        let Some(Connection { standing: Standing::Busy { who, has_stream, .. }, .. }) = self.connections.get_mut(&id)
        else {
            return Err(Refused::Gone);
        };
        let share = self.shares.entry(who.clone()).or_default();
        let refused = if *has_stream {
            return Ok(());
        } else if share.streams >= self.bounds.streams_per_credential {
            Refused::CredentialStreams { limit: self.bounds.streams_per_credential }
        } else if self.total.streams >= self.bounds.streams {
            Refused::Streams { limit: self.bounds.streams }
        } else {
            *has_stream = true;
            share.streams += 1;
            self.total.streams += 1;
            return Ok(());
        };
        self.refused += 1;
        Err(refused)
    }

    /// A request is answered. The connection may be gone, or may have begun another one.
    fn end(&mut self, id: ConnectionId, request: Turn, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match &mut connection.standing {
            Standing::New { waits_for, since, turn } if *turn == request => {
                (*waits_for, *since) = (WaitsFor::Head, now);
            }
            Standing::Busy { turn, .. } if *turn == request => {
                let since = Turn(self.next());
                self.stand(id, Standing::Idle { since });
            }
            Standing::New { .. } | Standing::Busy { .. } | Standing::Idle { .. } => {}
        }
    }

    /// When a connection is closed if nothing happens before. None: it is identified and may wait.
    fn deadline(&self, id: ConnectionId) -> Option<Instant> {
        match self.connections.get(&id)?.standing {
            Standing::New { waits_for: WaitsFor::Head, since, .. } => Some(since + NEW_HEAD),
            Standing::New { waits_for: WaitsFor::Answer, since, .. } => Some(since + NEW_ANSWER),
            Standing::Idle { .. } | Standing::Busy { .. } => None,
        }
    }

    /// Closes every connection with a request of a credential under way, but one.
    fn close_others(&mut self, who: &Who, but: ConnectionId) {
        let is_other = |(id, connection): (&ConnectionId, &Connection)| {
            let is_theirs = matches!(&connection.standing, Standing::Busy { who: known, .. } if known == who);
            (is_theirs && *id != but).then_some(*id)
        };
        let others: Vec<ConnectionId> = self.connections.iter().filter_map(is_other).collect();
        for id in others {
            if let Some(connection) = self.remove(id) {
                connection.closing.notify_one();
            }
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            new: self.new.len(),
            idle: self.idle.len(),
            busy: self.total.busy,
            streams: self.total.streams,
            evicted: self.evicted,
            timed_out: self.timed_out,
            refused: self.refused,
        }
    }
}

/// A client with one IPv6 address has all addresses of its network.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// All places of the server.
#[derive(Debug)]
pub(crate) struct Places(Mutex<Table>);

impl Places {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Table::new(bounds))))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing panics while the lock is held with a half-made change.
        lock(&self.0)
    }

    /// A place for a connection that was accepted.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Entered> {
        let closing = Arc::new(Notify::new());
        let id = self.table().enter(peer, closing.clone(), Instant::now())?;
        Some(Entered { place: ConnectionPlace { places: self.clone(), id }, closing })
    }

    /// Closes one connection, if one can be spared, when descriptors run short.
    pub(crate) fn make_room(&self) {
        self.table().make_room();
    }

    pub(crate) fn counts(&self) -> Counts {
        self.table().counts()
    }
}

/// A connection that has a place. The place is free when this is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    place: ConnectionPlace,
    closing: Arc<Notify>,
}

impl Entered {
    pub(crate) fn place(&self) -> &ConnectionPlace {
        &self.place
    }

    /// Waits until the connection has to be closed.
    pub(crate) async fn closed(&self) {
        loop {
            let deadline = self.place.places.table().deadline(self.place.id);
            // An identified connection never gets a deadline again; it is checked again nevertheless.
            let look = deadline.unwrap_or_else(|| Instant::now() + NEW_ANSWER);
            tokio::select! {
                () = self.closing.notified() => return,
                () = tokio::time::sleep_until(look.into()) => {}
            }
            let mut table = self.place.places.table();
            if table.deadline(self.place.id).is_some_and(|deadline| deadline <= Instant::now()) {
                table.timed_out += 1;
                return;
            }
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.place.places.table().remove(self.place.id);
    }
}

/// The place of the connection of a request.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPlace {
    places: Arc<Places>,
    id: ConnectionId,
}

impl ConnectionPlace {
    /// A request with a valid credential begins.
    pub(crate) fn begin(&self, who: &Who, purpose: Purpose) -> Result<UnderWay, Refused> {
        let request = self.places.table().begin(self.id, who, purpose)?;
        Ok(UnderWay { place: self.clone(), request })
    }

    /// A request without one begins.
    pub(crate) fn begin_without(&self) -> Result<UnderWay, Refused> {
        let request = self.places.table().begin_without(self.id, Instant::now())?;
        Ok(UnderWay { place: self.clone(), request })
    }

    /// The request under way is answered with a stream.
    pub(crate) fn stream(&self) -> Result<(), Refused> {
        self.places.table().stream(self.id)
    }

    /// Closes the connections on which other requests of this credential are under way.
    pub(crate) fn close_others(&self, who: &Who) {
        self.places.table().close_others(who, self.id);
    }
}

/// A request from its head to the end of its answer.
#[derive(Debug)]
pub(crate) struct UnderWay {
    place: ConnectionPlace,
    request: Turn,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.place.places.table().end(self.place.id, self.request, Instant::now());
    }
}
