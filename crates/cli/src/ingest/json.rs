//! JSON values as columns.
//!
//! What [the output writes](crate::output::value) is read back; numbers are also taken where it writes strings, and maps
//! as objects.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};

use super::columns::{type_name, with_article};
use super::json_value::Value;
use super::text::{self, BadValue, quoted, shortened};

/// A value of one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a> {
    /// The row it belongs to.
    pub(super) row: usize,
    /// `None` for null.
    pub(super) value: Option<&'a Value>,
    /// Within something that is null itself, so that even a required value may be missing.
    pub(super) masked: bool,
}

impl<'a> Cell<'a> {
    pub(super) fn new(row: usize, value: Option<&'a Value>) -> Self {
        Self { row, value: value.filter(|value| **value != Value::Null), masked: false }
    }
}

/// Converts texts that hold JSON.
pub(super) fn parse_column(texts: &[Option<&str>], field: &Field) -> Result<ArrayRef, BadValue> {
    let parse = |(row, text): (usize, Option<&str>)| match text {
        Some(text) => Value::parse(text).map(Some).map_err(|error| BadValue {
            row,
            column: field.name().clone(),
            reason: format!("{} is not {}: {}", quoted(text), with_article(&type_name(field)), error.reason),
        }),
        None => Ok(None),
    };
    let values = texts.iter().copied().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
    let cells: Vec<Cell<'_>> = values.iter().enumerate().map(|(row, value)| Cell::new(row, value.as_ref())).collect();
    build(field, &cells)
}

/// Converts a column; the row of an error is that of the cell.
pub(super) fn build(field: &Field, cells: &[Cell<'_>]) -> Result<ArrayRef, BadValue> {
    if !field.is_nullable()
        && let Some(cell) = cells.iter().find(|cell| cell.value.is_none() && !cell.masked)
    {
        return Err(BadValue::null(cell.row, field));
    }
    let column = Column { field, cells };
    match field.data_type() {
        DataType::Boolean => column.booleans(),
        DataType::Struct(fields) => column.structs(fields),
        DataType::List(element) => column.lists(element),
        DataType::Map(entries, sorted) => column.maps(entries, *sorted),
        _ => column.by_text(),
    }
}

struct Column<'a> {
    field: &'a Field,
    cells: &'a [Cell<'a>],
}

impl<'a> Column<'a> {
    fn unfit(&self, cell: &Cell<'_>) -> BadValue {
        let value = cell.value.map_or_else(|| "null".to_owned(), shown);
        let reason = format!("{value} is not {}", with_article(&type_name(self.field)));
        BadValue { row: cell.row, column: self.field.name().clone(), reason }
    }

    fn broken(&self, error: &arrow::error::ArrowError) -> BadValue {
        let row = self.cells.first().map_or(0, |cell| cell.row);
        BadValue { row, column: self.field.name().clone(), reason: error.to_string() }
    }

    fn booleans(&self) -> Result<ArrayRef, BadValue> {
        let values = self.all(|value| match value {
            Value::Boolean(value) => Some(*value),
            _ => None,
        })?;
        Ok(Arc::new(BooleanArray::from(values)))
    }

