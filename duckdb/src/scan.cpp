#include "scan.hpp"

#include "filter.hpp"
#include "row_codec.hpp"
#include "transaction.hpp"

#include "duckdb/function/partition_stats.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/statistics/numeric_stats.hpp"

namespace lakelock {

namespace {

//! Reads a scan of the store chunk by chunk.
class ScanReader {
public:
	//! column_ids are those of the chunks' columns; they may repeat, and name the row id or no column at all.
	ScanReader(LakelockTransaction *transaction, LakeTable &table, const vector<ScanFilter> &filters,
	           const vector<column_t> &column_ids)
	    : decoder(table.GetTypes(), Targets(column_ids)) {
		for (idx_t index = 0; index < column_ids.size(); index++) {
			if (column_ids[index] == COLUMN_IDENTIFIER_ROW_ID) {
				row_id_columns.push_back(index);
			}
		}
		vector<LakelockFilter> views;
		for (auto &filter : filters) {
			auto column = NumericCast<uint32_t>(filter.column);
			views.push_back({filter.kind, column, filter.values.data(), filter.values.size()});
		}
		// Row ids are asked for by updates and deletes.
		auto for_update = !row_id_columns.empty();
		LakelockScan *opened = nullptr;
		Check(lakelock_scan(transaction, table.Id(), views.data(), views.size(), for_update, &opened));
		scan = ScanHandle(opened);
		rows = lakelock_scan_rows(opened);
	}

	//! Fills an empty chunk; it stays empty at the end.
	void Read(DataChunk &chunk) {
		auto count = MinValue<idx_t>(rows.count - next, STANDARD_VECTOR_SIZE);
		for (idx_t index = 0; index < count; index++) {
			auto &row = rows.rows[next++];
			decoder.Decode(row.row, chunk, index);
			for (auto column : row_id_columns) {
				FlatVector::GetData<row_t>(chunk.data[column])[index] = row.row_id;
			}
		}
		for (auto &copy : copies) {
			chunk.data[copy.second].Reference(chunk.data[copy.first]);
		}
		chunk.SetCardinality(count);
	}

private:
	vector<pair<idx_t, idx_t>> Targets(const vector<column_t> &column_ids) {
		vector<pair<idx_t, idx_t>> targets;
		unordered_map<column_t, idx_t> first;
		for (idx_t index = 0; index < column_ids.size(); index++) {
			if (IsVirtualColumn(column_ids[index])) {
				continue;
			}
			auto inserted = first.emplace(column_ids[index], index);
			if (inserted.second) {
				targets.emplace_back(column_ids[index], index);
			} else {
				copies.emplace_back(inserted.first->second, index);
			}
		}
		return targets;
	}

	//! Vectors that show the same column as an earlier one.
	vector<pair<idx_t, idx_t>> copies;
	RowDecoder decoder;
	vector<idx_t> row_id_columns;
	ScanHandle scan;
	LakelockRowsView rows;
	idx_t next = 0;
};

struct ScanState : public GlobalTableFunctionState {
	//! None where there is no catalog yet.
	unique_ptr<ScanReader> reader;
};

unique_ptr<GlobalTableFunctionState> InitScan(ClientContext &context, TableFunctionInitInput &input) {
	auto &bind_data = input.bind_data->Cast<ScanBindData>();
	auto result = make_uniq<ScanState>();
	if (auto transaction = LakeTransaction::Get(context, bind_data.table.ParentCatalog()).Read()) {
		result->reader =
		    make_uniq<ScanReader>(transaction, bind_data.table, bind_data.filters, input.column_ids);
	}
	return result;
}

void Scan(ClientContext &, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<ScanState>();
	if (state.reader) {
		state.reader->Read(output);
	}
}

//! What a plan reckons with for a table of a catalog that does not say.
constexpr idx_t UNKNOWN_ROW_COUNT = 100;
//! And for the table of which DuckLake gathers lists, whose order is that in which it flushes. DuckDB keeps the order of the
//! greater side of a join.
constexpr const char *LISTED_TABLE = "ducklake_inlined_data_tables";
constexpr idx_t LISTED_ROW_COUNT = 1000000;

//! DuckDB joins in an order that goes by it.
unique_ptr<NodeStatistics> Cardinality(ClientContext &context, const FunctionData *bind_data) {
	auto &table = bind_data->Cast<ScanBindData>().table;
	auto count = table.RowCount(context).value_or(UNKNOWN_ROW_COUNT);
	return make_uniq<NodeStatistics>(table.name == LISTED_TABLE ? MaxValue(count, LISTED_ROW_COUNT) : count);
}

//! The bounds of columns, as of one group that has all rows.
struct WholeTable : public PartitionRowGroup {
	WholeTable(LakelockTransaction *transaction, LakeTable &table) : transaction(transaction), table(table) {
	}

