//! `skillrun ls`: the runs, newest first.

use serde_json::{Value, json};
use skillrun_catalog::Catalog;
use skillrun_catalog::{ParentFilter, Query, Row};
use skillrun_model::interaction::Scope;
use skillrun_model::presenters::RunState;
use skillrun_model::{RunStatus, Timestamp};
use skillrun_runs::owner_sockets::crashed;

use crate::args::{Global, Ls, OutputForm, Since};
use crate::exit::run_words;
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, cut, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;
use crate::words::{counted, from_now, lasting, moment, newer_events, now, status_ink};

const NONE: &str = "There are no runs yet. `skillrun run SKILL` starts one; `skillrun skills` lists skills.\n";

pub(crate) fn run(global: &Global, args: &Ls) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    // A command that only reads does not create the data folder.
    if args.json.form() == OutputForm::Text && !place.settings.data.runs().exists() {
        return print(NONE);
    }
    let mut catalog = place.catalog()?;
    let now = now();
    let since = args.since.map(|since| match since {
        Since::At(moment) => moment,
        Since::Ago(ago) => before(now, ago),
    });
    let most = if args.all { None } else { Some(args.number as usize) };
    let query = Query {
        statuses: args.status.clone(),
        skill: args.skill.clone(),
        engine: args.engine.clone(),
        parent: if args.children { ParentFilter::Any } else { ParentFilter::Without },
        text: None,
        since,
        limit: most,
        after: None,
    };
    let rows = catalog.list(&query)?;
    let more = match most {
        Some(most) if rows.len() == most => matching(&mut catalog, &query)?.saturating_sub(most),
        Some(_) | None => 0,
    };
    let ids = ShortIds::new(&place.ids());
    match args.json.form() {
        OutputForm::Json => print_json(&json!({
            "runs": rows.iter().map(|row| row_json(row, &ids)).collect::<Vec<_>>(),
            "more": more,
            "crashed_owners": crashed(&place.settings.data).len(),
        }))?,
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            let text = if rows.is_empty() { nothing(&query, &mut catalog)? } else { list(&rows, &ids, now, &output) };
            print(&text)?;
            if more > 0 {
                let runs = counted(more, "more run", "more runs");
                print(&output.paint(Ink::Dim, &format!("{runs}; `skillrun ls --all` lists all of them")))?;
                print("\n")?;
            }
            if !crashed(&place.settings.data).is_empty() {
                note("an owner process died with unfinished runs; `skillrun recover` resumes them");
            }
        }
    }
    Ok(())
}

/// The moment this long before another, or the earliest possible one.
fn before(moment: Timestamp, ago: std::time::Duration) -> Timestamp {
    let since_epoch = moment.millis_since(Timestamp::EPOCH).unwrap_or(0);
    let millis = since_epoch.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX));
    Timestamp::EPOCH.plus_nanos(millis.saturating_mul(1_000_000))
}

/// How many runs match.
fn matching(catalog: &mut Catalog, query: &Query) -> Result<usize, Failure> {
    Ok(usize::try_from(catalog.count(&Query { limit: None, ..query.clone() })?).unwrap_or(usize::MAX))
}

fn nothing(query: &Query, catalog: &mut Catalog) -> Result<String, Failure> {
    let all = Query { parent: query.parent, ..Query::default() };
    let any = matching(catalog, &all)?;
    if any > 0 && *query != (Query { limit: query.limit, ..all }) {
        return Ok(match any {
            1 => "The only run does not match.\n".to_owned(),
            more => format!("None of the {more} runs matches.\n"),
        });
    }
    Ok(NONE.to_owned())
}

fn row_json(row: &Row, ids: &ShortIds) -> Value {
    let mut value = json!(row);
    if let Value::Object(fields) = &mut value {
        fields.shift_insert(1, "short_id".to_owned(), json!(ids.of(row.run_id)));
    }
    value
}

