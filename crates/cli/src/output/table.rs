//! Tables for people; rows that are too wide for the terminal are shown as one block each.

use std::fmt::Write as _;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use super::value;
use crate::failure::Result;
use crate::terminal::{Paint, printable};

/// Light rules: one under the header, one between columns.
const STYLE: &str = "     ─┼ │          ";
const NULL: &str = "NULL";

/// Draws rows, the first of which is number `first`. Without a width nothing is too wide.
pub(super) fn draw(
    schema: &Schema,
    batches: &[RecordBatch],
    first: u64,
    width: Option<usize>,
    paint: Paint,
) -> Result<String> {
    let rows = texts(schema, batches)?;
    let lines = lines(schema, &rows);
    let is_too_wide = |width: usize| lines.iter().any(|line| line.chars().count() > width);
    if !rows.is_empty() && width.is_some_and(is_too_wide) {
        return Ok(blocks(schema, &rows, first, paint));
    }
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let line = if i == 0 { paint.bold(line) } else { line.clone() };
        let _ = writeln!(out, "{line}");
    }
    Ok(out)
}

fn texts(schema: &Schema, batches: &[RecordBatch]) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(batch.num_columns());
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                let text = value::text(field, column, row)?;
                cells.push(text.map_or_else(|| NULL.to_owned(), |text| printable(&text)));
            }
            rows.push(cells);
        }
    }
    Ok(rows)
}

fn lines(schema: &Schema, rows: &[Vec<String>]) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(schema.fields().iter().map(|field| Cell::new(printable(field.name()))));
    table.add_rows(rows);
    for (i, field) in schema.fields().iter().enumerate() {
        if value::is_numeric(field.data_type())
            && let Some(column) = table.column_mut(i)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn blocks(schema: &Schema, rows: &[Vec<String>], first: u64, paint: Paint) -> String {
    let names: Vec<String> = schema.fields().iter().map(|field| printable(field.name())).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for (number, cells) in (first..).zip(rows) {
        let _ = writeln!(out, "{}", paint.dim(format!("── row {number} ──")));
        for (name, text) in names.iter().zip(cells) {
            let _ = writeln!(out, " {} │ {text}", paint.bold(format!("{name:<widest$}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn rows_too_wide_for_the_terminal_become_blocks() {
        let ids = Int64Array::from(vec![1, 2]);
        let texts = StringArray::from(vec!["a\x1b[2J", "a rather long text"]);
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("text", Arc::new(texts) as _)]).unwrap();
        let drawn = |width| draw(&batch.schema(), std::slice::from_ref(&batch), 1, width, Paint::plain()).unwrap();
        let table = " id │ text\n────┼────────────────────\n  1 │ a\\x1b[2J\n  2 │ a rather long text\n";
        assert_eq!(drawn(None), table);
        assert_eq!(drawn(Some(25)), table);
        assert_eq!(
            drawn(Some(20)),
            "── row 1 ──\n id   │ 1\n text │ a\\x1b[2J\n── row 2 ──\n id   │ 2\n text │ a rather long text\n"
        );
    }
}
