#include "row_codec.hpp"

#include <bit>
#include <limits>

namespace lakelock {

static_assert(std::endian::native == std::endian::little, "values are copied as they are in memory");

namespace {

constexpr char NULL_TAG = 0;
constexpr char VALUE_TAG = 1;

//! The width of a type whose values are copied as they are, or 0.
idx_t FixedWidth(PhysicalType type) {
	switch (type) {
	case PhysicalType::BOOL:
	case PhysicalType::INT8:
	case PhysicalType::UINT8:
	case PhysicalType::INT16:
	case PhysicalType::UINT16:
	case PhysicalType::INT32:
	case PhysicalType::UINT32:
	case PhysicalType::INT64:
	case PhysicalType::UINT64:
	case PhysicalType::INT128:
	case PhysicalType::UINT128:
	case PhysicalType::FLOAT:
	case PhysicalType::DOUBLE:
	case PhysicalType::INTERVAL:
		return GetTypeIdSize(type);
	default:
		return 0;
	}
}

[[noreturn]] void UnsupportedType(const LogicalType &type) {
	throw NotImplementedException("a lakelock catalog cannot hold values of type %s", type.ToString());
}

void AppendVarint(string &out, uint64_t value) {
	while (value >= 0x80) {
		out.push_back(static_cast<char>(value | 0x80));
		value >>= 7;
	}
	out.push_back(static_cast<char>(value));
}

void AppendValue(string &out, const RecursiveUnifiedVectorFormat &format, idx_t row) {
	auto index = format.unified.sel->get_index(row);
	if (!format.unified.validity.RowIsValid(index)) {
		out.push_back(NULL_TAG);
		return;
	}
	out.push_back(VALUE_TAG);
	auto physical_type = format.logical_type.InternalType();
	if (auto width = FixedWidth(physical_type)) {
		out.append(reinterpret_cast<const char *>(format.unified.data) + index * width, width);
		return;
	}
	switch (physical_type) {
	case PhysicalType::VARCHAR: {
		auto &text = UnifiedVectorFormat::GetData<string_t>(format.unified)[index];
		AppendVarint(out, text.GetSize());
		out.append(text.GetData(), text.GetSize());
		break;
	}
	case PhysicalType::STRUCT:
		for (auto &child : format.children) {
			AppendValue(out, child, index);
		}
		break;
	case PhysicalType::LIST: {
		auto &list = UnifiedVectorFormat::GetData<list_entry_t>(format.unified)[index];
		AppendVarint(out, list.length);
		for (idx_t element = 0; element < list.length; element++) {
			AppendValue(out, format.children[0], list.offset + element);
		}
		break;
	}
	case PhysicalType::ARRAY: {
		auto size = ArrayType::GetSize(format.logical_type);
		for (idx_t element = 0; element < size; element++) {
			AppendValue(out, format.children[0], index * size + element);
		}
		break;
	}
	default:
		UnsupportedType(format.logical_type);
	}
}

//! What is left of a row. Nothing is read beyond it, whatever the bytes say.
class Cursor {
public:
	explicit Cursor(LakelockBytes bytes) : data(bytes.data), left(bytes.length) {
	}

