//! How files deviate from the standard.

/// What a file follows.
///
/// Which one it is must be known: it is not believed of the file, since one that follows the standard is better protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The Parquet format's [`Encryption.md`](https://github.com/apache/parquet-format/blob/master/Encryption.md).
    Standard,
    /// What `DuckDB` writes, and `DuckLake` with it.
    ///
    /// No module is bound to its place: the AAD of each is empty, and the file has none of its own. Whoever can write to the
    /// storage can exchange pages under the same key unnoticed, between files as well. The size in a page's header leaves the
    /// overhead of encryption out, and columns do not say that they are encrypted.
    DuckDb,
}

impl Dialect {
    /// Whether the AAD tells modules and files apart.
    pub(crate) fn binds_modules(self) -> bool {
        self == Self::Standard
    }

    /// Whether sizes in the headers of pages are those of the module, not of its plaintext.
    pub(crate) fn counts_overhead(self) -> bool {
        self == Self::Standard
    }

    /// Whether each column says with which key it is encrypted.
    pub(crate) fn marks_columns(self) -> bool {
        self == Self::Standard
    }
}
