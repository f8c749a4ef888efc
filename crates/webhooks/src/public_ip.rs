//! Which network addresses are public. All others belong to a private network, and a client that may give an address
//! must not reach them through this server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, with the length of their prefix.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Between a provider and its customers (carrier-grade NAT).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local; clouds serve instance secrets here.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast and reserved addresses, with the broadcast address at the end.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// The part of IPv6 that is assigned.
const GIVEN_OUT_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks in it that are not public.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32)] = &[
    // Protocols, among them a tunnel that carries IPv4 addresses.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // Another such tunnel.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// The last 32 bits of these are an IPv4 address, and that is where a packet goes.
const CARRIES_V4: &[Ipv6Addr] =
    &[Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)];

pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match carried(address) {
            Some(inner) => is_public_v4(inner),
            None => {
                let is_in =
                    |(block, prefix): (Ipv6Addr, u32)| (address.to_bits() ^ block.to_bits()).leading_zeros() >= prefix;
                is_in(GIVEN_OUT_V6) && !NOT_PUBLIC_V6.iter().copied().any(is_in)
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|(block, prefix)| (address.to_bits() ^ block.to_bits()).leading_zeros() >= *prefix)
}

fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let is_carrier = CARRIES_V4.iter().any(|carrier| (address.to_bits() ^ carrier.to_bits()) >> 32 == 0);
    let [.., a, b, c, d] = address.octets();
    is_carrier.then(|| Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_begins_and_ends_where_it_should() {
        for (text, expected) in [
            ("0.0.0.0", false),
            ("0.255.255.255", false),
            ("1.0.0.0", true),
            ("9.255.255.255", true),
            ("10.0.0.0", false),
            ("10.255.255.255", false),
            ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("126.255.255.255", true),
            ("127.0.0.1", false),
            ("127.255.255.255", false),
            ("128.0.0.0", true),
            ("169.253.255.255", true),
            ("169.254.169.254", false),
            ("169.255.0.0", true),
            ("172.15.255.255", true),
            ("172.16.0.0", false),
            ("172.31.255.255", false),
            ("172.32.0.0", true),
            ("192.0.0.8", false),
            ("192.0.1.0", true),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.167.255.255", true),
            ("192.168.0.0", false),
            ("192.168.255.255", false),
            ("192.169.0.0", true),
            ("198.17.255.255", true),
            ("198.18.0.0", false),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
            ("198.51.100.7", false),
            ("203.0.113.7", false),
            ("223.255.255.255", true),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("8.8.8.8", true),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::808:808", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.1.2.3", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::127.0.0.1", false),
            ("64:ff9b::192.168.1.1", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b:1::8.8.8.8", false),
            ("100::1", false),
            ("fc00::1", false),
            ("fdff::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
            ("1fff::1", false),
            ("2001::1", false),
            ("2001:1ff::1", false),
            ("2001:200::1", true),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("2606:4700::1111", true),
            ("3ffe::1", true),
            ("3fff::1", false),
            ("3fff:1000::1", true),
            ("4000::1", false),
            ("5f00::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
        }
    }
}
