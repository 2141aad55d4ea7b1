#include "alter.hpp"

#include "row_codec.hpp"
#include "scan.hpp"
#include "schema.hpp"
#include "transaction.hpp"

#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/planner/expression_binder/constant_binder.hpp"
#include "duckdb/planner/binder.hpp"

namespace lakelock {

namespace {

//! The definition that the table gets, and where the values of its columns come from.
struct Alteration {
	explicit Alteration(LakeTable &table) {
		info = unique_ptr_cast<CreateInfo, CreateTableInfo>(table.GetInfo());
		for (idx_t column = 0; column < info->columns.LogicalColumnCount(); column++) {
			sources.push_back(column);
		}
	}

	void SetColumns(vector<ColumnDefinition> columns) {
		info->columns = ColumnList();
		for (auto &column : columns) {
			info->columns.AddColumn(std::move(column));
		}
	}
	vector<ColumnDefinition> Columns() const {
		vector<ColumnDefinition> result;
		for (auto &column : info->columns.Logical()) {
			result.push_back(column.Copy());
		}
		return result;
	}

	unique_ptr<CreateTableInfo> info;
	//! The old table's column of each new one; what lies beyond the old columns is the added one.
	vector<idx_t> sources;
	//! The added column's value in rows that are there already.
	Value added;
};

LogicalIndex Find(const LakeTable &table, const string &column) {
	if (!table.ColumnExists(column)) {
		throw CatalogException("Table \"%s\" does not have a column with name \"%s\"", table.name, column);
	}
	return table.GetColumn(column).Logical();
}

//! Whether anything is to be done.
bool AddColumn(ClientContext &context, const LakeTable &table, AddColumnInfo &info, Alteration &alteration) {
	auto &name = info.new_column.Name();
	if (table.ColumnExists(name)) {
		if (info.if_column_not_exists) {
			return false;
		}
		throw CatalogException("Column with name %s already exists!", name);
	}
	auto &type = info.new_column.Type();
	alteration.added = Value(type);
	if (info.new_column.HasDefaultValue()) {
		auto binder = Binder::CreateBinder(context);
		ConstantBinder constant_binder(*binder, context, "DEFAULT value");
		constant_binder.target_type = type;
		auto expression = info.new_column.DefaultValue().Copy();
		alteration.added = ExpressionExecutor::EvaluateScalar(context, *constant_binder.Bind(expression));
	}
	alteration.sources.push_back(alteration.info->columns.LogicalColumnCount());
	alteration.info->columns.AddColumn(info.new_column.Copy());
	return true;
}

bool RemoveColumn(const LakeTable &table, RemoveColumnInfo &info, Alteration &alteration) {
	if (info.if_column_exists && !table.ColumnExists(info.removed_column)) {
		return false;
	}
	auto removed = Find(table, info.removed_column).index;
	vector<unique_ptr<Constraint>> constraints;
	for (auto &constraint : alteration.info->constraints) {
		if (constraint->type == ConstraintType::NOT_NULL) {
			auto index = constraint->Cast<NotNullConstraint>().index.index;
			if (index != removed) {
				constraints.push_back(make_uniq<NotNullConstraint>(LogicalIndex(index - (index > removed))));
			}
			continue;
		}
		auto &key = constraint->Cast<UniqueConstraint>();
		vector<string> names;
		for (auto &index : key.GetLogicalIndexes(alteration.info->columns)) {
			if (index.index == removed) {
				throw CatalogException("Cannot drop column \"%s\" because it is part of the primary key",
				                       info.removed_column);
			}
			names.push_back(alteration.info->columns.GetColumn(index).Name());
		}
		constraints.push_back(make_uniq<UniqueConstraint>(std::move(names), true));
	}
	alteration.info->constraints = std::move(constraints);
	auto columns = alteration.Columns();
	columns.erase(columns.begin() + NumericCast<int64_t>(removed));
	alteration.SetColumns(std::move(columns));
	alteration.sources.erase(alteration.sources.begin() + NumericCast<int64_t>(removed));
	return true;
}

void RenameColumn(const LakeTable &table, RenameColumnInfo &info, Alteration &alteration) {
	auto renamed = Find(table, info.old_name);
	if (table.ColumnExists(info.new_name)) {
		throw CatalogException("Column with name %s already exists!", info.new_name);
	}
	for (auto &constraint : alteration.info->constraints) {
		if (constraint->type == ConstraintType::UNIQUE) {
			for (auto &name : constraint->Cast<UniqueConstraint>().GetColumnNamesMutable()) {
				if (StringUtil::CIEquals(name, info.old_name)) {
					name = info.new_name;
				}
			}
		}
	}
	auto columns = alteration.Columns();
	columns[renamed.index].SetName(info.new_name);
	alteration.SetColumns(std::move(columns));
}

void SetDefault(const LakeTable &table, SetDefaultInfo &info, Alteration &alteration) {
	auto column = Find(table, info.column_name);
	auto columns = alteration.Columns();
	columns[column.index].SetDefaultValue(info.expression ? info.expression->Copy() : nullptr);
	alteration.SetColumns(std::move(columns));
}

bool Plan(ClientContext &context, const LakeTable &table, AlterTableInfo &info, Alteration &alteration) {
	switch (info.alter_table_type) {
	case AlterTableType::ADD_COLUMN:
		return AddColumn(context, table, info.Cast<AddColumnInfo>(), alteration);
	case AlterTableType::REMOVE_COLUMN:
		return RemoveColumn(table, info.Cast<RemoveColumnInfo>(), alteration);
	case AlterTableType::RENAME_COLUMN:
		RenameColumn(table, info.Cast<RenameColumnInfo>(), alteration);
		return true;
	case AlterTableType::RENAME_TABLE:
		alteration.info->table = info.Cast<RenameTableInfo>().new_table_name;
		return true;
	case AlterTableType::SET_DEFAULT:
		SetDefault(table, info.Cast<SetDefaultInfo>(), alteration);
		return true;
	default:
		throw NotImplementedException("a lakelock catalog does not support %s", info.ToString());
	}
}

EncodedRows AlteredRows(LakeTransaction &transaction, LakeTable &table, const Alteration &alteration) {
	EncodedRows result;
	auto column_count = table.GetColumns().LogicalColumnCount();
	ScanRows(transaction, table, [&](DataChunk &chunk) {
		DataChunk altered;
		altered.InitializeEmpty(alteration.info->columns.GetColumnTypes());
		vector<idx_t> columns;
		for (idx_t column = 0; column < alteration.sources.size(); column++) {
			auto source = alteration.sources[column];
			if (source < column_count) {
				altered.data[column].Reference(chunk.data[source]);
			} else {
				altered.data[column].Reference(alteration.added);
			}
			columns.push_back(column);
		}
		altered.SetCardinality(chunk);
		result.Append(altered, columns);
	});
	return result;
}

} // namespace

void AlterTable(ClientContext &context, LakeTransaction &transaction, LakeTable &table, AlterTableInfo &info) {
	Alteration alteration(table);
	if (!Plan(context, table, info, alteration)) {
		return;
	}
	auto &schema = table.ParentSchema().Cast<LakeSchema>();
	auto rows = AlteredRows(transaction, table, alteration);
	auto renamed = !StringUtil::CIEquals(alteration.info->table, table.name);
	if (renamed && transaction.Table(context, schema, alteration.info->table)) {
		throw CatalogException("Table with name \"%s\" already exists!", alteration.info->table);
	}
	auto store = transaction.Write();
	Check(lakelock_drop_table(store, ToBytes(schema.name), ToBytes(table.name)));
	LakeTable::Create(transaction, schema, *alteration.info);
	transaction.ForgetTables();
	auto altered = transaction.Table(context, schema, alteration.info->table);
	if (!rows.Empty()) {
		Check(lakelock_insert(store, altered->Id(), rows.View()));
	}
}

} // namespace lakelock
