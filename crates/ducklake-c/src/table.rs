//! Definitions of tables.

use std::{ptr, sync::Arc};

use lakelock_ducklake::{ColumnDef, NewTable, TableDef};

use crate::{
    bytes::{LakelockBytes, slice_of},
    error::{Failure, LakelockError, answer},
    runtime::block_on,
    transaction::LakelockTransaction,
};

/// The definition of a table, with views of its parts.
pub struct LakelockTable {
    definition: Arc<TableDef>,
    columns: Vec<LakelockColumn>,
    primary_key: Vec<u32>,
}

/// A column.
#[repr(C)]
pub struct LakelockColumn {
    name: LakelockBytes,
    type_text: LakelockBytes,
    not_null: bool,
    default_value: LakelockBytes,
}

/// A table: one that is there, or one to be made.
#[repr(C)]
pub struct LakelockTableView {
    id: u64,
    schema: LakelockBytes,
    name: LakelockBytes,
    columns: *const LakelockColumn,
    column_count: usize,
    primary_key: *const u32,
    primary_key_count: usize,
}

impl LakelockTable {
    fn new(definition: Arc<TableDef>) -> Result<Self, Failure> {
        // The views stay valid: the definition is on the heap and never changes.
        let columns = definition.columns().iter().map(LakelockColumn::of).collect();
        let positions = definition.primary_key().iter().map(|&column| u32::try_from(column));
        let primary_key =
            positions.collect::<Result<_, _>>().map_err(|_| Failure::internal("a table has too many columns"))?;
        Ok(Self { definition, columns, primary_key })
    }
}

impl LakelockColumn {
    fn of(column: &ColumnDef) -> Self {
        Self {
            name: LakelockBytes::of(column.name.as_bytes()),
            type_text: LakelockBytes::of(column.type_text.as_bytes()),
            not_null: column.not_null,
            default_value: column
                .default
                .as_ref()
                .map_or(LakelockBytes::NONE, |text| LakelockBytes::of(text.as_bytes())),
        }
    }

    /// # Safety
    ///
    /// The views are valid.
    unsafe fn definition(&self) -> Result<ColumnDef, Failure> {
        // SAFETY: the caller says so.
        let text = |view: LakelockBytes| unsafe { view.as_str() }.map(str::to_owned);
        let default = (!self.default_value.data.is_null()).then(|| text(self.default_value)).transpose()?;
        let not_null = self.not_null;
        Ok(ColumnDef { not_null, default, ..ColumnDef::new(text(self.name)?, text(self.type_text)?) })
    }
}

impl LakelockTableView {
    /// # Safety
    ///
    /// The views are valid.
    unsafe fn definition(&self) -> Result<NewTable, Failure> {
        // SAFETY: the caller says so.
        let columns = unsafe { slice_of(self.columns, self.column_count) };
        // SAFETY: as above.
        let columns = columns.iter().map(|column| unsafe { column.definition() }).collect::<Result<_, _>>()?;
        // SAFETY: as above.
        let (schema, name) = unsafe { (self.schema.as_str()?, self.name.as_str()?) };
        // SAFETY: as above.
        let primary_key = unsafe { slice_of(self.primary_key, self.primary_key_count) };
        Ok(NewTable {
            schema: schema.to_owned(),
            name: name.to_owned(),
            columns,
            primary_key: primary_key.iter().map(|&column| column as usize).collect(),
        })
    }
}

/// Looks a table up.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_table(
    transaction: *mut LakelockTransaction,
    schema: LakelockBytes,
    name: LakelockBytes,
    table: *mut *mut LakelockTable,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, strings and the place of the result.
        let (transaction, schema, name, table) =
            unsafe { (&*transaction, schema.as_str()?, name.as_str()?, &mut *table) };
        let found = block_on(async { Ok(transaction.0.read().await.table(schema, name)) })?;
        *table = match found {
            Some(definition) => Box::into_raw(Box::new(LakelockTable::new(definition)?)),
            None => ptr::null_mut(),
        };
        Ok(())
    })
}

/// What a table is like.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_table_view(table: *const LakelockTable) -> LakelockTableView {
    // SAFETY: it is a handle.
    let LakelockTable { definition, columns, primary_key } = unsafe { &*table };
    LakelockTableView {
        id: definition.id().0.into(),
        schema: LakelockBytes::of(definition.schema().as_bytes()),
        name: LakelockBytes::of(definition.name().as_bytes()),
        columns: columns.as_ptr(),
        column_count: columns.len(),
        primary_key: primary_key.as_ptr(),
        primary_key_count: primary_key.len(),
    }
}

/// Gives the handle back.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_table_free(table: *mut LakelockTable) {
    // SAFETY: it is a handle, given back once.
    drop(unsafe { Box::from_raw(table) });
}

/// Makes a table.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_create_table(
    transaction: *mut LakelockTransaction,
    table: *const LakelockTableView,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and views that are valid during the call.
        let (transaction, new) = unsafe { (&*transaction, (*table).definition()?) };
        block_on(async { transaction.0.write().await.create_table(new, false) })?;
        Ok(())
    })
}

/// Drops a table.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_drop_table(
    transaction: *mut LakelockTransaction,
    schema: LakelockBytes,
    name: LakelockBytes,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle and strings.
        let (transaction, schema, name) = unsafe { (&*transaction, schema.as_str()?, name.as_str()?) };
        block_on(async { transaction.0.write().await.drop_table(schema, name, false) })?;
        Ok(())
    })
}
