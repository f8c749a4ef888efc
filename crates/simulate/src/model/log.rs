//! What clients sent: the last requests, so that a test can look at them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::scenario::is_key;
use super::wire::Wire;

/// The most requests that are remembered.
const MOST: usize = 200;
/// The most bytes of bodies that are remembered; the oldest bodies go first.
const BODIES_MAX: usize = 64 * 1024 * 1024;
/// The most names that are kept of one request.
const NAMES_MAX: usize = 200;
/// The most bytes of a name.
const NAME_MAX: usize = 256;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Counted from 1.
    pub number: u64,
    pub method: String,
    pub path: String,
    /// As it stands in the path.
    pub scenario: Option<String>,
    /// None when it asked for no answer.
    pub wire: Option<Wire>,
    pub model: Option<String>,
    /// Names of the tools that it offers.
    pub tools: Vec<String>,
    /// Names of the folders of which it mentions a `SKILL.md`.
    pub skills: Vec<String>,
    /// None when there is no room for it any more.
    pub body: Option<Arc<[u8]>>,
}

impl Seen {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "number": self.number, "method": self.method, "path": self.path, "scenario": self.scenario,
            "wire": self.wire.map(Wire::as_str), "model": self.model, "offers_tools": !self.tools.is_empty(),
            "tools": self.tools, "skills": self.skills, "bytes": self.body.as_ref().map(|body| body.len()),
        })
    }

    pub(super) fn bounded(mut self) -> Self {
        for names in [&mut self.tools, &mut self.skills] {
            *names = names.iter().take(NAMES_MAX).map(|name| cut(name)).collect();
        }
        (self.method, self.path) = (cut(&self.method), cut(&self.path));
        (self.scenario, self.model) = (self.scenario.as_deref().map(cut), self.model.as_deref().map(cut));
        self
    }
}

/// The beginning of a name, in no more memory than it needs.
fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(NAME_MAX)].to_owned()
}

#[derive(Debug, Default)]
pub(super) struct Log {
    seen: VecDeque<Seen>,
    bodies: usize,
}

impl Log {
    pub(super) fn add(&mut self, seen: Seen) {
        self.bodies += seen.body.as_ref().map_or(0, |body| body.len());
        self.seen.push_back(seen);
        if self.seen.len() > MOST
            && let Some(oldest) = self.seen.pop_front()
        {
            self.bodies -= oldest.body.map_or(0, |body| body.len());
        }
        for oldest in &mut self.seen {
            if self.bodies <= BODIES_MAX {
                break;
            }
            self.bodies -= oldest.body.take().map_or(0, |body| body.len());
        }
    }

    pub(super) fn all(&self) -> Vec<Seen> {
        self.seen.iter().cloned().collect()
    }

    pub(super) fn body(&self, number: u64) -> Option<Arc<[u8]>> {
        self.seen.iter().find(|seen| seen.number == number)?.body.clone()
    }
}

/// Names of the folders of which a text mentions a `SKILL.md`.
pub(super) fn skills(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("/SKILL.md") {
        let before = &text[..at];
        // A name is short; what is longer is something else.
        let from = before.ceil_char_boundary(before.len().saturating_sub(100));
        if let Some((_, name)) = before[from..].rsplit_once('/')
            && is_key(name)
            && names.len() < NAMES_MAX
        {
            names.insert(name.to_owned());
        }
    }
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u64, bytes: usize) -> Seen {
        Seen {
            number,
            method: "POST".to_owned(),
            path: "/".to_owned(),
            scenario: None,
            wire: None,
            model: None,
            tools: Vec::new(),
            skills: Vec::new(),
            body: Some(vec![b'x'; bytes].into()),
        }
    }

    #[test]
    fn old_requests_and_old_bodies_go_first() {
        let mut log = Log::default();
        for number in 1..=201 {
            log.add(seen(number, 1));
        }
        assert_eq!((log.all().len(), log.all()[0].number, log.bodies), (200, 2, 200));
        log.add(seen(202, BODIES_MAX - 100));
        assert_eq!(log.bodies, BODIES_MAX);
        assert_eq!(log.body(101), None);
        assert_eq!(log.body(102).map(|body| body.len()), Some(1));
        assert!(log.body(202).is_some() && log.body(999).is_none());
    }

    /// Regression: a body of 16 MiB could be one name, kept beside the bodies (found by a review).
    #[test]
    fn names_are_cut() {
        let long = "\u{e9}".repeat(200_000);
        let names = vec![long.clone(); 300];
        let all = Seen {
            method: long.clone(),
            path: long.clone(),
            scenario: Some(long.clone()),
            model: Some(long.clone()),
            tools: names.clone(),
            skills: names,
            ..seen(1, 1)
        };
        let kept = all.bounded();
        let few = [&kept.method, &kept.path].into_iter().chain(&kept.scenario).chain(&kept.model);
        assert!(
            few.chain(&kept.tools).chain(&kept.skills).all(|name| name.capacity() == 256 && long.starts_with(name))
        );
        assert_eq!((kept.tools.len(), kept.skills.len()), (200, 200));
        let short = Seen { model: Some("m".to_owned()), ..seen(1, 1) }.bounded();
        assert_eq!((short.model.as_deref(), short.method.as_str(), short.path.as_str()), (Some("m"), "POST", "/"));
    }

    #[test]
    fn skills_are_seen_by_their_files() {
        let body =
            br"- greet: says hello (file: /some/x/.agents/skills/greet/SKILL.md) /a/b/SKILL.md SKILL.md /SKILL.md";
        assert_eq!(skills(body), ["b", "greet"]);
    }
}
