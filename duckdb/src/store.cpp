#include "store.hpp"

namespace lakelock {

LakelockBytes ToBytes(const string &text) {
	return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

string ToString(LakelockBytes bytes) {
	return string(reinterpret_cast<const char *>(bytes.data), bytes.length);
}

void Check(LakelockError *error) {
	if (error) {
		Throw(ErrorHandle(error));
	}
}

void Throw(ErrorHandle error) {
	auto message = ToString(lakelock_error_message(error.get()));
	switch (lakelock_error_kind(error.get())) {
	case LAKELOCK_ERROR_ALREADY_EXISTS:
		throw CatalogException(message);
	case LAKELOCK_ERROR_CONFLICT:
		throw TransactionException(message);
	case LAKELOCK_ERROR_CONSTRAINT:
		throw ConstraintException(message);
	case LAKELOCK_ERROR_READ_ONLY:
	case LAKELOCK_ERROR_INVALID:
		throw InvalidInputException(message);
	case LAKELOCK_ERROR_UNSUPPORTED:
		throw NotImplementedException(message);
	case LAKELOCK_ERROR_NOT_FOUND:
	case LAKELOCK_ERROR_FENCED:
	case LAKELOCK_ERROR_CORRUPT:
	case LAKELOCK_ERROR_STORAGE:
	case LAKELOCK_ERROR_INTERNAL:
		break;
	}
	throw IOException(message);
}

vector<string> ToNames(NamesHandle names) {
	vector<string> result;
	auto count = lakelock_names_count(names.get());
	for (idx_t index = 0; index < count; index++) {
		result.push_back(ToString(lakelock_names_at(names.get(), index)));
	}
	return result;
}

} // namespace lakelock
