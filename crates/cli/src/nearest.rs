//! Suggests the name that was probably meant.

/// The closest of `known`, if it is close enough to be a typing error.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names are short; a long text is not a misspelled name.
    if given.len() > 64 {
        return None;
    }
    let given = given.to_lowercase();
    let allowed = (given.chars().count() / 3).max(1);
    let near = known.into_iter().map(|word| (strsim::osa_distance(&given, &word.to_lowercase()), word));
    near.filter(|(distance, _)| *distance <= allowed).min().map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_seen_and_other_words_are_not() {
        let known = ["engine", "engines", "home"];
        for (given, expected) in [
            ("egnine", Some("engine")),
            ("Engines", Some("engines")),
            ("hom", Some("home")),
            ("lunch", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), expected, "{given}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
