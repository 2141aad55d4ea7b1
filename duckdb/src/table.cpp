#include "table.hpp"

#include "scan.hpp"
#include "schema.hpp"
#include "transaction.hpp"

#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/planner/operator/logical_update.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"
#include "duckdb/storage/table_storage_info.hpp"

namespace lakelock {

namespace {

bool Equal(LakelockBytes left, LakelockBytes right) {
	return !left.data == !right.data && left.length == right.length &&
	       (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
}

LogicalType ToType(ClientContext &context, const string &text) {
	auto id = TransformStringToLogicalTypeId(text);
	switch (id) {
	case LogicalTypeId::BIGINT:
	case LogicalTypeId::VARCHAR:
	case LogicalTypeId::BOOLEAN:
	case LogicalTypeId::UUID:
	case LogicalTypeId::TIMESTAMP_TZ:
		// Nearly all columns of DuckLake: no need to parse.
		return id;
	default:
		return TransformStringToLogicalType(text, context);
	}
}

} // namespace

LakeTable::LakeTable(Catalog &catalog, SchemaCatalogEntry &schema, CreateTableInfo &info, TableHandle table)
    : TableCatalogEntry(catalog, schema, info), table(std::move(table)), id(lakelock_table_view(this->table.get()).id) {
}

CreateTableInfo LakeTable::ToCreateInfo(ClientContext &context, LakeSchema &schema, const LakelockTableView &view) {
	CreateTableInfo info(schema, ToString(view.name));
	for (idx_t index = 0; index < view.column_count; index++) {
		auto &column = view.columns[index];
		ColumnDefinition definition(ToString(column.name), ToType(context, ToString(column.type)));
		if (column.default_value.data) {
			auto expressions = Parser::ParseExpressionList(ToString(column.default_value));
			definition.SetDefaultValue(std::move(expressions[0]));
		}
		info.columns.AddColumn(std::move(definition));
		if (column.not_null) {
			info.constraints.push_back(make_uniq<NotNullConstraint>(LogicalIndex(index)));
		}
	}
	if (view.primary_key_count > 0) {
		vector<string> names;
		for (idx_t index = 0; index < view.primary_key_count; index++) {
			names.push_back(info.columns.GetColumn(LogicalIndex(view.primary_key[index])).Name());
		}
		if (names.size() == 1) {
			LogicalIndex index(view.primary_key[0]);
			info.constraints.push_back(make_uniq<UniqueConstraint>(index, names[0], true));
		} else {
			info.constraints.push_back(make_uniq<UniqueConstraint>(std::move(names), true));
		}
	}
	return info;
}

void LakeTable::Create(LakeTransaction &transaction, LakeSchema &schema, CreateTableInfo &info) {
	vector<bool> not_null(info.columns.LogicalColumnCount(), false);
	vector<uint32_t> primary_key;
	for (auto &constraint : info.constraints) {
		if (constraint->type == ConstraintType::NOT_NULL) {
			not_null[constraint->Cast<NotNullConstraint>().index.index] = true;
		} else if (constraint->type == ConstraintType::UNIQUE && constraint->Cast<UniqueConstraint>().IsPrimaryKey()) {
			for (auto &column : constraint->Cast<UniqueConstraint>().GetLogicalIndexes(info.columns)) {
				primary_key.push_back(NumericCast<uint32_t>(column.index));
			}
		} else {
			throw NotImplementedException("a lakelock catalog does not support the constraint %s", constraint->ToString());
		}
	}
	// Reserved, so that the views of its strings stay valid.
	vector<string> texts;
	texts.reserve(2 * info.columns.LogicalColumnCount());
	auto keep = [&](string text) {
		texts.push_back(std::move(text));
		return ToBytes(texts.back());
	};
	vector<LakelockColumn> columns;
	for (auto &column : info.columns.Logical()) {
		if (column.Generated()) {
			throw NotImplementedException("a lakelock catalog does not support generated columns such as \"%s\"",
			                              column.Name());
		}
		LakelockColumn view;
		view.name = ToBytes(column.Name());
		view.type = keep(column.Type().ToString());
		view.not_null = not_null[columns.size()];
		view.default_value = {nullptr, 0};
		if (column.HasDefaultValue()) {
			view.default_value = keep(column.DefaultValue().ToString());
		}
		columns.push_back(view);
	}
	LakelockTableView view {};
	view.schema = ToBytes(schema.name);
	view.name = ToBytes(info.table);
	view.columns = columns.data();
	view.column_count = columns.size();
	view.primary_key = primary_key.data();
	view.primary_key_count = primary_key.size();
	Check(lakelock_create_table(transaction.Write(), &view));
}

bool LakeTable::Defines(const LakeSchema &in_schema, const LakelockTableView &view) const {
	auto own = lakelock_table_view(table.get());
	if (&in_schema != &schema || own.id != view.id || !Equal(own.name, view.name) ||
	    own.column_count != view.column_count || own.primary_key_count != view.primary_key_count) {
		return false;
	}
	for (idx_t index = 0; index < own.column_count; index++) {
		auto &left = own.columns[index];
		auto &right = view.columns[index];
		if (!Equal(left.name, right.name) || !Equal(left.type, right.type) || left.not_null != right.not_null ||
		    !Equal(left.default_value, right.default_value)) {
			return false;
		}
	}
	return std::equal(own.primary_key, own.primary_key + own.primary_key_count, view.primary_key);
}

unique_ptr<BaseStatistics> LakeTable::GetStatistics(ClientContext &, column_t) {
	return nullptr;
}

TableFunction LakeTable::GetScanFunction(ClientContext &, unique_ptr<FunctionData> &bind_data) {
	bind_data = make_uniq<ScanBindData>(*this);
	return ScanFunction();
}

std::optional<idx_t> LakeTable::RowCount(ClientContext &context) {
	int64_t count = -1;
	if (auto transaction = LakeTransaction::Get(context, catalog).Read()) {
		Check(lakelock_row_count(transaction, id, &count));
	}
	return count < 0 ? std::nullopt : std::optional<idx_t>(NumericCast<idx_t>(count));
}

TableStorageInfo LakeTable::GetStorageInfo(ClientContext &context) {
	TableStorageInfo result;
	if (auto count = RowCount(context)) {
		result.cardinality = *count;
	}
	return result;
}

virtual_column_map_t LakeTable::GetVirtualColumns() const {
	auto result = TableCatalogEntry::GetVirtualColumns();
	result.insert(make_pair(COLUMN_IDENTIFIER_EMPTY, TableColumn("", LogicalType::BOOLEAN)));
	return result;
}

void LakeTable::BindUpdateConstraints(Binder &, LogicalGet &get, LogicalProjection &proj, LogicalUpdate &update,
                                      ClientContext &) {
	physical_index_set_t all_columns;
	for (auto &column : GetColumns().Physical()) {
		all_columns.insert(column.Physical());
	}
	LogicalUpdate::BindExtraColumns(*this, get, proj, update, all_columns);
	update.update_is_del_and_insert = true;
}

} // namespace lakelock
