//! `/openapi.json` is true: its examples can be sent, and what comes back is as it says.

use jsonschema::Validator;
use lab::{Lab, Server};
use serde_json::{Value, json};
use testkit::http::{Answer, Opened};

const NOT_JSON: &str = "text/event-stream";

/// The document a server gives out.
struct Document(Value);

/// One route of it.
struct Route<'a> {
    method: &'a str,
    path: &'a str,
    operation: &'a Value,
}

impl Document {
    fn of(server: &Server) -> Self {
        let document = Self(server.get("/openapi.json").json());
        assert_eq!(document.0["openapi"], "3.1.0");
        document
    }

    fn routes(&self) -> Vec<Route<'_>> {
        let paths = self.0["paths"].as_object().expect("paths");
        let routes = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            methods.iter().map(move |(method, operation)| Route { method, path, operation })
        });
        routes.collect()
    }

    fn validator(&self, schema: &Value) -> Validator {
        let schema = json!({"components": self.0["components"], "allOf": [schema]});
        jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema")
    }

    fn fits(&self, what: &str, schema: &Value, value: &Value) {
        let validator = self.validator(schema);
        let errors: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{what}: {} in {value}", errors.join("; "));
    }

    fn fits_type(&self, what: &str, name: &str, value: &Value) {
        self.fits(what, &json!({"$ref": format!("#/components/schemas/{name}")}), value);
    }

    /// The answer has a status, a media type and a body that the route documents.
    fn tells_of(&self, route: &Route<'_>, answer: &Answer) {
        let what = format!("{} {}: {} {}", route.method, route.path, answer.status, answer.text());
        let told = &route.operation["responses"][answer.status.to_string()];
        assert!(told.is_object(), "{what}: this status is not documented");
        let Some(content) = told["content"].as_object() else {
            assert!(answer.body.is_empty(), "{what}: no body is documented");
            return;
        };
        let media = answer.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default();
        let told = content.get(media).unwrap_or_else(|| panic!("{what}: {media} is not documented"));
        if media.ends_with("json") {
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{what}: {error}"));
            if !(told["schema"]["type"] == "string") {
                self.fits(&what, &told["schema"], &body);
            }
        }
    }
}

/// The runs of the demonstration, as far as they get by themselves.
struct Runs {
    succeeded: String,
    waiting: String,
    failed: String,
    workflow: String,
}

impl Runs {
    fn of(server: &Server) -> Self {
        let list = server.get("/v1/runs").json();
        let of_skill = |skill: &str, status: &str| {
            let runs = list["runs"].as_array().expect("runs");
            let run = runs.iter().find(|run| run["skill"] == skill).expect("a run of the demonstration");
            let run = run["run_id"].as_str().expect("an id").to_owned();
            assert_eq!(server.wait(&run)["status"], status);
            run
        };
        Self {
            succeeded: of_skill("report-on-table", "succeeded"),
            waiting: of_skill("name-a-release", "waiting_user"),
            failed: of_skill("count-words", "failed"),
            workflow: workflow(server),
        }
    }
}

/// A workflow that is over.
fn workflow(server: &Server) -> String {
    let workflow = "steps: [{id: greet, prompt: Say hello., engine: scripted}]";
    let answer = server.post("/v1/workflows", &json!({ "workflow": workflow }));
    let run = answer.json()["run_id"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
    assert_eq!(server.wait(&run)["status"], "succeeded");
    run
}

#[test]
fn every_example_can_be_sent() {
    let lab = Lab::new();
    let server = lab.serve_with(&["--demo"]);
    let (document, runs) = (Document::of(&server), Runs::of(&server));
    let mut sent = Vec::new();
    for route in document.routes() {
        let content = &route.operation["requestBody"]["content"]["application/json"];
        if content.is_null() {
            continue;
        }
        let id = route.operation["operationId"].as_str().expect("an id");
        let example = &content["example"];
        assert!(example.is_object(), "{id} has no example");
        document.fits(id, &content["schema"], example);
        let run = match id {
            "reply" => &runs.waiting,
            "retry_workflow" => &runs.workflow,
            _ => &runs.failed,
        };
        let answer = server.post(&route.path.replace("{run_id}", run), example);
        document.tells_of(&route, &answer);
        match id {
            // The code of a link is good once, so the document has none.
            "begin_session" => assert_eq!(answer.status, 401),
            // The run is over, so that no turn is open.
            "interrupt_run" => assert_eq!(answer.status, 409),
            // It did not work in a copy of a folder.
            "apply_changes" => assert_eq!(answer.status, 422),
            _ => assert!((200..300).contains(&answer.status), "{id}: {} {}", answer.status, answer.text()),
        }
        sent.push(id);
    }
    sent.sort_unstable();
    assert_eq!(
        sent,
        [
            "apply_changes",
            "begin_session",
            "continue_run",
            "create_download",
            "create_run",
            "create_workflow",
            "interrupt_run",
            "reply",
            "retry_run",
            "retry_workflow",
            "validate_workflow"
        ]
    );
    assert_eq!(
        server.wait(&runs.waiting)["status"],
        "succeeded",
        "the answer of the example brings the run to its end"
    );
}

/// The path with its parameters, for a run that has everything.
fn filled(route: &Route<'_>, run: &str, artifact: &str) -> String {
    let mut path = route.path.replace("{run_id}", run).replace("{path}", artifact).replace("{name}", "count-words");
    for parameter in route.operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().expect("a name");
        if parameter["in"] == "query" && parameter["required"] == true {
            let value = match name {
                "attempt" => "1",
                "stream" => "stdout",
                "offset" => "0",
                other => panic!("{path} needs {other}, which this test does not know"),
            };
            path += &format!("{}{name}={value}", if path.contains('?') { '&' } else { '?' });
        }
    }
    assert!(!path.contains('{'), "{path}");
    path
}

