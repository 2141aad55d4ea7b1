//! The values of a block, gathered into Arrow arrays.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, ListArray, MapArray, NullArray, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Field as ArrowField, FieldRef, Fields, Time32MillisecondType, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow::error::ArrowError;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::Wanted;
use super::cursor::{CUT_OFF, Cursor, Decoded, Malformed};
use super::schema::{Entry, Field, Node};
use super::skip::skip;

/// What a value that takes less room in the file than in memory counts for: a null, an item without bytes.
const SMALL: usize = 16;

/// How much more room values may take in memory than in the file, in one batch.
const MAX_GROWTH: usize = 1 << 30;

/// Room in memory that nothing in the file stands for, so that few bytes cannot fill it.
#[derive(Debug, Default)]
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn bytes(&self) -> usize {
        self.0
    }

    fn add(&mut self, bytes: usize) -> Decoded<()> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > MAX_GROWTH { Err(Malformed("few bytes stand for more than memory should hold")) } else { Ok(()) }
    }
}

/// Values of one type, so far. A clone of what is empty is a fresh one.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Null(usize),
    Boolean(Vec<bool>),
    Int(DataType, Vec<i32>),
    Long(DataType, Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Of so many bytes each, or with their lengths.
    Decimal(DataType, Option<usize>, Vec<i128>),
    Fixed {
        length: usize,
        r#type: DataType,
        bytes: Vec<u8>,
        count: usize,
    },
    Text(Texts),
    Bytes(Texts),
    Enum(Arc<[String]>, Texts),
    /// A union of null and something else.
    Optional {
        null_first: bool,
        valid: Vec<bool>,
        inner: Box<Values>,
    },
    Items {
        is_map: bool,
        /// The elements', or the entries'.
        field: FieldRef,
        /// Without the leading zero.
        ends: Vec<i32>,
        count: i32,
        takes_bytes: bool,
        inner: Box<Values>,
    },
    Struct {
        fields: Fields,
        steps: Vec<Step>,
        count: usize,
    },
}

/// What is done with a field of a record.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Skip(Node),
    Read(Values),
}

/// Texts behind each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Without the leading zero.
    ends: Vec<i32>,
}

