use super::*;

fn read(text: &str) -> Result<Vec<String>, ChangesError> {
    let mut changes = Changes::new("fs-diff.1.json".into(), text.as_bytes()).expect("a list");
    let mut read = Vec::new();
    while let Some(change) = changes.next_change()? {
        let size = |version: &Option<FileVersion>| version.as_ref().and_then(|version| version.size);
        let path = change.path.as_path().display().to_string();
        read.push(format!("{:?} {path} {:?} {:?}", change.change, size(&change.before), size(&change.after)));
    }
    Ok(read)
}

const LIST: &str = concat!(
    "{\"attempt\":1,\"created\":[\n",
    "{\"path\":\"new\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":3},\n",
    "{\"path\":{\"hex\":\"ff\"},\"kind\":\"symlink\",\"target\":\"x\"},\n",
    "{\"path\":\"odd\",\"kind\":\"of another version\"}\n",
    "],\"modified\":[\n",
    "{\"path\":\"a\",\"before\":{\"kind\":\"file\",\"size\":1},\"after\":{\"kind\":\"file\",\"size\":2},\"diff\":\"@@\\n\"}\n",
    "],\"deleted\":[\n",
    "],\"counts\":{\"created\":3,\"modified\":1,\"deleted\":0},\"limited\":false,\"truncated\":false}\n",
);

#[test]
fn changes_come_in_the_order_of_the_file() {
    let expected = [
        "Created new None Some(3)",
        "Created \u{fffd} None None",
        "Created odd None None",
        "Modified a Some(1) Some(2)",
    ];
    assert_eq!(read(LIST).expect("readable"), expected);
}

#[test]
fn a_list_that_was_cut_is_told() {
    for end in 30..LIST.len() - 1 {
        assert!(read(&LIST[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn what_is_no_list_names_its_file() {
    let error = Changes::new("there/fs-diff.1.json".into(), &b"{}\n"[..]).expect_err("no list");
    assert_eq!(error.to_string(), "there/fs-diff.1.json: it is not a list of changes");
}

#[test]
fn a_line_without_end_is_not_read_to_its_end() {
    let input = Endless(b"{\"attempt\":1,\"created\":[\n".to_vec(), 0);
    let mut changes = Changes::new("endless".into(), input).expect("a list");
    assert!(changes.next_change().is_err());
    let Endless(_, given) = changes.entries.input.get_ref();
    assert!(*given <= LONGEST_LINE as usize + (128 << 10), "{given} bytes were read");
}

/// The bytes, and then endless spaces; and how many were read.
#[derive(Debug)]
struct Endless(Vec<u8>, usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let head: Vec<u8> = self.0.drain(..self.0.len().min(buffer.len())).collect();
        buffer[..head.len()].copy_from_slice(&head);
        let count = if head.is_empty() { buffer.len() } else { head.len() };
        buffer[head.len()..count].fill(b' ');
        self.1 += count;
        Ok(count)
    }
}

#[test]
fn values_stand_as_in_the_file_and_changes_lose_nothing_known() {
    let mut changes = Changes::new("x".into(), LIST.as_bytes()).expect("a list");
    let (kind, value) = changes.next_value().expect("readable").expect("one");
    let expected = serde_json::json!({"path": "new", "kind": "file", "mode": "0644", "size": 3});
    assert_eq!((kind, value), (ChangeKind::Created, expected));
    let change = changes.next_change().expect("readable").expect("another");
    let expected = serde_json::json!({
        "change": "created", "path": {"hex": "ff"}, "after": {"kind": "symlink", "target": "x"},
    });
    assert_eq!(serde_json::to_value(change).expect("JSON"), expected);
}

#[test]
fn a_link_in_the_place_of_the_list_is_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = RunFolder::at(folder.path());
    std::fs::create_dir_all(run.audit()).expect("made");
    std::fs::write(folder.path().join("elsewhere"), LIST).expect("written");
    assert!(Changes::open(&run, AttemptNumber(1)).expect("no fault").is_none());
    std::os::unix::fs::symlink("../elsewhere", run.audit().join("fs-diff.1.json")).expect("a link");
    assert!(Changes::open(&run, AttemptNumber(1)).is_err());
    assert_eq!(why_none(&run, None, AttemptNumber(1)), NoChanges::NotYet);
    assert_eq!(why_none(&run, None, AttemptNumber::BEFORE_FIRST), NoChanges::NoAttempt);
    std::fs::write(run.audit().join("removed.json"), "{}").expect("written");
    assert_eq!(why_none(&run, None, AttemptNumber(1)), NoChanges::Removed);
}
