//! Serves the listeners of a box from outside: threads of the host process.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, recv};
use skillrun_model::confinement::{HostName, HostPattern, HostPort};

use super::inside::BoxSockets;
use super::refusals::{RefusalKind, Refusals};
use super::{dns, doors, packets, proxy, relay};

/// Connections that are served at the same time; more wait in the queues of the kernel.
const CONNECTIONS_MAX: usize = 256;
/// How long a host outside has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a client of the proxy has for its header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A pause when no more connections can be served, or the kernel has no memory for one.
const PAUSE: Duration = Duration::from_millis(50);
/// As much of a packet as its headers need, and those of the packet that it is an answer to.
const PACKET_MAX: usize = 256;

/// The network of one box, served from outside. Its threads end with the process.
#[derive(Debug)]
pub struct BoxNetwork {
    refusals: Refusals,
}

/// What all of its threads know.
#[derive(Debug)]
struct Rules {
    reachable: Vec<HostPattern>,
    refusals: Refusals,
    connections: AtomicUsize,
}

impl BoxNetwork {
    /// Begins to serve.
    pub fn serve(sockets: BoxSockets, reachable: Vec<HostPattern>) -> io::Result<Self> {
        let refusals = Refusals::default();
        let rules = Arc::new(Rules { reachable, refusals: refusals.clone(), connections: AtomicUsize::new(0) });
        for listener in sockets.doors.iter().map(|(_, listener)| listener).chain([&sockets.proxy]) {
            listener.set_nonblocking(true)?;
        }
        sockets.names.set_nonblocking(true)?;
        let work = move || Server { sockets, rules }.serve();
        thread::Builder::new().name("box-network".to_owned()).stack_size(2 * relay::STACK).spawn(work)?;
        Ok(Self { refusals })
    }

    /// What was refused since the last call.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }
}

struct Server {
    sockets: BoxSockets,
    rules: Arc<Rules>,
}

impl Server {
    fn serve(self) {
        let Self { sockets, rules } = &self;
        let listeners: Vec<(&TcpListener, Option<&HostPort>)> = sockets
            .doors
            .iter()
            .map(|(door, listener)| (listener, Some(&door.to)))
            .chain([(&sockets.proxy, None)])
            .collect();
        loop {
            let fds = [sockets.observer.as_fd(), sockets.names.as_fd()];
            let all = fds.into_iter().chain(listeners.iter().map(|(listener, _)| listener.as_fd()));
            let mut polled: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            if poll(&mut polled, None).is_err() {
                // Interrupted by a signal of the host process.
                continue;
            }
            let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
            if ready[0] {
                observe(sockets, rules);
            }
            if ready[1] {
                answer_names(sockets, rules);
            }
            for ((listener, to), _) in listeners.iter().zip(&ready[2..]).filter(|(_, is_ready)| **is_ready) {
                accept(listener, *to, rules);
            }
        }
    }
}

fn observe(sockets: &BoxSockets, rules: &Rules) {
    let mut packet = [0; PACKET_MAX];
    while let Ok((length, _)) = recv(&sockets.observer, &mut packet[..], RecvFlags::DONTWAIT) {
        if let Some(refused) = packets::refused(&packet[..length]) {
            rules.refusals.note(refused.kind, refused.host.to_string(), Some(refused.port));
        }
    }
}

fn answer_names(sockets: &BoxSockets, rules: &Rules) {
    let mut message = [0; dns::MESSAGE_MAX];
    while let Ok((length, from)) = sockets.names.recv_from(&mut message) {
        let Some(query) = dns::query(&message[..length]) else { continue };
        let names = doors::names(&rules.reachable);
        let address = names.iter().find(|(name, _)| *name == query.name).map(|(_, address)| *address);
        // A name without a dot is that of this machine, and the others ask who has an address.
        let is_host = query.name.contains('.') && !query.name.ends_with(".arpa");
        if address.is_none() && is_host {
            rules.refusals.note(RefusalKind::Name, query.name.clone(), None);
        }
        // A client that is gone needs no answer.
        sockets.names.send_to(&dns::answer(&query, address), from).ok();
    }
}

