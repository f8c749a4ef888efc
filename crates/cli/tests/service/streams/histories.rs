//! The same events page by page: what was live, what is on pages and what is in the folder agree.

use lab::{Lab, Server};
use serde_json::{Value, json};
use skillrun_model::Timestamp;

use super::follower::{Follower, Protocol, Service, answer, slow_talk, view};

/// More events than are remembered in a row.
const ACTS: usize = 60;

fn page(server: &Server, protocol: Protocol, run: &str, query: &str) -> Value {
    let answer = server.get(&format!("{}/history?{query}", protocol.path(run)));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// All pages from the first on, and how many they were.
fn walked(server: &Server, protocol: Protocol, run: &str, query: &str) -> (Vec<Value>, usize) {
    let (mut events, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = page(server, protocol, run, &format!("{query}{cursor}"));
        pages += 1;
        events.extend(page["events"].as_array().expect("events").iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else {
            assert_eq!(page["next_cursor"], Value::Null);
            return (events, pages);
        };
        cursor = format!("&cursor={next}");
    }
}

fn moment(event: &Value) -> Timestamp {
    event["ts"].as_str().expect("a moment").parse().expect("a moment")
}

#[test]
fn pages_and_streams_and_files_agree() {
    let lab = Lab::new();
    // In one go: nothing waits here.
    lab.installed_skill("talk", &slow_talk(ACTS).replace("  - sleep_ms: 20\n", ""));
    let server = lab.serve();
    let run = server.run("talk", json!({"mode": "interactive"}));
    let live = Protocol::ALL.map(|protocol| {
        let (follower, client) = (Follower::new(protocol, &run), server.client.clone());
        std::thread::spawn(move || follower.follow(&client, usize::MAX, Service::Stays))
    });
    answer(&server, &run);
    for (protocol, live) in Protocol::ALL.into_iter().zip(live) {
        live.join().expect("it gets to the end").has_all(&lab);
        let all = protocol.written(&lab, &run);
        assert!(all.len() > 2 * 64, "{} events", all.len());
        for limit in [1000, 64, 63, 7, 1] {
            let (events, pages) = walked(&server, protocol, &run, &format!("limit={limit}"));
            assert_eq!(events, all, "{protocol:?} by {limit}");
            assert_eq!(pages, all.len().div_ceil(limit), "{protocol:?} by {limit}");
        }
        let first = page(&server, protocol, &run, "");
        assert_eq!(first["events"], json!(all[..100]), "a hundred by default");
        assert_eq!((&first["last_seq"], &first["epoch"]), (&json!(all.len()), &json!(1)));
        assert_eq!(first["cursor"], "100", "where a stream continues after this page");
        let whole = page(&server, protocol, &run, "limit=1000");
        assert_eq!(whole["cursor"], all.len().to_string(), "and after the last one");
    }
}

#[test]
fn a_part_by_number_or_by_time_is_that_part() {
    let (lab, server) = Lab::serving(&[("talk", &slow_talk(ACTS).replace("sleep_ms: 20", "sleep_ms: 1"))]);
    let run = server.run("talk", json!({"mode": "interactive"}));
    answer(&server, &run);
    assert_eq!(server.wait(&run)["status"], "succeeded");
    for protocol in Protocol::ALL {
        Follower::new(protocol, &run).follow(&server.client, usize::MAX, Service::Stays);
        view(&lab, &run);
        let all = protocol.written(&lab, &run);
        let last = all.len();
        for (from, to) in [(1, 1), (1, last), (64, 65), (65, 70), (60, 140), (last, last), (last - 1, last + 9), (9, 3)]
        {
            let part = all.get(from - 1..to.min(last)).unwrap_or_default();
            for limit in [1000, 5] {
                let query = format!("from_seq={from}&to_seq={to}&limit={limit}");
                assert_eq!(walked(&server, protocol, &run, &query).0, part, "{protocol:?} {query}");
            }
        }
        assert_eq!(walked(&server, protocol, &run, &format!("from_seq={}", last + 1)).0, Vec::<Value>::new());
        // Moments need not grow with the seq, so the middle of the list is as good as any.
        for (from, to) in [(0, last - 1), (last / 3, last / 2), (last / 2, last / 2), (last - 1, last - 1)] {
            let (from_ts, to_ts) = (moment(&all[from]), moment(&all[to]));
            let is_in = |event: &&Value| from_ts <= moment(event) && moment(event) <= to_ts;
            let part: Vec<Value> = all.iter().filter(is_in).cloned().collect();
            for limit in [1000, 5] {
                let query = format!("from_ts={from_ts}&to_ts={to_ts}&limit={limit}");
                assert_eq!(walked(&server, protocol, &run, &query).0, part, "{protocol:?} {query}");
            }
        }
        let later = page(&server, protocol, &run, "from_ts=2999-01-01T00:00:00Z");
        assert_eq!((&later["events"], &later["next_cursor"]), (&json!([]), &Value::Null));
        for wrong in ["limit=0", "limit=1001", "limit=x", "from_ts=yesterday", "cursor=x", "from_seq=-1"] {
            let answer = server.get(&format!("{}/history?{wrong}", protocol.path(&run)));
            assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
        }
    }
}
