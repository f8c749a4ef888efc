//! What comes next, for everybody who stands at the same place: looked up and written down once, however many follow.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::blocking::blocking;
use crate::summaries::{Change, Epoch, Since, Summaries};

/// The last page that somebody asked for. One at a time asks: whoever comes meanwhile mostly wants the same.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    last: Mutex<Option<Page>>,
}

#[derive(Debug, Clone)]
pub(super) struct Page {
    /// Where it is read from; none is the beginning.
    from: Option<u64>,
    /// Where its reader stands then.
    pub(super) to: u64,
    pub(super) pieces: Arc<[Bytes]>,
}

impl Pages {
    /// What comes after a number of this epoch. None when it cannot be found out.
    pub(super) async fn after(&self, number: Option<u64>, summaries: &Arc<Summaries>) -> Option<Page> {
        let mut last = self.last.lock().await;
        // A list stays good for those who begin until something changes; changes stay as they were.
        let is_good = |page: &&Page| page.from == number && (number.is_some() || page.to == summaries.last());
        if let Some(page) = last.as_ref().filter(is_good) {
            return Some(page.clone());
        }
        let epoch = summaries.epoch();
        let asked = summaries.clone();
        let since = blocking(move || asked.since(number.map(|number| (epoch, number)))).await.ok()?;
        let page = written(epoch, number, since);
        *last = Some(page.clone());
        Some(page)
    }
}

fn written(epoch: Epoch, number: Option<u64>, since: Since) -> Page {
    match since {
        Since::Reset { snapshot, number } => {
            let list = frame(epoch, number, "reset", &json!({ "runs": snapshot }));
            Page { from: None, to: number, pieces: Arc::new([list]) }
        }
        Since::Changes(changes) => {
            let to = changes.last().map(|(number, _)| *number).or(number).unwrap_or_default();
            let pieces = changes.into_iter().map(|(number, change)| match change {
                Change::Row(row) => frame(epoch, number, "run", &json!(row)),
                Change::Removed(run) => frame(epoch, number, "removed", &json!({ "run_id": run })),
            });
            Page { from: number, to, pieces: pieces.collect() }
        }
    }
}

fn frame(epoch: Epoch, number: u64, event: &str, data: &Value) -> Bytes {
    Bytes::from(format!("id: {epoch}-{number}\nevent: {event}\ndata: {data}\n\n"))
}
