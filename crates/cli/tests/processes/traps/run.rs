//! A run of the lab: how it ended, what was asked for, and what it left.

use std::fs;
use std::path::PathBuf;

use lab::eventually;
use serde_json::Value;
use testkit::recorded::read_json;

use crate::traps::lab::{Lab, words};

/// A run and what it leaves.
pub(crate) struct Run<'l> {
    lab: &'l Lab,
    folder: PathBuf,
}

impl<'l> Run<'l> {
    pub(crate) fn new(lab: &'l Lab, folder: PathBuf) -> Self {
        Self { lab, folder }
    }

    fn id(&self) -> String {
        self.folder.file_name().expect("an id").to_string_lossy().into_owned()
    }

    pub(crate) fn read(&self, name: &str) -> Option<Value> {
        let path = self.folder.join(name);
        path.is_file().then(|| read_json(&path))
    }

    /// `run.json`: what was asked for.
    pub(crate) fn request(&self) -> Value {
        self.read("run.json").expect("run.json")
    }

    /// Waits for the end; the status and the code of the error.
    pub(crate) fn end(&self) -> (String, String) {
        let result = eventually("a result", || self.read("result.json"));
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (word(&result["status"]), word(&result["error"]["code"]))
    }

    #[track_caller]
    pub(crate) fn ends_as(&self, status: &str, code: &str) {
        assert_eq!(self.end(), (status.to_owned(), code.to_owned()), "{}", self.folder.display());
    }

    /// What is known about the process of the first attempt.
    pub(crate) fn meta(&self) -> Value {
        self.read(".audit/meta.1.json").expect("meta.1.json")
    }

    /// How the process ended, and how many others were ended with it.
    pub(crate) fn process(&self) -> (Option<u64>, Option<String>, Option<u64>) {
        let meta = self.meta();
        (meta["exit_code"].as_u64(), meta["signal"].as_str().map(str::to_owned), meta["survivors_total"].as_u64())
    }

    /// The words that the engine of an attempt was started with.
    pub(crate) fn argv(&self, attempt: u32) -> Vec<String> {
        let meta = self.read(&format!(".audit/meta.{attempt}.json")).expect("a meta file");
        meta["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.folder.join(".audit/stdout.1.log")).expect("stdout")
    }

    /// What a stand-in with the step `report` wrote about itself.
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.stdout()).expect("a report")
    }

    /// A file of the HOME that the engine was given.
    pub(crate) fn home(&self, name: &str) -> Value {
        self.read(&format!("home/{name}")).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Cancels it as a user does, and waits for its end.
    pub(crate) fn cancel(&self) {
        let output = self.lab.command(&["cancel", &self.id()]).output().expect("started");
        assert!(output.status.success(), "{}", words(&output));
        self.ends_as("canceled", "");
    }

    pub(crate) fn reply(&self, text: &str) {
        self.lab.command(&["reply", &self.id(), text]).output().expect("started");
    }
}
