//! Tables for people.

use std::io::{self, IsTerminal as _};

use arrow::record_batch::RecordBatch;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use super::value;
use crate::failure::Result;
use crate::terminal::{Paint, printable};

/// Light rules: one under the header, one between columns.
const STYLE: &str = "     ─┼ │          ";

/// Draws rows as one table.
pub(super) fn draw(batches: &[RecordBatch], paint: Paint) -> Result<String> {
    let mut table = Table::new();
    table.load_preset(STYLE);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    let Some(first) = batches.first() else { return Ok(String::new()) };
    let schema = first.schema();
    table.set_header(schema.fields().iter().map(|field| Cell::new(printable(field.name()))));
    for batch in batches {
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(batch.num_columns());
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                cells.push(match value::text(field, column, row)? {
                    Some(text) => Cell::new(printable(&text)),
                    None => Cell::new("NULL"),
                });
            }
            table.add_row(cells);
        }
    }
    for (i, field) in schema.fields().iter().enumerate() {
        if value::is_numeric(field.data_type())
            && let Some(column) = table.column_mut(i)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = String::new();
    for (i, line) in table.lines().enumerate() {
        let line = line.trim_end();
        if i == 0 && paint.is_on() {
            out.push_str(&paint.bold(line));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    Ok(out)
}
