//! What a user does with the server from beginning to end, and at the same time with the program.
//!
//! - `making`: runs that are made once, with files, again, and not at all. `answering`: questions and cancels.
//! - `beside`: other processes on the same data folder. `looking`: lists, bytes and recordings.
//! - `asked`: what was asked for. `authoring`: skills before they are used, and engines. `quota`: runs that wait for it.

mod answering;
mod asked;
mod authoring;
mod beside;
mod looking;
mod making;
mod quota;

use std::io::Write;
use std::path::Path;

use lab::kind;
use testkit::http::Answer;

const DONE: &str = "- - say: I begin.\n  - output: {answer: done}\n    done: true\n";
const LONG: &str = "- - say: I begin.\n  - sleep_ms: 60000\n";
const ASKS: &str = "\
- - ask: {kind: open_text, prompt: Which colour?}
- - say: I take {{reply}}.
  - output: {answer: '{{reply}}'}
    done: true
";

/// The folder of a skill, packed.
fn zipped(folder: &Path) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below").to_str().expect("text");
            zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("begun");
            zip.write_all(&std::fs::read(&path).expect("readable")).expect("written");
        }
    }
    zip.finish().expect("whole").into_inner()
}

fn id(answer: &Answer) -> String {
    answer.json()["run_id"].as_str().unwrap_or_else(|| panic!("no run: {}", answer.text())).to_owned()
}
