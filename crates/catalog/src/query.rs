//! The queries. All are answered from the rows as they are; call [`Catalog::refresh`] first.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params, params_from_iter};
use serde::Serialize;
use skillrun_lifecycle::run::ChildProgress;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::interaction::Pending;
use skillrun_model::{RunId, RunStatus, Timestamp};

use super::fold::Fold;
use super::refresh::{json, run_id};
use super::row::{Resting, Row, RowQuestion, TreeRow, Unfinished, Waiting, WaitingPosition, asks_until};
use super::trouble::CatalogError;
use super::view::Catalog;
use super::words;

/// The filter of a list. The default is all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Any of these; all when empty.
    pub statuses: Vec<RunStatus>,
    pub skill: Option<String>,
    pub engine: Option<String>,
    pub parent: ParentFilter,
    /// Somewhere in its id, skill, title, engine, codes, or in the pending question; ignoring case. Only the first
    /// [`TEXT_MAX`](super::TEXT_MAX) characters count.
    pub text: Option<String>,
    /// Begun at this time or later. A run whose beginning cannot be read is included.
    pub since: Option<Timestamp>,
    pub limit: Option<usize>,
    /// The last run of the previous page.
    pub after: Option<RunId>,
}

/// Whether runs that other runs have asked for are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ParentFilter {
    /// All runs.
    #[default]
    Any,
    /// Only runs without a parent.
    Without,
    /// Only children of this run.
    Of(RunId),
}

/// How many runs there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub by_status: BTreeMap<RunStatus, u64>,
    /// Runs whose Log cannot be read far enough to know the status.
    pub unknown: u64,
}

impl Catalog {
    pub fn get(&mut self, run: RunId) -> Result<Option<Row>, CatalogError> {
        let id = run.to_string();
        self.ask(|db| db.query_row("SELECT row FROM details WHERE run_id = ?1", [&id], |row| json(row, 0)).optional())
    }

    /// Newest first, which is the order of their ids: these begin with the time.
    pub fn list(&mut self, query: &Query) -> Result<Vec<Row>, CatalogError> {
        let (sql, values) = selection(query);
        self.ask(|db| db.prepare(&sql)?.query_map(params_from_iter(&values), |row| json(row, 0))?.collect())
    }

    /// How many runs a list without a limit would have.
    pub fn count(&mut self, query: &Query) -> Result<u64, CatalogError> {
        let (conditions, values) = conditions(query);
        let sql = format!("SELECT count(*) FROM runs CROSS JOIN details USING (run_id) WHERE {conditions}");
        self.ask(|db| db.query_row(&sql, params_from_iter(&values), |row| row.get::<_, u32>(0)).map(u64::from))
    }

    /// A run and all runs below it, each after its parent, siblings in the order in which they were asked for. Empty
    /// where there is no such run.
    pub fn tree(&mut self, run: RunId) -> Result<Vec<TreeRow>, CatalogError> {
        let Some(top) = self.get(run)? else { return Ok(Vec::new()) };
        let rows = self.below(&top)?;
        let mut below: HashMap<RunId, Vec<Row>> = HashMap::new();
        for row in rows {
            if let Some(link) = &row.parent {
                below.entry(link.run_id).or_default().push(row);
            }
        }
        let (mut open, mut tree) = (vec![top], Vec::new());
        while let Some(row) = open.pop() {
            // The newest first, so that the oldest is taken first.
            open.extend(below.remove(&row.run_id).unwrap_or_default());
            tree.push(row);
        }
        let said = self.said_of_children(&tree)?;
        let row = |row: Row| {
            let parent_says = said.get(&row.run_id).copied().filter(|_| row.run_id != run);
            let is_over = row.status.is_some_and(RunStatus::is_terminal);
            let reconciled = is_over && parent_says == Some(SubagentStatus::Detached);
            TreeRow { row, parent_says, reconciled }
        };
        Ok(tree.into_iter().map(row).collect())
    }

    /// The runs with the root of a run that have a parent, the newest first.
    fn below(&mut self, run: &Row) -> Result<Vec<Row>, CatalogError> {
        let root = run.parent.as_ref().map_or(run.run_id, |link| link.root).to_string();
        let sql = "SELECT row FROM runs CROSS JOIN details USING (run_id) WHERE root = ?1 ORDER BY run_id DESC";
        self.ask(|db| db.prepare(sql)?.query_map([&root], |row| json(row, 0))?.collect())
    }

