//! Clients of streams, as many as wanted, in one thread: each is a socket that is read when it has something.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::children::Kept;
use super::clock;
use super::place::SERVER_TIMEOUT;
use super::wire::Wire;
use crate::problem::Problem;

#[derive(Debug)]
pub(crate) struct Crowd {
    epoll: OwnedFd,
    members: Vec<Member>,
    buffer: Vec<u8>,
    /// From writing to reading, of every event with a moment.
    pub(crate) ages: Vec<Duration>,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Member {
    socket: TcpStream,
    wire: Wire,
    pub(crate) events: u64,
    /// The number of its last event.
    pub(crate) last: u64,
    /// Events whose number was not the one after the last.
    pub(crate) jumps: u64,
    /// Its server hung up without an end.
    pub(crate) is_cut: bool,
}

impl Crowd {
    /// Connects this many clients, each of which sends `request`.
    pub(crate) fn join(address: SocketAddr, request: &str, count: usize) -> Result<Self, Problem> {
        Self::join_each(address, std::iter::repeat_n(request, count))
    }

    /// Starts a relay and connects its clients; returns when each has received something.
    pub(crate) fn at_relay(command: &mut Command, count: usize) -> Result<(Kept, Self), Problem> {
        let mut relay = Kept::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let mut address = String::new();
        if let Some(stdout) = relay.stdout.take() {
            BufReader::new(stdout).read_line(&mut address)?;
        }
        let address = address.trim().parse().map_err(|_| Problem(format!("the relay said {address:?}")))?;
        let mut crowd = Self::join(address, "GET / HTTP/1.1\r\n\r\n", count)?;
        crowd.read_until(SERVER_TIMEOUT, |crowd| crowd.all(|member| member.is_open() && member.events > 0))?;
        Ok((relay, crowd))
    }

    /// Connects one for each request.
    pub(crate) fn join_each<'a>(address: SocketAddr, requests: impl Iterator<Item = &'a str>) -> Result<Self, Problem> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let mut members = Vec::new();
        for (number, request) in requests.enumerate() {
            let mut socket = TcpStream::connect_timeout(&address, Duration::from_secs(10))?;
            socket.set_nodelay(true)?;
            socket.write_all(request.as_bytes())?;
            socket.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &socket, data, epoll::EventFlags::IN).map_err(std::io::Error::from)?;
            members.push(Member { socket, wire: Wire::new(), events: 0, last: 0, jumps: 0, is_cut: false });
        }
        Ok(Self { epoll, members, buffer: vec![0; 256 * 1024], ages: Vec::new() })
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn all(&self, is_so: impl Fn(&Member) -> bool) -> bool {
        self.members.iter().all(is_so)
    }

    /// Reads until `is_done`, which is asked after each round, or until the time is over.
    pub(crate) fn read_until(&mut self, patience: Duration, is_done: impl Fn(&Self) -> bool) -> Result<(), Problem> {
        let end = Instant::now() + patience;
        let mut ready = Vec::with_capacity(256);
        while !is_done(self) {
            if Instant::now() >= end {
                return Err(Problem(format!("service: clients received nothing for {} s", patience.as_secs())));
            }
            let timeout = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            ready.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut ready), Some(&timeout)).map_err(std::io::Error::from)?;
            for event in &ready {
                let member = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                if let Some(member) = self.members.get_mut(member) {
                    member.read(&self.epoll, &mut self.buffer, &mut self.ages)?;
                }
            }
        }
        Ok(())
    }
}

impl Member {
    /// Reads once; what is left makes the socket ready again.
    fn read(&mut self, epoll: &OwnedFd, buffer: &mut [u8], ages: &mut Vec<Duration>) -> Result<(), Problem> {
        let read = match self.socket.read(buffer) {
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            Err(_) => 0,
        };
        let now = clock::now();
        if read == 0 {
            self.is_cut = !self.wire.is_over();
            epoll::delete(epoll, &self.socket).map_err(std::io::Error::from)?;
            return Ok(());
        }
        let Self { wire, events, last, jumps, .. } = self;
        wire.take(&buffer[..read], &mut |id, data| {
            let id = id.unwrap_or_default();
            *events += 1;
            *jumps += u64::from(id != *last + 1);
            *last = id;
            ages.extend(clock::age(data, now));
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.wire.is_open()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.wire.is_over() || self.is_cut
    }
}
