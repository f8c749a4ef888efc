//! Connections that end after every event, servers that stop and come again, servers that are killed.

use std::thread;
use std::time::Duration;

use lab::{Dice, Lab, Server, wait_until};
use serde_json::json;
use testkit::http::Client;

use super::follower::{Follower, Protocol, Service, answer, slow_talk};

/// Followers of both protocols: some stay as long as they can, some leave after every event.
fn followers<'s>(
    scope: &'s thread::Scope<'s, '_>,
    client: &'s Client,
    run: &str,
    service: Service,
) -> Vec<thread::ScopedJoinHandle<'s, Follower>> {
    let kinds = Protocol::ALL.into_iter().flat_map(|protocol| [1, usize::MAX].map(|most| (protocol, most)));
    let follow = |(protocol, most)| {
        let follower = Follower::new(protocol, run);
        scope.spawn(move || follower.follow(client, most, service))
    };
    kinds.map(follow).collect()
}

fn all_have_all(followers: Vec<thread::ScopedJoinHandle<'_, Follower>>, lab: &Lab) {
    for follower in followers {
        let follower = follower.join().expect("it gets to the end");
        follower.has_all(lab);
        assert!(follower.resets.is_empty(), "{:?}", follower.resets);
    }
}

fn restarted(lab: &Lab, server: Server) -> Server {
    let address = server.client.address.to_string();
    server.stop();
    lab.serve_at(&address, &[])
}

fn wait_events(lab: &Lab, run: &str, count: usize) {
    wait_until("event", || lab.events(run).len() >= count);
}

#[test]
fn clients_that_leave_after_every_event_get_each_once() {
    let (lab, server) = Lab::serving(&[("slow", &slow_talk(15))]);
    let run = server.run("slow", json!({"mode": "interactive"}));
    thread::scope(|scope| {
        let followers = followers(scope, &server.client, &run, Service::Stays);
        answer(&server, &run);
        all_have_all(followers, &lab);
    });
    assert_eq!(server.wait(&run)["status"], "succeeded");
}

#[test]
fn followers_survive_a_restart_of_the_server() {
    let lab = Lab::new();
    lab.installed_skill("slow", &slow_talk(40));
    let mut server = lab.serve();
    let client = server.client.clone();
    let run = server.run("slow", json!({"mode": "interactive"}));
    let server = thread::scope(|scope| {
        let followers = followers(scope, &client, &run, Service::Goes);
        for count in [8, 16] {
            wait_events(&lab, &run, count);
            server = restarted(&lab, server);
        }
        assert_eq!(server.wait(&run)["status"], "waiting_user");
        server = restarted(&lab, server);
        answer(&server, &run);
        wait_events(&lab, &run, lab.events(&run).len() + 8);
        server = restarted(&lab, server);
        all_have_all(followers, &lab);
        server
    });
    assert_eq!(server.wait(&run)["status"], "succeeded");
}

#[test]
fn followers_survive_a_kill_of_the_server() {
    let given = std::env::var("SKILLRUN_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = given.map_or_else(Dice::new, Dice);
    eprintln!("SKILLRUN_SEED={}", dice.0);
    let lab = Lab::new();
    lab.installed_skill("slow", &slow_talk(40));
    let mut server = lab.serve();
    let client = server.client.clone();
    let run = server.run("slow", json!({"mode": "interactive"}));
    let server = thread::scope(|scope| {
        let followers = followers(scope, &client, &run, Service::Goes);
        for round in 0..5 {
            if round == 3 {
                answer(&server, &run);
            }
            thread::sleep(Duration::from_millis(dice.below(200)));
            eprintln!("killed with {} events", lab.events(&run).len());
            server.kill();
            server = lab.serve_at(&client.address.to_string(), &[]);
        }
        all_have_all(followers, &lab);
        server
    });
    assert_eq!(server.wait(&run)["status"], "succeeded");
    lab.printed(&["verify", &run]);
}
