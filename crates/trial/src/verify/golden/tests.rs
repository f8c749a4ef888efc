//! The golden streams themselves.

use super::*;

/// All that may go into the program.
const BYTES_MAX: usize = 200 * 1024;

fn schema(folder: &Path) -> PathBuf {
    let path = folder.join("schema.json");
    fs::write(&path, include_str!("../../../probe/assets/output.schema.json")).unwrap();
    path
}

#[test]
fn every_golden_stream_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let schema = schema(folder.path());
    for golden in ALL {
        golden
            .check(folder.path(), &schema)
            .unwrap_or_else(|error| panic!("{}-{}: {error}", golden.profile, golden.scenario));
    }
}

#[test]
fn a_stream_that_is_read_otherwise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let schema = schema(folder.path());
    let auto = of(ProfileId::CodexNdjson).find(|golden| golden.scenario == "auto").unwrap();
    let check = |golden: Golden| golden.check(folder.path(), &schema).unwrap_err().to_string();
    let with = |expected, files| Golden { profile: auto.profile, scenario: "other", files, expected };
    let judged = check(with(&[FAILS], auto.files));
    assert_eq!(judged, "attempt 1 is read as succeeded (DONE_MARKER_FOUND), not as failed (ENGINE_FAILED)");
    assert_eq!(check(with(&[DONE, DONE], auto.files)), "1 attempts are read, not 2");
    let odd: &[(&str, &[u8])] = &[("stdout.1.log", b"{\"type\":\"turn.dreamed\"}\n"), ("stderr.1.log", b"")];
    assert!(check(with(&[DONE], odd)).starts_with("attempt 1 is read as failed"));
}

#[test]
fn they_are_small_and_anonymous() {
    let all = || ALL.iter().flat_map(|golden| golden.files);
    let bytes: usize = all().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    for (name, bytes) in all() {
        let text = String::from_utf8_lossy(bytes);
        for machine in [["/ro", "ot/"], ["/ho", "me/"], ["/wo", "rk/"], ["/Us", "ers/"]] {
            assert!(!text.contains(&machine.concat()), "{name}: {}", machine.concat());
        }
    }
}

#[test]
fn every_scenario_of_the_probe_has_types() {
    for profile in [
        ProfileId::CodexNdjson,
        ProfileId::GeminiStreamJson,
        ProfileId::OpencodeNdjson,
        ProfileId::ClaudeStreamJson,
        ProfileId::QwenStreamJson,
    ] {
        let mut types = Types::default();
        of(profile).for_each(|golden| golden.types(&mut types));
        assert!(!types.is_empty(), "{profile}");
        assert_eq!(of(profile).count(), 3, "{profile}");
    }
}