fn accept(listener: &TcpListener, to: Option<&HostPort>, rules: &Arc<Rules>) {
    if rules.connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
        thread::sleep(PAUSE);
        return;
    }
    let inside = match listener.accept() {
        Ok((inside, _)) => inside,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
        Err(_) => {
            thread::sleep(PAUSE);
            return;
        }
    };
    rules.connections.fetch_add(1, Ordering::Relaxed);
    let (to, of_thread) = (to.cloned(), Arc::clone(rules));
    let work = move || {
        // A connection that fails is closed, and the client sees that.
        match &to {
            Some(to) => of_thread.through_door(&inside, to).ok(),
            None => of_thread.through_proxy(&inside).ok(),
        };
        of_thread.connections.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("box-network-conn".to_owned()).stack_size(relay::STACK).spawn(work).is_err() {
        rules.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Rules {
    fn through_door(&self, inside: &TcpStream, to: &HostPort) -> io::Result<()> {
        inside.set_nonblocking(false)?;
        let outside = self.connect(to)?;
        relay::relay(inside, &outside);
        Ok(())
    }

    fn through_proxy(&self, mut inside: &TcpStream) -> io::Result<()> {
        inside.set_nonblocking(false)?;
        inside.set_read_timeout(Some(HEADER_TIMEOUT))?;
        inside.set_write_timeout(Some(HEADER_TIMEOUT))?;
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = proxy::header_end(&bytes) {
                break end;
            }
            let mut piece = [0; 4096];
            let length = inside.read(&mut piece)?;
            if length == 0 || bytes.len() + length > proxy::HEADER_MAX {
                return refuse(inside, "400 Bad Request", "this proxy reads CONNECT and plain HTTP");
            }
            bytes.extend(&piece[..length]);
        };
        let Some(asked) = proxy::asked(&bytes[..end]) else {
            return refuse(inside, "400 Bad Request", "this proxy reads CONNECT and plain HTTP");
        };
        if !self.reachable.iter().any(|pattern| pattern.allows(&asked.to)) {
            self.refusals.note(RefusalKind::Proxy, asked.to.host.clone(), Some(asked.to.port));
            let why = format!("skillrun: the network of this run does not include {}", asked.to);
            return refuse(inside, "403 Forbidden", &why);
        }
        let mut outside = match self.connect(&asked.to) {
            Ok(outside) => outside,
            Err(error) => {
                let why = format!("skillrun: failed to connect to {} ({error})", asked.to);
                return refuse(inside, "502 Bad Gateway", &why);
            }
        };
        inside.set_read_timeout(None)?;
        inside.set_write_timeout(None)?;
        if asked.is_tunnel {
            inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        }
        outside.write_all(&asked.first)?;
        outside.write_all(&bytes[end..])?;
        relay::relay(inside, &outside);
        Ok(())
    }

    /// Connects to a host outside. Where a name leads is asked now; it leads to no address that its pattern does not mean.
    fn connect(&self, to: &HostPort) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (to.host.as_str(), to.port).to_socket_addrs()? {
            if !self.leads_to(to, address.ip()) {
                self.refusals.note(RefusalKind::Tcp, address.ip().to_string(), Some(to.port));
                last = io::Error::new(io::ErrorKind::PermissionDenied, format!("{to} leads to {}", address.ip()));
                continue;
            }
            match connected(address) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn leads_to(&self, to: &HostPort, address: IpAddr) -> bool {
        let mut patterns = self.reachable.iter().filter(|pattern| pattern.allows(to));
        patterns.any(|pattern| match &pattern.host {
            HostName::Address(_) => true,
            // The user has named it, and maybe has a line for it in the file of hosts.
            HostName::Exact(_) => !is_metadata(address),
            HostName::Below(_) => !is_metadata(address) && !is_loopback(address),
        })
    }
}

fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An address of version 4 inside of one of version 6 is that of version 4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Addresses at which machines of a cloud find their own keys: those of the link, and two that are not.
fn is_metadata(address: IpAddr) -> bool {
    const OF_ALIBABA: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
    const OF_AMAZON: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match plain(address) {
        IpAddr::V4(four) => four.is_link_local() || four == OF_ALIBABA,
        IpAddr::V6(six) => six.is_unicast_link_local() || six == OF_AMAZON,
    }
}

fn is_loopback(address: IpAddr) -> bool {
    let address = plain(address);
    address.is_loopback() || address.is_unspecified()
}

fn refuse(mut inside: &TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let header = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    inside.write_all(format!("{header}{why}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(patterns: &[&str], to: &str, address: &str) -> bool {
        let reachable = patterns.iter().map(|text| text.parse().expect("a pattern")).collect();
        let rules = Rules { reachable, refusals: Refusals::default(), connections: AtomicUsize::new(0) };
        let to = HostPort::of_authority(to, 443).expect("a host");
        rules.leads_to(&to, address.parse().expect("an address"))
    }

    #[test]
    fn a_name_leads_to_no_address_of_this_machine_or_of_its_cloud() {
        let all = ["api.example.com", "*.example.org", "169.254.169.254:443"];
        assert!(leads(&all, "api.example.com", "10.0.0.7") && leads(&all, "api.example.com", "127.0.0.1"));
        assert!(leads(&all, "a.example.org", "93.184.216.34"));
        for address in ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "169.254.169.254", "fd00:ec2::254"] {
            assert!(!leads(&all, "a.example.org", address), "{address}");
        }
        assert!(
            !leads(&all, "api.example.com", "169.254.169.254")
                && !leads(&all, "api.example.com", "::ffff:169.254.169.254")
        );
        assert!(leads(&all, "169.254.169.254", "169.254.169.254"), "the user has named the address");
    }
}
