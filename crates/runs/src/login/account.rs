//! Whether a login that an engine left behind is for the same account as the one it was given.
//!
//! A refresh writes other tokens and other times into the file. Everything else in it stays: the user, the service, the
//! keys that the user has put there. And where tokens name their account (a JSON Web Token contains it), the account
//! stays the same. A file with only opaque tokens names no account, and then two accounts cannot be distinguished; the
//! run reports that.

use serde_json::{Map, Value};

use super::note::has_content;

#[cfg(test)]
mod tests;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    Same,
    /// Only tokens and times have changed, and nothing in the file names an account.
    Unnamed,
    /// Where it differs.
    Other(String),
}

/// Names of members that a refresh changes, in addition to those that contain `token`.
const REFRESHED: &[&str] = &[
    "access",
    "refresh",
    "expires",
    "expiry",
    "expiry_date",
    "expires_at",
    "expiresat",
    "expires_in",
    "last_refresh",
    "issued_at",
    "obtained_at",
    "updated_at",
    // What a service allows an account may change with every token.
    "scope",
    "scopes",
    "subscriptiontype",
    "ratelimittier",
];

/// Names of members that identify the account of a login.
const NAMES: &[&str] = &[
    "account_id",
    "accountid",
    "account_uuid",
    "accountuuid",
    "organizationuuid",
    "user_id",
    "userid",
    "email",
    "sub",
];

/// Claims of a token that identify its account, and its issuer.
const CLAIMS: &[&str] = &["iss", "sub", "email", "account_id", "chatgpt_account_id", "organization_id"];

/// Deepest level that is compared; logins have two or three.
const DEPTH: usize = 32;

pub(super) fn compare(before: &[u8], now: &[u8]) -> Account {
    let object = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).ok().map(Value::Object);
    let (Some(before), Some(now)) = (object(before), object(now)) else {
        return Account::Other("the form of the file".to_owned());
    };
    let mut found = Comparison { is_named: false, other: None };
    found.compare_at("", "", &before, &now, 0);
    match found {
        Comparison { other: Some(place), .. } => Account::Other(place),
        Comparison { is_named: true, .. } => Account::Same,
        Comparison { is_named: false, .. } => Account::Unnamed,
    }
}

struct Comparison {
    is_named: bool,
    other: Option<String>,
}

impl Comparison {
    /// `name` is the member that the values are in, `path` the whole path to it.
    fn compare_at(&mut self, path: &str, name: &str, before: &Value, now: &Value, depth: usize) {
        if self.other.is_some() {
            return;
        }
        let differs = || Some(if path.is_empty() { "the whole".to_owned() } else { path.to_owned() });
        if depth > DEPTH {
            self.other = differs();
            return;
        }
        match (before, now) {
            (Value::Object(before), Value::Object(now)) => {
                let more = now.keys().filter(|key| !before.contains_key(*key));
                for key in before.keys().chain(more) {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    let of = |members: &Map<String, Value>| members.get(key).cloned().unwrap_or_default();
                    self.compare_at(&path, key, &of(before), &of(now), depth + 1);
                }
            }
            (before, now) if is_refreshed(name) => match (claims(before), claims(now)) {
                (Some(before), Some(now)) => self.compare_claims(path, &before, &now),
                // A token that identified its account has become one that does not.
                (Some(before), None) if names_account(&before) && !now.is_null() => self.other = differs(),
                (Some(_) | None, Some(_) | None) => {}
            },
            (before, now) if before == now => {
                self.is_named |= NAMES.contains(&name.to_lowercase().as_str()) && before.is_string();
            }
            // An empty value stays empty, or a version of the engine counts something there: that identifies no
            // account.
            (before, now) if !has_content(before) && (!has_content(now) || now.is_number() || now.is_boolean()) => {}
            _ => self.other = differs(),
        }
    }

    fn compare_claims(&mut self, path: &str, before: &Map<String, Value>, now: &Map<String, Value>) {
        for claim in CLAIMS {
            match (claimed(before, claim), claimed(now, claim)) {
                (Some(before), Some(now)) if before == now => self.is_named |= *claim != "iss",
                (Some(_), Some(_) | None) => {
                    self.other = Some(format!("{path} ({claim})"));
                    return;
                }
                (None, _) => {}
            }
        }
    }
}

fn is_refreshed(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("token") || REFRESHED.contains(&name.as_str())
}

fn names_account(claims: &Map<String, Value>) -> bool {
    CLAIMS.iter().any(|claim| claimed(claims, claim).is_some())
}

/// A claim, at the top or in a group of claims of one service.
fn claimed<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let groups = || claims.values().filter_map(Value::as_object).find_map(|group| group.get(name));
    claims.get(name).or_else(groups).filter(|value| !value.is_null())
}

/// The claims of a JSON Web Token, unchecked: only the service can check it, and refuses one that is not its own.
fn claims(token: &Value) -> Option<Map<String, Value>> {
    let mut parts = token.as_str()?.split('.');
    let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    serde_json::from_slice(&decoded(payload)?).ok()
}

/// Base64 in the alphabet of URLs, without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}
