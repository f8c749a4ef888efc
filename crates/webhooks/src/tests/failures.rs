//! Messages that do not arrive, and programs that exit early.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::address::PrivateAddresses;
use super::super::queue::WebhookCounts;
use super::super::record::DeliveryState;
use super::events::{Story, question};
use super::receiver::{Answer, Receiver};
use super::world::{World, until, until_true, watch};

fn finished() -> Story {
    Story::new(1).started().completed()
}

#[test]
fn a_failure_is_tried_again_with_the_same_id() {
    let answers = ["500 No", "404 No", "429 Later", "200 OK"].map(Answer::Status);
    let (world, receiver) = (World::new(), Receiver::answering(&answers));
    let run = world.write(&finished());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    let requests: Vec<_> = (0..4).map(|_| receiver.next()).collect();
    let of_first = (requests[0].header("webhook-id").to_owned(), requests[0].body.clone());
    assert!(requests.iter().all(|one| (one.header("webhook-id"), &one.body) == (&of_first.0, &of_first.1)));
    let told = until(&webhooks, run, |told| told[0].state == DeliveryState::Delivered);
    assert_eq!((told[0].tries, told[0].last.as_ref().unwrap().status), (4, Some(200)));
    until_true(|| {
        (webhooks.counts() == WebhookCounts { delivered: 1, failed_tries: 3, given_up: 0, pending: 0 }).then_some(())
    });
}

#[test]
fn it_is_given_up_after_the_last_wait() {
    let (world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("503 No")]));
    let run = world.write(&finished());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    let told = until(&webhooks, run, |told| told.first().is_some_and(|one| one.state == DeliveryState::GivenUp));
    assert_eq!((told[0].tries, told[0].next_try_at), (4, None));
    until_true(|| (world.outbox_files() == 0).then_some(()));
    assert_eq!(webhooks.counts(), WebhookCounts { delivered: 0, failed_tries: 4, given_up: 1, pending: 0 });
}

#[test]
fn an_address_that_is_gone_is_not_tried_again() {
    let (world, receiver) = (World::new(), Receiver::answering(&["410 Gone", "200 OK"].map(Answer::Status)));
    let story = Story::new(1).started().asked(question(1, "Which?")).waits();
    let run = world.write(&story);
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    until(&webhooks, run, |told| told.first().is_some_and(|one| one.state == DeliveryState::GivenUp));
    world.write(&story.replied(1).completed());
    webhooks.check_log(run);
    let told = until(&webhooks, run, |told| told.len() == 2);
    assert_eq!((told[1].state, told[1].tries), (DeliveryState::GivenUp, 0));
    drop(webhooks);
    receiver.next();
    assert_eq!(receiver.rest(), 0);
}

#[test]
fn a_redirect_is_not_followed() {
    let (world, other) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    for (number, status) in [(1, "302 Found"), (2, "307 Temporary Redirect"), (3, "308 Permanent Redirect")] {
        let moved: &'static str = Box::leak(format!("{status}\r\nlocation: {}", other.url("/")).into_boxed_str());
        let receiver = Receiver::answering(&[Answer::Status(moved)]);
        let run = world.write(&Story::new(number).started().completed());
        let webhooks = world.start();
        watch(&webhooks, run, &[receiver.url("/")]);
        let told = until(&webhooks, run, |told| told.first().is_some_and(|one| one.state == DeliveryState::GivenUp));
        assert_eq!(told[0].last.as_ref().unwrap().status, status[..3].parse().ok());
    }
    assert_eq!(other.rest(), 0);
}

