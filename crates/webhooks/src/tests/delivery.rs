//! Messages that arrive.

use std::os::unix::fs::PermissionsExt;

use testkit::receiver::HookReceiver;

use super::super::record::DeliveryState;
use super::events::{LogStory, question};
use super::world::{World, counts, until, until_first, until_true, watch};

#[test]
fn an_end_is_sent_once_and_signed() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["200 OK"]));
    let (webhooks, run) = world.start_with(&LogStory::new(1).started().completed(), receiver.url("/hook?a=b"));
    let request = receiver.next();
    assert_eq!(request.line, "POST /hook?a=b HTTP/1.1");
    assert_eq!(request.header("content-type"), "application/json");
    assert_eq!(request.header("user-agent"), concat!("skillrun/", env!("CARGO_PKG_VERSION")));
    let (id, seconds) = (request.header("webhook-id"), request.header("webhook-timestamp").parse().unwrap());
    assert_eq!(request.header("webhook-signature"), webhooks.secret().unwrap().sign(id, seconds, &request.body));
    assert!(seconds > 1_700_000_000, "the moment of the try");
    assert_eq!(request.json()["type"], "run.completed");
    assert_eq!(request.json()["timestamp"], "1970-01-01T00:00:02.000000Z", "the moment of the event");
    assert_eq!(request.json()["data"]["skill"], "sample");

    let told = until_first(&webhooks, run, DeliveryState::Delivered);
    assert_eq!((told.tries, told.id.as_str()), (1, id));
    // Recorded with the run, and nothing is left to do.
    until_true(|| world.outbox_files() == 0);
    assert!(world.data.run(run).root().join("webhooks.json").exists());
    assert_eq!(webhooks.records(run).unwrap(), [told]);
    watch(&webhooks, run, &[receiver.url("/hook?a=b")]);
    webhooks.check_log(run);
    assert_eq!(webhooks.counts(), counts(1, 0, 0, 0));
    drop(webhooks);
    assert_eq!(receiver.rest(), 0, "no message is sent twice");
}

#[test]
fn every_address_gets_questions_and_ends_in_order() {
    let mut world = World::new();
    let receivers = [HookReceiver::answering(&["204 No Content"]), HookReceiver::answering(&["200 OK"])];
    world.config.urls = vec![receivers[0].url("/all")];
    let story = LogStory::new(1).started();
    let (webhooks, run) = world.start_with(&story, receivers[1].url("/one"));
    let story = story.asked(question(1, "Which?")).waits();
    world.write(&story);
    webhooks.check_log(run);
    for receiver in &receivers {
        let request = receiver.next();
        assert_eq!(request.json()["type"], "run.waiting_user");
        assert_eq!(request.json()["data"]["status"], "waiting_user");
        assert_eq!(request.json()["data"]["interaction"]["prompt"], "Which?");
    }
    world.write(&story.replied(1).canceled());
    webhooks.check_log(run);
    let ends = receivers.each_ref().map(HookReceiver::next);
    assert!(ends.iter().all(|end| end.json()["data"]["status"] == "canceled"));
    assert_ne!(ends[0].header("webhook-id"), ends[1].header("webhook-id"));
    until(&webhooks, run, |told| told.len() == 4 && told.iter().all(|one| one.state == DeliveryState::Delivered));
}

#[test]
fn a_run_without_webhooks_leaves_no_record() {
    let world = World::new();
    let run = world.write(&LogStory::new(1).started().completed());
    let webhooks = world.start();
    watch(&webhooks, run, &[]);
    webhooks.check_log(run);
    webhooks.stop();
    assert_eq!((webhooks.records(run).unwrap(), world.outbox_files()), (vec![], 0));
    assert!(!world.data.root().join("webhook.secret").exists(), "a secret is made when it is needed");
}

#[test]
fn records_are_private() {
    let (world, receiver) = (World::new(), HookReceiver::answering(&["500 No"]));
    let (_webhooks, run) = world.start_with(&LogStory::new(1).started(), receiver.url("/"));
    let folder = world.data.root().join("webhooks");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.join(format!("{run}.json"))), 0o600);
    assert_eq!(mode(folder), 0o700);
    assert_eq!(mode(world.data.root().join("webhook.secret")), 0o600);
    let stranger = world.try_start().unwrap_err();
    assert!(stranger.to_string().contains("another process"), "{stranger}");
}

#[test]
fn configured_addresses_count_against_the_limit() {
    let mut world = World::new();
    world.config.urls = vec!["http://127.0.0.1:1/configured".to_owned()];
    let webhooks = world.start();
    let urls: Vec<String> = (0..10).map(|i| format!("http://127.0.0.1:1/{i}")).collect();
    assert!(webhooks.check_urls(&urls).is_err());
    assert_eq!(webhooks.check_urls(&urls[1..]).unwrap().len(), 9);
}
