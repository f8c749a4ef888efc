//! Local JSON Schema validation. A schema is hostile input: nothing is fetched, and it is bounded in size, in what its
//! references expand to (see `extent`), in the steps that holding a value against it takes and in the memory that its
//! errors take (see `steps` and `rates`), and in the steps that a regular expression may go back for each text.

mod extent;
mod names;
mod parts;
mod rates;
#[cfg(test)]
mod rounds;
mod steps;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use extent::extent;
use jsonschema::PatternOptions;
use parts::{IntoValue, counted};
use rates::Rates;
use serde_json::{Map, Value};
use skillrun_base::text::shortened;
use skillrun_model::verdict::OutputValidator;
use skillrun_model::{Classified, ErrorClass};
use steps::{Budget, CountedJson, OutOfBudget};

/// Largest schema that is read.
const SCHEMA_MAX: u64 = 1024 * 1024;
/// Most errors that are reported for one value.
const ERRORS_MAX: usize = 20;
/// Longest single error; values in them can be large.
const ERROR_TEXT_MAX: usize = 500;
/// Most parts a schema may have with all its references written out. Thirty definitions that each refer twice to the
/// next are a billion parts, and each is visited for every value, and may hold a copy of it where it does not fit.
const PARTS_MAX: u64 = 100_000;
/// Deepest nesting of parts, in the same way. A validator calls itself for each, and for each level of a value again.
const DEPTH_MAX: usize = 128;

/// Compiling a part takes as much of the stack as validating this many levels of a value against it.
const COMPILE_LEVELS: u64 = 10;

/// How often a regular expression may go back in one text. A value can have a hundred thousand texts, and the million
/// that the library allows takes a while for each.
const STEPS_BACK_MAX: usize = 10_000;

/// Most steps for finding whether a value fits. The library remembers what it has seen of references that lead back to
/// themselves, so depth costs little and this is for large values: some hundred thousand items of ten parts. All of
/// them take less than a second.
const STEPS_JUDGE: u64 = 10_000_000;
/// Most steps for finding all that is wrong with a value that does not fit; nothing is remembered then.
const STEPS_LIST: u64 = 2_000_000;
/// Most memory for what is wrong with a value: every error is kept until the end, and one inside an `anyOf` with a copy
/// of the value it is about.
const BYTES_LIST: u64 = 64 << 20;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct SchemaError {
    pub(crate) path: PathBuf,
    #[source]
    pub(crate) kind: SchemaErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum SchemaErrorKind {
    #[error("there is no such schema file")]
    Missing,
    #[error("the schema cannot be read ({0})")]
    Io(#[from] std::io::Error),
    #[error("the schema is larger than {SCHEMA_MAX} bytes")]
    TooLarge,
    #[error("the schema is not JSON ({0})")]
    NotJson(#[from] serde_json::Error),
    #[error("this is not a JSON Schema: {0}")]
    NotSchema(String),
    #[error("the schema's references expand to more than {PARTS_MAX} parts")]
    Expands,
    #[error("the schema's parts lie in each other more than {DEPTH_MAX} deep, with its references written out")]
    TooDeep,
    #[error("the schema's reference {0} leads into a value")]
    IntoValue(String),
}

impl Classified for SchemaError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    validator: jsonschema::Validator<CountedJson>,
    rates: Rates,
}

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SchemaProblem {
    /// A JSON pointer; empty for the value as a whole.
    pub path: String,
    pub message: String,
}

impl Schema {
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        Self::read_document(path).map(|(schema, _)| schema)
    }

    /// The schema, and its text as JSON.
    pub(crate) fn read_document(path: &Path) -> Result<(Self, Value), SchemaError> {
        let read = || -> Result<(Self, Value), SchemaErrorKind> {
            if !path.is_file() {
                return Err(SchemaErrorKind::Missing);
            }
            let mut bytes = Vec::new();
            File::open(path)?.take(SCHEMA_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > SCHEMA_MAX {
                return Err(SchemaErrorKind::TooLarge);
            }
            let document = serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes))?;
            Ok((Self::compile(&document)?, document))
        };
        read().map_err(|kind| SchemaError { path: path.to_owned(), kind })
    }

    pub fn compile(schema: &Value) -> Result<Self, SchemaErrorKind> {
        let extent = extent(schema, DEPTH_MAX).ok_or(SchemaErrorKind::TooDeep)?;
        if extent.parts > PARTS_MAX {
            return Err(SchemaErrorKind::Expands);
        }
        let patterns = PatternOptions::fancy_regex().backtrack_limit(STEPS_BACK_MAX);
        let options = jsonschema::options_for::<CountedJson>().offline().with_pattern_options(patterns);
        let rates = Rates::of(schema, extent);
        let schema = counted(schema).map_err(|IntoValue(reference)| SchemaErrorKind::IntoValue(shorten(&reference)))?;
        let options = options.with_keyword(steps::KEYWORD, steps::keyword);
        let compiled = steps::with_room(rates.levels.saturating_mul(COMPILE_LEVELS), || options.build(&schema));
        compiled
            .map(|validator| Self { validator, rates })
            .map_err(|error| SchemaErrorKind::NotSchema(shorten(&steps::hidden(&error.to_string()))))
    }

    /// What is wrong with a value: nothing when it fits. Where finding out takes more than is allowed, that is what is
    /// wrong with it; the same value has the same answer every time.
    pub fn problems(&self, value: &Value) -> Vec<SchemaProblem> {
        let list = Budget { steps: STEPS_LIST, bytes: BYTES_LIST };
        self.within(value, Budget { steps: STEPS_JUDGE, bytes: BYTES_LIST }, list)
    }

    /// The same with the way through the schema that leads to each problem. None: finding out takes more than is allowed.
    pub(crate) fn located_problems(&self, value: &Value) -> Option<Vec<(String, SchemaProblem)>> {
        let list = Budget { steps: STEPS_LIST, bytes: BYTES_LIST };
        let judge = Budget { steps: STEPS_JUDGE, bytes: BYTES_LIST };
        let located = |error: &jsonschema::ValidationError<'_>| (error.schema_path().to_string(), problem_of(error));
        self.listed(value, judge, list, located).ok()
    }

    fn within(&self, value: &Value, judge: Budget, list: Budget) -> Vec<SchemaProblem> {
        let whole = |message: String| vec![SchemaProblem { path: String::new(), message }];
        self.listed(value, judge, list, problem_of).unwrap_or_else(|short| match short {
            ShortOf::Judging => whole(format!(
                "takes more than {} steps to check against this schema; make the value smaller or the schema simpler",
                judge.steps
            )),
            ShortOf::Listing => whole(
                "does not fit this schema; it would take too many steps to find every place where it does not"
                    .to_owned(),
            ),
        })
    }

    fn listed<T: Send>(
        &self,
        value: &Value,
        judge: Budget,
        list: Budget,
        of: impl Fn(&jsonschema::ValidationError<'_>) -> T + Sync,
    ) -> Result<Vec<T>, ShortOf> {
        match steps::within(judge, self.rates, value, |value| self.validator.is_valid(value)) {
            Ok(true) => return Ok(Vec::new()),
            Ok(false) => {}
            Err(OutOfBudget) => return Err(ShortOf::Judging),
        }
        let listed = steps::within(list, self.rates, value, |value| -> Vec<T> {
            self.validator.iter_errors(value).take(ERRORS_MAX).map(|error| of(&error)).collect()
        });
        listed.map_err(|OutOfBudget| ShortOf::Listing)
    }
}

/// For what the budget did not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShortOf {
    Judging,
    Listing,
}

