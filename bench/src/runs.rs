//! What running a skill costs, beside the bare engine in the same run, and many at once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use skillrun_engine::Engines;
use skillrun_runs::DataFolder;
use skillrun_runtime::{NewRun, Options, OwnerRole, Runtime, RuntimeSetup, SlotLimits, SystemClock};
use skillrun_skill::{Layers, SearchPath, Skill};

use crate::args::Figures;
use crate::capture::{median, wall};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;
use crate::{handover, interrupt, later, replay, waiting};

const RUNS: usize = 31;
const RUN_TARGET: Duration = Duration::from_millis(30);

/// How much longer a run in a box takes.
const BOX_TARGET: Duration = Duration::from_millis(10);

const TOGETHER: u32 = 200;
const CPU_TARGET: Duration = Duration::from_millis(25);

/// An engine that prints its argument and exits at once.
const ENGINE: &str = r#"
name = "quick"
title = "An engine that exits at once"
profile = "plain_text"
continuation = "none"

[executable]
names = ["echo"]

[start]
argv = ["{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission.workspace]
posture = "not_enforced"

[permission.read_only]
posture = "not_enforced"

[permission.full]
posture = "not_enforced"
"#;

/// Each turn of a conversation.
const TALKS: &str = "- - say: I am here.\n";

pub(crate) const ASKS: &str = "- - ask: {kind: open_text, prompt: Which colour?}\n";

/// One figure: how it is measured, and its name.
type Figure = (&'static str, fn(&Program, &mut Table) -> Result<(), Problem>);

const FIGURES: [Figure; 8] = [
    ("one run", one),
    ("box", boxed),
    ("together", together),
    ("waiting", waiting::measure),
    ("interrupt", interrupt::measure),
    ("files", files),
    ("replay", replay::measure),
    ("continue", handover::measure),
];

pub(crate) fn measure(program: &Program, figures: &Figures, table: &mut Table) -> Result<(), Problem> {
    FIGURES.into_iter().filter(|(name, _)| figures.have(name)).try_for_each(|(_, figure)| figure(program, table))
}

/// A data folder with an engine and skills, which goes away by itself.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Result<Self, Problem> {
        let root = std::env::temp_dir().join(format!("skillrun-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("engines"))?;
        fs::create_dir_all(root.join("home"))?;
        fs::write(root.join("engines/quick.toml"), ENGINE)?;
        fs::write(root.join("config.toml"), "box = \"off\"\nengines = \"engines\"\nconsent = [\"quick\"]\n")?;
        let skill = root.join("skill");
        fs::create_dir_all(skill.join("assets"))?;
        fs::write(skill.join("SKILL.md"), "---\nname: skill\ndescription: For measuring.\n---\n\nSay it.\n")?;
        fs::write(skill.join("assets/scripted.yaml"), ASKS)?;
        fs::write(root.join("talk.yaml"), TALKS)?;
        Ok(Self(root))
    }

    fn skill(&self) -> PathBuf {
        self.0.join("skill")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    pub(crate) fn command(&self, program: &Program, words: &[&str]) -> Command {
        let mut command = program.command();
        command.args(words).arg("--data").arg(self.data()).arg("--config").arg(self.0.join("config.toml"));
        command.env("HOME", self.0.join("home")).current_dir(&self.0);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        later::remove(&self.0);
    }
}

pub(crate) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn one(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("one")?;
    let (mut bare, mut run) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        bare.push(wall(Command::new("echo").arg("hello"))?);
        run.push(wall(&mut place.command(program, &["run", "./skill", "--engine", "quick"]))?);
    }
    let (bare, run) = (median(bare), median(run));
    let more = run.saturating_sub(bare);
    eprintln!("runs: one {} more", ms(more));
    let name = "`skillrun run` until it exits, engine `echo`, median of 31";
    table.measured(name, &ms(run), &ms(bare), &format!("{} more", ms(more)), "at most 30 ms more");
    if more > RUN_TARGET {
        table.missed(format!("runs: one costs {} more", ms(more)));
    }
    Ok(())
}

/// The same run without a box and in each kind of box, in turn. What the machine can enforce is tried in each command.
fn boxed(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("boxed")?;
    let kinds: [(&str, &[&str]); 3] = [
        ("files and processes", &["--network", "open"]),
        ("and no network", &["--network", "none"]),
        (
            "and a network of two hosts",
            &["--network", "list", "--allow-host", "127.0.0.1:9", "--allow-host", "a.test:9"],
        ),
    ];
    let words = ["run", "./skill", "--engine", "quick"];
    let mut open = Vec::new();
    let mut in_box = kinds.map(|_| Vec::new());
    for _ in 0..RUNS {
        open.push(wall(&mut place.command(program, &[&words[..], &["--box", "off"]].concat()))?);
        for (times, (_, flags)) in in_box.iter_mut().zip(kinds) {
            times.push(wall(&mut place.command(program, &[&words[..], &["--box", "required"], flags].concat()))?);
        }
    }
    let open = median(open);
    for (times, (kind, _)) in in_box.into_iter().zip(kinds) {
        let time = median(times);
        let more = time.saturating_sub(open);
        eprintln!("runs: a box for {kind} {} more", ms(more));
        let name = format!("`skillrun run` in a box for {kind}; floor: without a box; median of 31");
        table.measured(&name, &ms(time), &ms(open), &format!("{} more", ms(more)), "at most 10 ms more");
        if more > BOX_TARGET {
            table.missed(format!("runs: a box for {kind} costs {} more", ms(more)));
        }
    }
    Ok(())
}

fn together(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("together")?;
    let before = cpu()?;
    for _ in 0..TOGETHER {
        wall(Command::new("echo").arg("hello"))?;
    }
    let engines = cpu()?.saturating_sub(before) / TOGETHER;
    let skill = Skill::load(&place.skill()).map_err(|error| Problem(error.to_string()))?;
    let runtime = runtime(program, &place);
    let begin = Instant::now();
    let before = cpu()?;
    for _ in 0..TOGETHER {
        runtime.submit(NewRun::new(skill.clone(), "quick")).map_err(|error| Problem(error.to_string()))?;
    }
    if !runtime.wait_idle(Duration::from_secs(120)) {
        return Err(Problem("runs: 200 together did not finish".to_owned()));
    }
    let (took, used) = (begin.elapsed(), cpu()?.saturating_sub(before) / TOGETHER);
    let succeeded = results(&place.data())?;
    if succeeded != TOGETHER {
        return Err(Problem(format!("runs: only {succeeded} of {TOGETHER} together succeeded")));
    }
    let more = used.saturating_sub(engines);
    eprintln!("runs: 200 together {} CPU each more, {:.1} s", ms(more), took.as_secs_f64());
    let name = format!("200 runs together, processor time of each; {:.1} s in total", took.as_secs_f64());
    table.measured(&name, &ms(used), &ms(engines), &format!("{} more", ms(more)), "at most 25 ms more");
    if more > CPU_TARGET {
        table.missed(format!("runs: of 200 together each uses {} more processor time", ms(more)));
    }
    Ok(())
}

/// How many runs have succeeded.
fn results(data: &Path) -> Result<u32, Problem> {
    let mut succeeded = 0;
    for entry in fs::read_dir(data.join("runs"))?.flatten() {
        let Ok(text) = fs::read(entry.path().join("result.json")) else { continue };
        let result: Value = serde_json::from_slice(&text).map_err(|error| Problem(error.to_string()))?;
        succeeded += u32::from(result["status"] == "succeeded");
    }
    Ok(succeeded)
}

/// The runtime of a server: the hosts are the program that is measured, the owner is this process.
fn runtime(program: &Program, place: &Place) -> Runtime {
    let host = program.path().to_owned();
    let setup = RuntimeSetup {
        data: DataFolder::new(place.data()),
        clock: Arc::new(SystemClock),
        engines: Engines::load(Some(&place.0.join("engines"))),
        layers: Layers::shipped(),
        skills: SearchPath::default(),
        defaults: Options::default(),
        consents: vec!["quick".to_owned()],
        redact_patterns: Vec::new(),
        environment: std::env::vars_os().collect(),
        role: OwnerRole::Server,
        own_program: host.clone(),
        cwd: place.0.clone(),
        user_home: place.0.join("home"),
        programs: None,
        temporary: std::env::temp_dir(),
        host_command: Box::new(move || {
            let mut command = Command::new(&host);
            command.arg0("skillrun").arg("attempt-host");
            command
        }),
    };
    Runtime::new(setup, SlotLimits::default())
}

/// A skill of the usual shape, with several small files.
const SMALL_SKILL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/skills/count-words");
const DISK_TARGET: u64 = 60_000;

/// What a small run leaves on the disk.
fn files(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new("files")?;
    let status = place
        .command(program, &["run", SMALL_SKILL, "--engine", "scripted", "--input", "text=one two three"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(Problem(format!("runs: the run of a small skill ended with {status}")));
    }
    let (mut files, mut bytes, mut output) = (0, 0, 0);
    let mut folders = vec![place.data().join("runs")];
    // Each folder of the run with everything in it.
    let mut parts: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let found = fs::symlink_metadata(&path)?;
            bytes += found.blocks() * 512;
            let mut below = path.strip_prefix(place.data().join("runs")).unwrap_or(&path).components().skip(1);
            if let Some(part) = below.next().filter(|_| found.is_dir() || below.next().is_some()) {
                *parts.entry(part.as_os_str().to_string_lossy().into_owned()).or_default() += found.blocks() * 512;
            }
            if found.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let is_output = path.ends_with(".audit/stdout.1.log") || path.ends_with(".audit/stderr.1.log");
                output += if is_output { found.len() } else { 0 };
            }
        }
    }
    let kb = |bytes: u64| format!("{:.1} kB", bytes as f64 / 1e3);
    let name = "files of one run of `count-words`, engine `scripted`, and their disk space with folders";
    let parts: Vec<String> = parts.into_iter().map(|(part, bytes)| format!("`{part}/` {}", kb(bytes))).collect();
    let compared = format!("for {} of output; {}", kb(output), parts.join(", "));
    table.measured(
        name,
        &format!("{files} files, {}", kb(bytes)),
        "–",
        &compared,
        &format!("under {}", kb(DISK_TARGET)),
    );
    if bytes >= DISK_TARGET {
        table.missed(format!("runs: a small run takes {} on disk", kb(bytes)));
    }
    Ok(())
}

/// Processor time of this process and of all that it waited for.
fn cpu() -> Result<Duration, Problem> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // utime, stime, cutime and cstime, in hundredths of a second on every Linux.
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}
