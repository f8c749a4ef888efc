//! The cost of idle runs.

use super::*;

#[test]
fn only_busy_runs_keep_their_file_open() {
    let folder = TempDir::new().expect("a folder");
    let log = FileLog::new(folder.path());
    let runs: Vec<RunId> = (0..200).map(run_id).collect();
    for (run, seq) in runs.iter().flat_map(|run| [(*run, 1), (*run, 2)]) {
        if seq == 1 {
            log.create(run).expect("a Log");
        }
        log.append(run, Seq(seq), &events(run, seq, seq + 1), Durability::Derived).expect("appended");
    }
    assert_eq!(log.runs_with_files(), 64);
    for run in &runs {
        log.append(*run, Seq(3), &events(*run, 3, 4), Durability::Derived).expect("opened again");
    }
    assert_eq!(log.runs_with_files(), 64);
    for run in &runs {
        log.release(*run);
        assert_eq!(read_all(&log, *run, MANY), events(*run, 1, 4));
    }
    assert_eq!(log.runs_with_files(), 0);
}