	unique_ptr<BaseStatistics> GetColumnStatistics(const StorageIndex &column) override {
		LakelockBounds bounds {};
		auto &type = table.GetColumn(LogicalIndex(column.GetPrimaryIndex())).Type();
		if (type == LogicalType::BIGINT) {
			Check(lakelock_bounds(transaction, table.Id(), NumericCast<uint32_t>(column.GetPrimaryIndex()), &bounds));
		}
		if (!bounds.known) {
			return nullptr;
		}
		auto result = NumericStats::CreateUnknown(type);
		NumericStats::SetMin<int64_t>(result, bounds.least);
		NumericStats::SetMax<int64_t>(result, bounds.greatest);
		result.Set(StatsInfo::CANNOT_HAVE_NULL_VALUES);
		return result.ToUnique();
	}
	bool MinMaxIsExact(const BaseStatistics &, const StorageIndex &) override {
		return true;
	}

	LakelockTransaction *transaction;
	LakeTable &table;
};

//! Answers how many rows there are, and what DuckLake asks whenever it begins a transaction: the greatest snapshot_id.
vector<PartitionStatistics> GetPartitionStats(ClientContext &context, GetPartitionStatsInput &input) {
	auto &bind_data = input.bind_data->Cast<ScanBindData>();
	auto &table = bind_data.table;
	auto count = table.RowCount(context);
	if (!count || !bind_data.filters.empty()) {
		return {};
	}
	PartitionStatistics result;
	result.row_start = 0;
	result.count = *count;
	result.count_type = CountType::COUNT_EXACT;
	auto transaction = LakeTransaction::Get(context, table.ParentCatalog()).Read();
	result.partition_row_group = make_shared_ptr<WholeTable>(transaction, table);
	return {result};
}

BindInfo GetBindInfo(const optional_ptr<FunctionData> bind_data) {
	return BindInfo(bind_data->Cast<ScanBindData>().table);
}

void PushdownFilters(ClientContext &, LogicalGet &get, FunctionData *bind_data,
                     vector<unique_ptr<Expression>> &filters) {
	auto &scan_data = bind_data->Cast<ScanBindData>();
	for (auto &filter : filters) {
		if (auto usable = UsableFilter(get, scan_data.table, *filter)) {
			scan_data.filters.push_back(std::move(*usable));
		}
	}
}

InsertionOrderPreservingMap<string> Describe(TableFunctionToStringInput &input) {
	InsertionOrderPreservingMap<string> result;
	result["Table"] = input.bind_data->Cast<ScanBindData>().table.name;
	return result;
}

} // namespace

unique_ptr<FunctionData> ScanBindData::Copy() const {
	auto result = make_uniq<ScanBindData>(table);
	result->filters = filters;
	return result;
}

bool ScanBindData::Equals(const FunctionData &other) const {
	return &table == &other.Cast<ScanBindData>().table;
}

TableFunction ScanFunction() {
	TableFunction function("lakelock_scan", {}, Scan, nullptr, InitScan);
	function.projection_pushdown = true;
	function.verify_serialization = false;
	function.cardinality = Cardinality;
	function.get_partition_stats = GetPartitionStats;
	function.get_bind_info = GetBindInfo;
	function.pushdown_complex_filter = PushdownFilters;
	function.to_string = Describe;
	return function;
}

void ScanRows(LakeTransaction &transaction, LakeTable &table, const std::function<void(DataChunk &)> &callback) {
	auto types = table.GetTypes();
	vector<column_t> column_ids;
	for (idx_t column = 0; column < types.size(); column++) {
		column_ids.push_back(column);
	}
	types.push_back(LogicalType::ROW_TYPE);
	column_ids.push_back(COLUMN_IDENTIFIER_ROW_ID);
	ScanReader reader(transaction.Read(), table, {}, column_ids);
	DataChunk chunk;
	chunk.Initialize(Allocator::DefaultAllocator(), types);
	while (true) {
		chunk.Reset();
		reader.Read(chunk);
		if (chunk.size() == 0) {
			return;
		}
		callback(chunk);
	}
}

} // namespace lakelock
