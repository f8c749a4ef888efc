use proptest::prelude::*;
use skillrun_model::Timestamp;

use super::{Reset, in_text};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

/// The time of the reports: noon.
fn noon() -> Timestamp {
    at("2026-11-15T12:00:00Z")
}

fn reset_in(text: &str) -> Option<String> {
    in_text(text, noon()).map(|moment| moment.to_string().replace(".000000", ""))
}

#[test]
fn reset_times_of_services_and_engines_are_read() {
    let cases = [
        // A duration.
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 20s. Visit https://x", "12:00:20Z"),
        ("Please try again in 1m30s.", "12:01:30Z"),
        ("please try again in 6.5s", "12:00:06.500000Z"),
        ("Try again in 850ms", "12:00:00.850000Z"),
        ("You can try again in 2 hours", "14:00:00Z"),
        ("try again in 1 hour and 5 minutes.", "13:05:00Z"),
        ("Usage limit reached. It will reset in 2 hours 5 minutes.", "14:05:00Z"),
        ("retry after 30 seconds", "12:00:30Z"),
        ("Retry-After: 30", "12:00:30Z"),
        (r#"{"retry-after":"45","x":1}"#, "12:00:45Z"),
        (r#"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]"#, "12:00:37Z"),
        (r#"{\"retryDelay\": \"37.5s\"}"#, "12:00:37.500000Z"),
        (r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}"#, "13:00:00Z"),
        // A moment.
        ("Limit reached, resets 2026-11-15T20:00:00Z", "20:00:00Z"),
        ("quota resets at 2026-11-15T20:00:00+02:00.", "18:00:00Z"),
        ("it resets at 2026-11-15 20:00:00 UTC", "20:00:00Z"),
        ("Claude AI usage limit reached|1794772800", "20:00:00Z"),
        ("anthropic-ratelimit-unified-reset: 1794772800", "20:00:00Z"),
        (r#""resets_at":1794772800"#, "20:00:00Z"),
        (r#""resetsAt":1794772800000,"x""#, "20:00:00Z"),
        // A time of day, with its zone.
        ("You've hit your session limit · resets 3pm (UTC)", "15:00:00Z"),
        ("resets at 3:05 pm UTC", "15:05:00Z"),
        ("resets 15:30 (GMT)", "15:30:00Z"),
    ];
    for (text, moment) in cases {
        assert_eq!(reset_in(text).as_deref(), Some(format!("2026-11-15T{moment}").as_str()), "{text}");
    }
    assert_eq!(reset_in("Your quota will reset after 18h31m10s.").as_deref(), Some("2026-11-16T06:31:10Z"));
    assert_eq!(reset_in("try again in 3 days 4 hours").as_deref(), Some("2026-11-18T16:00:00Z"));
    assert_eq!(reset_in("resets 9am (UTC)").as_deref(), Some("2026-11-16T09:00:00Z"), "tomorrow");
    assert_eq!(reset_in("resets 12am (UTC)").as_deref(), Some("2026-11-16T00:00:00Z"));
}

#[test]
fn nothing_is_guessed() {
    let cases = [
        "",
        "Rate limit reached for fake-model: quota exceeded",
        // No zone, another zone, no time at all.
        "You've hit your usage limit. Try again at 3:05 PM.",
        "resets 3pm",
        "resets 3pm (Europe/Berlin)",
        "resets 15:00 UTC+2",
        "resets at 2026-11-15T20:00:00",
        "resets 25:00 (UTC)",
        "resets 13pm (UTC)",
        // A number without a unit where one is needed, and numbers that are not seconds.
        "try again in 20",
        "try again in 20 years",
        "it takes 20s",
        "presets 3pm (UTC)",
        "retry after lunch",
        "retry-after: 1.2.3",
        "retry-after: 12345678901234",
        "resets_at: 20",
        // Past, now, or too far ahead.
        "resets 2026-11-15T11:59:59Z",
        "limit reached|1794744000",
        "try again in 0s",
        "try again in 32 days",
        "resets 2027-11-15T20:00:00Z",
        "try again in 9999999999999 days",
    ];
    for text in cases {
        assert_eq!(reset_in(text), None, "{text}");
    }
}

/// A service may report both: the quota's own time counts, and where that is nonsense the other.
#[test]
fn the_quotas_own_time_comes_first() {
    assert_eq!(reset_in("retry after 2 s; your quota will reset after 1h").as_deref(), Some("2026-11-15T13:00:00Z"));
    assert_eq!(reset_in(r#""resets_at":0,"resets_in_seconds":60"#).as_deref(), Some("2026-11-15T12:01:00Z"));
    assert_eq!(reset_in("resets 1pm, or try again in 5m").as_deref(), Some("2026-11-15T12:05:00Z"));
}

#[test]
fn headers() {
    let header = |value: &str| Reset::of_header(value).and_then(|reset| reset.moment(noon()));
    assert_eq!(header("30"), Some(at("2026-11-15T12:00:30Z")));
    assert_eq!(header(" Sun, 15 Nov 2026 13:00:18 GMT "), Some(at("2026-11-15T13:00:18Z")));
    for nonsense in ["", "-1", "soon", "0", "Sun, 15 Nov 2026 13:00:18 CET", "Sun, 15 Foo 2026 13:00:18 GMT"] {
        assert_eq!(header(nonsense), None, "{nonsense}");
    }
    assert_eq!(Reset::since_epoch(20), None);
}

#[test]
fn only_the_beginning_is_looked_at() {
    let late = format!("{}try again in 20s", "x ".repeat(4096));
    assert_eq!(reset_in(&late), None);
}

fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("try again in ".to_owned()),
        Just("resets at ".to_owned()),
        Just("retry-after: ".to_owned()),
        Just("limit reached|".to_owned()),
        Just("2026-11-15".to_owned()),
        Just(" (utc)".to_owned()),
        "[0-9:.TZ+ -]{0,20}",
        "[smhd ]{0,3}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// For any content: no panic, and no absurd result.
    #[test]
    fn any_text(text in words(), seconds in 0_u64..4_000_000_000) {
        let now = Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000);
        if let Some(moment) = in_text(&text, now) {
            prop_assert!(moment > now);
            prop_assert!(moment <= now.plus_nanos(31 * 24 * 3600 * 1_000_000_000));
        }
    }

    #[test]
    fn any_while(days in 0_u64..40, hours in 0_u64..30, minutes in 0_u64..90, seconds in 1_u64..90) {
        let told_seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
        let moment = in_text(&format!("try again in {days}d {hours}h{minutes}m{seconds}s."), noon());
        let expected = noon().plus_nanos(told_seconds * 1_000_000_000);
        prop_assert_eq!(moment, Some(expected).filter(|_| told_seconds <= 31 * 24 * 3600));
    }
}
