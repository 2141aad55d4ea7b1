//! Rows as the store keeps them: docs/ducklake-format.md has the encoding. It goes by physical types alone.
#pragma once

#include "store.hpp"

#include "duckdb/common/types/data_chunk.hpp"

namespace lakelock {

//! Encoded rows, one after the other.
class EncodedRows {
public:
	//! Appends the chunk's rows. columns names the chunk's column of each column of the row; the chunk is flattened.
	void Append(DataChunk &chunk, const vector<idx_t> &columns);
	//! Appends the selected rows only.
	void Append(DataChunk &chunk, const vector<idx_t> &columns, const SelectionVector &selection, idx_t count);
	bool Empty() const {
		return ends.empty();
	}
	idx_t Count() const {
		return ends.size();
	}
	//! Valid until rows are appended.
	LakelockRows View() const {
		return {reinterpret_cast<const uint8_t *>(data.data()), ends.data(), ends.size()};
	}

private:
	string data;
	std::vector<size_t> ends;
};

//! Reads some columns of encoded rows into flat vectors.
class RowDecoder {
public:
	//! types are those of all columns, in order. targets says which column goes to which vector.
	RowDecoder(vector<LogicalType> types, const vector<pair<idx_t, idx_t>> &targets);

	//! Reads one row into the given place of the chunk. A row that ends early has nulls in its last columns.
	void Decode(LakelockBytes row, DataChunk &chunk, idx_t index) const;

private:
	vector<LogicalType> types;
	//! The vector of each column, up to the last one that is read.
	vector<optional_idx> vectors;
};

} // namespace lakelock