    /// Through the text that CSV would have.
    fn by_text(&self) -> Result<ArrayRef, BadValue> {
        use DataType::{Decimal128, Float32, Float64, Int32, Int64};
        let takes_numbers = matches!(self.field.data_type(), Int32 | Int64 | Float32 | Float64 | Decimal128(..));
        let takes = |text: &str| match self.field.data_type() {
            Int32 | Int64 => false,
            // What JSON has no numbers for.
            Float32 | Float64 => ["NaN", "Infinity", "-Infinity"].contains(&text),
            _ => true,
        };
        let text_of = |value: &'a Value| match value {
            Value::String(text) if takes(text) => Some(text.as_str()),
            Value::Number(digits) if takes_numbers => Some(digits.as_str()),
            _ => None,
        };
        let texts = self.all(text_of)?;
        text::parse_column(&texts, self.field).map_err(|bad| match &self.cells[bad.row] {
            // Shown as it stood there, without quotes.
            cell @ Cell { value: Some(Value::Number(_)), .. } => self.unfit(cell),
            cell => BadValue { row: cell.row, ..bad },
        })
    }

    fn structs(&self, fields: &Fields) -> Result<ArrayRef, BadValue> {
        let objects = self.all(Value::as_object)?;
        let places: HashMap<&str, usize> =
            fields.iter().enumerate().map(|(place, field)| (field.name().as_str(), place)).collect();
        // Of each object, its values by the places of their fields.
        let mut values_of = Vec::with_capacity(objects.len());
        for (cell, object) in self.cells.iter().zip(&objects) {
            let place = |(name, value): &'a (String, Value)| match places.get(name.as_str()) {
                Some(place) => Ok((*place, value)),
                None => Err(BadValue {
                    row: cell.row,
                    column: format!("{}.{name}", self.field.name()),
                    reason: "the table has no such column".to_owned(),
                }),
            };
            let mut values = object.iter().copied().flatten().map(place).collect::<Result<Vec<_>, _>>()?;
            values.sort_unstable_by_key(|(place, _)| *place);
            values_of.push(values);
        }
        let mut arrays = Vec::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            let cell_of = |((cell, object), values): ((&Cell<'a>, _), &Vec<(usize, &'a Value)>)| {
                let value = values.binary_search_by_key(&place, |(place, _)| *place).ok().map(|at| values[at].1);
                Cell { masked: cell.masked || Option::is_none(object), ..Cell::new(cell.row, value) }
            };
            let cells: Vec<Cell<'_>> = self.cells.iter().zip(&objects).zip(&values_of).map(cell_of).collect();
            arrays.push(build(field, &cells).map_err(|bad| self.within(bad))?);
        }
        let nulls = objects.iter().map(Option::is_some).collect::<NullBuffer>();
        let array = StructArray::try_new_with_length(fields.clone(), arrays, Some(nulls), self.cells.len());
        Ok(Arc::new(array.map_err(|error| self.broken(&error))?))
    }

    fn lists(&self, element: &Arc<Field>) -> Result<ArrayRef, BadValue> {
        let lists = self.all(Value::as_array)?;
        let mut cells = Vec::new();
        for (cell, list) in self.cells.iter().zip(&lists) {
            cells.extend(list.iter().copied().flatten().map(|value| Cell::new(cell.row, Some(value))));
        }
        let values = build(element, &cells).map_err(|bad| self.within(bad))?;
        let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, <[_]>::len)));
        let nulls = lists.iter().map(Option::is_some).collect::<NullBuffer>();
        let array = ListArray::try_new(element.clone(), offsets, values, Some(nulls));
        Ok(Arc::new(array.map_err(|error| self.broken(&error))?))
    }

    fn maps(&self, entries: &Arc<Field>, sorted: bool) -> Result<ArrayRef, BadValue> {
        let DataType::Struct(fields) = entries.data_type() else { return self.by_text() };
        // Keys of an object are strings; they are made values here so that both forms go one way.
        let maps: Vec<Option<Vec<(Value, &'a Value)>>> = self.all(|value| match value {
            Value::Object(entries) => {
                Some(entries.iter().map(|(key, value)| (Value::String(key.clone()), value)).collect())
            }
            Value::Array(pairs) => {
                let pair = |pair: &'a Value| match pair.as_array() {
                    Some([key, value]) => Some((key.clone(), value)),
                    _ => None,
                };
                pairs.iter().map(pair).collect()
            }
            _ => None,
        })?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (cell, map) in self.cells.iter().zip(&maps) {
            for (key, value) in map.iter().flatten() {
                keys.push(Cell::new(cell.row, Some(key)));
                values.push(Cell::new(cell.row, Some(value)));
            }
        }
        let keys = build(&fields[0], &keys).map_err(|bad| self.within(bad))?;
        let values = build(&fields[1], &values).map_err(|bad| self.within(bad))?;
        let offsets = OffsetBuffer::from_lengths(maps.iter().map(|map| map.as_ref().map_or(0, Vec::len)));
        let nulls = maps.iter().map(Option::is_some).collect::<NullBuffer>();
        let length = keys.len();
        let array = StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, length)
            .and_then(|inner| MapArray::try_new(entries.clone(), offsets, inner, Some(nulls), sorted));
        Ok(Arc::new(array.map_err(|error| self.broken(&error))?))
    }

    fn all<T>(&self, convert: impl Fn(&'a Value) -> Option<T>) -> Result<Vec<Option<T>>, BadValue> {
        let value = |cell: &Cell<'a>| match cell.value {
            Some(value) => convert(value).map(Some).ok_or_else(|| self.unfit(cell)),
            None => Ok(None),
        };
        self.cells.iter().map(value).collect()
    }

    fn within(&self, bad: BadValue) -> BadValue {
        BadValue { column: format!("{}.{}", self.field.name(), bad.column), ..bad }
    }
}

