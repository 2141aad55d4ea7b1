#include "modify.hpp"

#include "catalog.hpp"
#include "row_codec.hpp"
#include "transaction.hpp"

#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/constraints/bound_not_null_constraint.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/operator/logical_create_table.hpp"
#include "duckdb/planner/operator/logical_delete.hpp"
#include "duckdb/planner/operator/logical_insert.hpp"
#include "duckdb/planner/operator/logical_update.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"

namespace lakelock {

namespace {

struct ModificationState : public GlobalSinkState {
	explicit ModificationState(LakeTable &table) : table(table) {
	}

	LakeTable &table;
	EncodedRows rows;
	//! Those of rows, or what is to be deleted.
	vector<row_t> row_ids;
	//! A row is changed once, however often a join yields it.
	unordered_set<row_t> seen;
	idx_t changed = 0;
};

struct UpdateState : public ModificationState {
	UpdateState(ClientContext &context, LakeTable &table, const vector<unique_ptr<Expression>> &defaults)
	    : ModificationState(table), defaults(context, defaults) {
		chunk.Initialize(Allocator::Get(context), table.GetTypes());
	}

	ExpressionExecutor defaults;
	//! The new rows.
	DataChunk chunk;
};

void RequireNotNull(const TableCatalogEntry &table, const vector<PhysicalIndex> &columns, DataChunk &chunk) {
	for (auto &column : columns) {
		if (VectorOperations::HasNull(chunk.data[column.index], chunk.size())) {
			throw ConstraintException("NOT NULL constraint failed: %s.%s", table.name,
			                          table.GetColumns().GetColumn(column).Name());
		}
	}
}

//! The rows of the chunk whose ids have not come before.
idx_t SelectNew(ModificationState &state, DataChunk &chunk, idx_t row_id_column, SelectionVector &selection) {
	UnifiedVectorFormat format;
	chunk.data[row_id_column].ToUnifiedFormat(chunk.size(), format);
	auto row_ids = UnifiedVectorFormat::GetData<row_t>(format);
	idx_t count = 0;
	for (idx_t row = 0; row < chunk.size(); row++) {
		auto row_id = row_ids[format.sel->get_index(row)];
		if (state.seen.insert(row_id).second) {
			state.row_ids.push_back(row_id);
			selection.set_index(count++, row);
		}
	}
	return count;
}

vector<idx_t> AllColumns(DataChunk &chunk) {
	vector<idx_t> result;
	for (idx_t column = 0; column < chunk.ColumnCount(); column++) {
		result.push_back(column);
	}
	return result;
}

LakelockTransaction *Store(ClientContext &context, LakeTable &table) {
	return LakeTransaction::Get(context, table.ParentCatalog()).Write();
}

void RefuseReturning(bool return_chunk, const TableCatalogEntry &table) {
	if (return_chunk) {
		throw NotImplementedException("RETURNING is not supported by the lakelock catalog of table \"%s\"", table.name);
	}
}

} // namespace

LakeModification::LakeModification(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality) {
}

SinkFinalizeType LakeModification::Finalize(Pipeline &, Event &, ClientContext &context,
                                            OperatorSinkFinalizeInput &input) const {
	input.global_state.Cast<ModificationState>().changed = Stage(context, input.global_state);
	return SinkFinalizeType::READY;
}

SourceResultType LakeModification::GetDataInternal(ExecutionContext &, DataChunk &chunk, OperatorSourceInput &) const {
	chunk.SetCardinality(1);
	chunk.SetValue(0, 0, Value::BIGINT(NumericCast<int64_t>(sink_state->Cast<ModificationState>().changed)));
	return SourceResultType::FINISHED;
}

vector<PhysicalIndex> NotNullColumns(const vector<unique_ptr<BoundConstraint>> &constraints) {
	vector<PhysicalIndex> result;
	for (auto &constraint : constraints) {
		if (constraint->type == ConstraintType::NOT_NULL) {
			result.push_back(constraint->Cast<BoundNotNullConstraint>().index);
		}
	}
	return result;
}

LakeInsert::LakeInsert(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, LakeTable &table,
                       vector<PhysicalIndex> not_null)
    : LakeModification(plan, std::move(types), estimated_cardinality), table(table), not_null(std::move(not_null)) {
}

LakeInsert::LakeInsert(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
                       SchemaCatalogEntry &schema, unique_ptr<BoundCreateTableInfo> info)
    : LakeModification(plan, std::move(types), estimated_cardinality), schema(schema), info(std::move(info)) {
}

string LakeInsert::GetName() const {
	return info ? "LAKELOCK_CREATE_TABLE_AS" : "LAKELOCK_INSERT";
}

unique_ptr<GlobalSinkState> LakeInsert::GetGlobalSinkState(ClientContext &context) const {
	if (table) {
		return make_uniq<ModificationState>(*table.get_mutable());
	}
	auto &catalog = schema.get_mutable()->ParentCatalog();
	auto created = catalog.CreateTable(catalog.GetCatalogTransaction(context), *schema.get_mutable(), *info);
	return make_uniq<ModificationState>(created->Cast<LakeTable>());
}

SinkResultType LakeInsert::Sink(ExecutionContext &, DataChunk &chunk, OperatorSinkInput &input) const {
	auto &state = input.global_state.Cast<ModificationState>();
	RequireNotNull(state.table, not_null, chunk);
	state.rows.Append(chunk, AllColumns(chunk));
	return SinkResultType::NEED_MORE_INPUT;
}

idx_t LakeInsert::Stage(ClientContext &context, GlobalSinkState &global_state) const {
	auto &state = global_state.Cast<ModificationState>();
	if (!state.rows.Empty()) {
		Check(lakelock_insert(Store(context, state.table), state.table.Id(), state.rows.View()));
	}
	return state.rows.Count();
}

LakeUpdate::LakeUpdate(PhysicalPlan &plan, LogicalUpdate &op, LakeTable &table)
    : LakeModification(plan, op.types, op.estimated_cardinality), table(table), columns(op.columns),
      expressions(std::move(op.expressions)), defaults(std::move(op.bound_defaults)),
      not_null(NotNullColumns(op.bound_constraints)) {
}

string LakeUpdate::GetName() const {
	return "LAKELOCK_UPDATE";
}

unique_ptr<GlobalSinkState> LakeUpdate::GetGlobalSinkState(ClientContext &context) const {
	return make_uniq<UpdateState>(context, table, defaults);
}

SinkResultType LakeUpdate::Sink(ExecutionContext &, DataChunk &chunk, OperatorSinkInput &input) const {
	auto &state = input.global_state.Cast<UpdateState>();
	auto &rows = state.chunk;
	rows.Reset();
	rows.SetCardinality(chunk);
	state.defaults.SetChunk(chunk);
	for (idx_t index = 0; index < expressions.size(); index++) {
		auto &target = rows.data[columns[index].index];
		if (expressions[index]->GetExpressionType() == ExpressionType::VALUE_DEFAULT) {
			state.defaults.ExecuteExpression(columns[index].index, target);
		} else {
			target.Reference(chunk.data[expressions[index]->Cast<BoundReferenceExpression>().index]);
		}
	}
	RequireNotNull(table, not_null, rows);
	SelectionVector selection(chunk.size());
	auto count = SelectNew(state, chunk, chunk.ColumnCount() - 1, selection);
	state.rows.Append(rows, AllColumns(rows), selection, count);
	return SinkResultType::NEED_MORE_INPUT;
}

idx_t LakeUpdate::Stage(ClientContext &context, GlobalSinkState &global_state) const {
	auto &state = global_state.Cast<ModificationState>();
	if (!state.rows.Empty()) {
		Check(lakelock_update(Store(context, table), table.Id(), state.row_ids.data(), state.rows.View()));
	}
	return state.rows.Count();
}

LakeDelete::LakeDelete(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, LakeTable &table,
                       idx_t row_id_column)
    : LakeModification(plan, std::move(types), estimated_cardinality), table(table), row_id_column(row_id_column) {
}

string LakeDelete::GetName() const {
	return "LAKELOCK_DELETE";
}

unique_ptr<GlobalSinkState> LakeDelete::GetGlobalSinkState(ClientContext &) const {
	return make_uniq<ModificationState>(table);
}

SinkResultType LakeDelete::Sink(ExecutionContext &, DataChunk &chunk, OperatorSinkInput &input) const {
	SelectionVector selection(chunk.size());
	SelectNew(input.global_state.Cast<ModificationState>(), chunk, row_id_column, selection);
	return SinkResultType::NEED_MORE_INPUT;
}

idx_t LakeDelete::Stage(ClientContext &context, GlobalSinkState &global_state) const {
	auto &state = global_state.Cast<ModificationState>();
	if (!state.row_ids.empty()) {
		Check(lakelock_delete(Store(context, table), table.Id(), state.row_ids.data(), state.row_ids.size()));
	}
	return state.row_ids.size();
}

PhysicalOperator &LakeCatalog::PlanCreateTableAs(ClientContext &, PhysicalPlanGenerator &planner,
                                                 LogicalCreateTable &op, PhysicalOperator &plan) {
	auto &insert = planner.Make<LakeInsert>(op.types, op.estimated_cardinality, op.schema, std::move(op.info));
	insert.children.push_back(plan);
	return insert;
}

PhysicalOperator &LakeCatalog::PlanInsert(ClientContext &, PhysicalPlanGenerator &planner, LogicalInsert &op,
                                          optional_ptr<PhysicalOperator> plan) {
	RefuseReturning(op.return_chunk, op.table);
	if (op.on_conflict_info.action_type != OnConflictAction::THROW) {
		throw NotImplementedException("ON CONFLICT is not supported by the lakelock catalog of table \"%s\"",
		                              op.table.name);
	}
	if (!op.column_index_map.empty()) {
		plan = planner.ResolveDefaultsProjection(op, *plan);
	}
	auto &insert = planner.Make<LakeInsert>(op.types, op.estimated_cardinality, op.table.Cast<LakeTable>(),
	                                        NotNullColumns(op.bound_constraints));
	insert.children.push_back(*plan);
	return insert;
}

PhysicalOperator &LakeCatalog::PlanUpdate(ClientContext &, PhysicalPlanGenerator &planner, LogicalUpdate &op,
                                          PhysicalOperator &plan) {
	RefuseReturning(op.return_chunk, op.table);
	auto &update = planner.Make<LakeUpdate>(op, op.table.Cast<LakeTable>());
	update.children.push_back(plan);
	return update;
}

PhysicalOperator &LakeCatalog::PlanDelete(ClientContext &, PhysicalPlanGenerator &planner, LogicalDelete &op,
                                          PhysicalOperator &plan) {
	RefuseReturning(op.return_chunk, op.table);
	auto &row_id = op.expressions[0]->Cast<BoundReferenceExpression>();
	auto &deletion =
	    planner.Make<LakeDelete>(op.types, op.estimated_cardinality, op.table.Cast<LakeTable>(), row_id.index);
	deletion.children.push_back(plan);
	return deletion;
}

} // namespace lakelock