fn problem_of(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    SchemaProblem { path: error.instance_path().to_string(), message: shorten(&steps::hidden(&error.to_string())) }
}

/// A compiled output schema.
#[derive(Debug)]
pub struct OutputSchema(Schema);

impl OutputSchema {
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        Schema::read(path).map(Self)
    }
}

impl From<Schema> for OutputSchema {
    fn from(schema: Schema) -> Self {
        Self(schema)
    }
}

impl OutputValidator for OutputSchema {
    fn errors(&self, output: &Map<String, Value>) -> Vec<String> {
        let place = |path: String| if path.is_empty() { "the output".to_owned() } else { path };
        let problems = self.0.problems(&Value::Object(output.clone()));
        problems.into_iter().map(|problem| format!("{}: {}", place(problem.path), problem.message)).collect()
    }
}

pub(crate) fn shorten(text: &str) -> String {
    shortened(text, ERROR_TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use serde_json::json;
    use std::time::{Duration, Instant};

    fn compile(schema: Value) -> Result<Schema, SchemaErrorKind> {
        Schema::compile(&schema)
    }

    #[test]
    fn problems_have_a_place_and_a_sentence() {
        let schema = compile(json!({"required": ["n"], "properties": {"a": {"items": {"type": "string"}}}})).unwrap();
        let problems = schema.problems(&json!({"a": ["x", 3]}));
        let mut places: Vec<_> = problems.iter().map(|p| (p.path.as_str(), p.message.as_str())).collect();
        places.sort_unstable();
        assert_eq!(places, [("", "\"n\" is a required property"), ("/a/1", "3 is not of type \"string\"")]);
    }

    #[test]
    fn a_long_list_of_problems_is_cut() {
        let schema = compile(json!({"items": {"type": "string"}})).unwrap();
        let value = json!(vec![json!({"x": "y".repeat(10_000)}); 1000]);
        let problems = schema.problems(&value);
        assert_eq!(problems.len(), ERRORS_MAX);
        assert!(problems.iter().all(|problem| problem.message.chars().count() <= ERROR_TEXT_MAX + 1));
    }

    #[test]
    fn nothing_is_fetched() {
        for address in ["https://example.org/s.json", "file:///etc/passwd", "other.json"] {
            let error = compile(json!({"$ref": address})).unwrap_err();
            assert!(matches!(error, SchemaErrorKind::NotSchema(_)), "{error}");
        }
    }

    /// Found by trying: thirty levels took twelve seconds, forty would take hours.
    #[test]
    fn references_that_double_at_each_level_are_refused() {
        let doubled = |levels: usize| {
            let to = |level: usize| json!({"$ref": format!("#/$defs/d{level}")});
            let mut defs: Map<String, Value> = (0..levels)
                .map(|level| (format!("d{level}"), json!({"allOf": [to(level + 1), to(level + 1)]})))
                .collect();
            defs.insert(format!("d{levels}"), json!({"type": "object"}));
            compile(json!({"$defs": defs, "$ref": "#/$defs/d0"}))
        };
        assert!(matches!(doubled(40), Err(SchemaErrorKind::Expands)));
        assert!(doubled(8).is_ok());
    }

    /// Found by fuzzing: references other than plain pointers were not counted, and validation ran for hours.
    #[test]
    fn however_references_are_written_they_are_counted() {
        type Way = (fn(usize) -> Value, Option<&'static str>);
        let ways: [Way; 6] = [
            (|level| json!({"$ref": format!("#/%24defs/d{level}")}), None),
            (|level| json!({"$ref": format!("urn:x#/$defs/d{level}")}), None),
            (|level| json!({"$ref": format!("d{level}")}), Some("$id")),
            (|level| json!({"$ref": format!("#d{level}")}), Some("$anchor")),
            (|level| json!({"$dynamicRef": format!("#d{level}")}), Some("$dynamicAnchor")),
            (|level| json!({"$ref": format!("#/$defs/x/$defs/d{level}")}), None),
        ];
        for (to, naming) in ways {
            let level = |level: usize| {
                let mut part = if level < 40 { json!({"allOf": [to(level + 1), to(level + 1)]}) } else { json!({}) };
                if let Some(key) = naming {
                    part[key] = json!(format!("d{level}"));
                }
                (format!("d{level}"), part)
            };
            let mut defs: Map<String, Value> = (0..=40).map(level).collect();
            defs.insert("x".to_owned(), json!({"$defs": defs}));
            let refused = compile(json!({"$id": "urn:x", "$defs": defs, "allOf": [to(0)]}));
            assert!(matches!(refused, Err(SchemaErrorKind::Expands)), "{} {refused:?}", to(0));
        }
    }

    /// Found by trying: a chain of twenty thousand references ended the process.
    #[test]
    fn a_long_chain_of_references_is_refused() {
        let chain = |levels: usize| {
            let to = |level: usize| json!({"allOf": [{"$ref": format!("#/$defs/{level}")}]});
            let mut defs: Map<String, Value> = (0..levels).map(|level| (level.to_string(), to(level + 1))).collect();
            defs.insert(levels.to_string(), json!({"type": "object"}));
            compile(json!({"$defs": defs, "$ref": "#/$defs/0"}))
        };
        assert!(matches!(chain(20_000), Err(SchemaErrorKind::TooDeep)));
        assert!(chain(40).is_ok());
    }

    /// The stack is that of a thread, and a value can be as deep as JSON is read.
    #[test]
    fn the_deepest_schema_and_the_deepest_value_fit_a_thread() {
        let deepest = || {
            let to = |level: usize| json!({"$ref": format!("#/$defs/{level}")});
            let mut defs: Map<String, Value> = (0..60).map(|level| (level.to_string(), to(level + 1))).collect();
            defs.insert("60".to_owned(), json!({"type": "object", "additionalProperties": {"$ref": "#"}}));
            let schema = compile(json!({"$defs": defs, "$ref": "#/$defs/0"})).unwrap();
            let value = (0..126).fold(json!(3), |value, _| json!({"a": value}));
            schema.problems(&value).len()
        };
        assert_eq!(std::thread::spawn(deepest).join().unwrap(), 1);
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_fine() {
        let start = Instant::now();
        let tree = compile(json!({"type": "object", "additionalProperties": {"$ref": "#"}})).unwrap();
        assert!(tree.problems(&json!({"a": {"b": {}}})).is_empty());
        assert_eq!(tree.problems(&json!({"a": {"b": 1}})).len(), 1);
        for schema in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})] {
            compile(schema).unwrap().problems(&json!({}));
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_regular_expression_that_explodes_is_stopped() {
        let start = Instant::now();
        // With a reference back it cannot be matched in linear time.
        let schema = compile(json!({"items": {"pattern": "^(a+)+\\1*$"}})).unwrap();
        let texts = json!(vec!["a".repeat(60) + "c"; ERRORS_MAX]);
        assert_eq!(schema.problems(&texts).len(), ERRORS_MAX);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn files_that_are_no_schema() {
        let folder = Folder::new()
            .with("no.json", "{")
            .with("bom.json", "\u{feff}{}")
            .with("big.json", " ".repeat(SCHEMA_MAX as usize + 1));
        let read = |name: &str| Schema::read(&folder.at(name)).map_err(|error| error.kind);
        assert!(matches!(read("none.json"), Err(SchemaErrorKind::Missing)));
        assert!(matches!(read("no.json"), Err(SchemaErrorKind::NotJson(_))));
        assert!(matches!(read("big.json"), Err(SchemaErrorKind::TooLarge)));
        assert!(read("bom.json").is_ok());
    }
}
