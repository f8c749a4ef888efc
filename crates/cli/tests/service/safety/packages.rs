//! Skills that are traps: zips that leave their folder or never end, schemas and texts that explode.

use std::fs;
use std::io::{Cursor, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use lab::{Lab, Server};
use serde_json::json;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{FORM, form, plain, refused};

const SKILL: &str = "---\nname: trap\ndescription: A trap.\n---\nDo it.\n";

type Zip = ZipWriter<Cursor<Vec<u8>>>;

/// A zip that is a skill but for what is added.
fn zip(more: impl FnOnce(&mut Zip, SimpleFileOptions)) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("SKILL.md", options).expect("an entry");
    zip.write_all(SKILL.as_bytes()).expect("written");
    more(&mut zip, options);
    zip.finish().expect("a zip").into_inner()
}

fn with_file(name: &str) -> Vec<u8> {
    zip(|zip, options| {
        // The library corrects such names where they are given as paths.
        zip.start_file(name, options).expect("an entry");
        zip.write_all(b"out").expect("written");
    })
}

/// As a skill that is to be installed, looked at or run: refused each time.
fn all_refuse(server: &Server, what: &str, zip: &[u8]) {
    for path in ["/v1/skills", "/v1/validate", "/v1/runs"] {
        let request: &[u8] = br#"{"engine":"scripted"}"#;
        let parts = [("request", None, request), ("skill", Some("trap.zip"), zip)];
        let parts = if path == "/v1/runs" { &parts[..] } else { &parts[1..] };
        let begin = Instant::now();
        let answer = server.asked("POST", path, &[FORM], &form(parts));
        let code = answer.json()["code"].clone();
        assert_eq!((answer.status, code), (422, json!("SKILL_INVALID")), "{what}: {path}: {}", answer.text());
        assert!(begin.elapsed() < Duration::from_secs(10), "{what}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_zip_cannot_leave_its_folder() {
    let (lab, server) = plain();
    let before = server.belongings();
    let listing = || {
        let entries = fs::read_dir(lab.path(".")).expect("a folder").chain(fs::read_dir(lab.data()).expect("a folder"));
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    all_refuse(&server, "no zip", b"no zip");
    let there = listing();
    let names = "../out.txt a/../../out.txt /tmp/out.txt ..\\out.txt a\\..\\..\\out.txt C:\\out.txt a/./b a//b .. \
        x\u{0}y";
    for name in names.split(' ') {
        all_refuse(&server, name, &with_file(name));
    }
    let link = zip(|zip, options| {
        zip.add_symlink("link", "/etc", options).expect("a link");
        zip.start_file("link/out.txt", options).expect("an entry");
        zip.write_all(b"out").expect("written");
    });
    all_refuse(&server, "a link", &link);
    let link = zip(|zip, options| zip.add_symlink("assets", "../../..", options).expect("a link"));
    all_refuse(&server, "a link up", &link);
    assert_eq!(listing(), there);
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn a_zip_that_unpacks_to_gigabytes_is_refused() {
    let (lab, server) = plain();
    let (before, memory) = (server.belongings(), server.memory());
    let zeros = vec![0; 1 << 20];
    let one = zip(|zip, options| {
        zip.start_file("zeros", options).expect("an entry");
        (0..60).for_each(|_| zip.write_all(&zeros).expect("written"));
    });
    all_refuse(&server, "one large file", &one);
    let mut packed = zip::ZipArchive::new(Cursor::new(one.clone())).expect("a zip");
    let many = zip(|zip, _| {
        for number in 0..100 {
            let zeros = packed.by_name("zeros").expect("an entry");
            zip.raw_copy_file_rename(zeros, format!("f{number}")).expect("copied");
        }
    });
    assert!(many.len() < 10 << 20, "{} bytes for six gigabytes", many.len());
    all_refuse(&server, "many files", &many);
    // It says that it is small.
    let mut liar = one;
    let real = (60_u32 << 20).to_le_bytes();
    for at in 0..liar.len() - 4 {
        if liar[at..at + 4] == real {
            liar[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
        }
    }
    all_refuse(&server, "a size that is a lie", &liar);
    let many = zip(|zip, options| {
        for number in 0..60_000 {
            zip.start_file(format!("f{number}"), options).expect("an entry");
        }
    });
    all_refuse(&server, "many empty files", &many);
    let more = server.memory().saturating_sub(memory);
    assert!(more < 96 << 20, "{more} bytes more");
    assert_eq!(server.belongings(), before);
    let left = fs::read_dir(lab.data().join("uploads")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    server.is_well();
}

#[test]
fn a_schema_fetches_nothing() {
    let (lab, server) = plain();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("set");
    let address = listener.local_addr().expect("an address");
    let canary = lab.path("canary.json");
    fs::write(&canary, "{}").expect("written");
    let targets = [format!("http://{address}/schema.json"), format!("https://{address}/x#/a")];
    for (number, target) in targets.into_iter().chain([format!("file://{}", canary.display())]).enumerate() {
        let name = format!("remote{number}");
        let root = lab.installed_skill(&name, super::SCRIPT);
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": target}).to_string();
        fs::write(root.join("assets/output.json"), schema).expect("written");
        let answer = server.post("/v1/runs", &json!({"skill": name, "engine": "scripted"}));
        refused(&answer, 422, "SKILL_INVALID");
        assert!(matches!(server.get(&format!("/v1/skills/{name}")).status, 200 | 422));
    }
    assert_eq!(server.get("/v1/skills").status, 200);
    let none = listener.accept().expect_err("a connection was made");
    assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock);
    server.is_well();
}

/// Nine levels of nine: a billion when they are written out.
fn aliases() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..10 {
        let below = vec![format!("*a{}", level - 1); 9].join(",");
        text += &format!("a{level}: &a{level} [{below}]\n");
    }
    text
}

#[test]
fn multiplying_aliases_block_nothing() {
    let (lab, server) = plain();
    let memory = server.memory();
    let begin = Instant::now();
    let root = lab.installed_skill("aliased", super::SCRIPT);
    fs::write(root.join("SKILL.md"), format!("---\nname: aliased\ndescription: x\n{}---\nDo it.\n", aliases()))
        .expect("written");
    server.get("/v1/skills/aliased");
    server.post("/v1/runs", &json!({"skill": "aliased", "engine": "scripted"}));
    assert_eq!(server.get("/v1/skills").status, 200);
    let block = aliases().replace('\n', "\n      ");
    let script = format!("- - say: |\n      <ASK_USER_YAML>\n      prompt: x\n      {block}\n      </ASK_USER_YAML>\n");
    lab.installed_skill("asking", &script);
    let run = server.run("asking", json!({"mode": "interactive"}));
    server.wait(&run);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    let more = server.memory().saturating_sub(memory);
    assert!(more < 64 << 20, "{more} bytes more");
    server.is_well();
}

#[test]
fn an_exploding_pattern_blocks_nothing() {
    let lab = Lab::new();
    let root = lab.installed_skill("pattern", super::SCRIPT);
    let pattern = r"^(?:(a+)\1?)+(?!b)$";
    let schema = json!({"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string", "pattern": pattern}}}});
    fs::write(root.join("assets/input.json"), schema.to_string()).expect("written");
    let runner = r#"{"schemas":{"output":"assets/output.json","input":"assets/input.json"}}"#;
    fs::write(root.join("assets/runner.json"), runner).expect("written");
    let server = lab.serve();
    let words: Vec<String> = (0..5_000).map(|number| format!("{}{number}!", "a".repeat(40))).collect();
    let body = json!({"skill": "pattern", "engine": "scripted", "input": {"words": words}});
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let begin = Instant::now();
            (server.post("/v1/runs", &body).status, begin.elapsed())
        });
        while !asked.is_finished() {
            let begin = Instant::now();
            server.is_well();
            assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        let (status, took) = asked.join().expect("an answer");
        assert!(matches!(status, 202 | 422), "{status}");
        assert!(took < Duration::from_secs(20), "{took:?}");
    });
}

/// Consent for checks is given for the name of a skill, and a skill that is sent can have any name.
#[test]
fn skill_with_checks_is_sent_by_administrators_alone() {
    let (lab, server) = plain();
    let consent = lab.output(&["consent", "check:trap", "--yes"]);
    assert!(consent.status.success());
    let zip = zip(|zip, options| {
        for (name, text) in [
            ("assets/runner.json", r#"{"checks": [{"command": "touch run"}]}"#),
            ("assets/scripted.yaml", "- - output: {answer: done}\n    done: true\n"),
        ] {
            zip.start_file(name, options).expect("an entry");
            zip.write_all(text.as_bytes()).expect("written");
        }
    });
    let request: &[u8] = br#"{"engine":"scripted"}"#;
    let body = form(&[("request", None, request), ("skill", Some("trap.zip"), &zip)]);
    let token = lab.make_token("worker", "run");
    let answer = server.with_token(&token).request("POST", "/v1/runs", &[FORM], &body).expect("an answer");
    refused(&answer, 403, "FORBIDDEN");
    let answer = server.asked("POST", "/v1/runs", &[FORM], &body);
    assert_eq!(answer.status, 202, "{}", answer.text());
}