/// A value for a message: not more of it than helps to find it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(digits) => shortened(digits),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::value::write_json;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, true)
    }

    fn map_type() -> DataType {
        let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), field("value", DataType::Int64)]);
        DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false)
    }

    /// JSON goes in and comes out as expected, or is refused with a message that has the given part.
    #[test]
    fn json_becomes_values_or_is_refused() {
        let strict = DataType::Struct(Fields::from(vec![Field::new("must", DataType::Int32, false)]));
        let list = DataType::List(Arc::new(field("element", strict.clone())));
        let decimal = DataType::Decimal128(20, 2);
        let cases: Vec<(DataType, &str, Result<&str, &str>)> = vec![
            (DataType::Int32, "7", Ok("7")),
            (DataType::Int32, "1.5", Err("1.5 is not an int")),
            (DataType::Int32, "\"7\"", Err("\"7\" is not an int")),
            (DataType::Int64, "9223372036854775808", Err("not a long")),
            (DataType::Float64, "\"NaN\"", Ok("\"NaN\"")),
            (DataType::Float64, "\"1\"", Err("not a double")),
            (DataType::Float64, "3", Ok("3.0")),
            (DataType::Float64, "1e400", Err("1e400 is not a double")),
            (DataType::Float32, "1e300", Err("not a float")),
            (DataType::Boolean, "true", Ok("true")),
            (DataType::Boolean, "1", Err("not a boolean")),
            (DataType::Utf8, "1", Err("not a string")),
            (decimal.clone(), "1.25", Ok("\"1.25\"")),
            (decimal.clone(), "\"123456789012345678.25\"", Ok("\"123456789012345678.25\"")),
            (decimal.clone(), "123456789012345678.25", Ok("\"123456789012345678.25\"")),
            (decimal.clone(), "-1.5e-1", Ok("\"-0.15\"")),
            (decimal, "0.123", Err("0.123 is not a decimal")),
            (DataType::Binary, "\"00ff\"", Ok("\"00ff\"")),
            (list.clone(), "[{\"must\":1},null,{\"must\":2}]", Ok("[{\"must\":1},null,{\"must\":2}]")),
            (list.clone(), "[{\"must\":null}]", Err("requires one")),
            (list.clone(), "[{\"must\":1,\"more\":2}]", Err("no such column")),
            (list, "{}", Err("an object is not a list")),
            (map_type(), "[[\"a\",1],[\"b\",null]]", Ok("[[\"a\",1],[\"b\",null]]")),
            (map_type(), "{\"a\":1}", Ok("[[\"a\",1]]")),
            (map_type(), "[[\"a\"]]", Err("an array is not a map")),
            (map_type(), "[[null,1]]", Err("requires one")),
        ];
        for (data_type, json, expected) in cases {
            let field = field("c", data_type);
            let value = Value::parse(json).unwrap();
            let found = build(&field, &[Cell::new(0, None), Cell::new(1, Some(&value))]);
            match (found, expected) {
                (Ok(array), Ok(expected)) => {
                    let mut out = String::new();
                    write_json(&mut out, &field, &array, 1).unwrap();
                    assert_eq!(out, expected);
                    assert!(array.is_null(0));
                }
                (Err(bad), Err(expected)) => {
                    assert!(bad.reason.contains(expected), "{json}: {}", bad.reason);
                    assert_eq!(bad.row, 1);
                }
                (found, _) => panic!("{json}: {found:?}"),
            }
        }
    }
}
