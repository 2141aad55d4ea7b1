//! One module per command: its arguments with their help, and what it does.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod ducklake;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod keystore;
pub(crate) mod kms;
pub(crate) mod load;
pub(crate) mod namespace;
pub(crate) mod sql;
pub(crate) mod table;
