//! The word that was probably meant.

/// The closest of `known` to `given`, if it is close enough to be a typing error.
pub(crate) fn closest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Keys and names are short; a page of text in their place does not mean any of them.
    if given.len() > 64 {
        return None;
    }
    let given = given.to_ascii_lowercase();
    let allowed = (given.chars().count() / 3).max(1);
    let best = known.into_iter().map(|word| (distance(&given, &word.to_ascii_lowercase()), word)).min()?;
    (best.0 <= allowed).then(|| best.1.to_owned())
}

/// The number of letters that must be inserted, deleted, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let exchanged = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = exchanged.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_other_words_are_not() {
        let known = ["codex", "gemini", "opencode", "argv"];
        let cases = [
            ("codx", Some("codex")),
            ("Codex", Some("codex")),
            ("opncode", Some("opencode")),
            ("gemnii", Some("gemini")),
            ("args", Some("argv")),
            ("agrv", Some("argv")),
            ("claude", None),
            ("", None),
        ];
        for (given, expected) in cases {
            assert_eq!(closest(given, known).as_deref(), expected, "{given}");
        }
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
