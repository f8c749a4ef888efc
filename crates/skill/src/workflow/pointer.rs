//! Values with pointers in them, as `with` of a step has: an object with the single key `from` stands for the value to
//! which its text leads. There is no other expression. Nothing here knows where values come from.

use std::fmt;

use serde_json::{Map, Value};
use skillrun_model::workflow::StepId;

/// The key of the objects that stand for other values.
pub const FROM: &str = "from";

/// Where a value comes from. `rest` is a JSON pointer into it, and empty for the whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pointer {
    /// `/inputs/NAME/…`: an input of the workflow.
    Input { name: String, rest: String },
    /// `/steps/ID/output/…`: the output of a step. That of a step that repeats is the list of the outputs of its items.
    StepOutput { step: StepId, rest: String },
    /// `/steps/ID/text`: the last answer of a step as text; of a step that repeats, the list of those of its items.
    StepText { step: StepId },
    /// `/item/…`: the item for which a step that repeats runs.
    Item { rest: String },
}

/// Why a pointer has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerFault {
    #[error(
        "\"{0}\" is not a pointer; it must be /inputs/NAME, /steps/ID/output, /steps/ID/text or /item, \
         and a pointer into an input, an output or an item may continue"
    )]
    NotAPointer(String),
    #[error("{0} leads to nothing")]
    Nowhere(Pointer),
    /// In the words of the caller.
    #[error("{pointer} {problem}")]
    Unavailable { pointer: Pointer, problem: String },
}

/// Longest pointer that a message quotes.
const SHOWN_MAX: usize = 120;

impl Pointer {
    pub fn parse(text: &str) -> Result<Self, PointerFault> {
        Self::read(text).ok_or_else(|| {
            PointerFault::NotAPointer(skillrun_base::text::shortened(&text.escape_debug().to_string(), SHOWN_MAX))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let (head, after) = next_token(text)?;
        match head.as_str() {
            "inputs" => {
                let (name, rest) = next_token(after)?;
                Some(Self::Input { name, rest: checked(rest)? })
            }
            "steps" => {
                let (step, after) = next_token(after)?;
                let step = StepId(step);
                let (part, rest) = next_token(after)?;
                match part.as_str() {
                    "output" => Some(Self::StepOutput { step, rest: checked(rest)? }),
                    "text" if rest.is_empty() => Some(Self::StepText { step }),
                    _ => None,
                }
            }
            "item" => Some(Self::Item { rest: checked(after)? }),
            _ => None,
        }
    }

    /// The pointer for which a value stands. None: the value stands for itself.
    pub fn of(value: &Value) -> Option<Result<Self, PointerFault>> {
        let object = value.as_object().filter(|object| object.len() == 1)?;
        let text = object.get(FROM)?.as_str().filter(|text| text.starts_with('/'))?;
        Some(Self::parse(text))
    }

    /// The step whose result it leads to.
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::StepOutput { step, .. } | Self::StepText { step } => Some(step),
            Self::Input { .. } | Self::Item { .. } => None,
        }
    }

    /// The way inside of the value, as a JSON pointer.
    pub fn rest(&self) -> &str {
        match self {
            Self::Input { rest, .. } | Self::StepOutput { rest, .. } | Self::Item { rest } => rest,
            Self::StepText { .. } => "",
        }
    }

    /// The names on the way inside of the value.
    pub fn tokens(&self) -> impl Iterator<Item = String> + '_ {
        let rest = self.rest();
        rest.split('/').skip(1).map(unescaped)
    }

    /// The part of the whole value (an input, an output, an item) to which it leads.
    pub fn part_of(&self, whole: &Value) -> Result<Value, PointerFault> {
        whole.pointer(self.rest()).cloned().ok_or_else(|| PointerFault::Nowhere(self.clone()))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { name, rest } => write!(f, "/inputs/{}{rest}", escaped(name)),
            Self::StepOutput { step, rest } => write!(f, "/steps/{}/output{rest}", escaped(&step.0)),
            Self::StepText { step } => write!(f, "/steps/{}/text", escaped(&step.0)),
            Self::Item { rest } => write!(f, "/item{rest}"),
        }
    }
}

/// The first name of a JSON pointer, and what follows.
fn next_token(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find('/').unwrap_or(text.len());
    let (token, rest) = text.split_at(end);
    (!token.is_empty() && is_escaped(token)).then(|| (unescaped(token), rest))
}

/// A JSON pointer, which may be empty.
fn checked(rest: &str) -> Option<String> {
    is_escaped(rest).then(|| rest.to_owned())
}

