//! Names of tables in SQL that also say which part or which version of the table is meant.
//!
//! SQL knows a table by one name, so what [`sql`](crate::sql) understands as a clause, or as one more part of a name, it
//! turns into a suffix of the name. Whoever uses DataFusion's own functions writes the suffix himself, in quotes:
//!
//! | name | is |
//! |---|---|
//! | `"orders$snapshots"` | the metadata table `orders.snapshots` |
//! | `"orders@version=3051729675574597004"` | the snapshot of this id |
//! | `"orders@version=audit"` | the branch or tag of this name |
//! | `"orders@timestamp=2026-01-02T03:04:05Z"` | what was current at this time |
//! | `"orders$files@version=audit"` | a metadata table of a version |
//!
//! A table whose own name looks like that is found first.

use std::fmt;

use arrow::array::timezone::Tz;
use arrow::compute::kernels::cast_utils::string_to_datetime;
use lakelock_iceberg::TableVersion;
use lakelock_iceberg::metadata_table::MetadataTable;

const METADATA_TABLE: char = '$';
const VERSION: &str = "@version=";
const TIMESTAMP: &str = "@timestamp=";

/// A table's name and what of the table is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// The table's own name.
    pub table: String,
    /// The metadata table instead of the table's rows.
    pub metadata_table: Option<MetadataTable>,
    /// The version instead of the current one.
    pub version: Option<TableVersion>,
}

impl TableName {
    /// Takes a name apart. What is no suffix that has a meaning is part of the table's own name.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        let (name, version) = split_version(name).map_or((name, None), |(name, version)| (name, Some(version)));
        let (table, metadata_table) = name
            .rsplit_once(METADATA_TABLE)
            .and_then(|(table, suffix)| Some((table, Some(MetadataTable::by_name(suffix)?))))
            .unwrap_or((name, None));
        Self { table: table.to_owned(), metadata_table, version }
    }

    /// Whether it is nothing but a table's name.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.metadata_table.is_none() && self.version.is_none()
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        if let Some(metadata_table) = self.metadata_table {
            write!(f, "{METADATA_TABLE}{}", metadata_table.name())?;
        }
        match &self.version {
            None => Ok(()),
            Some(TableVersion::Reference(name)) => write!(f, "{VERSION}{name}"),
            Some(TableVersion::Snapshot(id)) => write!(f, "{VERSION}{id}"),
            Some(time) => write!(f, "{TIMESTAMP}{time}"),
        }
    }
}

/// The version that a text names: a snapshot id if it is a number, else a branch or tag, as in Spark.
pub(crate) fn version(text: &str) -> TableVersion {
    text.parse().map_or_else(|_| TableVersion::Reference(text.to_owned()), TableVersion::Snapshot)
}

/// The version at a time: a date, or a date and a time of day, of the zone given unless it says its own.
pub(crate) fn timestamp(text: &str, zone: Tz) -> Option<TableVersion> {
    let time = string_to_datetime(&zone, text.trim()).ok()?;
    Some(TableVersion::Timestamp(time.timestamp_millis()))
}

/// The zone of times that name none where no session says another.
fn utc() -> Option<Tz> {
    "UTC".parse().ok()
}

fn split_version(name: &str) -> Option<(&str, TableVersion)> {
    // The first suffix counts: a branch may be called anything.
    let by_version = name.split_once(VERSION).map(|(table, text)| (table, Some(version(text))));
    let by_timestamp =
        name.split_once(TIMESTAMP).map(|(table, text)| (table, utc().and_then(|utc| timestamp(text, utc))));
    let first = by_version.into_iter().chain(by_timestamp).min_by_key(|(table, _)| table.len());
    first.and_then(|(table, version)| Some((table, version?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_and_put_together() {
        let at = |ms| Some(TableVersion::Timestamp(ms));
        let reference = |name: &str| Some(TableVersion::Reference(name.to_owned()));
        let cases = [
            ("orders", "orders", None, None),
            ("orders$snapshots", "orders", Some(MetadataTable::Snapshots), None),
            ("a$b$all_files", "a$b", Some(MetadataTable::AllFiles), None),
            ("cash$flow", "cash$flow", None, None),
            ("orders@version=-7", "orders", None, Some(TableVersion::Snapshot(-7))),
            ("orders$files@version=audit", "orders", Some(MetadataTable::Files), reference("audit")),
            ("t@version=a@version=$files", "t", None, reference("a@version=$files")),
            ("t@version=b@timestamp=2026", "t", None, reference("b@timestamp=2026")),
            ("t@timestamp=1970-01-01T00:00:01.500Z", "t", None, at(1500)),
            ("t@timestamp=1969-12-31T23:59:59.999Z", "t", None, at(-1)),
            ("t@timestamp=soon", "t@timestamp=soon", None, None),
            ("me@home", "me@home", None, None),
        ];
        for (text, table, metadata_table, version) in cases {
            let expected = TableName { table: table.to_owned(), metadata_table, version };
            assert_eq!(TableName::parse(text), expected, "{text}");
            assert_eq!(expected.to_string(), text);
        }
    }
}