    /// The runs of a family that name a parent, with it: also those whose parent does not exist any more. Of a run that
    /// has a parent itself, those below it alone.
    pub fn linked(&mut self, run: RunId) -> Result<Vec<(RunId, RunId)>, CatalogError> {
        let Some(top) = self.get(run)? else { return Ok(Vec::new()) };
        let has_parent = top.parent.is_some();
        let links = |row: &Row| row.parent.as_ref().map(|link| (row.run_id, link.run_id));
        let mut links: Vec<(RunId, RunId)> = self.below(&top)?.iter().filter_map(links).collect();
        // The oldest first, so that each run comes after its parent.
        links.reverse();
        let mut known = HashSet::from([run]);
        links.retain(|(child, parent)| {
            let is_below = !has_parent || known.contains(parent);
            is_below && known.insert(*child)
        });
        Ok(links)
    }

    /// What the Logs of parents say of the ends of their children.
    fn said_of_children(&mut self, tree: &[Row]) -> Result<HashMap<RunId, SubagentStatus>, CatalogError> {
        let parents: HashSet<RunId> = tree.iter().filter_map(|row| Some(row.parent.as_ref()?.run_id)).collect();
        self.ask(|db| {
            let mut said = HashMap::new();
            let mut statement = db.prepare("SELECT fold FROM details WHERE run_id = ?1")?;
            for parent in &parents {
                let fold: Option<Fold> = statement.query_row([&parent.to_string()], |row| json(row, 0)).optional()?;
                for child in fold.into_iter().flat_map(|fold| fold.state.children) {
                    if let ChildProgress::Ended(status) = child.progress {
                        said.insert(child.run_id, status);
                    }
                }
            }
            Ok(said)
        })
    }

    /// The complete question of one run.
    pub fn pending(&mut self, run: RunId) -> Result<Option<Pending>, CatalogError> {
        let id = run.to_string();
        let fold: Option<Fold> = self.ask(|db| {
            db.query_row("SELECT fold FROM details WHERE run_id = ?1", [&id], |row| json(row, 0)).optional()
        })?;
        Ok(fold.and_then(|fold| fold.state.question))
    }

    /// The pending questions after a position, at most `limit`; those with a deadline first, in the order of the
    /// deadlines.
    pub fn waiting(
        &mut self,
        after: Option<WaitingPosition>,
        limit: Option<usize>,
    ) -> Result<Vec<Waiting>, CatalogError> {
        // Before every position there is an empty text.
        let (until, run) = after.map_or_else(Default::default, |at| (asks_until(at.deadline), at.run_id.to_string()));
        // No limit is -1.
        let limit = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        self.ask(|db| {
            let sql = "SELECT run_id, fold FROM runs CROSS JOIN details USING (run_id)
                WHERE asks_until IS NOT NULL AND (asks_until, run_id) > (?1, ?2) ORDER BY asks_until, run_id LIMIT ?3";
            let mut statement = db.prepare(sql)?;
            let mut rows = statement.query(params![until, run, limit])?;
            let mut waiting = Vec::new();
            while let Some(row) = rows.next()? {
                let run_id = run_id(row, 0)?;
                let Fold { state, started, .. } = json(row, 1)?;
                if let Some(question) = state.question {
                    let (skill, title, engine) =
                        started.map_or((None, None, None), |run| (run.skill, run.title, Some(run.engine)));
                    waiting.push(Waiting { run_id, skill, title, engine, question });
                }
            }
            Ok(waiting)
        })
    }

    /// How many questions are pending.
    pub fn waiting_count(&mut self) -> Result<u64, CatalogError> {
        let sql = "SELECT count(*) FROM runs WHERE asks_until IS NOT NULL";
        self.ask(|db| db.query_row(sql, [], |row| row.get::<_, u32>(0)).map(u64::from))
    }

