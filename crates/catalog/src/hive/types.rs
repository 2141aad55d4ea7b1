//! Types of Iceberg as Hive names them.

use lakelock_iceberg::spec::{PrimitiveType, Type};

/// The Hive type of a column. It is for show: nothing reads the table by it. A time zone and fractions below a microsecond
/// have no place in it, as in what Java writes.
pub(super) fn hive_type(iceberg_type: &Type) -> String {
    match iceberg_type {
        Type::Primitive(primitive) => primitive_type(primitive),
        Type::Struct(of) => {
            let fields: Vec<_> =
                of.fields().iter().map(|f| format!("{}:{}", f.name, hive_type(&f.field_type))).collect();
            format!("struct<{}>", fields.join(","))
        }
        Type::List(list) => format!("array<{}>", hive_type(&list.element_field.field_type)),
        Type::Map(map) => {
            format!("map<{},{}>", hive_type(&map.key_field.field_type), hive_type(&map.value_field.field_type))
        }
    }
}

fn primitive_type(primitive: &PrimitiveType) -> String {
    let name = match primitive {
        PrimitiveType::Boolean => "boolean",
        PrimitiveType::Int => "int",
        PrimitiveType::Long => "bigint",
        PrimitiveType::Float => "float",
        PrimitiveType::Double => "double",
        PrimitiveType::Date => "date",
        PrimitiveType::Time | PrimitiveType::String | PrimitiveType::Uuid => "string",
        PrimitiveType::Timestamp
        | PrimitiveType::Timestamptz
        | PrimitiveType::TimestampNs
        | PrimitiveType::TimestamptzNs => "timestamp",
        PrimitiveType::Fixed(_) | PrimitiveType::Binary => "binary",
        PrimitiveType::Decimal { precision, scale } => return format!("decimal({precision},{scale})"),
    };
    name.to_owned()
}
