//! Numbers that an insert would not store as they are written.
//!
//! The engine makes a double of a number with a fraction, or beyond 64 bits, even on its way into a decimal. That must not
//! change a value without a word.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Statement, Value, Visit as _, Visitor};

use crate::failure::{Failure, Result};

/// Refuses a statement with a number that has more digits than its double.
pub(super) fn check(statement: &Statement) -> Result<()> {
    match statement.visit(&mut Inexact) {
        ControlFlow::Break(number) => Err(Failure::usage(format!("the number {number} would lose digits as a double"))
            .hint(format!("write it in quotes: '{number}'"))),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Finds the first such number.
struct Inexact;

impl Visitor for Inexact {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        match expr {
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) if !is_exact(number) => ControlFlow::Break(number.clone()),
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_exact(number: &str) -> bool {
    let double = || number.parse::<f64>().ok().map(|double| format!("{double:e}"));
    // What is no number at all is the engine's business.
    number.parse::<u64>().is_ok() || double().is_none_or(|double| significant(number) == significant(&double))
}

/// The digits without zeros around them, and the power of ten to multiply them with; `None` if it is no such number.
fn significant(number: &str) -> Option<(String, i64)> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some((String::new(), 0));
    }
    let places = i64::try_from(fraction.len()).ok()?;
    Some((digits.to_owned(), exponent.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(places)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_exact_if_its_double_is_written_the_same() {
        for exact in
            ["1", "18446744073709551615", "1.50", "0.30000000000000004", ".5", "5.", "1e300", "100000e-5", "0.0"]
        {
            assert!(is_exact(exact), "{exact}");
        }
        for inexact in ["18446744073709551617", "123456789012345678.25", "0.1000000000000000055", "1e999", "1e-999"] {
            assert!(!is_exact(inexact), "{inexact}");
        }
    }
}
