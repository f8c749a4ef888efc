//! `skillrun open`: prints a one-time link that logs a browser in to the running server.

use serde_json::json;
use skillrun_auth::{Server, ServerNote, links, random};

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{plain, print, print_json};
use crate::settings::Settings;
use crate::words::now;

const SECOND_NANOS: u64 = 1_000_000_000;

pub(crate) fn run(global: &Global, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let note = match ServerNote::read(settings.data.root())? {
        Server::Running(note) => note,
        Server::None | Server::Gone(_) => {
            return Err(Failure::NotFound(
                "no server is running for this data folder; start one with `skillrun serve`".to_owned(),
            ));
        }
    };
    let now = now();
    let code = links::make(settings.data.root(), now, random::bytes()?)?;
    // After the #, so that no proxy on the way logs the code.
    let url = format!("{}/open#code={code}", note.url);
    match form {
        OutputForm::Json => {
            let expires_at = now.plus_nanos(links::LIFETIME_SECONDS * SECOND_NANOS);
            print_json(&json!({ "url": url, "expires_at": expires_at }))
        }
        OutputForm::Text => print(&format!("{}\n", plain(&url))),
    }
}