impl Values {
    /// Nothing yet of a type, with those fields of its records that are wanted.
    ///
    /// # Errors
    /// What it has that cannot be read.
    pub(super) fn of(node: &Node, wanted: &Wanted) -> Result<Self, String> {
        Ok(match node {
            Node::Null => Self::Null(0),
            Node::Boolean => Self::Boolean(Vec::new()),
            Node::Int(r#type) => Self::Int(r#type.clone(), Vec::new()),
            Node::Long(r#type) => Self::Long(r#type.clone(), Vec::new()),
            Node::Float => Self::Float(Vec::new()),
            Node::Double => Self::Double(Vec::new()),
            Node::Bytes(r#type @ DataType::Decimal128(..)) => Self::Decimal(r#type.clone(), None, Vec::new()),
            Node::Bytes(_) => Self::Bytes(Texts::default()),
            Node::String => Self::Text(Texts::default()),
            Node::Fixed(length, r#type @ DataType::Decimal128(..)) => {
                Self::Decimal(r#type.clone(), Some(*length), Vec::new())
            }
            Node::Fixed(length, r#type) => {
                Self::Fixed { length: *length, r#type: r#type.clone(), bytes: Vec::new(), count: 0 }
            }
            Node::Enum(symbols) => Self::Enum(Arc::clone(symbols), Texts::default()),
            Node::Array(array) if array.is_map => {
                let Node::Record(fields) = &array.element.node else { return Err(NO_ENTRIES.to_owned()) };
                let [key, value] = &fields[..] else { return Err(NO_ENTRIES.to_owned()) };
                Self::map(key, value, wanted)?
            }
            Node::Array(array) => {
                let inner = Self::of(&array.element.node, wanted)?;
                let field = arrow_field("element", array.element.id, &inner);
                Self::items(false, field, array.element.node.min_length() > 0, inner)
            }
            Node::Map(entry) => {
                let Entry { key_id, value } = &**entry;
                let key = Field { name: "key".to_owned(), id: *key_id, node: Node::String };
                Self::map(&key, value, wanted)?
            }
            Node::Record(fields) => {
                let (mut arrow, mut steps) = (Vec::new(), Vec::new());
                for field in fields.iter() {
                    if wanted.includes(field) {
                        let values = Self::of(&field.node, wanted)?;
                        arrow.push(arrow_field(&field.name, field.id, &values));
                        steps.push(Step::Read(values));
                    } else {
                        steps.push(Step::Skip(field.node.clone()));
                    }
                }
                Self::Struct { fields: arrow.into(), steps, count: 0 }
            }
            Node::Union(branches) => match &branches[..] {
                [Node::Null, other] | [other, Node::Null] if !matches!(other, Node::Null | Node::Union(_)) => {
                    let (null_first, inner) = (matches!(branches[0], Node::Null), Box::new(Self::of(other, wanted)?));
                    Self::Optional { null_first, valid: Vec::new(), inner }
                }
                _ => return Err("a union of other types than null and one more".to_owned()),
            },
        })
    }

    fn map(key: &Field, value: &Field, wanted: &Wanted) -> Result<Self, String> {
        let (keys, values) = (Self::of(&key.node, wanted)?, Self::of(&value.node, wanted)?);
        let takes_bytes = key.node.min_length() > 0 || value.node.min_length() > 0;
        let key = arrow_field("key", key.id, &keys).as_ref().clone().with_nullable(false);
        let fields = Fields::from(vec![Arc::new(key), arrow_field("value", value.id, &values)]);
        let entries = Self::Struct { fields, steps: vec![Step::Read(keys), Step::Read(values)], count: 0 };
        let field = Arc::new(ArrowField::new("key_value", entries.data_type(), false));
        Ok(Self::items(true, field, takes_bytes, entries))
    }

    fn items(is_map: bool, field: FieldRef, takes_bytes: bool, inner: Self) -> Self {
        Self::Items { is_map, field, ends: Vec::new(), count: 0, takes_bytes, inner: Box::new(inner) }
    }

    /// The type of the array that they become.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Null(_) => DataType::Null,
            Self::Boolean(_) => DataType::Boolean,
            Self::Int(r#type, _) | Self::Long(r#type, _) | Self::Decimal(r#type, ..) | Self::Fixed { r#type, .. } => {
                r#type.clone()
            }
            Self::Float(_) => DataType::Float32,
            Self::Double(_) => DataType::Float64,
            Self::Text(_) | Self::Enum(..) => DataType::Utf8,
            Self::Bytes(_) => DataType::Binary,
            Self::Optional { inner, .. } => inner.data_type(),
            Self::Items { is_map: false, field, .. } => DataType::List(Arc::clone(field)),
            Self::Items { is_map: true, field, .. } => DataType::Map(Arc::clone(field), false),
            Self::Struct { fields, .. } => DataType::Struct(fields.clone()),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Optional { .. } | Self::Null(_))
    }

    /// Reads one more.
    pub(super) fn read(&mut self, from: &mut Cursor<'_>, growth: &mut Growth) -> Decoded<()> {
        match self {
            Self::Null(count) => *count += 1,
            Self::Boolean(values) => values.push(from.boolean()?),
            Self::Int(_, values) => values.push(from.int()?),
            Self::Long(_, values) => values.push(from.long()?),
            Self::Float(values) => values.push(f32::from_le_bytes(from.array()?)),
            Self::Double(values) => values.push(f64::from_le_bytes(from.array()?)),
            Self::Decimal(_, length, values) => {
                let bytes = match length {
                    Some(length) => from.take(*length)?,
                    None => from.bytes()?,
                };
                values.push(decimal(bytes)?);
            }
            Self::Fixed { length, bytes, count, .. } => {
                bytes.extend_from_slice(from.take(*length)?);
                *count += 1;
            }
            Self::Text(texts) | Self::Bytes(texts) => texts.push(from.bytes()?)?,
            Self::Enum(symbols, texts) => {
                let symbol = symbols.get(from.length()?).ok_or(Malformed("an enum has no such symbol"))?;
                growth.add(symbol.len())?;
                texts.push(symbol.as_bytes())?;
            }
            Self::Optional { null_first, valid, inner } => {
                let is_null = match from.long()? {
                    0 => *null_first,
                    1 => !*null_first,
                    _ => return Err(Malformed("a union has no such branch")),
                };
                valid.push(!is_null);
                if is_null {
                    inner.push_default(growth)?;
                } else {
                    inner.read(from, growth)?;
                }
            }
            Self::Items { ends, count, takes_bytes, inner, .. } => {
                while let Some((items, _)) = from.items()? {
                    let items = i32::try_from(items).map_err(|_| CUT_OFF)?;
                    *count = count.checked_add(items).ok_or(TOO_MANY)?;
                    for _ in 0..items {
                        if !*takes_bytes {
                            growth.add(SMALL)?;
                        }
                        inner.read(from, growth)?;
                    }
                }
                ends.push(*count);
            }
            Self::Struct { steps, count, .. } => {
                for step in steps {
                    match step {
                        Step::Skip(node) => skip(node, from)?,
                        Step::Read(values) => values.read(from, growth)?,
                    }
                }
                *count += 1;
            }
        }
        Ok(())
    }

    /// Adds what stands where a value is null.
    fn push_default(&mut self, growth: &mut Growth) -> Decoded<()> {
        growth.add(SMALL)?;
        match self {
            Self::Null(count) => *count += 1,
            Self::Boolean(values) => values.push(false),
            Self::Int(_, values) => values.push(0),
            Self::Long(_, values) => values.push(0),
            Self::Float(values) => values.push(0.0),
            Self::Double(values) => values.push(0.0),
            Self::Decimal(_, _, values) => values.push(0),
            Self::Fixed { length, bytes, count, .. } => {
                growth.add(*length)?;
                bytes.resize(bytes.len() + *length, 0);
                *count += 1;
            }
            Self::Text(texts) | Self::Bytes(texts) | Self::Enum(_, texts) => texts.push(&[])?,
            Self::Optional { valid, inner, .. } => {
                valid.push(false);
                inner.push_default(growth)?;
            }
            Self::Items { ends, count, .. } => ends.push(*count),
            Self::Struct { steps, count, .. } => {
                for step in steps {
                    if let Step::Read(values) = step {
                        values.push_default(growth)?;
                    }
                }
                *count += 1;
            }
        }
        Ok(())
    }

    /// The array of what was read; nothing is left.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.finish_with(None)
    }

    fn finish_with(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Null(count) => Arc::new(NullArray::new(take(count))),
            Self::Boolean(values) => Arc::new(BooleanArray::new(take(values).into(), nulls)),
            Self::Int(r#type, values) => {
                let array = Int32Array::try_new(take(values).into(), nulls)?;
                match r#type {
                    DataType::Date32 => Arc::new(array.reinterpret_cast::<Date32Type>()),
                    DataType::Time32(_) => Arc::new(array.reinterpret_cast::<Time32MillisecondType>()),
                    _ => Arc::new(array),
                }
            }
            Self::Long(r#type, values) => long_array(r#type, Int64Array::try_new(take(values).into(), nulls)?),
            Self::Float(values) => Arc::new(Float32Array::try_new(take(values).into(), nulls)?),
            Self::Double(values) => Arc::new(Float64Array::try_new(take(values).into(), nulls)?),
            Self::Decimal(r#type, _, values) => {
                Arc::new(Decimal128Array::try_new(take(values).into(), nulls)?.with_data_type(r#type.clone()))
            }
            Self::Fixed { length, bytes, count, .. } => {
                let length = i32::try_from(*length).map_err(|e| ArrowError::from_external_error(Box::new(e)))?;
                let bytes = Buffer::from_vec(take(bytes));
                Arc::new(FixedSizeBinaryArray::try_new_with_len(length, bytes, nulls, take(count))?)
            }
            Self::Text(texts) | Self::Enum(_, texts) => {
                let (ends, bytes) = texts.finish();
                Arc::new(StringArray::try_new(ends, bytes, nulls)?)
            }
            Self::Bytes(texts) => {
                let (ends, bytes) = texts.finish();
                Arc::new(BinaryArray::try_new(ends, bytes, nulls)?)
            }
            Self::Optional { valid, inner, .. } => {
                let own = NullBuffer::from(take(valid));
                inner.finish_with(NullBuffer::union(nulls.as_ref(), Some(&own)).filter(|all| all.null_count() > 0))?
            }
            Self::Items { is_map, field, ends, count, inner, .. } => {
                *count = 0;
                let (ends, inner, field) = (offsets(take(ends)), inner.finish()?, Arc::clone(field));
                if *is_map {
                    let entries = inner.as_any().downcast_ref::<StructArray>().cloned();
                    let entries = entries.ok_or_else(|| ArrowError::ComputeError(NO_ENTRIES.to_owned()))?;
                    Arc::new(MapArray::try_new(field, ends, entries, nulls, false)?)
                } else {
                    Arc::new(ListArray::try_new(field, ends, inner, nulls)?)
                }
            }
            Self::Struct { fields, steps, count } => {
                let read = steps.iter_mut().filter_map(|step| match step {
                    Step::Skip(_) => None,
                    Step::Read(values) => Some(values.finish()),
                });
                let children = read.collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, take(count))?)
            }
        })
    }
}

