//! The word that was probably meant.

/// The closest of `known` to `given`, if it is close enough to be a slip of the hand.
pub fn closest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Keys and names are short; a page in their place means none of them.
    if given.len() > 64 {
        return None;
    }
    let given = given.to_lowercase();
    let allowed = (given.chars().count() / 3).max(1);
    let near = known.into_iter().map(|word| (strsim::osa_distance(&given, &word.to_lowercase()), word));
    near.filter(|(distance, _)| *distance <= allowed).min().map(|(_, word)| word)
}

/// The end of a message about a word that is not known: what was probably meant, or all words that are known.
pub fn hint(suggestion: Option<&str>, known: &[String]) -> String {
    match suggestion {
        Some(word) => format!("; did you mean \"{word}\"?"),
        None => format!("; the known ones are: {}", known.join(", ")),
    }
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
            assert_eq!(closest(given, known), expected, "{given}");
        }
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
