//! The schema that a file was written with, reduced to what its bytes and Iceberg's ids need.
//!
//! Iceberg's attributes: <https://iceberg.apache.org/spec/#avro>.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use serde_json::{Map, Value};

/// How deeply types may nest: beyond any real schema, and far from exhausting the stack.
const MAX_DEPTH: usize = 64;

/// How many types there may be, each counted as often as its name is used: what refers to one twice doubles it.
const MAX_TYPES: usize = 100_000;

/// A type.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Null,
    Boolean,
    /// An int, as the Arrow type that it stands for.
    Int(DataType),
    /// A long, likewise.
    Long(DataType),
    Float,
    Double,
    /// Bytes, likewise.
    Bytes(DataType),
    String,
    /// So many bytes, likewise.
    Fixed(usize, DataType),
    Enum(Arc<[String]>),
    Array(Arc<Array>),
    Map(Arc<Entry>),
    Record(Arc<[Field]>),
    Union(Arc<[Node]>),
}

/// A field of a record, the elements of an array, the keys or values of a map.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(super) id: Option<i32>,
    pub(crate) node: Node,
}

/// Items in a row.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) element: Field,
    /// Whether the elements are the keys and values of a map.
    pub(super) is_map: bool,
}

/// What a map has, keys being strings.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(super) key_id: Option<i32>,
    pub(super) value: Field,
}

impl Node {
    /// What a schema text describes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Self::from_json(&json)
    }

    /// What a schema describes that is JSON already.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn from_json(json: &Value) -> Result<Self, String> {
        Parser::default().node(json, "").map(|typed| typed.node)
    }

    /// The least number of bytes that a value takes.
    pub(super) fn min_length(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Float => 4,
            Self::Double => 8,
            Self::Fixed(length, _) => *length,
            Self::Record(fields) => {
                fields.iter().fold(0, |sum, field| usize::saturating_add(sum, field.node.min_length()))
            }
            _ => 1,
        }
    }

    /// Whether anything in it has a field id.
    pub(super) fn has_ids(&self) -> bool {
        let field = |field: &Field| field.id.is_some() || field.node.has_ids();
        match self {
            Self::Array(array) => field(&array.element),
            Self::Map(entry) => entry.key_id.is_some() || field(&entry.value),
            Self::Record(fields) => fields.iter().any(field),
            Self::Union(branches) => branches.iter().any(Self::has_ids),
            _ => false,
        }
    }
}

/// A type, how deeply it nests and how many types it is made of.
#[derive(Debug, Clone)]
struct Typed {
    node: Node,
    size: Size,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    depth: usize,
    types: usize,
}

impl Size {
    fn add(&mut self, inner: Self) {
        self.depth = self.depth.max(inner.depth);
        self.types = self.types.saturating_add(inner.types);
    }

    /// The type with insides of this size.
    fn around(self, node: Node) -> Result<Typed, String> {
        let size = Self { depth: self.depth + 1, types: self.types.saturating_add(1) };
        if size.depth > MAX_DEPTH || size.types > MAX_TYPES {
            return Err(format!("it has more than {MAX_TYPES} types, or they nest more than {MAX_DEPTH} deep"));
        }
        Ok(Typed { node, size })
    }
}

impl From<Node> for Typed {
    fn from(node: Node) -> Self {
        Self { node, size: Size { depth: 0, types: 1 } }
    }
}

#[derive(Default)]
struct Parser {
    /// Types that have a name, by it; `None` while they are being read.
    named: HashMap<String, Option<Typed>>,
}

impl Parser {
    fn node(&mut self, json: &Value, namespace: &str) -> Result<Typed, String> {
        match json {
            Value::String(name) => self.by_name(name, &Map::new(), namespace),
            Value::Array(branches) => {
                let (mut size, mut nodes) = (Size::default(), Vec::with_capacity(branches.len()));
                for branch in branches {
                    let typed = self.node(branch, namespace)?;
                    size.add(typed.size);
                    nodes.push(typed.node);
                }
                size.around(Node::Union(nodes.into()))
            }
            Value::Object(attributes) => match attributes.get("type") {
                Some(Value::String(name)) => self.by_name(name, attributes, namespace),
                Some(inner @ (Value::Object(_) | Value::Array(_))) => self.node(inner, namespace),
                _ => Err("a type has no \"type\"".to_owned()),
            },
            _ => Err(format!("{json} is no type")),
        }
    }

