//! Tables in text: values between commas, in double quotes where they contain one. The first line names the columns.

use serde_json::{Number, Value, json};

struct Column<'a> {
    name: String,
    /// Smallest and largest, if all of its values are numbers.
    range: Option<(&'a str, &'a str)>,
}

/// How many lines there are after the first one. Blank lines do not count.
pub(super) fn rows(text: &str) -> usize {
    lines(text).count().saturating_sub(1)
}

/// One object per column: its name, and the smallest and largest value of a column of numbers.
pub(super) fn columns(text: &str) -> Value {
    let object = |column: Column<'_>| match column.range.and_then(|(low, high)| number(low).zip(number(high))) {
        Some((low, high)) => json!({"name": column.name, "smallest": low, "largest": high}),
        None => json!({"name": column.name}),
    };
    read(text).into_iter().map(object).collect()
}

/// The same as lines of a Markdown table.
pub(super) fn column_table(text: &str) -> String {
    let line = |column: Column<'_>| match column.range {
        Some((low, high)) => format!("| {} | numbers | {low} | {high} |", column.name),
        None => format!("| {} | text | | |", column.name),
    };
    read(text).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn read(text: &str) -> Vec<Column<'_>> {
    let mut lines = lines(text);
    let heads = lines.next().map(fields).unwrap_or_default();
    let rows: Vec<Vec<&str>> = lines.map(fields).collect();
    let column = |(at, name): (usize, &str)| {
        let values = || rows.iter().map(|row| row.get(at).copied().unwrap_or_default()).filter(|it| !it.is_empty());
        let are_numbers = values().next().is_some() && values().all(|value| number(value).is_some());
        let by_size = |a: &&str, b: &&str| size(a).total_cmp(&size(b));
        let range = values().min_by(by_size).zip(values().max_by(by_size)).filter(|_| are_numbers);
        Column { name: name.replace("\"\"", "\""), range }
    };
    heads.into_iter().enumerate().map(column).collect()
}

/// The values of a line. Quotes inside of quotes are doubled, and stay so.
fn fields(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let at_comma = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    line.split(at_comma).map(unquoted).collect()
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

fn number(text: &str) -> Option<Number> {
    let whole: Option<Number> = text.parse::<i64>().ok().map(Number::from);
    whole.or_else(|| text.parse().ok().and_then(Number::from_f64))
}

fn size(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_quotes_and_gaps() {
        let table =
            "\"city, or town\",people,share\nBasel,178000,0.5\n\"Chur \"\"GR\"\"\",38000,\n\nBern,134000,1e2,more\n";
        assert_eq!(rows(table), 3);
        let expected = json!([
            {"name": "city, or town"},
            {"name": "people", "smallest": 38000, "largest": 178000},
            {"name": "share", "smallest": 0.5, "largest": 100.0},
        ]);
        assert_eq!(columns(table), expected);
        assert!(
            column_table(table).ends_with("| people | numbers | 38000 | 178000 |\n| share | numbers | 0.5 | 1e2 |")
        );
    }

    #[test]
    fn a_text_without_rows_has_none() {
        for text in ["", "\n\n", "a,b", "a,b\n"] {
            assert_eq!(rows(text), 0, "{text:?}");
        }
        assert_eq!(columns(""), json!([]));
        assert_eq!(columns("a,b\n"), json!([{"name": "a"}, {"name": "b"}]));
        assert_eq!(columns("a\nNaN\n"), json!([{"name": "a"}]));
    }
}
