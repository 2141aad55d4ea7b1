//! INSERT, UPDATE, DELETE and CREATE TABLE AS: sinks that stage whole rows in the store's transaction.
#pragma once

#include "table.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/bound_constraint.hpp"

namespace lakelock {

//! Takes in all rows before it changes any, as the rows may come from the table itself.
class LakeModification : public PhysicalOperator {
public:
	LakeModification(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality);

	bool IsSink() const override {
		return true;
	}
	bool IsSource() const override {
		return true;
	}
	SinkFinalizeType Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                          OperatorSinkFinalizeInput &input) const override;

protected:
	//! Stages the rows that were taken in and returns how many there were.
	virtual idx_t Stage(ClientContext &context, GlobalSinkState &state) const = 0;
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;
};

//! Which columns must not be null, by the statement's constraints.
vector<PhysicalIndex> NotNullColumns(const vector<unique_ptr<BoundConstraint>> &constraints);

class LakeInsert : public LakeModification {
public:
	LakeInsert(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, LakeTable &table,
	           vector<PhysicalIndex> not_null);
	//! CREATE TABLE AS.
	LakeInsert(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, SchemaCatalogEntry &schema,
	           unique_ptr<BoundCreateTableInfo> info);

	string GetName() const override;
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;

protected:
	idx_t Stage(ClientContext &context, GlobalSinkState &state) const override;

private:
	//! Null for CREATE TABLE AS.
	optional_ptr<LakeTable> table;
	vector<PhysicalIndex> not_null;
	optional_ptr<SchemaCatalogEntry> schema;
	//! Null but for CREATE TABLE AS.
	unique_ptr<BoundCreateTableInfo> info;
};

class LakeUpdate : public LakeModification {
public:
	//! columns and expressions name every column of the table, in any order; the row id is the input's last column.
	LakeUpdate(PhysicalPlan &plan, LogicalUpdate &op, LakeTable &table);

	string GetName() const override;
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;

protected:
	idx_t Stage(ClientContext &context, GlobalSinkState &state) const override;

private:
	LakeTable &table;
	vector<PhysicalIndex> columns;
	vector<unique_ptr<Expression>> expressions;
	vector<unique_ptr<Expression>> defaults;
	vector<PhysicalIndex> not_null;
};

class LakeDelete : public LakeModification {
public:
	LakeDelete(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, LakeTable &table,
	           idx_t row_id_column);

	string GetName() const override;
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;

protected:
	idx_t Stage(ClientContext &context, GlobalSinkState &state) const override;

private:
	LakeTable &table;
	idx_t row_id_column;
};

} // namespace lakelock
