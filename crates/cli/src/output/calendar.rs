//! Dates and times in ISO 8601, for every value that an integer of the format can hold.

use std::fmt::Write as _;

const SECONDS_PER_DAY: i64 = 86_400;

/// How many digits a fraction of a second has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds = 0,
    Millis = 3,
    Micros = 6,
    Nanos = 9,
}

impl Precision {
    fn per_second(self) -> i64 {
        10_i64.pow(self as u32)
    }
}

/// Writes a date `days` after 1970-01-01, in the proleptic Gregorian calendar.
pub(crate) fn write_date(out: &mut String, days: i64) {
    let (year, month, day) = civil_from_days(days);
    // ISO 8601 wants a sign on years that four digits cannot hold.
    let sign = if year < 0 {
        "-"
    } else if year > 9999 {
        "+"
    } else {
        ""
    };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.abs());
}

/// Writes a time of day counted from midnight; as many digits of a second as the precision has, always.
pub(crate) fn write_time(out: &mut String, since_midnight: i64, precision: Precision) {
    let seconds = since_midnight.div_euclid(precision.per_second());
    let fraction = since_midnight.rem_euclid(precision.per_second());
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if precision != Precision::Seconds {
        let _ = write!(out, ".{fraction:0width$}", width = precision as usize);
    }
}

/// Writes a timestamp counted from 1970-01-01T00:00:00.
pub(crate) fn write_timestamp(out: &mut String, since_epoch: i64, precision: Precision) {
    let per_day = precision.per_second() * SECONDS_PER_DAY;
    write_date(out, since_epoch.div_euclid(per_day));
    out.push('T');
    write_time(out, since_epoch.rem_euclid(per_day), precision);
}

/// Year, month, day. Counts in 400-year eras that start in March, so that leap days come last.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    const DAYS_TO_EPOCH: i64 = 719_468;
    let days = days + DAYS_TO_EPOCH;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDate};

    use super::*;

    fn date(days: i64) -> String {
        let mut out = String::new();
        write_date(&mut out, days);
        out
    }

    #[test]
    fn agrees_with_chrono_over_four_thousand_years() {
        let mut expected = NaiveDate::from_ymd_opt(1, 1, 1).unwrap();
        let first = expected.signed_duration_since(NaiveDate::default()).num_days();
        for days in first..first + 1_500_000 {
            assert_eq!(date(days), expected.to_string());
            expected = expected.checked_add_days(Days::new(1)).unwrap();
        }
    }

    #[test]
    fn extremes_have_a_date() {
        assert_eq!(date(2_932_897), "+10000-01-01");
        assert_eq!(date(-719_529), "-0001-12-31");
        assert_eq!(date(i64::from(i32::MAX)), "+5881580-07-11");
        assert_eq!(date(i64::from(i32::MIN)), "-5877641-06-23");
    }

    #[test]
    fn times_keep_their_digits() {
        let cases = [
            (0, Precision::Micros, "1970-01-01T00:00:00.000000"),
            (-1, Precision::Micros, "1969-12-31T23:59:59.999999"),
            (1_709_251_199_999_999_999, Precision::Nanos, "2024-02-29T23:59:59.999999999"),
            (86_399, Precision::Seconds, "1970-01-01T23:59:59"),
            (i64::MIN, Precision::Micros, "-290308-12-21T19:59:05.224192"),
            (i64::MIN, Precision::Nanos, "1677-09-21T00:12:43.145224192"),
        ];
        for (value, precision, expected) in cases {
            let mut out = String::new();
            write_timestamp(&mut out, value, precision);
            assert_eq!(out, expected);
        }
    }
}
