//! A table of the store: the one class behind all of DuckLake's tables.
#pragma once

#include "store.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"

namespace lakelock {

class LakeSchema;
class LakeTransaction;

class LakeTable : public TableCatalogEntry {
public:
	LakeTable(Catalog &catalog, SchemaCatalogEntry &schema, CreateTableInfo &info, TableHandle table);

	static CreateTableInfo ToCreateInfo(ClientContext &context, LakeSchema &schema, const LakelockTableView &view);
	//! Makes the table in the store. What the store could not keep is an error.
	static void Create(LakeTransaction &transaction, LakeSchema &schema, CreateTableInfo &info);

	uint64_t Id() const {
		return id;
	}
	//! Whether the definition is the one that this entry was made of.
	bool Defines(const LakeSchema &schema, const LakelockTableView &view) const;
	//! How many rows there are, if that is known.
	std::optional<idx_t> RowCount(ClientContext &context);

	unique_ptr<BaseStatistics> GetStatistics(ClientContext &context, column_t column_id) override;
	TableFunction GetScanFunction(ClientContext &context, unique_ptr<FunctionData> &bind_data) override;
	TableStorageInfo GetStorageInfo(ClientContext &context) override;
	//! The row id, and a column for those who only count rows.
	virtual_column_map_t GetVirtualColumns() const override;
	//! Updates write whole rows: has the plan fetch every column.
	void BindUpdateConstraints(Binder &binder, LogicalGet &get, LogicalProjection &proj, LogicalUpdate &update,
	                           ClientContext &context) override;

private:
	const TableHandle table;
	const uint64_t id;
};

} // namespace lakelock
