//! A server in a lab.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::http::{Answer, Client, answer};

use crate::{Lab, eventually};

/// A server that runs. Killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    pub child: Child,
    pub client: Client,
    /// As it was printed: `URL/open#code=CODE`.
    pub link: String,
}

impl Lab {
    /// A server on a free port, ready.
    pub fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, words: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", words)
    }

    /// A server at an address that one had before, or a free one.
    pub fn serve_at(&self, address: &str, words: &[&str]) -> Server {
        Self::started(self.command(&[&["serve", "--listen", address], words].concat()))
    }

    /// The server that a command of [`Lab::command`] begins.
    pub fn started(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = |name: &str| {
            let line = lines.next().expect("a line").expect("read");
            line.strip_prefix(name).unwrap_or_else(|| panic!("{line:?} is not {name}")).trim().to_owned()
        };
        let (url, link, token_file) = (line("serving"), line("open"), line("token"));
        let token = fs::read_to_string(token_file).expect("the token").trim().to_owned();
        let address = url.strip_prefix("http://").expect("a URL").parse().expect("an address");
        Server { child, client: Client { address, token: Some(token) }, link }
    }

    /// A server with these skills, each with its script.
    pub fn serving(skills: &[(&str, &str)]) -> (Self, Server) {
        let lab = Self::new();
        for (name, script) in skills {
            lab.installed_skill(name, script);
        }
        let server = lab.serve();
        (lab, server)
    }

    /// A token of this scope.
    pub fn make_token(&self, name: &str, scope: &str) -> String {
        self.json(&["token", "create", name, "--scope", scope, "--json"])["token"].as_str().expect("a token").to_owned()
    }
}

impl Server {
    pub fn get(&self, path: &str) -> Answer {
        self.client.get(path).expect("an answer")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.client.post(path, body).expect("an answer")
    }

    /// Starts a run of a skill on the scripted engine.
    pub fn run(&self, skill: &str, more: Value) -> String {
        let mut body = json!({ "skill": skill, "engine": "scripted" });
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        let answer = self.post("/v1/runs", &body);
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()["run_id"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of a run, or for a question.
    pub fn wait(&self, run: &str) -> Value {
        eventually("the end of the run, or a question", || {
            let view = self.get(&format!("/v1/runs/{run}?wait=20")).json();
            let status = view["status"].as_str().unwrap_or_default();
            matches!(status, "succeeded" | "failed" | "canceled" | "waiting_user").then_some(view)
        })
    }

    /// A run of a skill that has succeeded.
    #[track_caller]
    pub fn done(&self, skill: &str, more: Value) -> String {
        let run = self.run(skill, more);
        assert_eq!(self.wait(&run)["status"], "succeeded");
        run
    }

    /// An interactive run of a skill that waits for its answer.
    #[track_caller]
    pub fn asked_run(&self, skill: &str, options: Value) -> String {
        let run = self.run(skill, json!({ "mode": "interactive", "options": options }));
        assert_eq!(self.wait(&run)["status"], "waiting_user");
        run
    }

    /// Answers a question of a run, and waits for what comes next.
    pub fn reply(&self, run: &str, interaction: u32, text: &str) -> Answer {
        let body = json!({ "interaction_id": interaction, "text": text });
        self.post(&format!("/v1/runs/{run}/interaction/reply?wait=60"), &body)
    }

    /// The answer of a form with these parts; those with a name of a file are files.
    pub fn send_form(&self, path: &str, headers: &[(&str, &str)], parts: &[FormPart<'_>]) -> Answer {
        let kind = [("Content-Type", "multipart/form-data; boundary=limit")];
        self.asked("POST", path, &[headers, &kind].concat(), &form("limit", parts))
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) {
        self.signal("TERM");
        let status = self.child.wait().expect("waited");
        assert!(status.success(), "{status}");
    }

    /// Kills it without a word.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited");
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status();
        assert!(sent.expect("kill").success());
    }

    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it is there").count()
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
    }

    /// Other clients are still served.
    #[track_caller]
    pub fn is_well(&self) {
        let answer = self.get("/healthz");
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
        assert_eq!(self.get("/v1/runs").status, 200);
    }

    /// Runs and skills, to see that nothing was changed.
    pub fn belongings(&self) -> (Value, Value) {
        (self.get("/v1/runs").json()["runs"].clone(), self.get("/v1/skills").json()["skills"].clone())
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<Answer> {
        let mut stream = self.client.connect()?;
        stream.write_all(bytes)?;
        answer(stream)
    }

    /// With these headers and no token but one that is among them.
    pub fn as_told(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let client = Client { address: self.client.address, token: None };
        client.request(method, path, headers, body).expect("an answer")
    }

    /// With the server's token and these headers.
    pub fn asked(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.client.request(method, path, headers, body).expect("an answer")
    }

    pub fn token(&self) -> &str {
        self.client.token.as_deref().expect("a token")
    }

    /// The same server for a client with another token.
    pub fn with_token(&self, token: &str) -> Client {
        Client { address: self.client.address, token: Some(token.to_owned()) }
    }
}

/// A part of a form: its name, that of its file if it is one, and what is in it.
pub type FormPart<'a> = (&'a str, Option<&'a str>, &'a [u8]);

/// The body of a form.
pub fn form(boundary: &str, parts: &[FormPart<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (part, file, content) in parts {
        let file = file.map_or_else(String::new, |file| format!("; filename=\"{file}\""));
        body.extend(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{part}\"{file}\r\n\r\n").bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    body
}

impl Drop for Server {
    fn drop(&mut self) {
        // Stopped already where a test has done so.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
