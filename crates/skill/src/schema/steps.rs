//! How much work it may be to hold a value against a schema, and how much memory the errors may take.
//!
//! The library that validates has no bound of its own: a schema of two kilobytes can be walked through two to the power
//! of the value's depth times, and each error inside an `anyOf` or a `oneOf` keeps a copy of the value. Two meters stop
//! that, and both count what is done, never time, so that a value is judged the same on every machine and every time:
//!
//! - steps: the library reads values through [`CountedJson`], and every access to a value is a step. A part of a schema
//!   that reads nothing has the keyword [`KEYWORD`] in it (see `parts`), which is a step too. What one step can cost
//!   because of the schema is in [`Rates`].
//! - bytes: the library asks for the value of an error when it makes one. The error, its paths and a copy of the value
//!   are counted then.
//!
//! When a meter is used up, it unwinds out of the library. That needs a build in which a panic unwinds; no profile of this
//! workspace says otherwise.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp, unique};
use jsonschema::paths::Location;
use jsonschema::types::JsonType;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Number, Value};

use super::rates::{Rates, Shape};

/// The keyword, with `true` as its value. No schema has a word like it.
pub(super) const KEYWORD: &str = "$skillrun:step";

/// About what an error takes up, without its paths and its value.
const ERROR_BYTES: u64 = 512;
/// About what a copy of one part of a value takes up, without the bytes of its text.
const NODE_BYTES: u64 = 128;
/// The number of bytes of a text that count as one step when read.
const TEXT_STEP: u64 = 64;

/// The number of levels that fit on the stack of every thread.
const LEVELS_HERE: u64 = 400;
/// For the deepest schema with the deepest value. What is not used of it is not taken from the machine.
const ROOMY_STACK: usize = 256 << 20;

/// What may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) steps: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy)]
struct Meter {
    left: Budget,
    rates: Rates,
    /// Of the paths of one error.
    path_bytes: u64,
}

const UNMETERED: Meter = Meter { left: Budget { steps: u64::MAX, bytes: u64::MAX }, rates: Rates::FREE, path_bytes: 0 };

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(UNMETERED) };
}

/// The budget did not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfBudget;

/// What `work` gives, unless it needs more than the budget for this value.
pub(super) fn within<T: Send>(
    budget: Budget,
    rates: Rates,
    value: &Value,
    work: impl Fn(CountedNode<'_>) -> T + Sync,
) -> Result<T, OutOfBudget> {
    let shape = Shape::of(value);
    with_room(rates.levels.saturating_mul(shape.depth), || {
        METER.set(Meter { left: budget, rates, path_bytes: rates.path_bytes(shape) });
        // What was half done when it unwinds is dropped with `work`; a compiled schema does not change in use.
        let done = catch_unwind(AssertUnwindSafe(|| work(CountedNode(value))));
        METER.set(UNMETERED);
        done.map_err(|panic| match panic.downcast::<OutOfBudget>() {
            Ok(out) => *out,
            Err(other) => resume_unwind(other),
        })
    })
}

/// Does the work on a thread whose stack is large enough for this many levels: the library recurses for each part of a
/// schema within another, and again for each level of the value. Few levels are handled on the current thread.
pub(super) fn with_room<T: Send>(levels: u64, work: impl Fn() -> T + Sync) -> T {
    if levels <= LEVELS_HERE {
        return work();
    }
    thread::scope(|scope| {
        let roomy = thread::Builder::new().name("schema".to_owned()).stack_size(ROOMY_STACK);
        match roomy.spawn_scoped(scope, &work) {
            Ok(there) => there.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // No other thread can be started, so the work is done on this one.
            Err(_) => work(),
        }
    })
}

/// Takes steps away; what is read may make one step into several.
fn step(more: u64) {
    let mut meter = METER.get();
    meter.left.steps = left(meter.left.steps, meter.rates.step.saturating_add(more));
    METER.set(meter);
}

fn left(before: u64, cost: u64) -> u64 {
    match before.checked_sub(cost) {
        Some(left) => left,
        // Prints nothing on its way, as a panic would.
        None => resume_unwind(Box::new(OutOfBudget)),
    }
}

/// An error is made of this value.
fn error(value: &Value) {
    let mut meter = METER.get();
    let copy = if meter.rates.copies { copy_bytes(value, meter.left.bytes) } else { 0 };
    let cost = ERROR_BYTES.saturating_add(meter.path_bytes).saturating_add(copy);
    meter.left.bytes = left(meter.left.bytes, cost);
    METER.set(meter);
}

/// About what a copy of a value takes up; a large one is looked at only as far as `most`.
fn copy_bytes(value: &Value, most: u64) -> u64 {
    let mut bytes = 0_u64;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        bytes += NODE_BYTES;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => bytes += text.len() as u64,
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                bytes += fields.keys().map(|key| key.len() as u64).sum::<u64>();
                waiting.extend(fields.values());
            }
        }
        if bytes > most {
            break;
        }
    }
    bytes
}

fn text_steps(len: usize) -> u64 {
    len as u64 / TEXT_STEP
}

/// How many steps it takes to compare with this value.
fn compare_steps(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text_steps(text.len()),
        Value::Array(_) | Value::Object(_) => copy_bytes(value, u64::MAX) / NODE_BYTES,
    }
}

/// Values that count how often they are read.
#[derive(Debug)]
pub(super) struct CountedJson;

/// One part of such a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedNode<'a>(&'a Value);

#[derive(Debug, Clone, Copy)]
pub(super) struct CountedObject<'a>(&'a Map<String, Value>);

