//! Which listeners a box has, and which name leads to which. Pure.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};

use skillrun_model::confinement::{HostName, HostPattern, HostPort};

/// The most hosts that a request may name.
pub const PATTERNS_MAX: usize = 32;

/// The proxy of a box.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(127, 77, 77, 77), 3128);

/// The name server of a box.
pub(crate) const NAME_SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 53);

const LOCALHOST: &str = "localhost";

/// A listener in the box, and the host outside that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) at: SocketAddr,
    pub(crate) to: HostPort,
}

/// The address in the box of each name that leads somewhere. Names below another one have none: they are reached by the
/// proxy.
pub(crate) fn names(reachable: &[HostPattern]) -> Vec<(&str, Ipv4Addr)> {
    let mut names: Vec<&str> = reachable
        .iter()
        .filter_map(|pattern| match &pattern.host {
            HostName::Exact(name) if name != LOCALHOST => Some(name.as_str()),
            HostName::Exact(_) | HostName::Below(_) | HostName::Address(_) => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    (1..).zip(names).map(|(number, name)| (name, Ipv4Addr::new(127, 77, 0, number))).collect()
}

/// All listeners.
pub(crate) fn doors(reachable: &[HostPattern]) -> Vec<Door> {
    let names = names(reachable);
    let mut doors = Vec::new();
    for pattern in reachable {
        let (host, inside): (&str, Vec<IpAddr>) = match &pattern.host {
            HostName::Below(_) => continue,
            HostName::Exact(name) if name == LOCALHOST => {
                (LOCALHOST, vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            HostName::Exact(name) => {
                (name, names.iter().filter(|(known, _)| known == name).map(|(_, at)| (*at).into()).collect())
            }
            HostName::Address(address) => (&address.to_string(), vec![*address]),
        };
        for port in pattern.ports() {
            let to = HostPort { host: host.to_owned(), port };
            doors.extend(inside.iter().map(|address| Door { at: (*address, port).into(), to: to.clone() }));
        }
    }
    doors.sort_by_key(|door| door.at);
    doors.dedup_by_key(|door| door.at);
    doors
}

/// `/etc/hosts` of the box.
pub(crate) fn hosts_file(reachable: &[HostPattern]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (name, address) in names(reachable) {
        writeln!(text, "{address} {name}").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    #[test]
    fn each_name_has_an_address_and_each_port_a_listener() {
        let all =
            patterns(&["b.example.com:8443", "a.example.com", "*.example.org", "127.0.0.1:4000", "localhost:3000"]);
        let found: Vec<_> = doors(&all).into_iter().map(|door| format!("{} {}", door.at, door.to)).collect();
        assert_eq!(
            found,
            [
                "127.0.0.1:3000 localhost:3000",
                "127.0.0.1:4000 127.0.0.1:4000",
                "127.77.0.1:80 a.example.com:80",
                "127.77.0.1:443 a.example.com:443",
                "127.77.0.2:8443 b.example.com:8443",
                "[::1]:3000 localhost:3000",
            ]
        );
        let hosts = "127.0.0.1 localhost\n::1 localhost\n127.77.0.1 a.example.com\n127.77.0.2 b.example.com\n";
        assert_eq!(hosts_file(&all), hosts);
    }

    #[test]
    fn a_name_with_two_ports_has_one_address() {
        let all = patterns(&["a.example.com:1", "a.example.com:2", "a.example.com:2"]);
        let found: Vec<_> = doors(&all).into_iter().map(|door| door.at.to_string()).collect();
        assert_eq!(found, ["127.77.0.1:1", "127.77.0.1:2"]);
    }
}
