//! Deleted rows by their positions, and the deletion vectors that hold them.

mod positions;
mod vector;

pub use positions::DeletedRows;
pub use vector::{decode_deletion_vector, read_deletion_vector};
