//! Metadata tables in a catalog of Lakelock.

use bytes::Bytes;
use lakelock_ducklake::{Filter, Lake, OpenOptions, RowLayout, TableDef, Transaction, bigint, text};
use lakelock_storage::Storage;

use super::{Cell, Rows, Wanted};
use crate::error::Result;

pub(crate) struct Store {
    lake: Lake,
    schema: String,
}

impl Store {
    pub(super) async fn open(storage: &Storage, folder: &str, schema: Option<&str>) -> Result<Self> {
        let lake = Lake::open(storage, folder, OpenOptions::default()).await?;
        Ok(Self { lake, schema: schema.unwrap_or("main").to_owned() })
    }

    pub(super) async fn read(&self, wanted: &[Wanted]) -> Result<Vec<Rows>> {
        let transaction = self.lake.begin().await?;
        let mut answers = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            answers.push(self.table(&transaction, wanted).await?);
        }
        Ok(answers)
    }

    async fn table(&self, transaction: &Transaction, wanted: &Wanted) -> Result<Rows> {
        let Some(table) = transaction.table(&self.schema, &wanted.table) else { return wanted.missing() };
        let layout = RowLayout::new(table.columns().iter().map(|column| column.type_text.as_str()))?;
        let of_table = wanted.of_table.zip(table.column("table_id"));
        let of_table = of_table.map(|(value, column)| Filter::Equal { column, value });
        let live_at = wanted.live_at.map(|snapshot| Filter::LiveAt { snapshot });
        let filters: Vec<_> = of_table.into_iter().chain(live_at).collect();
        let mut rows =
            Rows::new(wanted.table.clone(), table.columns().iter().map(|column| column.name.clone()).collect());
        let mut scan = transaction.scan(table.id(), &filters)?;
        loop {
            let some = scan.next().await?;
            if some.is_empty() {
                return Ok(rows);
            }
            for (_, row) in some {
                rows.push(cells(&table, &layout, &row)?)?;
            }
        }
    }
}

fn cells(table: &TableDef, layout: &RowLayout, row: &Bytes) -> Result<Vec<Cell>> {
    let cell = |(type_text, payload): (&str, Option<&[u8]>)| {
        let Some(payload) = payload else { return Ok(Cell::Null) };
        Ok(match type_text.to_ascii_uppercase().as_str() {
            "BIGINT" => Cell::Integer(bigint(payload)?),
            "BOOLEAN" => Cell::Integer((payload != [0]).into()),
            "VARCHAR" => Cell::Text(text(payload)?.to_owned()),
            _ => Cell::Stored(row.slice_ref(payload)),
        })
    };
    let types = table.columns().iter().map(|column| column.type_text.as_str());
    types.zip(layout.values(row)?).map(cell).collect()
}
