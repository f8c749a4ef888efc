use serde_json::json;

use super::*;

/// The payload of a token, in base64 for URLs.
fn token(claims: &Value) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::from("head.");
    for piece in claims.to_string().as_bytes().chunks(3) {
        let bits = piece.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - piece.len()));
        for digit in 0..=piece.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text + ".signature"
}

fn compared(before: &Value, now: &Value) -> Account {
    compare(before.to_string().as_bytes(), now.to_string().as_bytes())
}

fn other(place: &str) -> Account {
    Account::Other(place.to_owned())
}

#[test]
fn codex_names_the_account_beside_the_tokens_and_in_them() {
    let claims = |account: &str| json!({"iss": "https://auth", "sub": account, "exp": 1, "https://api/auth": {"chatgpt_account_id": account}});
    let login = |account: &str, of_token: &str, refresh: &str| {
        json!({
            "OPENAI_API_KEY": null,
            "tokens": {
                "id_token": token(&claims(of_token)),
                "access_token": token(&claims(of_token)),
                "refresh_token": refresh,
                "account_id": account,
            },
            "last_refresh": refresh,
        })
    };
    let mine = login("me", "me", "first");
    assert_eq!(compared(&mine, &login("me", "me", "second")), Account::Same);
    assert_eq!(compared(&mine, &login("you", "you", "second")), other("tokens.id_token (sub)"));
    assert_eq!(compared(&mine, &login("me", "you", "second")), other("tokens.id_token (sub)"));
    let mut keyed = login("me", "me", "second");
    keyed["OPENAI_API_KEY"] = json!("sk-of-somebody");
    assert_eq!(compared(&mine, &keyed), other("OPENAI_API_KEY"));
    let mut opaque = login("me", "me", "second");
    opaque["tokens"]["access_token"] = json!("opaque");
    assert_eq!(compared(&mine, &opaque), other("tokens.access_token"));
}

#[test]
fn claude_and_qwen_have_opaque_tokens() {
    let claude = |token: &str, organization: Option<&str>| {
        let oauth = json!({"accessToken": token, "refreshToken": token, "expiresAt": 7, "scopes": [token]});
        let mut login = json!({ "claudeAiOauth": oauth });
        if let Some(organization) = organization {
            login["organizationUuid"] = json!(organization);
        }
        login
    };
    assert_eq!(compared(&claude("first", None), &claude("second", None)), Account::Unnamed);
    assert_eq!(compared(&claude("first", Some("mine")), &claude("second", Some("mine"))), Account::Same);
    assert_eq!(compared(&claude("first", Some("mine")), &claude("second", Some("yours"))), other("organizationUuid"));
    let qwen = |token: &str, service: &str| json!({"access_token": token, "refresh_token": token, "expiry_date": 7, "resource_url": service});
    assert_eq!(compared(&qwen("first", "portal"), &qwen("second", "portal")), Account::Unnamed);
    // All later requests of the user would go there.
    assert_eq!(compared(&qwen("first", "portal"), &qwen("second", "elsewhere")), other("resource_url"));
}

#[test]
fn opencode_has_many_services_in_one_file() {
    let login = json!({"one": {"type": "oauth", "access": "a", "refresh": "b", "expires": 1},
        "two": {"type": "api", "key": "mine"}});
    let mut refreshed = login.clone();
    refreshed["one"] = json!({"type": "oauth", "access": "c", "refresh": "d", "expires": 2});
    assert_eq!(compared(&login, &refreshed), Account::Unnamed);
    let mut changed = login.clone();
    changed["two"]["key"] = json!("yours");
    assert_eq!(compared(&login, &changed), other("two.key"));
    let mut more = login.clone();
    more["three"] = json!({"type": "api", "key": "yours"});
    assert_eq!(compared(&login, &more), other("three"));
}

#[test]
fn what_is_no_login_is_another_one() {
    assert_eq!(compare(b"text", br#"{"token":"second"}"#), other("the form of the file"));
    assert_eq!(compare(br#"{"token":"first"}"#, b"[]"), other("the form of the file"));
    let deep = |leaf: &str| format!("{}{leaf:?}{}", "{\"a\":".repeat(100), "}".repeat(100));
    assert!(matches!(compare(deep("x").as_bytes(), deep("x").as_bytes()), Account::Other(_)));
    for odd in ["a.b", "a..b", "a.!!.b", "a.e30.b.c", "..", "a.AAAA.b"] {
        let login = |token: &str| json!({ "token": token });
        assert_eq!(compared(&login(odd), &login("second")), Account::Unnamed, "{odd}");
    }
}
