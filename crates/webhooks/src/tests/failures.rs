//! Messages that do not arrive, and programs that exit early.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;
use skillrun_base::sync::lock;
use testkit::receiver::HookReceiver;

use super::super::address::PrivateAddresses;
use super::super::record::DeliveryState;
use super::events::{LogStory, question};
use super::world::{World, counts, until, until_first, until_true, watch};

const HOUR: Duration = Duration::from_secs(3_600);

fn finished() -> LogStory {
    LogStory::new(1).started().completed()
}

fn waiting() -> LogStory {
    LogStory::new(1).started().asked(question(1, "Which?")).waits()
}

#[test]
fn a_failure_is_tried_again_with_the_same_id() {
    let statuses = ["500 No", "404 No", "429 Later", "200 OK"];
    let (world, receiver) = (World::new(), HookReceiver::answering(&statuses));
    let (webhooks, run) = world.start_with(&finished(), receiver.url("/"));
    let requests = statuses.map(|_| receiver.next());
    let of = |index: usize| (requests[index].header("webhook-id"), &requests[index].body);
    assert!((1..4).all(|index| of(index) == of(0)));
    let told = until_first(&webhooks, run, DeliveryState::Delivered);
    assert_eq!((told.tries, told.last.unwrap().status), (4, Some(200)));
    until_true(|| webhooks.counts() == counts(1, 3, 0, 0));
}

#[test]
fn it_is_given_up_after_the_last_wait() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["503 No"]));
    let (webhooks, run) = world.start_with(&finished(), receiver.url("/"));
    let told = until_first(&webhooks, run, DeliveryState::GivenUp);
    assert_eq!((told.tries, told.next_try_at), (4, None));
    until_true(|| world.outbox_files() == 0);
    assert_eq!(webhooks.counts(), counts(0, 4, 1, 0));
}

#[test]
fn an_address_that_is_gone_is_not_tried_again() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["410 Gone", "200 OK"]));
    let (webhooks, run) = world.start_with(&waiting(), receiver.url("/"));
    until_first(&webhooks, run, DeliveryState::GivenUp);
    world.write(&waiting().replied(1).completed());
    webhooks.check_log(run);
    let told = until(&webhooks, run, |told| told.len() == 2);
    assert_eq!((told[1].state, told[1].tries), (DeliveryState::GivenUp, 0));
    drop(webhooks);
    receiver.next();
    assert_eq!(receiver.rest(), 0);
}

#[test]
fn a_redirect_is_not_followed() {
    let (world, other) = (World::new(), HookReceiver::answering(&["200 OK"]));
    for (number, status) in [(1, "302 Found"), (2, "307 Temporary Redirect"), (3, "308 Permanent Redirect")] {
        let receiver = HookReceiver::answering(&[&format!("{status}\r\nlocation: {}", other.url("/"))]);
        let (webhooks, run) = world.start_with(&LogStory::new(number).started().completed(), receiver.url("/"));
        let told = until_first(&webhooks, run, DeliveryState::GivenUp);
        assert_eq!(told.last.unwrap().status, status[..3].parse().ok());
    }
    assert_eq!(other.rest(), 0);
}

#[test]
fn an_unsent_message_keeps_its_id_after_a_restart() {
    let (mut world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    // It creates records and is terminated before it can send.
    world.pace.at_once = 0;
    let (webhooks, run) = world.start_with(&finished(), receiver.url("/"));
    let told = until_first(&webhooks, run, DeliveryState::Pending);
    drop(webhooks);
    assert_eq!(receiver.rest(), 0);
    world.pace.at_once = 4;
    let webhooks = world.start();
    assert_eq!(receiver.next().header("webhook-id"), told.id);
    assert_eq!(until_first(&webhooks, run, DeliveryState::Delivered).id, told.id);
    assert_eq!(webhooks.records(run).unwrap().len(), 1);
}

#[test]
fn events_during_downtime_are_sent_after_a_restart() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    let (webhooks, run) = world.start_with(&waiting(), receiver.url("/"));
    assert_eq!(receiver.next().json()["type"], "run.waiting_user");
    until_first(&webhooks, run, DeliveryState::Delivered);
    drop(webhooks);
    world.write(&waiting().replied(1).failed());
    let webhooks = world.start();
    assert_eq!(receiver.next().json()["data"]["error_code"], "ENGINE_EXIT_NONZERO");
    until(&webhooks, run, |told| told.len() == 2);
}

#[test]
fn a_silent_receiver_does_not_delay_others() {
    let (mut world, silent) = (World::new(), HookReceiver::silent());
    world.pace.timeouts.total = HOUR;
    let good = HookReceiver::answering(&["200 OK"]);
    let webhooks = world.start();
    for number in 1..=6 {
        let run = world.write(&LogStory::new(number).started().completed());
        watch(&webhooks, run, &[silent.url(&format!("/{number}"))]);
    }
    silent.next();
    silent.next();
    let run = world.write(&LogStory::new(7).started().completed());
    watch(&webhooks, run, &[silent.url("/7"), good.url("/")]);
    good.next();
    assert_eq!(silent.rest(), 0, "two at a time");
    until_true(|| webhooks.counts() == counts(1, 0, 0, 7));
    // Ends although two tries hang.
    let began = Instant::now();
    webhooks.stop();
    assert!(began.elapsed() < HOUR / 2);
}

