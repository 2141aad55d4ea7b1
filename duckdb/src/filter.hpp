//! Which of DuckDB's filters the store can use.
#pragma once

#include "scan.hpp"

namespace lakelock {

//! Ids that are compared with constants, and which snapshot a row must be part of; nothing for any other filter.
std::optional<ScanFilter> UsableFilter(LogicalGet &get, LakeTable &table, const Expression &filter);

} // namespace lakelock
