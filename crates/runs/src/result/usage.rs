//! Tokens and cost of several attempts together.

use serde_json::{Number, Value};
use skillrun_model::cost::{RunCost, SESSION_COST};
use skillrun_model::rasp::data::TurnUsage;

/// The usage of the turns so far.
#[derive(Debug, Clone, Default)]
pub(super) struct RunUsage {
    pub(super) total: TurnUsage,
    cost: RunCost,
}

impl RunUsage {
    pub(super) fn turn(&mut self, usage: &TurnUsage) {
        add(&mut self.total, usage);
        // A total of the session, and not of the turn. The engine's own figure is kept as it is where it says all.
        if let (Some(cost), Some(figure)) = (usage.session_cost_usd(), usage.reported.get(SESSION_COST)) {
            self.cost.turn(cost);
            let all = Number::from_f64(self.cost.usd()).filter(|_| self.cost.usd() > cost).map(Value::Number);
            self.total.reported.insert(SESSION_COST.to_owned(), all.unwrap_or_else(|| figure.clone()));
        }
    }
}

pub(super) fn add(total: &mut TurnUsage, more: &TurnUsage) {
    let TurnUsage { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, reported } = more;
    let pairs = [
        (&mut total.input_tokens, input_tokens),
        (&mut total.output_tokens, output_tokens),
        (&mut total.cached_input_tokens, cached_input_tokens),
        (&mut total.reasoning_tokens, reasoning_tokens),
    ];
    for (sum, more) in pairs {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(*more));
        }
    }
    for (name, more) in reported {
        match total.reported.get_mut(name) {
            Some(sum) => add_value(sum, more),
            None => {
                total.reported.insert(name.clone(), more.clone());
            }
        }
    }
}

/// The engine's own figures: numbers are added, objects key by key; of anything else the last one is reported.
fn add_value(sum: &mut Value, more: &Value) {
    match (sum, more) {
        (Value::Number(sum), Value::Number(more)) => *sum = add_numbers(sum, more),
        (Value::Object(sum), Value::Object(more)) => {
            for (name, more) in more {
                match sum.get_mut(name) {
                    Some(sum) => add_value(sum, more),
                    None => {
                        sum.insert(name.clone(), more.clone());
                    }
                }
            }
        }
        (sum, more) => *sum = more.clone(),
    }
}

/// Whole numbers stay whole as long as they fit.
fn add_numbers(a: &Number, b: &Number) -> Number {
    let whole = a.as_u64().zip(b.as_u64()).and_then(|(a, b)| a.checked_add(b)).map(Number::from);
    let signed = || a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_add(b)).map(Number::from);
    let float = || a.as_f64().zip(b.as_f64()).and_then(|(a, b)| Number::from_f64(a + b));
    whole.or_else(signed).or_else(float).unwrap_or_else(|| b.clone())
}
