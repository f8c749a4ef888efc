//! Files in a folder of the user: complete or missing, whichever process is killed meanwhile, and removed afterwards.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lab::{Lab, kind, wait_until};

const SLOW: &str = "- - say: I begin.\n  - sleep_ms: 500\n  - output: {answer: blue}\n    done: true\n";

/// Files of the skill, beside those that every one has.
const MORE: usize = 600;

/// A folder where nothing can be moved to, only copied.
fn on_another_disk(lab: &Lab) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    let device = |path: &Path| fs::metadata(path).expect("a folder").dev();
    (device(folder.path()) != device(&lab.data())).then_some(folder)
}

/// Copies of skills in a folder, those under way too.
fn copies(work: &Path) -> Vec<PathBuf> {
    let Ok(skills) = fs::read_dir(work.join(".agents/skills")) else { return Vec::new() };
    skills.flatten().map(|entry| entry.path()).collect()
}

/// Found by chaos: the next owner took what was there of the copy for the skill, and its engine found no script.
#[test]
fn a_copy_of_a_skill_that_was_cut_short_is_never_used() {
    let mut cut = 0;
    for _ in 0..3 {
        let lab = Lab::new();
        let Some(work) = on_another_disk(&lab) else {
            eprintln!("skipped: /dev/shm is not another disk here, so nothing has to be copied");
            return;
        };
        let work = work.path();
        let more = lab.skill("large", SLOW).join("assets/more");
        fs::create_dir(&more).expect("a folder");
        (0..MORE).for_each(|n| fs::write(more.join(n.to_string()), "text\n").expect("written"));
        let folder = work.to_str().expect("text");
        let mut owner = lab.start(&["run", "./large", "--engine", "scripted", "--workspace", folder, "--json"]);
        wait_until("a copy", || copies(work).iter().any(|copy| copy.join("SKILL.md").exists()));
        lab::kill(&mut owner);
        cut += usize::from(!copies(work).iter().any(|copy| copy.join("assets/scripted.yaml").exists()));

        let mut next = lab.start(&["recover", "--json"]);
        let has_begun = || lab.events(&lab.runs()[0]).iter().any(|event| kind(event) == "agent.message.final");
        wait_until("the engine", has_begun);
        // What the engine works with.
        let [copy] = &copies(work)[..] else { panic!("{:?}", copies(work)) };
        assert_eq!(fs::read_dir(copy.join("assets/more")).expect("a folder").count(), MORE);
        assert!(copy.join("assets/scripted.yaml").exists());

        assert!(next.wait().expect("waited").success());
        let events = lab.events(&lab.runs()[0]);
        assert_eq!(events.last().map(kind), Some("run.completed"), "{:#?}", events.last());
        let left: Vec<_> = fs::read_dir(work).expect("a folder").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    eprintln!("{cut} of 3 copies were cut short");
}
