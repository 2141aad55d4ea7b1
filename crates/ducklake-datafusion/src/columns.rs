//! Columns: `DuckLake`'s types in terms of Arrow's.
//!
//! | DuckLake | Arrow |
//! |---|---|
//! | boolean, int8 ... int64, uint8 ... uint64, float32, float64 | the same |
//! | int128, uint128 | Decimal256(39, 0) |
//! | decimal(P,S) | Decimal128(P, S) |
//! | date, time, `time_ns` | Date32, Time64(us), Time64(ns) |
//! | timestamp, `timestamp_s` | Timestamp(us) |
//! | `timestamp_ms`, `timestamp_ns` | Timestamp(ms), Timestamp(ns) |
//! | timestamptz | Timestamp(us, UTC) |
//! | varchar, json | Utf8 |
//! | blob | Binary |
//! | uuid | FixedSizeBinary(16) with the extension type `arrow.uuid` |
//! | struct, list, map | Struct, List, Map |
//! | everything else | Binary, marked as [unreadable](unreadable_type): selecting it is an error |
//!
//! Field ids are kept in the metadata of Arrow fields, where Parquet's are.
//! <https://ducklake.select/docs/stable/specification/data_types>

use std::{collections::HashMap, sync::Arc};

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use crate::{
    error::{Result, invalid},
    metadata::Row,
};

const UNREADABLE_META_KEY: &str = "lakelock:unreadable-type";
const EXTENSION_NAME_META_KEY: &str = "ARROW:extension:name";

/// How deeply columns may nest: beyond any real schema, and far from exhausting the stack.
const MAX_DEPTH: usize = 64;

/// What holds every whole number of 128 bits, with a sign or without.
pub(crate) const HUGE: DataType = DataType::Decimal256(39, 0);

/// A column, or a field nested in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// What it keeps for life, in whatever way it is altered.
    pub(crate) id: i32,
    pub(crate) name: String,
    /// As `DuckLake` writes it, in lower case.
    pub(crate) type_name: String,
    /// What it is in rows that were written before it was added.
    pub(crate) initial_default: Option<String>,
    pub(crate) children: Vec<Column>,
}

/// A column as it stands in the catalog.
struct Listed {
    column: Column,
    order: i64,
    parent: Option<i32>,
}

