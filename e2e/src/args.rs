//! The command line as plain data.

use std::path::PathBuf;
use std::time::Duration;

use crate::engines::Group;
use crate::problem::Problem;
use crate::scenarios::Scenario;

pub(crate) const HELP: &str = "\
Runs the real engines through skillrun against a scripted model on loopback, and prints the results.

  --engines A,B    only these engines
  --scenarios A,B  only these scenarios
  --quick          only auto and interactive, install nothing, at most 8 minutes
  --write          write the tables of which all engines and all scenarios are run to docs/engines.md
  --boxed          start every run in a box, with the network `model` and without the permission `full`
  --keep           keep the folders of all runs, not only of failed ones
  --skillrun FILE  the program to test [target/debug/skillrun, built first]
  --inside         the network is already restricted to loopback
  --spent SECONDS  time of the limit that is already used
";

/// The limit for everything with `--quick`.
pub(crate) const QUICK_LIMIT: Duration = Duration::from_secs(8 * 60);

#[derive(Debug)]
pub(crate) enum Task {
    Try(Args),
    Help,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Args {
    /// Empty means all.
    pub(crate) engines: Vec<String>,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) extent: Extent,
    pub(crate) page: Page,
    pub(crate) folders: Folders,
    pub(crate) skillrun: Option<PathBuf>,
    pub(crate) network: Network,
    pub(crate) confinement: Confinement,
    pub(crate) spent: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    Quick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Left,
    Written,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folders {
    OfFailures,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Unrestricted; a namespace with only loopback is still to be created.
    AsItIs,
    LoopbackAlone,
}

/// Whether the engines start in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confinement {
    Off,
    On,
}

impl Confinement {
    /// The permission of runs whose engine may write without asking: in a box, less is enough.
    pub(crate) fn widest(self) -> &'static str {
        match self {
            Self::Off => "full",
            Self::On => "workspace",
        }
    }
}

impl Args {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Task, Problem> {
        let mut args = Self {
            engines: Vec::new(),
            scenarios: Vec::new(),
            extent: Extent::Full,
            page: Page::Left,
            folders: Folders::OfFailures,
            skillrun: None,
            network: Network::AsItIs,
            confinement: Confinement::Off,
            spent: Duration::ZERO,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| Problem(format!("{word} needs a value")));
            match word.as_str() {
                "--engines" => args.engines.extend(list(&value()?)),
                "--scenarios" => {
                    for name in list(&value()?) {
                        args.scenarios.push(scenario(&name)?);
                    }
                }
                "--quick" => args.extent = Extent::Quick,
                "--write" => args.page = Page::Written,
                "--boxed" => args.confinement = Confinement::On,
                "--keep" => args.folders = Folders::All,
                "--skillrun" => args.skillrun = Some(value()?.into()),
                "--inside" => args.network = Network::LoopbackAlone,
                "--spent" => {
                    let text = value()?;
                    let seconds = text.parse().map_err(|_| Problem(format!("{text} is not a number of seconds")))?;
                    args.spent = Duration::from_secs(seconds);
                }
                "--help" | "-h" => return Ok(Task::Help),
                _ => return Err(Problem(format!("unknown argument {word}; see --help"))),
            }
        }
        // A missing part of a table would look as if it had never been tested.
        let has_whole = Group::ALL.into_iter().any(|group| group.is_whole(&args.engines));
        let is_whole = has_whole && args.scenarios.is_empty() && args.extent == Extent::Full;
        if args.page == Page::Written && !is_whole {
            return Err(Problem("--write requires all engines of a table and all scenarios".to_owned()));
        }
        if args.scenarios.is_empty() {
            args.scenarios = match args.extent {
                Extent::Full => Scenario::ALL.to_vec(),
                Extent::Quick => Scenario::QUICK.to_vec(),
            };
        }
        if args.confinement == Confinement::On {
            let (left_out, kept): (Vec<_>, Vec<_>) =
                args.scenarios.into_iter().partition(|scenario| scenario.is_outside_of_boxes());
            args.scenarios = kept;
            for scenario in left_out {
                eprintln!("left out: {}, which reads or writes what a box holds back", scenario.as_str());
            }
        }
        Ok(Task::Try(args))
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn scenario(name: &str) -> Result<Scenario, Problem> {
    Scenario::ALL.iter().copied().find(|scenario| scenario.as_str() == name).ok_or_else(|| {
        let names: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.as_str()).collect();
        Problem(format!("there is no scenario {name}; there are {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Args, String> {
        match Args::read(words.iter().map(|word| (*word).to_owned())) {
            Ok(Task::Try(args)) => Ok(args),
            Ok(Task::Help) => Err("help".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    #[test]
    fn quick_is_auto_and_interactive() {
        let args = read(&["--quick"]).expect("understood");
        assert_eq!(args.scenarios, [Scenario::Auto, Scenario::Interactive]);
        assert_eq!(read(&[]).expect("understood").scenarios, Scenario::ALL);
    }

    #[test]
    fn a_part_is_not_written_to_the_page() {
        assert_eq!(read(&["--write"]).expect("understood").page, Page::Written);
        for part in [&["--engines", "codex"][..], &["--scenarios", "auto"], &["--quick"]] {
            let words = [&["--write"], part].concat();
            assert_eq!(read(&words), Err("--write requires all engines of a table and all scenarios".to_owned()));
        }
    }

    #[test]
    fn one_whole_table_may_be_written() {
        let agents = "codex-acp,claude-acp,gemini-acp,opencode-acp,qwen-acp";
        let args = read(&["--write", "--engines", agents]).expect("understood");
        assert!(Group::Agents.is_whole(&args.engines) && !Group::Clis.is_whole(&args.engines));
    }

    #[test]
    fn an_unknown_scenario_is_answered_with_the_list() {
        let error = read(&["--scenarios", "auto,nothing"]).expect_err("refused");
        assert!(error.starts_with("there is no scenario nothing; there are auto, "), "{error}");
    }
}
