//! Refusals that the kernel sends inside a box: resets of TCP, and messages about ports and hosts that are not there.
//! Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use skillrun_evidence::host_record::RefusalKind;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const V6_HEADER: usize = 40;
const ICMP_HEADER: usize = 8;
const RESET: u8 = 0x04;
const ACKNOWLEDGES: u8 = 0x10;
/// "Destination unreachable".
const UNREACHABLE: u8 = 3;
const UNREACHABLE_V6: u8 = 1;

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RefusedPacket {
    pub(crate) kind: RefusalKind,
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
}

/// The addresses and the content of a packet.
struct Packet<'a> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    content: &'a [u8],
}

fn packet(bytes: &[u8]) -> Option<Packet<'_>> {
    match bytes.first()? >> 4 {
        4 => {
            let length = usize::from(bytes[0] & 0x0f) * 4;
            let from: [u8; 4] = *bytes.get(12..)?.first_chunk()?;
            let to: [u8; 4] = *bytes.get(16..)?.first_chunk()?;
            let content = bytes.get(length.max(20)..)?;
            Some(Packet {
                from: Ipv4Addr::from(from).into(),
                to: Ipv4Addr::from(to).into(),
                protocol: bytes[9],
                content,
            })
        }
        6 => {
            let from: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            let to: [u8; 16] = *bytes.get(24..)?.first_chunk()?;
            let content = bytes.get(V6_HEADER..)?;
            Some(Packet {
                from: Ipv6Addr::from(from).into(),
                to: Ipv6Addr::from(to).into(),
                protocol: bytes[6],
                content,
            })
        }
        _ => None,
    }
}

fn port(content: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*content.get(at..)?.first_chunk()?))
}

/// What a packet refuses; none if it refuses nothing.
pub(crate) fn refused(bytes: &[u8]) -> Option<RefusedPacket> {
    let answer = packet(bytes)?;
    match answer.protocol {
        TCP => {
            let flags = *answer.content.get(13)?;
            // Of a connection that was never made: its answer has no number of its own.
            let is_first = answer.content.get(4..8)? == [0; 4];
            let is_refusal = flags & RESET != 0 && flags & ACKNOWLEDGES != 0 && is_first;
            let port = port(answer.content, 0)?;
            is_refusal.then_some(RefusedPacket { kind: RefusalKind::Tcp, host: answer.from, port })
        }
        ICMP | ICMP_V6 => {
            let unreachable = if answer.protocol == ICMP { UNREACHABLE } else { UNREACHABLE_V6 };
            if *answer.content.first()? != unreachable {
                return None;
            }
            let asked = packet(answer.content.get(ICMP_HEADER..)?)?;
            let port = port(asked.content, 2)?;
            let kind = match asked.protocol {
                UDP => RefusalKind::Udp,
                TCP => RefusalKind::Tcp,
                _ => return None,
            };
            Some(RefusedPacket { kind, host: asked.to, port })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(protocol: u8, from: [u8; 4], to: [u8; 4], content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes.extend(from);
        bytes.extend(to);
        bytes.extend(content);
        bytes
    }

    fn tcp(from: u16, number: u32, flags: u8) -> Vec<u8> {
        let mut bytes = from.to_be_bytes().to_vec();
        bytes.extend([0x9c, 0x40]);
        bytes.extend(number.to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_connection_that_was_refused_is_one_to_its_sender() {
        let reset = v4(TCP, [10, 1, 2, 3], [10, 1, 2, 3], &tcp(443, 0, RESET | ACKNOWLEDGES));
        let expected = RefusedPacket { kind: RefusalKind::Tcp, host: Ipv4Addr::new(10, 1, 2, 3).into(), port: 443 };
        assert_eq!(refused(&reset), Some(expected));
        for (number, flags) in [(77, RESET | ACKNOWLEDGES), (0, ACKNOWLEDGES), (0, RESET)] {
            let other = v4(TCP, [10, 1, 2, 3], [10, 1, 2, 3], &tcp(443, number, flags));
            assert_eq!(refused(&other), None, "number {number}, flags {flags:#x}");
        }
    }

    #[test]
    fn a_datagram_that_was_refused_is_one_to_its_receiver() {
        let datagram = v4(UDP, [10, 0, 0, 1], [8, 8, 8, 8], &[0x9c, 0x40, 0, 53, 0, 8, 0, 0]);
        let mut content = vec![UNREACHABLE, 3, 0, 0, 0, 0, 0, 0];
        content.extend(datagram);
        let message = v4(ICMP, [8, 8, 8, 8], [10, 0, 0, 1], &content);
        let expected = RefusedPacket { kind: RefusalKind::Udp, host: Ipv4Addr::new(8, 8, 8, 8).into(), port: 53 };
        assert_eq!(refused(&message), Some(expected));
        for length in 0..message.len() - 4 {
            assert_eq!(refused(&message[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn version_six_is_read_too() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 20, TCP, 64];
        let address = "2001:db8::7".parse::<Ipv6Addr>().expect("an address");
        bytes.extend(address.octets());
        bytes.extend(address.octets());
        bytes.extend(tcp(80, 0, RESET | ACKNOWLEDGES));
        assert_eq!(refused(&bytes), Some(RefusedPacket { kind: RefusalKind::Tcp, host: address.into(), port: 80 }));
    }
}
