//! The smallest client: it sends a message and reads the response to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab::Server;
use serde_json::{Value, json};

/// The version without a handshake.
pub(super) const NEWEST: &str = "2026-07-28";

pub(super) const VERSIONS: [&str; 3] = [NEWEST, "2025-11-25", "2025-06-18"];

/// How messages get to a server.
pub(super) trait Connection {
    /// Sends a request and returns its response.
    fn ask(&mut self, version: &str, request: &Value) -> Value;

    fn notify(&mut self, version: &str, notification: &Value);
}

/// A server process.
pub(super) struct ServerProcess {
    pub(super) child: Child,
    /// None once it is closed.
    pub(super) stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl ServerProcess {
    pub(super) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Self { child, stdin, lines: BufReader::new(stdout) }
    }

    pub(super) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("sent");
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?} is not a message"))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stdin.take();
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Connection for ServerProcess {
    fn ask(&mut self, _: &str, request: &Value) -> Value {
        self.send(&request.to_string());
        loop {
            let message = self.next();
            if message["id"] == request["id"] {
                return message;
            }
        }
    }

    fn notify(&mut self, _: &str, notification: &Value) {
        self.send(&notification.to_string());
    }
}

/// `/mcp` of a server, with a token.
pub(super) struct Http<'a> {
    pub(super) server: &'a Server,
    pub(super) token: String,
}

impl Http<'_> {
    pub(super) fn send(&self, version: &str, message: &Value) -> testkit::http::Answer {
        let method = message["method"].as_str().unwrap_or_default();
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        if method != "initialize" {
            headers.push(("MCP-Protocol-Version", version));
        }
        if version == NEWEST {
            headers.push(("Mcp-Method", method));
            if !name.is_empty() {
                headers.push(("Mcp-Name", name));
            }
        }
        self.server.as_told("POST", "/mcp", &headers, message.to_string().as_bytes())
    }
}

impl Connection for Http<'_> {
    fn ask(&mut self, version: &str, request: &Value) -> Value {
        let answer = self.send(version, request);
        serde_json::from_str(&answer.text()).unwrap_or_else(|_| panic!("{} {}", answer.status, answer.text()))
    }

    fn notify(&mut self, version: &str, notification: &Value) {
        let answer = self.send(version, notification);
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
}

/// A client that speaks one version.
pub(super) struct McpClient<C> {
    pub(super) connection: C,
    version: &'static str,
    last_id: u64,
}

/// The result of a tool.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) is_error: bool,
    pub(super) text: String,
    pub(super) data: Value,
}

impl<C: Connection> McpClient<C> {
    /// Opens the connection as clients of this version do.
    pub(super) fn open(connection: C, version: &'static str) -> Self {
        let mut client = Self { connection, version, last_id: 0 };
        if version == NEWEST {
            let found = client.ask("server/discover", json!({}));
            let versions = found["result"]["supportedVersions"].as_array().expect("versions");
            assert!(versions.contains(&json!(NEWEST)), "{found}");
            assert!(found["result"]["capabilities"]["tools"].is_object(), "{found}");
        } else {
            let params = json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            });
            let opened = client.ask("initialize", params);
            assert_eq!(opened["result"]["protocolVersion"], version, "{opened}");
            assert_eq!(opened["result"]["serverInfo"]["name"], "skillrun", "{opened}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    pub(super) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        if self.version == NEWEST {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = self.request(method, params);
        let response = self.connection.ask(self.version, &request);
        assert_eq!((&response["jsonrpc"], &response["id"]), (&json!("2.0"), &request["id"]), "{response}");
        response
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.connection.notify(self.version, &json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Told {
        let response = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {response}")).to_owned();
        Told { is_error: result["isError"] == true, text, data: result["structuredContent"].clone() }
    }

    /// A call that is carried out.
    #[track_caller]
    pub(super) fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let told = self.call(tool, arguments);
        assert!(!told.is_error, "{tool}: {}", told.text);
        told.data
    }

    /// The reason and the sentence of a call that is refused.
    #[track_caller]
    pub(super) fn refused(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let told = self.call(tool, arguments);
        assert!(told.is_error, "{tool}: {}", told.text);
        let refusal = &told.data["refusal"];
        assert_eq!(refusal["message"], told.text.as_str());
        (refusal["reason"].as_str().expect("a reason").to_owned(), told.text)
    }
}
