//! How many steps it may take to hold a value against a schema.
//!
//! The library that validates has no bound of its own, and a schema that refers to itself twice at each level is walked
//! through two to the power of the value's depth times. So a keyword that counts is put into every part of the schema
//! before it is compiled (see `parts`), and when the steps are used up it unwinds out of the library. That needs a build
//! in which a panic unwinds; no profile of this workspace says otherwise.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

/// The keyword, with `true` as its value. No schema has a word like it.
pub(super) const KEYWORD: &str = "$skillrun:step";

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The steps did not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfSteps;

/// What `work` tells, unless its validators take more steps than that.
pub(super) fn within<T>(steps: u64, work: impl FnOnce() -> T) -> Result<T, OutOfSteps> {
    LEFT.set(steps);
    // What was half done when it unwinds is dropped with `work`; a compiled schema does not change in use.
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(u64::MAX);
    done.map_err(|panic| match panic.downcast::<OutOfSteps>() {
        Ok(out) => *out,
        Err(other) => resume_unwind(other),
    })
}

/// Makes the keyword where it stands in a schema.
pub(super) fn keyword<'a>(
    _: &'a Map<String, Value>,
    _: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    Ok(Box::new(Step))
}

struct Step;

impl Step {
    fn take() {
        match LEFT.get().checked_sub(1) {
            Some(left) => LEFT.set(left),
            // Says nothing on its way, as a panic would.
            None => resume_unwind(Box::new(OutOfSteps)),
        }
    }
}

impl<'i> Keyword<'i> for Step {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        Self::take();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        Self::take();
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

    #[test]
    fn as_many_steps_as_there_are_and_no_more() {
        let take = |times: u64| within(10, || (0..times).for_each(|_| Step::take()));
        assert_eq!(take(10), Ok(()));
        assert_eq!(take(11), Err(OutOfSteps));
        assert_eq!(take(10), Ok(()));
    }

    #[test]
    fn another_panic_goes_on() {
        let other = catch_unwind(|| within(10, || resume_unwind(Box::new("another"))));
        assert_eq!(other.unwrap_err().downcast_ref::<&str>(), Some(&"another"));
    }
}
