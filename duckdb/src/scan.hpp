//! The scan of a table: which columns DuckDB wants, and which of its filters spare the store reading rows.
#pragma once

#include "table.hpp"

#include "duckdb/function/table_function.hpp"

namespace lakelock {

//! A filter that the store may use to leave out rows. DuckDB applies the same filter to what comes.
struct ScanFilter {
	LakelockFilterKind kind;
	idx_t column;
	vector<int64_t> values;
};

struct ScanBindData : public FunctionData {
	explicit ScanBindData(LakeTable &table) : table(table) {
	}

	unique_ptr<FunctionData> Copy() const override;
	bool Equals(const FunctionData &other) const override;

	LakeTable &table;
	vector<ScanFilter> filters;
};

TableFunction ScanFunction();

//! Calls back with every chunk of a table that the transaction sees; the last column is the row id.
void ScanRows(LakeTransaction &transaction, LakeTable &table, const std::function<void(DataChunk &)> &callback);

} // namespace lakelock
