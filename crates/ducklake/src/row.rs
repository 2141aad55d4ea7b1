//! Rows: the values of some columns, one after the other.

use crate::{
    error::{Error, ErrorKind, Result, corrupt},
    layout::Layout,
};

/// How rows of some columns are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    columns: Vec<Layout>,
}

impl RowLayout {
    /// Of columns of these types, each as DuckDB writes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a type whose layout is not known.
    pub fn new<'a>(types: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let layout = |text| {
            let unknown = || Error::new(ErrorKind::Unsupported, format!("values of type {text} cannot be read here"));
            Layout::of_type(text).ok_or_else(unknown)
        };
        Ok(Self { columns: types.into_iter().map(layout).collect::<Result<_>>()? })
    }

    pub(crate) fn columns(&self) -> &[Layout] {
        &self.columns
    }

    /// The columns' values, of each the payload that `docs/ducklake-format.md` describes, or nothing for NULL.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`] for what is no row of these columns.
    pub fn values<'a>(&self, row: &'a [u8]) -> Result<Vec<Option<&'a [u8]>>> {
        let mut input = row;
        let values = self.take(&mut input)?;
        if input.is_empty() { Ok(values) } else { Err(corrupt("a row goes on behind its last column")) }
    }

    /// The values of these columns in a row that may have further ones.
    pub(crate) fn first_values<'a>(&self, row: &'a [u8]) -> Result<Vec<Option<&'a [u8]>>> {
        self.take(&mut &*row)
    }

    fn take<'a>(&self, input: &mut &'a [u8]) -> Result<Vec<Option<&'a [u8]>>> {
        // What the row ends before was added later.
        let take = |layout: &Layout| if input.is_empty() { Ok(None) } else { layout.take(input) };
        self.columns.iter().map(take).collect()
    }
}

/// The number of a BIGINT.
///
/// # Errors
///
/// [`ErrorKind::Corrupt`] for what is no payload of one.
pub fn bigint(payload: &[u8]) -> Result<i64> {
    payload.try_into().map(i64::from_le_bytes).map_err(|_| corrupt("a value is no BIGINT"))
}

/// The text of a VARCHAR.
///
/// # Errors
///
/// [`ErrorKind::Corrupt`] for what is no payload of one.
pub fn text(payload: &[u8]) -> Result<&str> {
    let bytes = Layout::bytes_of(payload)?;
    std::str::from_utf8(bytes).map_err(|_| corrupt("a value is no VARCHAR"))
}