    fn by_name(&mut self, name: &str, attributes: &Map<String, Value>, namespace: &str) -> Result<Typed, String> {
        Ok(match name {
            "null" => Node::Null.into(),
            "boolean" => Node::Boolean.into(),
            "int" => Node::Int(int(attributes)).into(),
            "long" => Node::Long(long(attributes)).into(),
            "float" => Node::Float.into(),
            "double" => Node::Double.into(),
            "bytes" => Node::Bytes(decimal(attributes).unwrap_or(DataType::Binary)).into(),
            "string" => Node::String.into(),
            "array" => {
                let element = self.child(attributes, "items", namespace)?;
                let is_map = logical_type(attributes) == Some("map");
                let id = id(attributes, "element-id")?;
                let element_field = Field { name: "element".to_owned(), id, node: element.node };
                element.size.around(Node::Array(Arc::new(Array { element: element_field, is_map })))?
            }
            "map" => {
                let value = self.child(attributes, "values", namespace)?;
                let (key_id, id) = (id(attributes, "key-id")?, id(attributes, "value-id")?);
                let value_field = Field { name: "value".to_owned(), id, node: value.node };
                value.size.around(Node::Map(Arc::new(Entry { key_id, value: value_field })))?
            }
            "record" | "error" => self.record(attributes, namespace)?,
            "fixed" => {
                let length = attributes.get("size").and_then(Value::as_u64);
                // Arrow counts these bytes with 31 bits.
                let length = length.and_then(|length| i32::try_from(length).ok()).ok_or("a fixed has no size")?;
                let r#type = decimal(attributes).unwrap_or(DataType::FixedSizeBinary(length));
                let length = usize::try_from(length).map_err(|e| e.to_string())?;
                self.define(attributes, namespace, Node::Fixed(length, r#type).into())?
            }
            "enum" => {
                let symbols = attributes.get("symbols").and_then(Value::as_array).ok_or("an enum has no symbols")?;
                let symbols = symbols.iter().map(|symbol| symbol.as_str().map(str::to_owned));
                let symbols: Option<Arc<[String]>> = symbols.collect();
                let node = Node::Enum(symbols.ok_or("an enum has a symbol that is no text")?);
                self.define(attributes, namespace, node.into())?
            }
            name => match self.named.get(&full_name(name, namespace)).or_else(|| self.named.get(name)) {
                Some(Some(typed)) => typed.clone(),
                Some(None) => return Err(format!("type {name} contains itself")),
                None => return Err(format!("there is no type {name}")),
            },
        })
    }

    fn child(&mut self, attributes: &Map<String, Value>, of: &str, namespace: &str) -> Result<Typed, String> {
        self.node(attributes.get(of).ok_or_else(|| format!("a type has no {of}"))?, namespace)
    }

    fn record(&mut self, attributes: &Map<String, Value>, namespace: &str) -> Result<Typed, String> {
        let name = name_of(attributes, namespace)?;
        self.named.insert(name.clone(), None);
        let inner = name.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
        let (mut size, mut fields) = (Size::default(), Vec::new());
        for json in attributes.get("fields").and_then(Value::as_array).ok_or("a record has no fields")? {
            let json = json.as_object().ok_or("a field is no object")?;
            let name = json.get("name").and_then(Value::as_str).ok_or("a field has no name")?.to_owned();
            let typed = self.child(json, "type", &inner)?;
            size.add(typed.size);
            fields.push(Field { name, id: id(json, "field-id")?, node: typed.node });
        }
        let typed = size.around(Node::Record(fields.into()))?;
        self.named.insert(name, Some(typed.clone()));
        Ok(typed)
    }

    fn define(&mut self, attributes: &Map<String, Value>, namespace: &str, typed: Typed) -> Result<Typed, String> {
        self.named.insert(name_of(attributes, namespace)?, Some(typed.clone()));
        Ok(typed)
    }
}

fn name_of(attributes: &Map<String, Value>, namespace: &str) -> Result<String, String> {
    let text = |of| attributes.get(of).and_then(Value::as_str);
    let name = text("name").ok_or("a named type has no name")?;
    Ok(full_name(name, text("namespace").unwrap_or(namespace)))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

fn id(attributes: &Map<String, Value>, name: &str) -> Result<Option<i32>, String> {
    let Some(id) = attributes.get(name) else { return Ok(None) };
    let number = id.as_i64().and_then(|id| i32::try_from(id).ok());
    number.map(Some).ok_or_else(|| format!("{name} {id} is no field id"))
}

fn logical_type(attributes: &Map<String, Value>) -> Option<&str> {
    attributes.get("logicalType").and_then(Value::as_str)
}

fn int(attributes: &Map<String, Value>) -> DataType {
    match logical_type(attributes) {
        Some("date") => DataType::Date32,
        Some("time-millis") => DataType::Time32(TimeUnit::Millisecond),
        _ => DataType::Int32,
    }
}

fn long(attributes: &Map<String, Value>) -> DataType {
    let unit = match logical_type(attributes) {
        Some("time-micros") => return DataType::Time64(TimeUnit::Microsecond),
        Some("timestamp-millis" | "local-timestamp-millis") => TimeUnit::Millisecond,
        Some("timestamp-micros" | "local-timestamp-micros") => TimeUnit::Microsecond,
        Some("timestamp-nanos" | "local-timestamp-nanos") => TimeUnit::Nanosecond,
        _ => return DataType::Int64,
    };
    // Iceberg's own attribute decides; files of others have none, and their types are read as the table has them.
    let zone = attributes.get("adjust-to-utc").is_some_and(|value| value == &Value::Bool(true));
    DataType::Timestamp(unit, zone.then(|| "UTC".into()))
}

/// Attributes that make no sense are as if they were not there, as the specification of Avro wants it.
fn decimal(attributes: &Map<String, Value>) -> Option<DataType> {
    if logical_type(attributes) != Some("decimal") {
        return None;
    }
    let number = |of| attributes.get(of).map_or(Some(0), Value::as_u64);
    let (precision, scale) = (u8::try_from(number("precision")?).ok()?, i8::try_from(number("scale")?).ok()?);
    ((1..=38).contains(&precision) && scale.unsigned_abs() <= precision)
        .then_some(DataType::Decimal128(precision, scale))
}