    pub fn counts(&mut self) -> Result<Counts, CatalogError> {
        self.ask(|db| {
            let mut counts = Counts::default();
            let mut statement = db.prepare("SELECT status, count(*) FROM runs GROUP BY status")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (status, count): (Option<String>, u32) = (row.get(0)?, row.get(1)?);
                match status.and_then(|status| status.parse().ok()) {
                    Some(status) => *counts.by_status.entry(status).or_default() += u64::from(count),
                    None => counts.unknown += u64::from(count),
                }
            }
            Ok(counts)
        })
    }

    /// Unfinished runs, oldest first, including those whose status is unknown because of their Log.
    pub fn not_terminal(&mut self) -> Result<Vec<RunId>, CatalogError> {
        let over = RunStatus::ALL.iter().filter(|status| status.is_terminal());
        let over: Vec<_> = over.map(|status| format!("'{status}'")).collect();
        let sql = format!(
            "SELECT run_id FROM runs WHERE status IS NULL OR status NOT IN ({}) ORDER BY run_id",
            over.join(", ")
        );
        self.ask(|db| ids(&mut db.prepare(&sql)?, []))
    }

    /// The same, grouped by what they need, including runs whose retry is missing and may still be created.
    pub fn unfinished(&mut self, now: Timestamp) -> Result<Unfinished, CatalogError> {
        // Not by `asks_until`: a run that waits for the next prompt asks nothing, and needs no owner either.
        let sql = "SELECT row FROM runs CROSS JOIN details USING (run_id) WHERE status = ?1";
        let waiting = [RunStatus::WaitingUser.as_str()];
        let rows: Vec<Row> = self.ask(|db| db.prepare(sql)?.query_map(waiting, |row| json(row, 0))?.collect())?;
        let resting = |row: &Row| {
            let question = row.question.as_ref().filter(|_| row.rests)?;
            let RowQuestion { interaction_id, deadline, .. } = *question;
            // Nothing is written for a run that waits, so its last event came with the question.
            Some(Resting { run_id: row.run_id, interaction_id, deadline, asked_at: row.updated_at })
        };
        let resting: Vec<Resting> = rows.iter().filter_map(resting).collect();
        let known: HashSet<RunId> = resting.iter().map(|resting| resting.run_id).collect();
        let restless = self.not_terminal()?.into_iter().filter(|run| !known.contains(run)).collect();
        let sql = "SELECT run_id FROM runs AS failed WHERE retried_until >= ?1
            AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = failed.retried_as) ORDER BY run_id";
        let unretried = self.ask(|db| ids(&mut db.prepare(sql)?, [now.to_string()]))?;
        Ok(Unfinished { resting, restless, unretried })
    }
}

fn ids(statement: &mut rusqlite::Statement<'_>, params: impl rusqlite::Params) -> rusqlite::Result<Vec<RunId>> {
    statement.query_map(params, |row| run_id(row, 0))?.collect()
}

fn selection(query: &Query) -> (String, Vec<Value>) {
    let (conditions, mut values) = conditions(query);
    let mut sql =
        format!("SELECT row FROM runs CROSS JOIN details USING (run_id) WHERE {conditions} ORDER BY run_id DESC");
    if let Some(limit) = query.limit {
        sql.push_str(" LIMIT ?");
        values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    }
    (sql, values)
}

/// What a run must satisfy, without the limit.
fn conditions(query: &Query) -> (String, Vec<Value>) {
    let Query { statuses, skill, engine, parent, text, since, limit: _, after } = query;
    let mut conditions = vec!["TRUE".to_owned()];
    let mut values = Vec::new();
    let mut with = |condition: &str, value: String| {
        conditions.push(condition.to_owned());
        values.push(Value::Text(value));
    };
    if let Some(skill) = skill {
        with("skill = ?", skill.clone());
    }
    if let Some(engine) = engine {
        with("engine = ?", engine.clone());
    }
    if let ParentFilter::Of(parent) = parent {
        with("parent = ?", parent.to_string());
    }
    if let Some(text) = text {
        with("instr(words, ?) > 0", words::wanted(text));
    }
    if let Some(since) = since {
        with("(created_at IS NULL OR created_at >= ?)", since.to_string());
    }
    if let Some(after) = after {
        with("run_id < ?", after.to_string());
    }
    if *parent == ParentFilter::Without {
        conditions.push("parent IS NULL".to_owned());
    }
    if !statuses.is_empty() {
        conditions.push(format!("status IN ({})", vec!["?"; statuses.len()].join(", ")));
        values.extend(statuses.iter().map(|status| Value::Text(status.as_str().to_owned())));
    }
    (conditions.join(" AND "), values)
}
