//! The name server of a box: answers for the names of doors, and says of every other name that it does not exist. Pure.

use std::net::Ipv4Addr;

/// The longest message without extensions.
pub(crate) const MESSAGE_MAX: usize = 512;
const HEADER: usize = 12;
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
const NO_SUCH_NAME: u8 = 3;
/// Seconds that a client may keep an answer: as long as a box lives, nothing changes.
const KEPT: u32 = 60;

/// What a client asks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    id: [u8; 2],
    /// In lower case, without a dot at the end.
    pub(crate) name: String,
    kind: u16,
    /// The question as it was received.
    question: Vec<u8>,
    wants_recursion: bool,
}

/// Reads a query with one question. None: it is not one, and gets no answer.
pub(crate) fn query(message: &[u8]) -> Option<Query> {
    let header: &[u8; HEADER] = message.first_chunk()?;
    let is_query = header[2] & 0xf8 == 0;
    let questions = u16::from_be_bytes([header[4], header[5]]);
    if !is_query || questions != 1 {
        return None;
    }
    let (mut name, mut at) = (String::new(), HEADER);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // A pointer is never part of a first question.
        if length > 63 || name.len() > 253 {
            return None;
        }
        let label = message.get(at..at + length)?;
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|byte| match byte {
            b'!'..=b'~' if *byte != b'.' => char::from(byte.to_ascii_lowercase()),
            _ => '?',
        }));
        at += length;
    }
    let [kind_high, kind_low, class_high, class_low] = *message.get(at..)?.first_chunk::<4>()?;
    if u16::from_be_bytes([class_high, class_low]) != CLASS_IN {
        return None;
    }
    Some(Query {
        id: [header[0], header[1]],
        name,
        kind: u16::from_be_bytes([kind_high, kind_low]),
        question: message[HEADER..at + 4].to_vec(),
        wants_recursion: header[2] & 1 == 1,
    })
}

/// The answer. `address`: that of a door; a name with one has no address of another kind.
pub(crate) fn answer(query: &Query, address: Option<Ipv4Addr>) -> Vec<u8> {
    let code = if address.is_none() { NO_SUCH_NAME } else { 0 };
    let address = address.filter(|_| query.kind == TYPE_A);
    let mut message = Vec::with_capacity(MESSAGE_MAX);
    message.extend(query.id);
    message.extend([0x84 | u8::from(query.wants_recursion), 0x80 | code]);
    message.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    message.extend(&query.question);
    if let Some(address) = address {
        // The name is that of the question.
        message.extend([0xc0, HEADER as u8]);
        message.extend(TYPE_A.to_be_bytes());
        message.extend(CLASS_IN.to_be_bytes());
        message.extend(KEPT.to_be_bytes());
        message.extend([0, 4]);
        message.extend(address.octets());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.as_bytes());
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend(CLASS_IN.to_be_bytes());
        message
    }

    #[test]
    fn a_name_is_read_and_answered() {
        let message = asked("API.Example.com", TYPE_A);
        let query = query(&message).expect("a query");
        assert_eq!(query.name, "api.example.com");
        let found = answer(&query, Some(Ipv4Addr::new(127, 77, 0, 1)));
        assert_eq!(&found[..4], [7, 9, 0x85, 0x80]);
        assert_eq!(&found[found.len() - 4..], [127, 77, 0, 1]);
        let none = answer(&query, None);
        assert_eq!((none[3] & 15, none[7]), (NO_SUCH_NAME, 0));
        assert!(none.ends_with(&message[HEADER..]));
    }

    #[test]
    fn a_name_with_an_address_of_another_kind_exists() {
        const TYPE_AAAA: u16 = 28;
        let query = query(&asked("api.example.com", TYPE_AAAA)).expect("a query");
        let found = answer(&query, Some(Ipv4Addr::LOCALHOST));
        assert_eq!((found[3] & 15, found[7]), (0, 0));
    }

    #[test]
    fn what_is_not_a_query_gets_no_answer() {
        let message = asked("a.b", TYPE_A);
        for length in 0..message.len() {
            assert_eq!(query(&message[..length]), None, "{length} bytes");
        }
        let mut response = message.clone();
        response[2] |= 0x80;
        assert_eq!(query(&response), None);
        let mut pointer = message;
        pointer[HEADER] = 0xc0;
        assert_eq!(query(&pointer), None);
    }
}
