//! Messages that arrive.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::super::queue::WebhookCounts;
use super::super::record::DeliveryState;
use super::events::{Story, question};
use super::receiver::{Answer, Receiver};
use super::world::{World, until, until_true, watch};

#[test]
fn an_end_is_sent_once_and_signed() {
    let (world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("200 OK")]));
    let run = world.write(&Story::new(1).started().completed());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/hook?a=b")]);
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

    let told = until(&webhooks, run, |told| told.iter().all(|message| message.state == DeliveryState::Delivered));
    assert_eq!((told.len(), told[0].tries, told[0].id.as_str()), (1, 1, id));
    // Recorded with the run, and nothing is left to do.
    until_true(|| (world.outbox_files() == 0).then_some(()));
    assert!(world.data.run(run).root().join("webhooks.json").exists());
    assert_eq!(webhooks.records(run).unwrap(), told);
    watch(&webhooks, run, &[receiver.url("/hook?a=b")]);
    webhooks.check_log(run);
    assert_eq!(webhooks.counts(), WebhookCounts { delivered: 1, failed_tries: 0, given_up: 0, pending: 0 });
    drop(webhooks);
    assert_eq!(receiver.rest(), 0, "no message is sent twice");
}

#[test]
fn every_address_gets_questions_and_ends_in_order() {
    let mut world = World::new();
    let (configured, given) =
        (Receiver::answering(&[Answer::Status("204 No Content")]), Receiver::answering(&[Answer::Status("200 OK")]));
    world.config.urls = vec![configured.url("/all")];
    let webhooks = world.start();
    let story = Story::new(1).started();
    let run = world.write(&story);
    watch(&webhooks, run, &[given.url("/one")]);
    let story = story.asked(question(1, "Which?")).waits();
    world.write(&story);
    webhooks.check_log(run);
    for receiver in [&configured, &given] {
        let request = receiver.next();
        assert_eq!(request.json()["type"], "run.waiting_user");
        assert_eq!(request.json()["data"]["status"], "waiting_user");
        assert_eq!(request.json()["data"]["interaction"]["prompt"], "Which?");
    }
    let story = story.replied(1).canceled();
    world.write(&story);
    webhooks.check_log(run);
    let ids = [&configured, &given].map(|receiver| {
        let request = receiver.next();
        assert_eq!(request.json()["data"]["status"], json!("canceled"));
        request.header("webhook-id").to_owned()
    });
    assert_ne!(ids[0], ids[1]);
    until(&webhooks, run, |told| told.len() == 4 && told.iter().all(|one| one.state == DeliveryState::Delivered));
}

#[test]
fn a_run_without_webhooks_leaves_no_record() {
    let world = World::new();
    let run = world.write(&Story::new(1).started().completed());
    let webhooks = world.start();
    watch(&webhooks, run, &[]);
    webhooks.check_log(run);
    webhooks.stop();
    assert_eq!(webhooks.records(run).unwrap(), []);
    assert_eq!(world.outbox_files(), 0);
    assert!(!world.data.root().join("webhook.secret").exists(), "a secret is made when it is needed");
}

#[test]
fn records_are_private() {
    let (world, receiver) = (World::new(), Receiver::answering(&[Answer::Status("500 No")]));
    let run = world.write(&Story::new(1).started());
    let webhooks = world.start();
    watch(&webhooks, run, &[receiver.url("/")]);
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