/// A `~` is always followed by `0` or `1`.
fn is_escaped(text: &str) -> bool {
    text.split('~').skip(1).all(|after| after.starts_with(['0', '1'])) && !text.chars().any(char::is_control)
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

pub(super) fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// The value with every pointer in it replaced. What a pointer leads to is taken as it is: a pointer in it is data.
pub fn resolve(
    value: &Value,
    lookup: &mut dyn FnMut(&Pointer) -> Result<Value, PointerFault>,
) -> Result<Value, PointerFault> {
    if let Some(pointer) = Pointer::of(value) {
        return lookup(&pointer?);
    }
    match value {
        Value::Array(items) => {
            items.iter().map(|item| resolve(item, lookup)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(fields) => resolve_fields(fields, lookup).map(Value::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
    }
}

/// The same for the fields of `with` or `outputs`, each of which is a value.
pub fn resolve_fields(
    fields: &Map<String, Value>,
    lookup: &mut dyn FnMut(&Pointer) -> Result<Value, PointerFault>,
) -> Result<Map<String, Value>, PointerFault> {
    fields.iter().map(|(name, value)| Ok((name.clone(), resolve(value, lookup)?))).collect()
}

/// The pointers in a value, each with the JSON pointer to its place there.
pub fn pointers(value: &Value) -> Result<Vec<(String, Pointer)>, (String, PointerFault)> {
    let mut found = Vec::new();
    collect(value, &mut String::new(), &mut found)?;
    Ok(found)
}

fn collect(
    value: &Value,
    place: &mut String,
    found: &mut Vec<(String, Pointer)>,
) -> Result<(), (String, PointerFault)> {
    if let Some(pointer) = Pointer::of(value) {
        found.push((place.clone(), pointer.map_err(|fault| (place.clone(), fault))?));
        return Ok(());
    }
    let length = place.len();
    let mut visit = |name: &str, value: &Value| {
        place.push('/');
        place.push_str(name);
        let result = collect(value, place, found);
        place.truncate(length);
        result
    };
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter(|(_, item)| is_container(item))
            .try_for_each(|(index, item)| visit(&index.to_string(), item)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| is_container(value))
            .try_for_each(|(name, value)| visit(&escaped(name), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn pointers_are_read_and_written_alike() {
        let step = || StepId("a-1".to_owned());
        let text = |text: &str| text.to_owned();
        let cases = [
            ("/inputs/paths", Pointer::Input { name: text("paths"), rest: text("") }),
            ("/inputs/a~1b/0/x~0", Pointer::Input { name: text("a/b"), rest: text("/0/x~0") }),
            ("/steps/a-1/output", Pointer::StepOutput { step: step(), rest: text("") }),
            ("/steps/a-1/output/list/3", Pointer::StepOutput { step: step(), rest: text("/list/3") }),
            ("/steps/a-1/output/", Pointer::StepOutput { step: step(), rest: text("/") }),
            ("/steps/a-1/text", Pointer::StepText { step: step() }),
            ("/item", Pointer::Item { rest: text("") }),
            ("/item/path", Pointer::Item { rest: text("/path") }),
        ];
        for (written, pointer) in cases {
            assert_eq!(Pointer::parse(written), Ok(pointer.clone()));
            assert_eq!(pointer.to_string(), written);
        }
        let tokens: Vec<String> = Pointer::parse("/inputs/a/b~1c//~01").unwrap().tokens().collect();
        assert_eq!(tokens, ["b/c", "", "~1"]);
    }

    #[test]
    fn other_texts_are_refused_in_one_line() {
        let long = format!("/steps/{}\n", "x".repeat(1000));
        for text in [
            "",
            "/",
            "inputs/a",
            "/inputs",
            "/inputs/",
            "/inputs//x",
            "/input/a",
            "/steps/a",
            "/steps//text",
            "/steps/a/text/0",
            "/steps/a/outputs",
            "/items",
            "/inputs/a~2",
            "/inputs/~",
            "/item/\n",
            &long,
        ] {
            let fault = Pointer::parse(text).unwrap_err().to_string();
            assert!(!fault.contains('\n') && fault.len() < 500, "{fault}");
        }
    }

    #[test]
    fn only_objects_with_the_single_key_from_are_pointers() {
        let value = json!({
            "a": {"from": "/inputs/x"},
            "list": [1, {"from": "/steps/s/output/y"}, {"b/c": {"from": "/item"}}],
            "two": {"from": "/inputs/x", "to": 1},
            "text": {"from": "here"},
            "number": {"from": 3},
        });
        let found = pointers(&value).unwrap();
        let places: Vec<_> = found.iter().map(|(place, pointer)| (place.as_str(), pointer.to_string())).collect();
        let expected = [("/a", "/inputs/x"), ("/list/1", "/steps/s/output/y"), ("/list/2/b~1c", "/item")];
        assert_eq!(places, expected.map(|(place, pointer)| (place, pointer.to_owned())));
        let resolved = resolve(&value, &mut |pointer| Ok(json!({"from": pointer.to_string()}))).unwrap();
        assert_eq!(resolved, value, "what a pointer leads to is not resolved again, and the rest stays");
        let (place, fault) = pointers(&json!({"a": [{"from": "/nowhere"}]})).unwrap_err();
        assert_eq!((place.as_str(), fault), ("/a/0", PointerFault::NotAPointer("/nowhere".to_owned())));
    }

    #[test]
    fn fault_of_the_lookup_is_that_of_the_value() {
        let whole = json!({"a": [1, 2]});
        let mut lookup = |pointer: &Pointer| pointer.part_of(&whole);
        assert_eq!(resolve(&json!([{"from": "/item/a/1"}]), &mut lookup), Ok(json!([2])));
        let fault = resolve(&json!({"x": {"from": "/item/a/2"}}), &mut lookup).unwrap_err();
        assert_eq!(fault.to_string(), "/item/a/2 leads to nothing");
    }

    proptest! {
        #[test]
        fn every_pointer_that_is_read_is_written_as_it_was(text in "/(inputs|steps|item)(/[a-z0-9~/\\PC]{0,8}){0,4}") {
            if let Ok(pointer) = Pointer::parse(&text) {
                prop_assert_eq!(pointer.to_string(), text);
            }
        }
    }
}