#[test]
fn an_unsent_message_keeps_its_id_after_a_restart() {
    let (mut world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    let run = world.write(&finished());
    // It creates records and is terminated before it can send.
    world.pace.at_once = 0;
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    let told = until(&webhooks, run, |told| told.len() == 1);
    drop(webhooks);
    assert_eq!(receiver.rest(), 0);

    world.pace.at_once = 4;
    let webhooks = world.start();
    assert_eq!(receiver.next().header("webhook-id"), told[0].id);
    let after = until(&webhooks, run, |told| told[0].state == DeliveryState::Delivered);
    assert_eq!((after.len(), &after[0].id), (1, &told[0].id));
}

#[test]
fn events_during_downtime_are_sent_after_a_restart() {
    let (world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    let story = Story::new(1).started().asked(question(1, "Which?")).waits();
    let run = world.write(&story);
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    assert_eq!(receiver.next().json()["type"], "run.waiting_user");
    until(&webhooks, run, |told| told[0].state == DeliveryState::Delivered);
    drop(webhooks);
    world.write(&story.replied(1).failed());
    let webhooks = world.start();
    assert_eq!(receiver.next().json()["data"]["error_code"], "ENGINE_EXIT_NONZERO");
    until(&webhooks, run, |told| told.len() == 2);
}

#[test]
fn a_silent_receiver_does_not_delay_others() {
    let (mut world, silent) = (World::new(), Receiver::answering(&[Answer::Silence]));
    world.pace.timeouts.total = Duration::from_secs(30);
    let good = Receiver::answering(&[Answer::Status("200 OK")]);
    let webhooks = world.start();
    for number in 1..=6 {
        let run = world.write(&Story::new(number).started().completed());
        watch(&webhooks, run, &[silent.url(&format!("/{number}"))]);
    }
    silent.next();
    silent.next();
    let began = Instant::now();
    let run = world.write(&Story::new(7).started().completed());
    watch(&webhooks, run, &[silent.url("/7"), good.url("/")]);
    good.next();
    assert!(began.elapsed() < Duration::from_secs(20), "long before the silent one is given up");
    assert_eq!(silent.rest(), 0, "two at a time");
    let expected = WebhookCounts { delivered: 1, failed_tries: 0, given_up: 0, pending: 7 };
    until_true(|| (webhooks.counts() == expected).then_some(()));
    // Ends in time although two tries hang.
    let began = Instant::now();
    webhooks.stop();
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_receiver_that_is_silent_is_a_failed_try() {
    let (mut world, silent) = (World::new(), Receiver::answering(&[Answer::Silence]));
    world.pace.timeouts.total = Duration::from_millis(100);
    let run = world.write(&finished());
    let webhooks = world.start();
    watch(&webhooks, run, &[silent.url("/")]);
    let told = until(&webhooks, run, |told| told.first().is_some_and(|one| one.state == DeliveryState::GivenUp));
    assert_eq!(told[0].last.as_ref().unwrap().error.as_deref(), Some("no response in time"));
}

#[test]
fn a_name_that_leads_to_the_loopback_is_refused() {
    let (mut world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    let run = world.write(&finished());
    world.pace.at_once = 0;
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/"), receiver.url("/").replace("127.0.0.1", "localhost")]);
    until(&webhooks, run, |told| told.len() == 2);
    drop(webhooks);
    // Accepted when private addresses were allowed, and tried when they are not.
    world.pace.at_once = 4;
    world.config.private_addresses = PrivateAddresses::Refused;
    let webhooks = world.start();
    let told = until(&webhooks, run, |told| told.iter().all(|one| one.state == DeliveryState::GivenUp));
    for message in &told {
        let error = message.last.as_ref().unwrap().error.as_deref().unwrap();
        assert!(error.contains("private network"), "{error}");
    }
    assert_eq!(receiver.rest(), 0);
    assert!(webhooks.check_urls(&[receiver.url("/")]).is_err());
}

#[test]
fn a_removed_run_gets_no_messages() {
    let (mut world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("500 No")]));
    world.pace.waits = vec![Duration::from_secs(3_600); 3];
    let run = world.write(&finished());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    until(&webhooks, run, |told| told.first().is_some_and(|one| one.tries == 1));
    world.remove(run);
    webhooks.check_log(run);
    until_true(|| (world.outbox_files() == 0).then_some(()));
    assert_eq!(webhooks.counts().pending, 0);
}

#[test]
fn a_later_message_overtakes_one_that_failed() {
    let answers = ["500 No", "200 OK"].map(Answer::Status);
    let (mut world, receiver) = (World::new(), Receiver::answering(&answers));
    world.pace.waits = vec![Duration::from_secs(3_600); 3];
    let run = world.write(&Story::new(1).started().asked(question(1, "Which?")).waits().replied(1).completed());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
    assert_eq!(receiver.next().json()["type"], "run.waiting_user");
    assert_eq!(receiver.next().json()["type"], "run.completed");
    let told = until(&webhooks, run, |told| told[1].state == DeliveryState::Delivered);
    assert_eq!((told[0].state, told[0].tries), (DeliveryState::Pending, 1));
    assert!(told[0].next_try_at.is_some());
}

#[test]
fn a_closed_port_is_a_failed_try_and_retried() {
    let mut world = World::new();
    world.pace.waits = vec![Duration::from_millis(20); 1_000];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let run = world.write(&finished());
    let webhooks = world.start();
    watch(&webhooks, run, &[format!("http://{address}/")]);
    let told = until(&webhooks, run, |told| told.first().is_some_and(|one| one.tries > 0));
    assert!(told[0].last.as_ref().unwrap().error.is_some());
    let receiver = Receiver::at(TcpListener::bind(address).unwrap(), &[Answer::Status("200 OK")]);
    assert_eq!(receiver.next().header("webhook-id"), told[0].id);
}

/// The file as the first version wrote it; and left in place, because that version died before it had moved it.
#[test]
fn a_record_from_before_is_resumed_and_put_away() {
    let (world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    let (run, url) = (world.write(&finished()), receiver.url("/"));
    let (in_run, path) = (world.data.run(run).root().join("webhooks.json"), world.data.root().join("webhooks"));
    std::fs::create_dir_all(&path).unwrap();
    let path = path.join(format!("{run}.json"));
    let message = json!({
        "id": "msg_1", "type": "run.completed", "seq": 2, "url": url, "state": "pending", "tries": 1,
        "next_try_at": "1970-01-01T00:00:00.000000Z", "last": {"at": "1970-01-01T00:00:00.000000Z", "status": 500},
    });
    let facts = json!({"skill": "sample", "engine": null, "question": null, "told": null, "is_over": true});
    let record = json!({
        "format": 1, "run_id": run, "urls": [], "position": {"epoch": null, "seq": 2, "facts": facts},
        "messages": [message], "bodies": [{"seq": 2, "type": "run.completed", "text": "{\"a\":1}"}], "left_out": 0,
    });
    std::fs::write(&path, record.to_string()).unwrap();
    let webhooks = world.start();
    let request = receiver.next();
    assert_eq!((request.header("webhook-id"), request.body.as_str()), ("msg_1", "{\"a\":1}"));
    until_true(|| in_run.exists().then_some(()));
    until_true(|| (world.outbox_files() == 0).then_some(()));
    assert_eq!(webhooks.records(run).unwrap()[0].tries, 2);
    drop(webhooks);
    std::fs::copy(&in_run, &path).unwrap();
    let _webhooks = world.start();
    until_true(|| (world.outbox_files() == 0).then_some(()));
    assert_eq!(receiver.rest(), 0);
}

#[test]
fn an_unreadable_record_is_reported_and_kept() {
    let world = World::new();
    let run = world.write(&finished());
    let path = world.data.root().join("webhooks").join(format!("{run}.json"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (text, words) in [("{", "cannot be parsed"), (r#"{"format":2}"#, "later version")] {
        std::fs::write(&path, text).unwrap();
        let webhooks = world.start();
        assert!(webhooks.last_trouble().unwrap().contains(words));
        let urls = webhooks.check_urls(&["http://127.0.0.1:1/".to_owned()]).unwrap();
        assert!(webhooks.watch(run, urls).unwrap_err().to_string().contains(words));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