impl Texts {
    fn push(&mut self, text: &[u8]) -> Decoded<()> {
        self.bytes.extend_from_slice(text);
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| TOO_MANY)?);
        Ok(())
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        (offsets(take(&mut self.ends)), Buffer::from_vec(take(&mut self.bytes)))
    }
}

const TOO_MANY: Malformed = Malformed("a row has more than 2 GiB");

const NO_ENTRIES: &str = "a map that is no array of keys and values";

/// The Arrow field of some values.
pub(super) fn arrow_field(name: &str, id: Option<i32>, values: &Values) -> FieldRef {
    let metadata = id.map(|id| (PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string()));
    let field = ArrowField::new(name, values.data_type(), values.is_nullable());
    Arc::new(field.with_metadata(metadata.into_iter().collect::<HashMap<_, _>>()))
}

fn offsets(mut ends: Vec<i32>) -> OffsetBuffer<i32> {
    ends.insert(0, 0);
    OffsetBuffer::new(ends.into())
}

fn long_array(r#type: &DataType, array: Int64Array) -> ArrayRef {
    match r#type {
        DataType::Time64(_) => Arc::new(array.reinterpret_cast::<Time64MicrosecondType>()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            Arc::new(array.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(array.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(array.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone.clone()))
        }
        _ => Arc::new(array),
    }
}

/// A number in two's complement, the most significant byte first.
fn decimal(bytes: &[u8]) -> Decoded<i128> {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(size_of::<i128>());
    let (beyond, low) = bytes.split_at(extra);
    let same_sign = low.first().is_none_or(|byte| (byte & 0x80 != 0) == negative);
    if beyond.iter().any(|byte| *byte != fill) || !same_sign {
        return Err(Malformed("a decimal has more than 128 bits"));
    }
    let mut number = [fill; size_of::<i128>()];
    number[size_of::<i128>() - low.len()..].copy_from_slice(low);
    Ok(i128::from_be_bytes(number))
}
