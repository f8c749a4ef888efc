use skillrun_model::AttemptNumber;

use crate::acp::{Name, Wanted, Way};

fn session(way: Way, mode: Option<&str>) -> Name {
    Name::Session(Wanted { way, mode: mode.map(str::to_owned) })
}

#[test]
fn a_name_is_read_as_it_was_written() {
    let odd = "load=a b\nmode=c".to_owned();
    for (name, text) in [
        (Name::Initialize, "initialize"),
        (session(Way::New, None), "session"),
        (session(Way::New, Some("read-only")), "session mode=read-only"),
        (session(Way::Resume("s1".to_owned()), None), "session resume=s1"),
        (session(Way::Load("s1".to_owned()), Some("m")), "session mode=m load=s1"),
        (session(Way::Load(odd), None), "session load=load=a b\nmode=c"),
        (Name::Past(3), "past.3"),
        (Name::Now, "now"),
        (Name::Prompt(AttemptNumber(12)), "prompt.12"),
    ] {
        assert_eq!((name.to_string().as_str(), Name::read(text)), (text, Some(name)));
    }
    for other in ["", "session.1", "sessions", "session ", "session s1", "past", "past.x", "prompt", "prompt.", "now "]
    {
        assert_eq!(Name::read(other), None, "{other:?}");
    }
}
