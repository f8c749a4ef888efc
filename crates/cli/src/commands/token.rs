//! `skillrun token`: creates, lists and revokes tokens for the server, which does not have to be running.

use serde_json::{Value, json};
use skillrun_auth::{Scope, Token, TokenEntry, TokenList, TokenName, random};
use skillrun_model::Timestamp;

use crate::args::{self, Global, OutputForm, TokenCommand};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, print, print_json};
use crate::place::note;
use crate::settings::Settings;
use crate::words::{from_now, moment, now};

const DAY_NANOS: u64 = 24 * 60 * 60 * 1_000_000_000;

pub(crate) fn run(global: &Global, args: args::Token) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let tokens = TokenList::new(settings.data.root());
    match args.command.unwrap_or(TokenCommand::List { json: args.json }) {
        TokenCommand::Create { name, scope, days, json } => create(&tokens, name, scope, days, json.form()),
        TokenCommand::List { json: form } => {
            let entries = tokens.read()?;
            let now = now();
            match form.form() {
                OutputForm::Json => {
                    let rows: Vec<Value> = entries.iter().map(|entry| entry_json(entry, now)).collect();
                    print_json(&json!({ "tokens": rows }))
                }
                OutputForm::Text => {
                    print(&list_text(&entries, now, &Output::new(global.color, &settings.surroundings)))
                }
            }
        }
        TokenCommand::Revoke { name, json: form } => {
            let revoked = tokens.revoke(&name)?;
            match form.form() {
                OutputForm::Json => print_json(&entry_json(&revoked, now())),
                OutputForm::Text => print(&format!("{name} is revoked; a running server refuses it from now on\n")),
            }
        }
    }
}

fn create(
    tokens: &TokenList,
    name: TokenName,
    scope: Scope,
    days: Option<u32>,
    form: OutputForm,
) -> Result<(), Failure> {
    let token = Token::new(random::bytes()?);
    let now = now();
    let expires_at = days.map(|days| now.plus_nanos(u64::from(days) * DAY_NANOS));
    let entry = TokenEntry { name, scope, hash: token.hash(), created_at: now, expires_at };
    tokens.add(entry.clone())?;
    match form {
        OutputForm::Json => {
            let mut document = entry_json(&entry, now);
            document["token"] = json!(token.reveal());
            print_json(&document)
        }
        OutputForm::Text => {
            let until =
                expires_at.map_or_else(|| "until it is revoked".to_owned(), |end| format!("until {}", moment(end)));
            let TokenEntry { name, scope, .. } = entry;
            // The token alone is on stdout, so that a script can store it.
            print(&format!("{}\n", token.reveal()))?;
            note(&format!("this is the token {name}, with scope {scope}, valid {until}; it is not shown again"));
            Ok(())
        }
    }
}

/// Without its hash, which is of no use.
fn entry_json(entry: &TokenEntry, now: Timestamp) -> Value {
    json!({
        "name": entry.name,
        "scope": entry.scope,
        "created_at": entry.created_at,
        "expires_at": entry.expires_at,
        "expired": entry.is_expired(now),
    })
}

fn list_text(entries: &[TokenEntry], now: Timestamp, output: &Output) -> String {
    if entries.is_empty() {
        return "There are no tokens except the server's own. `skillrun token create NAME` creates one.\n".to_owned();
    }
    let head = ["NAME", "SCOPE", "CREATED", "EXPIRES"].map(|name| (Ink::Dim, name.to_owned()));
    let rows = entries.iter().map(|entry| {
        let expires = match entry.expires_at {
            None => (Ink::Dim, "never".to_owned()),
            Some(end) if entry.is_expired(now) => (Ink::Warning, format!("expired {}", from_now(end, now))),
            Some(end) => (Ink::Plain, from_now(end, now)),
        };
        [
            (Ink::Bold, entry.name.to_string()),
            (Ink::Plain, entry.scope.to_string()),
            (Ink::Dim, from_now(entry.created_at, now)),
            expires,
        ]
    });
    output.table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), LastColumn::Wrapped)
}
