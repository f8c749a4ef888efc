//! The next changes for all readers at the same position: queried and rendered once, however many clients follow.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::blocking::blocking;
use crate::summaries::{Epoch, RowChange, Since, Summaries};

/// The changes requested last. Only one request at a time queries: the requests that arrive meanwhile mostly need the
/// same changes.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    last: Mutex<Option<Page>>,
}

#[derive(Debug, Clone)]
pub(super) struct Page {
    /// The position it is read from; none is the beginning.
    from: Option<u64>,
    /// The position of a reader that has it.
    pub(super) to: u64,
    pub(super) pieces: Arc<[Bytes]>,
}

impl Pages {
    /// The changes after a number of this epoch. None when the query fails.
    pub(super) async fn after(&self, number: Option<u64>, summaries: &Arc<Summaries>) -> Option<Page> {
        let mut last = self.last.lock().await;
        if let Some(page) = last.as_ref().filter(|page| page.from == number) {
            return Some(page.clone());
        }
        let epoch = summaries.epoch();
        let asked = summaries.clone();
        let since = blocking(move || asked.since(number.map(|number| (epoch, number)))).await.ok()?;
        let page = written(epoch, number, since);
        // Changes do not change afterwards, but the list of runs does: a reader that begins gets its own list. An empty
        // page is not kept: it is out of date as soon as there are changes, and a guessed number may be reached later.
        if page.from.is_some() && !page.pieces.is_empty() {
            *last = Some(page.clone());
        }
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
                RowChange::Row(row) => frame(epoch, number, "run", &json!(row)),
                RowChange::Removed(run) => frame(epoch, number, "removed", &json!({ "run_id": run })),
            });
            Page { from: number, to, pieces: pieces.collect() }
        }
    }
}

fn frame(epoch: Epoch, number: u64, event: &str, data: &Value) -> Bytes {
    Bytes::from(format!("id: {epoch}-{number}\nevent: {event}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summaries::tests::{World, make, run};

    async fn texts(pages: &Pages, number: Option<u64>, summaries: &Arc<Summaries>) -> Vec<String> {
        let page = pages.after(number, summaries).await.expect("asked");
        page.pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[tokio::test]
    async fn changes_are_shared_and_lists_are_not() {
        let world = World::new();
        make(&world.log, run(1));
        let (pages, summaries) = (Pages::default(), world.start());
        let list = pages.after(None, &summaries).await.expect("asked");
        assert!(texts(&pages, Some(list.to), &summaries).await.is_empty(), "nothing comes after it");

        make(&world.log, run(2));
        let next = pages.after(Some(list.to), &summaries).await.expect("asked");
        assert_eq!((next.pieces.len(), next.to), (1, list.to + 1), "what was empty is asked for again");
        make(&world.log, run(3));
        let late = pages.after(Some(list.to), &summaries).await.expect("asked");
        assert!(Arc::ptr_eq(&next.pieces, &late.pieces), "what has happened stays as it was");
        let [last] = &texts(&pages, Some(next.to), &summaries).await[..] else { panic!("one change") };
        assert!(last.contains("event: run") && last.contains(&run(3).to_string()), "{last}");

        let [list] = &texts(&pages, None, &summaries).await[..] else { panic!("one list") };
        for n in 1..=3 {
            assert!(list.contains(&run(n).to_string()), "who begins gets all there is: {list}");
        }
    }
}
