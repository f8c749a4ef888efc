//! What a workflow needs from the machine: the values with which steps begin, the runs that become their children, and
//! what these leave. The decisions are in `lifecycle::workflow`; `worker::conduct` carries them out.
//!
//! - `values`: pointers into the inputs and into the outputs of other steps.
//! - `prepare`: a step begins. `list`: the items of a step that repeats, on disk. `reuse`: a step is taken over from an
//!   earlier run of the workflow.
//! - `make`: the request of a step becomes a new run.
//! - `checkpoint`: what a child has left, from its Log and its files alone.

mod checkpoint;
mod list;
pub(crate) mod make;
mod prepare;
pub(crate) mod reuse;
mod values;

pub(crate) use checkpoint::checkpoint;
pub(crate) use prepare::prepare;
pub(crate) use values::outputs;
