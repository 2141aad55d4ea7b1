//! C++ faces of the C ABI's handles: they free themselves, and errors come out as DuckDB's exceptions.
#pragma once

#include "lakelock_ducklake.h"

#include "duckdb.hpp"

#include <optional>

namespace lakelock {
using namespace duckdb;

template <class HANDLE, void (*FREE)(HANDLE *)>
struct HandleDeleter {
	void operator()(HANDLE *handle) const {
		FREE(handle);
	}
};
template <class HANDLE, void (*FREE)(HANDLE *)>
using Handle = std::unique_ptr<HANDLE, HandleDeleter<HANDLE, FREE>>;

using ErrorHandle = Handle<LakelockError, lakelock_error_free>;
using LakeHandle = Handle<LakelockLake, lakelock_lake_free>;
//! Rolls back when it is dropped.
using TransactionHandle = Handle<LakelockTransaction, lakelock_rollback>;
using TableHandle = Handle<LakelockTable, lakelock_table_free>;
using NamesHandle = Handle<LakelockNames, lakelock_names_free>;
using ScanHandle = Handle<LakelockScan, lakelock_scan_free>;

//! A view of the string, which must outlive it.
LakelockBytes ToBytes(const string &text);
string ToString(LakelockBytes bytes);

//! Throws what a call of the C ABI says. Only errors about entries of the catalog become catalog exceptions, as DuckLake takes
//! those for "there is no DuckLake here yet".
void Check(LakelockError *error);
//! The same for errors that the caller has looked at.
[[noreturn]] void Throw(ErrorHandle error);

//! The names in the order in which the store gives them.
vector<string> ToNames(NamesHandle names);

} // namespace lakelock