impl Column {
    /// The columns of a table in a snapshot, of all rows of `ducklake_column` that may be about it.
    pub(crate) fn of_table<'a>(rows: impl Iterator<Item = Row<'a>>, table: i64, snapshot: i64) -> Result<Vec<Self>> {
        let mut listed = Vec::new();
        for row in rows {
            if row.id("table_id")? != table || !row.is_live_at(snapshot)? {
                continue;
            }
            let column = Self {
                id: field_id_of(row.id("column_id")?)?,
                name: row.name("column_name")?.to_owned(),
                type_name: row.name("column_type")?.to_ascii_lowercase(),
                initial_default: row.text("initial_default")?.map(str::to_owned),
                children: Vec::new(),
            };
            let parent = row.integer("parent_column")?.map(field_id_of).transpose()?;
            listed.push(Listed { column, order: row.id("column_order")?, parent });
        }
        listed.sort_by_key(|listed| listed.order);
        let mut by_parent: HashMap<Option<i32>, Vec<Self>> = HashMap::new();
        for Listed { column, parent, .. } in listed {
            by_parent.entry(parent).or_default().push(column);
        }
        let columns = nest(&mut by_parent, None, 0)?;
        if by_parent.is_empty() {
            Ok(columns)
        } else {
            Err(invalid("columns are nested in columns that are not there"))
        }
    }

    /// The Arrow form, under another name for what is nested in lists and maps.
    fn field_named(&self, name: &str) -> FieldRef {
        let mut metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), self.id.to_string())]);
        let data_type = self.data_type().unwrap_or_else(|| {
            metadata.insert(UNREADABLE_META_KEY.to_owned(), self.type_name.clone());
            DataType::Binary
        });
        if self.type_name == "uuid" {
            metadata.insert(EXTENSION_NAME_META_KEY.to_owned(), "arrow.uuid".to_owned());
        }
        Arc::new(Field::new(name, data_type, true).with_metadata(metadata))
    }

    /// The Arrow form.
    pub(crate) fn field(&self) -> FieldRef {
        self.field_named(&self.name)
    }

    /// Whether it is of whole seconds, or something in it.
    pub(crate) fn has_seconds(&self) -> bool {
        self.type_name == "timestamp_s" || self.children.iter().any(Self::has_seconds)
    }

    /// The Arrow form of its type; nothing, if there is none.
    pub(crate) fn data_type(&self) -> Option<DataType> {
        let micros = TimeUnit::Microsecond;
        Some(match (self.type_name.as_str(), self.children.as_slice()) {
            ("struct", [_, ..]) => DataType::Struct(self.children.iter().map(Self::field).collect()),
            ("list", [element]) => DataType::List(element.field_named("element")),
            ("map", [key, value]) => {
                let key = Field::clone(&key.field_named("key")).with_nullable(false);
                let entries = [Arc::new(key), value.field_named("value")];
                let entries = Field::new("key_value", DataType::Struct(entries.into_iter().collect()), false);
                DataType::Map(Arc::new(entries), false)
            }
            (_, [_, ..]) => return None,
            ("boolean", _) => DataType::Boolean,
            ("int8", _) => DataType::Int8,
            ("int16", _) => DataType::Int16,
            ("int32", _) => DataType::Int32,
            ("int64", _) => DataType::Int64,
            ("int128" | "uint128", _) => HUGE,
            ("uint8", _) => DataType::UInt8,
            ("uint16", _) => DataType::UInt16,
            ("uint32", _) => DataType::UInt32,
            ("uint64", _) => DataType::UInt64,
            ("float32", _) => DataType::Float32,
            ("float64", _) => DataType::Float64,
            ("date", _) => DataType::Date32,
            ("time", _) => DataType::Time64(micros),
            ("time_ns", _) => DataType::Time64(TimeUnit::Nanosecond),
            // Files have no coarser unit than milliseconds: DuckDB writes seconds as microseconds.
            ("timestamp" | "timestamp_us" | "timestamp_s", _) => DataType::Timestamp(micros, None),
            ("timestamp_ms", _) => DataType::Timestamp(TimeUnit::Millisecond, None),
            ("timestamp_ns", _) => DataType::Timestamp(TimeUnit::Nanosecond, None),
            ("timestamptz", _) => DataType::Timestamp(micros, Some("UTC".into())),
            ("varchar" | "json", _) => DataType::Utf8,
            ("blob", _) => DataType::Binary,
            ("uuid", _) => DataType::FixedSizeBinary(16),
            (name, _) => {
                let (precision, scale) = decimal(name)?;
                DataType::Decimal128(precision, i8::try_from(scale).ok()?)
            }
        })
    }
}

/// Takes the fields of a column out of those that are listed.
fn nest(by_parent: &mut HashMap<Option<i32>, Vec<Column>>, parent: Option<i32>, depth: usize) -> Result<Vec<Column>> {
    if depth > MAX_DEPTH {
        return Err(invalid(format!("columns nest more than {MAX_DEPTH} deep")));
    }
    let mut columns = by_parent.remove(&parent).unwrap_or_default();
    for column in &mut columns {
        column.children = nest(by_parent, Some(column.id), depth + 1)?;
    }
    Ok(columns)
}

/// Precision and scale of `decimal(P,S)`.
pub(crate) fn decimal(type_name: &str) -> Option<(u8, u8)> {
    let (precision, scale) = type_name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&precision) && scale <= precision).then_some((precision, scale))
}

/// The schema of columns.
pub(crate) fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()))
}

/// The type of a column that cannot be read, or that something nested in it has.
pub(crate) fn unreadable_type(field: &Field) -> Option<&str> {
    let own = field.metadata().get(UNREADABLE_META_KEY).map(String::as_str);
    own.or_else(|| match field.data_type() {
        DataType::Struct(fields) => fields.iter().find_map(|field| unreadable_type(field)),
        DataType::List(inner) | DataType::Map(inner, _) => unreadable_type(inner),
        _ => None,
    })
}

/// The field id in the metadata of an Arrow field, if it has one.
pub(crate) fn field_id_in(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)?.parse().ok()
}

/// The id of a column as Parquet has it.
pub(crate) fn field_id_of(id: i64) -> Result<i32> {
    i32::try_from(id).map_err(|_| invalid(format!("{id} is no id of a column")))
}
