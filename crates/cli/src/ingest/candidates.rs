//! The types that texts may turn out to have, for formats that do not say.

use std::sync::LazyLock;

use arrow::datatypes::{DataType, Field, TimeUnit};

use super::text;

const COUNT: usize = 6;
/// Whole numbers of so many digits are still exact as doubles.
const EXACT_DIGITS: usize = 15;

/// From the narrowest.
static TYPES: LazyLock<[Field; COUNT]> = LazyLock::new(|| {
    [
        DataType::Boolean,
        DataType::Int64,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
    ]
    .map(|data_type| Field::new("", data_type, true))
});

/// Which types a column's texts have left; it takes the narrowest that all of them fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidates {
    left: [bool; COUNT],
}

impl Candidates {
    /// Of text that may be anything, as in CSV.
    pub(super) const ALL: Self = Self { left: [true; COUNT] };
    /// Of strings where numbers and booleans are written in another way, as in JSON.
    pub(super) const MOMENTS: Self = Self { left: [false, false, false, true, true, true] };

    /// Those that `text` fits too.
    #[must_use]
    pub(super) fn fitting(mut self, text: &str) -> Self {
        // A leading zero is part of a code, a phone number, a postcode: as a number it would be lost.
        let digits = text.trim_start_matches('-');
        let whole = digits.bytes().all(|b| b.is_ascii_digit());
        let is_code = whole && digits.len() > 1 && digits.starts_with('0');
        let is_beyond_double = whole && digits.len() > EXACT_DIGITS;
        for (left, candidate) in self.left.iter_mut().zip(&*TYPES) {
            if *left {
                let numeric = candidate.data_type().is_numeric();
                *left = !(numeric && (is_code || text.starts_with('+') || text.trim() != text))
                    && !(candidate.data_type() == &DataType::Float64 && is_beyond_double)
                    && text::parse_column(&[Some(text)], candidate).is_ok();
            }
        }
        self
    }

    /// Those that are left here and there.
    #[must_use]
    pub(super) fn and(mut self, other: Self) -> Self {
        for (left, other) in self.left.iter_mut().zip(other.left) {
            *left &= other;
        }
        self
    }

    /// The narrowest, or text.
    pub(super) fn data_type(self) -> DataType {
        let narrowest = self.left.iter().position(|left| *left);
        narrowest.map_or(DataType::Utf8, |i| TYPES[i].data_type().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_is_taken_that_all_texts_fit() {
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        // Text that may be anything, and where only dates and times are text.
        let cases: &[(&[&str], DataType, DataType)] = &[
            (&["true", "FALSE"], DataType::Boolean, DataType::Utf8),
            (&["1", "-20"], DataType::Int64, DataType::Utf8),
            (&["1", "2.5"], DataType::Float64, DataType::Utf8),
            (&["1", "x"], DataType::Utf8, DataType::Utf8),
            (&["01234"], DataType::Utf8, DataType::Utf8),
            (&["0"], DataType::Int64, DataType::Utf8),
            (&["+1"], DataType::Utf8, DataType::Utf8),
            (&["99999999999999999999"], DataType::Utf8, DataType::Utf8),
            (&["2024-02-29"], DataType::Date32, DataType::Date32),
            (&["2024-02-29", ""], DataType::Utf8, DataType::Utf8),
            (&["2024-02-29T01:00:00Z", "2024-02-29"], zoned.clone(), zoned),
        ];
        for (texts, any, moment) in cases {
            for (candidates, expected) in [(Candidates::ALL, any), (Candidates::MOMENTS, moment)] {
                let one_by_one = texts.iter().fold(candidates, |left, text| left.fitting(text));
                let together = texts.iter().fold(candidates, |left, text| left.and(candidates.fitting(text)));
                assert_eq!(one_by_one, together, "{texts:?}");
                assert_eq!(&one_by_one.data_type(), expected, "{texts:?}");
            }
        }
    }
}