#[test]
fn a_receiver_that_is_silent_is_a_failed_try() {
    let (mut world, silent) = (World::new(), HookReceiver::silent());
    world.pace.timeouts.total = Duration::from_millis(100);
    let (webhooks, run) = world.start_with(&finished(), silent.url("/"));
    let told = until_first(&webhooks, run, DeliveryState::GivenUp);
    assert_eq!(told.last.unwrap().error.as_deref(), Some("no response in time"));
}

/// The thread that reads Logs and starts tries outlives a panic, wherever in it the panic is.
#[test]
fn a_panic_does_not_stop_other_messages() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    let webhooks = world.start();
    for number in 1..=4 {
        world.clock.0.store(true, Ordering::Relaxed);
        let run = world.write(&LogStory::new(number).started().completed());
        watch(&webhooks, run, &[receiver.url("/")]);
        until_true(|| !world.clock.0.load(Ordering::Relaxed));
        until_true(|| lock(&webhooks.shared.queue).last_trouble.take().is_some_and(|text| text.contains("panic")));
        webhooks.check_log(run);
        until_first(&webhooks, run, DeliveryState::Delivered);
    }
}

#[test]
fn a_name_that_leads_to_the_loopback_is_refused() {
    let (mut world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    world.pace.at_once = 0;
    let (webhooks, run) = world.start_with(&finished(), receiver.url("/"));
    watch(&webhooks, run, &[receiver.url("/").replace("127.0.0.1", "localhost")]);
    until(&webhooks, run, |told| told.len() == 2);
    drop(webhooks);
    // Accepted when private addresses were allowed, and tried when they are not.
    world.pace.at_once = 4;
    world.config.private_addresses = PrivateAddresses::Refused;
    let webhooks = world.start();
    let told = until(&webhooks, run, |told| told.iter().all(|one| one.state == DeliveryState::GivenUp));
    for message in told {
        let error = message.last.unwrap().error.unwrap();
        assert!(error.contains("private network"), "{error}");
    }
    assert_eq!(receiver.rest(), 0);
    assert!(webhooks.check_urls(&[receiver.url("/")]).is_err());
}

#[test]
fn a_removed_run_gets_no_messages() {
    let (mut world, receiver) = (World::new(), HookReceiver::answering(&["500 No"]));
    world.pace.waits = vec![HOUR; 3];
    let (webhooks, run) = world.start_with(&finished(), receiver.url("/"));
    until(&webhooks, run, |told| told.first().is_some_and(|one| one.tries == 1));
    world.remove(run);
    webhooks.check_log(run);
    until_true(|| world.outbox_files() == 0);
    until_true(|| webhooks.counts().pending == 0);
}

#[test]
fn a_later_message_overtakes_one_that_failed() {
    let (mut world, receiver) = (World::new(), HookReceiver::answering(&["500 No", "200 OK"]));
    world.pace.waits = vec![HOUR; 3];
    let (webhooks, run) = world.start_with(&waiting().replied(1).completed(), receiver.url("/"));
    assert_eq!(receiver.next().json()["type"], "run.waiting_user");
    assert_eq!(receiver.next().json()["type"], "run.completed");
    let told = until(&webhooks, run, |told| told[1].state == DeliveryState::Delivered);
    assert_eq!((told[0].state, told[0].tries), (DeliveryState::Pending, 1));
    assert!(told[0].next_try_at.is_some());
}

#[test]
fn a_closed_port_is_a_failed_try_and_retried() {
    let mut world = World::new();
    world.pace.waits = vec![Duration::from_millis(20); 10_000];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (webhooks, run) = world.start_with(&finished(), format!("http://{address}/"));
    let told = until(&webhooks, run, |told| told.first().is_some_and(|one| one.tries > 0)).remove(0);
    assert!(told.last.unwrap().error.is_some());
    let receiver = HookReceiver::at(TcpListener::bind(address).unwrap(), &["200 OK"]);
    assert_eq!(receiver.next().header("webhook-id"), told.id);
}

/// The file as the first version wrote it; and left in place, because that version died before it had moved it.
#[test]
fn a_record_from_before_is_resumed_and_put_away() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    let (run, url) = (world.write(&finished()), receiver.url("/"));
    let (in_run, folder) = (world.data.run(run).root().join("webhooks.json"), world.data.root().join("webhooks"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{run}.json"));
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
    until_true(|| in_run.exists() && world.outbox_files() == 0);
    assert_eq!(webhooks.records(run).unwrap()[0].tries, 2);
    drop(webhooks);
    std::fs::copy(&in_run, &path).unwrap();
    let _webhooks = world.start();
    until_true(|| world.outbox_files() == 0);
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
        assert!(lock(&webhooks.shared.queue).last_trouble.as_ref().unwrap().contains(words));
        let urls = webhooks.check_urls(&["http://127.0.0.1:1/".to_owned()]).unwrap();
        assert!(webhooks.watch(run, urls).unwrap_err().to_string().contains(words));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