	bool AtEnd() const {
		return left == 0;
	}
	const uint8_t *Take(idx_t count) {
		if (count > left) {
			throw IOException("a row of the lakelock catalog is damaged: it ends within a value");
		}
		auto result = data;
		data += count;
		left -= count;
		return result;
	}
	//! Whether a value follows; else there is a null.
	bool TakeTag() {
		auto tag = *Take(1);
		if (tag != NULL_TAG && tag != VALUE_TAG) {
			throw IOException("a row of the lakelock catalog is damaged: 0x%02x is no tag of a value", tag);
		}
		return tag == VALUE_TAG;
	}
	//! A number of things that take at least a byte each.
	idx_t TakeCount() {
		uint64_t result = 0;
		for (idx_t shift = 0; shift < std::numeric_limits<uint64_t>::digits; shift += 7) {
			auto byte = *Take(1);
			result |= static_cast<uint64_t>(byte & 0x7f) << shift;
			if (byte < 0x80) {
				if (result > left) {
					break;
				}
				return result;
			}
		}
		throw IOException("a row of the lakelock catalog is damaged: a length is greater than what is left of the row");
	}

private:
	const uint8_t *data;
	idx_t left;
};

void SkipValue(Cursor &cursor, const LogicalType &type) {
	if (!cursor.TakeTag()) {
		return;
	}
	auto physical_type = type.InternalType();
	if (auto width = FixedWidth(physical_type)) {
		cursor.Take(width);
		return;
	}
	switch (physical_type) {
	case PhysicalType::VARCHAR:
		cursor.Take(cursor.TakeCount());
		break;
	case PhysicalType::STRUCT:
		for (auto &child : StructType::GetChildTypes(type)) {
			SkipValue(cursor, child.second);
		}
		break;
	case PhysicalType::LIST: {
		auto &child = ListType::GetChildType(type);
		for (auto count = cursor.TakeCount(); count > 0; count--) {
			SkipValue(cursor, child);
		}
		break;
	}
	case PhysicalType::ARRAY: {
		auto &child = ArrayType::GetChildType(type);
		for (auto count = ArrayType::GetSize(type); count > 0; count--) {
			SkipValue(cursor, child);
		}
		break;
	}
	default:
		UnsupportedType(type);
	}
}

void ReadValue(Cursor &cursor, Vector &vector, idx_t index) {
	if (!cursor.TakeTag()) {
		FlatVector::SetNull(vector, index, true);
		return;
	}
	auto &type = vector.GetType();
	auto physical_type = type.InternalType();
	if (auto width = FixedWidth(physical_type)) {
		memcpy(FlatVector::GetData(vector) + index * width, cursor.Take(width), width);
		return;
	}
	switch (physical_type) {
	case PhysicalType::VARCHAR: {
		auto length = cursor.TakeCount();
		auto text = const_char_ptr_cast(cursor.Take(length));
		FlatVector::GetData<string_t>(vector)[index] = StringVector::AddStringOrBlob(vector, text, length);
		break;
	}
	case PhysicalType::STRUCT:
		for (auto &child : StructVector::GetEntries(vector)) {
			ReadValue(cursor, *child, index);
		}
		break;
	case PhysicalType::LIST: {
		auto length = cursor.TakeCount();
		auto offset = ListVector::GetListSize(vector);
		ListVector::Reserve(vector, offset + length);
		ListVector::SetListSize(vector, offset + length);
		FlatVector::GetData<list_entry_t>(vector)[index] = {offset, length};
		auto &child = ListVector::GetEntry(vector);
		for (idx_t element = 0; element < length; element++) {
			ReadValue(cursor, child, offset + element);
		}
		break;
	}
	case PhysicalType::ARRAY: {
		auto size = ArrayType::GetSize(type);
		auto &child = ArrayVector::GetEntry(vector);
		for (idx_t element = 0; element < size; element++) {
			ReadValue(cursor, child, index * size + element);
		}
		break;
	}
	default:
		UnsupportedType(type);
	}
}

} // namespace

void EncodedRows::Append(DataChunk &chunk, const vector<idx_t> &columns) {
	Append(chunk, columns, *FlatVector::IncrementalSelectionVector(), chunk.size());
}

void EncodedRows::Append(DataChunk &chunk, const vector<idx_t> &columns, const SelectionVector &selection,
                         idx_t count) {
	chunk.Flatten();
	std::vector<RecursiveUnifiedVectorFormat> formats(columns.size());
	for (idx_t column = 0; column < columns.size(); column++) {
		Vector::RecursiveToUnifiedFormat(chunk.data[columns[column]], chunk.size(), formats[column]);
	}
	for (idx_t row = 0; row < count; row++) {
		for (auto &format : formats) {
			AppendValue(data, format, selection.get_index(row));
		}
		ends.push_back(data.size());
	}
}

RowDecoder::RowDecoder(vector<LogicalType> types_p, const vector<pair<idx_t, idx_t>> &targets)
    : types(std::move(types_p)) {
	for (auto &target : targets) {
		if (target.first >= vectors.size()) {
			vectors.resize(target.first + 1);
		}
		vectors[target.first] = target.second;
	}
}

void RowDecoder::Decode(LakelockBytes row, DataChunk &chunk, idx_t index) const {
	Cursor cursor(row);
	for (idx_t column = 0; column < vectors.size(); column++) {
		if (!vectors[column].IsValid()) {
			if (!cursor.AtEnd()) {
				SkipValue(cursor, types[column]);
			}
			continue;
		}
		auto &vector = chunk.data[vectors[column].GetIndex()];
		if (cursor.AtEnd()) {
			FlatVector::SetNull(vector, index, true);
		} else {
			ReadValue(cursor, vector, index);
		}
	}
}

} // namespace lakelock
