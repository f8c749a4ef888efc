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
        let public =
            "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
            169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255
            198.20.0.0 223.255.255.255 8.8.8.8 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1 2606:4700::1111
            3ffe::1 3fff:1000::1";
        let private =
            "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255
            169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.0
            192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 240.0.0.1
            255.255.255.255 :: ::1 ::7f00:1 ::808:808 ::ffff:127.0.0.1 ::ffff:10.1.2.3 64:ff9b::127.0.0.1
            64:ff9b::192.168.1.1 64:ff9b:1::8.8.8.8 100::1 fc00::1 fdff::1 fe80::1 fec0::1 ff02::1 1fff::1
            2001::1 2001:1ff::1 2001:db8::1 2002:7f00:1:: 3fff::1 4000::1 5f00::1";
        for (texts, expected) in [(public, true), (private, false)] {
            for text in texts.split_whitespace() {
                assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
            }
        }
    }
}