#[derive(Debug, Clone, Copy)]
pub(super) struct CountedArray<'a>(&'a [Value]);

impl Json for CountedJson {
    type Node<'a> = CountedNode<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    // As the library has it for plain values, so that errors come in the same order.
    const KEYS_PER_LOOKUP: usize = <jsonschema::json::SerdeJson as Json>::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(CountedNode<'_>) -> T) -> T {
        step(text_steps(string.len()));
        *buffer = Value::String(string.to_owned());
        f(CountedNode(buffer))
    }
}

impl<'a> Node<'a, CountedJson> for CountedNode<'a> {
    type Object = CountedObject<'a>;
    type Array = CountedArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<CountedObject<'a>> {
        step(0);
        self.0.as_object().map(CountedObject)
    }

    fn as_array(&self) -> Option<CountedArray<'a>> {
        step(0);
        self.0.as_array().map(|items| CountedArray(items))
    }

    /// Of the keywords, those that look into a text ask for it: `pattern`, `format` and the like.
    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        step(text.map_or(0, |text| METER.get().rates.text_steps(text)));
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        step(0);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        step(0);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        step(0);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        step(0);
        match self.0 {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.0.as_str();
        step(text.map_or(0, |text| text_steps(text.len())));
        text.map(|text| text.chars().count() as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        step(compare_steps(expected));
        cmp::equal(self.0, expected)
    }

    /// Asked for where an error is made, and nowhere else: comparing has its own ways.
    fn to_value(&self) -> Cow<'a, Value> {
        step(0);
        error(self.0);
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        step(0);
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self.0).addr()))
    }
}

impl<'a> Object<'a, CountedJson> for CountedObject<'a> {
    type Node = CountedNode<'a>;
    type MemberName = &'a str;
    type MembersIter = CountedMembers<'a>;

    fn len(&self) -> usize {
        step(0);
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<CountedNode<'a>> {
        step(0);
        self.0.get(key).map(CountedNode)
    }

    fn members(&self) -> CountedMembers<'a> {
        step(0);
        CountedMembers(self.0.iter())
    }
}

#[derive(Debug)]
pub(super) struct CountedMembers<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for CountedMembers<'a> {
    type Item = (&'a str, CountedNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        step(METER.get().rates.member_steps(name));
        Some((name, CountedNode(value)))
    }
}

impl<'a> Array<'a, CountedJson> for CountedArray<'a> {
    type Node = CountedNode<'a>;
    type ElementsIter = CountedElements<'a>;

    fn len(&self) -> usize {
        step(0);
        self.0.len()
    }

    fn elements(&self) -> CountedElements<'a> {
        step(0);
        CountedElements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        self.0.iter().for_each(|item| step(compare_steps(item)));
        // A short list is compared each with each.
        if self.0.len() <= SHORT_LIST {
            self.0.iter().for_each(|item| step(compare_steps(item).saturating_mul(SHORT_LIST as u64)));
        }
        unique::is_unique(self.0)
    }
}

/// The maximum number of items that are compared each with each.
const SHORT_LIST: usize = 16;

#[derive(Debug)]
pub(super) struct CountedElements<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for CountedElements<'a> {
    type Item = CountedNode<'a>;

    fn next(&mut self) -> Option<CountedNode<'a>> {
        let item = self.0.next()?;
        step(0);
        Some(CountedNode(item))
    }
}

/// Makes the keyword where it stands in a schema.
pub(super) fn keyword<'a>(
    _: &'a Map<String, Value>,
    _: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i, CountedJson>>, ValidationError<'a>> {
    Ok(Box::new(Step))
}

struct Step;

impl<'i> Keyword<'i, CountedJson> for Step {
    fn validate(&self, _: CountedNode<'i>) -> Result<(), ValidationError<'i>> {
        step(0);
        Ok(())
    }

    fn is_valid(&self, _: CountedNode<'i>) -> bool {
        step(0);
        true
    }
}

/// A message without the keyword, where it shows a part of the schema.
pub(super) fn hidden(message: &str) -> String {
    let field = format!("\"{KEYWORD}\":true");
    message.replace(&format!("{field},"), "").replace(&format!(",{field}"), "").replace(&field, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLENTY: u64 = u64::MAX;

    fn metered<T: Send>(steps: u64, bytes: u64, work: impl Fn(CountedNode<'_>) -> T + Sync) -> Result<T, OutOfBudget> {
        within(Budget { steps, bytes }, Rates::FREE, &json!(1), work)
    }

    #[test]
    fn as_many_steps_as_there_are_and_no_more() {
        let read = |times: u64| metered(10, PLENTY, |node| (0..times).for_each(|_| assert!(!node.is_null())));
        assert_eq!(read(10), Ok(()));
        assert_eq!(read(11), Err(OutOfBudget));
        assert_eq!(read(10), Ok(()));
    }

    #[test]
    fn as_many_errors_as_there_is_room_for() {
        let made =
            |errors: u64, bytes: u64| metered(PLENTY, bytes, |node| (0..errors).for_each(|_| drop(node.to_value())));
        assert_eq!(made(10, 10 * ERROR_BYTES), Ok(()));
        assert_eq!(made(11, 10 * ERROR_BYTES), Err(OutOfBudget));
    }

    #[test]
    fn another_panic_is_propagated() {
        let other = catch_unwind(|| metered(10, PLENTY, |_| resume_unwind(Box::new("another"))));
        assert_eq!(other.unwrap_err().downcast_ref::<&str>(), Some(&"another"));
    }
}
