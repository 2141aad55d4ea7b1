//! Over values that are not asked for.

use super::cursor::{Cursor, Decoded, Malformed};
use super::schema::Node;

/// Takes a value off and forgets it.
pub(super) fn skip(node: &Node, from: &mut Cursor<'_>) -> Decoded<()> {
    match node {
        Node::Null => {}
        Node::Boolean => drop(from.take(1)?),
        Node::Int(_) | Node::Long(_) | Node::Enum(_) => drop(from.long()?),
        Node::Float => drop(from.take(4)?),
        Node::Double => drop(from.take(8)?),
        Node::Bytes(_) | Node::String => drop(from.bytes()?),
        Node::Fixed(length, _) => drop(from.take(*length)?),
        Node::Array(array) => skip_items(from, &[&array.element.node])?,
        Node::Map(entry) => skip_items(from, &[&Node::String, &entry.value.node])?,
        Node::Record(fields) => fields.iter().try_for_each(|field| skip(&field.node, from))?,
        Node::Union(branches) => {
            let branch = branches.get(from.length()?).ok_or(Malformed("a union has no such branch"))?;
            skip(branch, from)?;
        }
    }
    Ok(())
}

fn skip_items(from: &mut Cursor<'_>, parts: &[&Node]) -> Decoded<()> {
    let takes_bytes = parts.iter().any(|part| part.min_length() > 0);
    while let Some((items, length)) = from.items()? {
        match length {
            Some(length) => drop(from.take(length)?),
            // However many there are: each ends at the end of the bytes at the latest.
            None if takes_bytes => {
                for _ in 0..items {
                    parts.iter().try_for_each(|part| skip(part, from))?;
                }
            }
            None => {}
        }
    }
    Ok(())
}
