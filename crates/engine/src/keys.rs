//! The fields of an engine's file.

use skillrun_base::fields;

use crate::error::LoadErrorKind;

pub(crate) type KeyProblem = fields::FieldError<LoadErrorKind>;
pub(crate) type KeyResult<T> = Result<T, KeyProblem>;
pub(crate) type Section<'a> = fields::Section<'a, LoadErrorKind>;
pub(crate) type Value<'a> = fields::Field<'a, LoadErrorKind>;
