//! Which addresses are public.
//!
//! Everything is refused that leads back to this machine, to its neighbours or to the services of the cloud that it runs in, in
//! whichever form an address may be written. The registries are those of IANA: special-purpose addresses of IPv4 (RFC 6890 and what updates it)
//! and of IPv6, and the global unicast space of IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Not public, though the registries have it so: where Azure's machines ask for what concerns themselves.
const WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// IPv4 networks that are not public.
const SPECIAL_V4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),       // this network: RFC 791; Linux connects to itself
    ([10, 0, 0, 0], 8),      // private: RFC 1918
    ([100, 64, 0, 0], 10),   // shared by a provider's customers: RFC 6598; Alibaba's metadata
    ([127, 0, 0, 0], 8),     // loopback: RFC 1122
    ([169, 254, 0, 0], 16),  // link-local: RFC 3927; the metadata of most clouds
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments: RFC 6890; Oracle's metadata
    ([192, 0, 2, 0], 24),    // documentation: RFC 5737
    ([192, 88, 99, 0], 24),  // relays of 6to4: RFC 7526
    ([192, 168, 0, 0], 16),  // private
    ([198, 18, 0, 0], 15),   // benchmarks: RFC 2544
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast: RFC 5771
    ([240, 0, 0, 0], 4),     // reserved: RFC 1112; broadcast
];

/// IPv6 networks inside [`GLOBAL_V6`] that are not public.
const SPECIAL_V6: [(u128, u32); 3] = [
    (0x2001_0000 << 96, 23), // protocol assignments: RFC 2928, with Teredo, benchmarks and ORCHID
    (0x2001_0db8 << 96, 32), // documentation: RFC 3849
    (0x3fff_0000 << 96, 20), // documentation: RFC 9637
];

/// All that IANA gives out for use in the whole internet (RFC 4291 §2.4). Loopback, link-local, unique-local, site-local, multicast and
/// unspecified addresses are outside.
const GLOBAL_V6: (u128, u32) = (0x2000 << 112, 3);
/// IPv4 behind a translator (RFC 6052 §2.1).
const NAT64: (u128, u32) = (0x0064_ff9b << 96, 96);
/// IPv4 as a network of IPv6 (RFC 3056).
const SIX_TO_FOUR: (u128, u32) = (0x2002 << 112, 16);

/// Whether anybody in the internet may be at this address. One of IPv6 that has one of IPv4 in it is as public as that one.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    let within = |(network, length): &([u8; 4], u32)| (bits ^ u32::from_be_bytes(*network)) >> (32 - length) == 0;
    address != WIRE_SERVER && !SPECIAL_V4.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let within = |(network, length): &(u128, u32)| (bits ^ network) >> (128 - length) == 0;
    // The compiler knows that it keeps the bits that are asked for.
    let embedded = |shift: u32| Ipv4Addr::from_bits((bits >> shift & u128::from(u32::MAX)) as u32);
    if within(&NAT64) {
        return is_public_v4(embedded(0));
    }
    if within(&SIX_TO_FOUR) {
        return is_public_v4(embedded(80));
    }
    within(&GLOBAL_V6) && !SPECIAL_V6.iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn an_address_of_the_internet_is_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2001:200::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(public(text), "{text}");
        }
    }

    #[test]
    fn what_leads_to_this_machine_its_neighbours_or_its_cloud_is_not() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }
}
