//! ALTER TABLE, as DuckLake's migrations use it: the table is made anew from its rows.
#pragma once

#include "table.hpp"

namespace lakelock {

void AlterTable(ClientContext &context, LakeTransaction &transaction, LakeTable &table, AlterTableInfo &info);

} // namespace lakelock