#[test]
fn every_get_route_matches_its_description() {
    let lab = Lab::new();
    let server = lab.serve_with(&["--demo"]);
    let (document, runs) = (Document::of(&server), Runs::of(&server));
    let artifacts = server.get(&format!("/v1/runs/{}/artifacts", runs.succeeded)).json();
    let artifact = artifacts["artifacts"][0]["path"].as_str().expect("an artifact").to_owned();
    for route in document.routes().iter().filter(|route| route.method == "get") {
        for run in [&runs.succeeded, &runs.waiting, &runs.failed, &runs.workflow] {
            let path = filled(route, run, &artifact);
            if route.operation["responses"]["200"]["content"][NOT_JSON].is_object() {
                first_event_fits(&document, &server, &path);
                continue;
            }
            let answer = server.get(&path);
            document.tells_of(route, &answer);
            let fitting = if route.path.ends_with("/workflow") { &runs.workflow } else { &runs.succeeded };
            if run == fitting {
                assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
            }
        }
    }
    let nothing = "0198d5a0-0000-7000-8000-000000000000";
    for route in document.routes().iter().filter(|route| route.method == "get" && route.path.contains("{run_id}")) {
        let answer = server.get(&filled(route, nothing, &artifact));
        assert_eq!(answer.status, 404, "{}", route.path);
        document.tells_of(route, &answer);
    }
}

fn first_event_fits(document: &Document, server: &Server, path: &str) {
    let mut events = match server.client.events(path, &[]).expect("connected") {
        Opened::Stream(events) => events,
        Opened::No(answer) => panic!("{path}: {} {}", answer.status, answer.text()),
    };
    let event = events.next_event().expect("read").expect("an event");
    assert!(event.id.is_some(), "{path}: no cursor");
    let data = event.json();
    match event.event.as_deref() {
        Some("run_event") => document.fits_type(path, "RaspEvent", &data),
        Some("chat_event") => document.fits_type(path, "FcmpEvent", &data),
        Some("reset") => {
            let runs = data["runs"].as_array().expect("runs");
            assert!(!runs.is_empty(), "{path}");
            runs.iter().for_each(|run| document.fits_type(path, "RunSummary", run));
        }
        other => panic!("{path}: {other:?}"),
    }
}

/// Every event of every run of the demonstration, and not only the first.
#[test]
fn histories_match_their_description() {
    let lab = Lab::new();
    let server = lab.serve_with(&["--demo"]);
    let (document, runs) = (Document::of(&server), Runs::of(&server));
    for (name, part) in [("RaspEvent", "events"), ("FcmpEvent", "chat")] {
        let validator = document.validator(&json!({"$ref": format!("#/components/schemas/{name}")}));
        for run in [&runs.succeeded, &runs.waiting, &runs.failed] {
            let page = server.get(&format!("/v1/runs/{run}/{part}/history?limit=1000")).json();
            let events = page["events"].as_array().expect("events");
            assert!(events.len() > 3, "{page}");
            for event in events {
                let errors: Vec<String> = validator.iter_errors(event).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{name}: {} in {event}", errors.join("; "));
            }
        }
    }
}
