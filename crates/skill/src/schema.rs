//! Local JSON Schema validation. A schema is hostile input: nothing is fetched, and it is bounded in size.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use skillrun_lifecycle::OutputValidator;

/// Largest schema that is read.
const SCHEMA_MAX: u64 = 1024 * 1024;
/// Most errors that are reported for one output.
const ERRORS_MAX: usize = 20;
/// Longest single error; values in them can be large.
const ERROR_TEXT_MAX: usize = 500;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct SchemaError {
    path: PathBuf,
    #[source]
    kind: SchemaErrorKind,
}

#[derive(Debug, thiserror::Error)]
enum SchemaErrorKind {
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
}

/// A compiled output schema.
#[derive(Debug)]
pub struct OutputSchema(jsonschema::Validator);

impl OutputSchema {
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        let read = || -> Result<Self, SchemaErrorKind> {
            if !path.is_file() {
                return Err(SchemaErrorKind::Missing);
            }
            if std::fs::metadata(path)?.len() > SCHEMA_MAX {
                return Err(SchemaErrorKind::TooLarge);
            }
            let schema = serde_json::from_slice(&std::fs::read(path)?)?;
            Self::compile(&schema).map_err(SchemaErrorKind::NotSchema)
        };
        read().map_err(|kind| SchemaError { path: path.to_owned(), kind })
    }

    fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options().build(schema).map(Self).map_err(|error| shorten(&error.to_string()))
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(ERROR_TEXT_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

impl OutputValidator for OutputSchema {
    fn errors(&self, output: &Map<String, Value>) -> Vec<String> {
        let output = Value::Object(output.clone());
        let place = |path: String| if path.is_empty() { "the output".to_owned() } else { path };
        self.0
            .iter_errors(&output)
            .take(ERRORS_MAX)
            .map(|error| format!("{}: {}", place(error.instance_path().to_string()), shorten(&error.to_string())))
            .collect()
    }
}
