//! From any cursor on, every event once: through disconnects, restarts, kills and slow reading.

use serde_json::json;
use testkit::http::Opened;

use crate::lab::Lab;

const SCRIPT: &str = "\
- - think: First I think.
  - say: Then I speak.
  - stderr: and complain
  - output: {answer: done}
    done: true
";

#[test]
fn a_client_that_breaks_off_after_every_event_gets_each_once() {
    let lab = Lab::new();
    lab.skill("plain", SCRIPT);
    let server = lab.serve();
    let run = server.run("plain", json!({}));
    let (mut got, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let header = cursor.as_deref().map(|id| [("Last-Event-ID", id)]);
        let headers = header.as_ref().map_or(&[][..], |header| &header[..]);
        let mut events = match server.client.events(&format!("/v1/runs/{run}/events"), headers).expect("connected") {
            Opened::Stream(events) => events,
            Opened::No(answer) => {
                assert_eq!(answer.status, 204, "{}", answer.text());
                break;
            }
        };
        let event = events.next_event().expect("read").expect("an event before the end");
        cursor = event.id.clone();
        got.push(event.json());
    }
    assert_eq!(got, lab.events(&run));
}