fn list(rows: &[Row], ids: &ShortIds, now: Timestamp, output: &Output) -> String {
    let heading = ["RUN", "STATUS", "SKILL", "ENGINE", "BEGAN", "TOOK"].map(|head| (Ink::Dim, head.to_owned()));
    let lines = rows.iter().map(|row| {
        let unknown = || "?".to_owned();
        // The events before a damage do not show the state of the run.
        let status = row.status.filter(|_| row.damage.is_none());
        let status = status.map_or((Ink::Bad, "damaged".to_owned()), |s| (status_ink(s), s.to_string()));
        [
            (Ink::Bold, ids.of(row.run_id)),
            status,
            (Ink::Plain, task(row).unwrap_or_else(unknown)),
            (Ink::Plain, row.engine.as_deref().map_or_else(unknown, plain)),
            (Ink::Plain, row.created_at.map_or_else(unknown, |moment| from_now(moment, now))),
            (Ink::Dim, took(row, now)),
        ]
    });
    let table = output.table(&std::iter::once(heading).chain(lines).collect::<Vec<_>>(), LastColumn::Wrapped);
    let mut text = String::new();
    // A remark about a run has a line of its own, because the other columns leave it no room.
    let details = std::iter::once(None).chain(rows.iter().map(|row| detail(row, now)));
    for (line, detail) in table.lines().zip(details) {
        text += &format!("{line}\n");
        if let Some(detail) = detail {
            let row = [(Ink::Plain, String::new()), (Ink::Plain, plain(&detail))];
            text += &output.table(&[row], LastColumn::Cut);
        }
    }
    text
}

/// Columns of a prompt that are shown beside the other columns.
const PROMPT_WIDTH: usize = 24;

/// The skill, or the beginning of the prompt.
pub(super) fn task(row: &Row) -> Option<String> {
    let prompt = || row.title.as_deref().map(|title| cut(&plain(title), PROMPT_WIDTH));
    row.skill.as_deref().map(plain).or_else(prompt)
}

/// How long the run took, or has taken so far. Nothing for a waiting run: no engine works.
pub(super) fn took(row: &Row, now: Timestamp) -> String {
    let end = match row.status.filter(|_| row.damage.is_none()) {
        Some(RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled) => row.updated_at,
        Some(RunStatus::Running) => Some(now),
        Some(RunStatus::Queued | RunStatus::WaitingUser) | None => None,
    };
    let (Some(begin), Some(end)) = (row.created_at, end) else { return String::new() };
    lasting(end.millis_since(begin).unwrap_or(0))
}

/// The code has a general text; the run has its own.
fn failure_words(row: &Row) -> Option<String> {
    let code = row.error_code?;
    let words = row.error_message.as_deref().filter(|words| !words.is_empty()).unwrap_or(code.summary());
    Some(format!("{code} · {words}"))
}

pub(super) fn detail(row: &Row, now: Timestamp) -> Option<String> {
    if let Some(damage) = &row.damage {
        return Some(format!("its Log is {damage}"));
    }
    if let Some(count) = row.newer_events {
        return Some(newer_events(count));
    }
    match row.status? {
        RunStatus::WaitingUser => {
            let question = row.question.as_ref()?;
            let waits = run_words(RunState::of(RunStatus::WaitingUser, Some(question.scope)));
            match question.scope {
                Scope::Turn | Scope::Call | Scope::Step => Some(format!("asks: {}", question.prompt)),
                // The row has the error of the last turn, if that had one.
                Scope::Prompt => Some(
                    failure_words(row)
                        .map_or_else(|| waits.to_owned(), |words| format!("{waits}; the last turn failed: {words}")),
                ),
            }
        }
        RunStatus::Failed => {
            let retried = row.retried_as.map(|run| format!("; retried as {run}")).unwrap_or_default();
            failure_words(row).or_else(|| row.reason_code.map(|code| code.to_string())).map(|words| words + &retried)
        }
        RunStatus::Queued => {
            let at = row.not_before.filter(|at| *at > now)?;
            Some(format!("not before {} ({})", moment(at), from_now(at, now)))
        }
        RunStatus::Running | RunStatus::Succeeded | RunStatus::Closed | RunStatus::Canceled => None,
    }
}
