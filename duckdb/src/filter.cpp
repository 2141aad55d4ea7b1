#include "filter.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_comparison_expression.hpp"
#include "duckdb/planner/expression/bound_conjunction_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace lakelock {

namespace {

//! The column by which rows of every DuckLake table end.
constexpr const char *END_SNAPSHOT = "end_snapshot";

class FilterReader {
public:
	FilterReader(LogicalGet &get, LakeTable &table) : get(get), table(table) {
	}

	std::optional<ScanFilter> Read(const Expression &filter) const {
		switch (filter.GetExpressionType()) {
		case ExpressionType::COMPARE_EQUAL: {
			auto &comparison = filter.Cast<BoundComparisonExpression>();
			auto result = In(*comparison.left, *comparison.right);
			return result ? result : In(*comparison.right, *comparison.left);
		}
		case ExpressionType::COMPARE_IN: {
			auto &children = filter.Cast<BoundOperatorExpression>().children;
			auto column = IdColumn(*children[0]);
			if (!column) {
				return std::nullopt;
			}
			ScanFilter result {LAKELOCK_FILTER_IN, *column, {}};
			for (idx_t index = 1; index < children.size(); index++) {
				auto value = Constant(*children[index]);
				if (!value) {
					return std::nullopt;
				}
				result.values.push_back(*value);
			}
			return result;
		}
		case ExpressionType::OPERATOR_IS_NULL: {
			auto column = EndSnapshot(*filter.Cast<BoundOperatorExpression>().children[0]);
			return column ? std::optional<ScanFilter>(ScanFilter {LAKELOCK_FILTER_LIVE, *column, {}}) : std::nullopt;
		}
		case ExpressionType::CONJUNCTION_OR: {
			auto &children = filter.Cast<BoundConjunctionExpression>().children;
			if (children.size() != 2) {
				return std::nullopt;
			}
			auto result = LiveAt(*children[0], *children[1]);
			return result ? result : LiveAt(*children[1], *children[0]);
		}
		default:
			return std::nullopt;
		}
	}

private:
	//! `id = 5`
	std::optional<ScanFilter> In(const Expression &left, const Expression &right) const {
		auto column = IdColumn(left);
		auto value = Constant(right);
		if (!column || !value) {
			return std::nullopt;
		}
		return ScanFilter {LAKELOCK_FILTER_IN, *column, {*value}};
	}

	//! `end_snapshot > 5 OR end_snapshot IS NULL`
	std::optional<ScanFilter> LiveAt(const Expression &bound, const Expression &open) const {
		if (open.GetExpressionType() != ExpressionType::OPERATOR_IS_NULL ||
		    !EndSnapshot(*open.Cast<BoundOperatorExpression>().children[0])) {
			return std::nullopt;
		}
		auto greater = bound.GetExpressionType() == ExpressionType::COMPARE_GREATERTHAN;
		if (!greater && bound.GetExpressionType() != ExpressionType::COMPARE_LESSTHAN) {
			return std::nullopt;
		}
		auto &comparison = bound.Cast<BoundComparisonExpression>();
		auto column = EndSnapshot(greater ? *comparison.left : *comparison.right);
		auto value = Constant(greater ? *comparison.right : *comparison.left);
		if (!column || !value) {
			return std::nullopt;
		}
		return ScanFilter {LAKELOCK_FILTER_LIVE_AT, *column, {*value}};
	}

	std::optional<idx_t> EndSnapshot(const Expression &expression) const {
		auto column = IdColumn(expression);
		if (column && table.GetColumn(LogicalIndex(*column)).Name() == END_SNAPSHOT) {
			return column;
		}
		return std::nullopt;
	}

	//! A column of BIGINTs, as all ids are.
	std::optional<idx_t> IdColumn(const Expression &expression) const {
		if (expression.GetExpressionType() != ExpressionType::BOUND_COLUMN_REF ||
		    expression.return_type != LogicalType::BIGINT) {
			return std::nullopt;
		}
		auto &binding = expression.Cast<BoundColumnRefExpression>().binding;
		if (binding.table_index != get.table_index) {
			return std::nullopt;
		}
		auto column = get.GetColumnIds()[binding.column_index].GetPrimaryIndex();
		return IsVirtualColumn(column) ? std::nullopt : std::optional<idx_t>(column);
	}

	//! A null equals nothing and is left to DuckDB.
	static std::optional<int64_t> Constant(const Expression &expression) {
		if (expression.GetExpressionType() != ExpressionType::VALUE_CONSTANT) {
			return std::nullopt;
		}
		auto &value = expression.Cast<BoundConstantExpression>().value;
		if (value.IsNull() || value.type() != LogicalType::BIGINT) {
			return std::nullopt;
		}
		return BigIntValue::Get(value);
	}

	LogicalGet &get;
	LakeTable &table;
};

} // namespace

std::optional<ScanFilter> UsableFilter(LogicalGet &get, LakeTable &table, const Expression &filter) {
	return FilterReader(get, table).Read(filter);
}

} // namespace lakelock
