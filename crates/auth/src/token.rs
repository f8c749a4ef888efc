//! A token, its hash, its name.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The prefix by which people and secret scanners recognize a token.
const PREFIX: &str = "skr_";
/// A longer token is refused before it is processed.
pub const LENGTH_MAX: usize = 512;
const NAME_MAX: usize = 64;

/// The only value that exposes the token. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn new(random: [u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
    }

    /// The text to show once, or to write into its file.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Represents a token in files and in memory. A token has 256 random bits, so it cannot be found from its hash.
///
/// Two are compared in constant time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    pub fn of(token: &[u8]) -> Self {
        Self(blake3::hash(token))
    }

    pub(super) fn as_bytes(&self) -> &[u8; blake3::OUT_LEN] {
        self.0.as_bytes()
    }
}

impl Serialize for TokenHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_hex())
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(&text);
        hash.map(Self).map_err(|_| serde::de::Error::custom("a hash is not 64 hexadecimal digits"))
    }
}

/// The name of a token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenName(String);

/// The text is not a valid name of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a token must have 1 to {NAME_MAX} lowercase letters, digits and hyphens")]
pub struct BadName;

impl TokenName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TokenName {
    type Error = BadName;
    fn try_from(name: String) -> Result<Self, BadName> {
        let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_good);
        if good { Ok(Self(name)) } else { Err(BadName) }
    }
}

impl FromStr for TokenName {
    type Err = BadName;
    fn from_str(name: &str) -> Result<Self, BadName> {
        name.to_owned().try_into()
    }
}

impl From<TokenName> for String {
    fn from(name: TokenName) -> Self {
        name.0
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_it_is_and_hides_what_it_says() {
        let token = Token::new([0xff; 32]);
        assert_eq!(token.reveal(), format!("skr_{}8", "_".repeat(42)));
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(token.hash(), TokenHash::of(token.reveal().as_bytes()));
        assert_ne!(token.hash(), Token::new([0xfe; 32]).hash());
    }

    #[test]
    fn hashes_are_written_as_64_digits() {
        let hash = TokenHash::of(b"x");
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(json.len(), 66);
        assert_eq!(serde_json::from_str::<TokenHash>(&json).unwrap(), hash);
        for bad in ["\"\"", "\"00\"", "7", &json.replace(&json[1..3], "zz"), &format!("\"{}\"", "0".repeat(66))] {
            assert!(serde_json::from_str::<TokenHash>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names() {
        for good in ["a", "0", "ci-runner-2", &"x".repeat(64)] {
            assert_eq!(good.parse::<TokenName>().unwrap().as_str(), good);
        }
        for bad in ["", "A", "a b", "a_b", "ä", "../x", "a\n", "a\0", &"x".repeat(65)] {
            assert_eq!(bad.parse::<TokenName>(), Err(BadName), "{bad:?}");
            assert!(serde_json::from_value::<TokenName>(bad.into()).is_err(), "{bad:?}");
        }
    }
}
