#include "transaction.hpp"

#include "catalog.hpp"
#include "schema.hpp"
#include "table.hpp"

#include "duckdb/main/attached_database.hpp"

namespace lakelock {

LakeTransaction::LakeTransaction(TransactionManager &manager, ClientContext &context, LakeCatalog &catalog)
    : Transaction(manager, context), catalog(catalog) {
}

LakeTransaction &LakeTransaction::Get(ClientContext &context, Catalog &catalog) {
	return Transaction::Get(context, catalog).Cast<LakeTransaction>();
}

LakelockTransaction *LakeTransaction::Read() {
	lock_guard<mutex> guard(lock);
	if (!store) {
		store = catalog.Begin(LakeCatalog::IfAbsent::NOTHING);
	}
	return store.get();
}

LakelockTransaction *LakeTransaction::Write() {
	lock_guard<mutex> guard(lock);
	if (!store) {
		store = catalog.Begin(LakeCatalog::IfAbsent::CREATE);
	}
	return store.get();
}

vector<string> LakeTransaction::SchemaNames() {
	auto transaction = Read();
	if (!transaction) {
		return {DEFAULT_SCHEMA};
	}
	LakelockNames *names = nullptr;
	Check(lakelock_schemas(transaction, &names));
	return ToNames(NamesHandle(names));
}

vector<string> LakeTransaction::TableNames(const LakeSchema &schema) {
	auto transaction = Read();
	if (!transaction) {
		return {};
	}
	LakelockNames *names = nullptr;
	Check(lakelock_table_names(transaction, ToBytes(schema.name), &names));
	return ToNames(NamesHandle(names));
}

optional_ptr<LakeTable> LakeTransaction::Table(ClientContext &context, LakeSchema &schema, const string &name) {
	auto transaction = Read();
	if (!transaction) {
		return nullptr;
	}
	auto key = schema.name + string(1, '\0') + name;
	{
		lock_guard<mutex> guard(lock);
		auto found = tables.find(key);
		if (found != tables.end()) {
			return found->second.get();
		}
	}
	LakelockTable *handle = nullptr;
	Check(lakelock_table(transaction, ToBytes(schema.name), ToBytes(name), &handle));
	if (!handle) {
		return nullptr;
	}
	auto table = catalog.Entry(context, schema, TableHandle(handle));
	lock_guard<mutex> guard(lock);
	return tables.emplace(key, std::move(table)).first->second.get();
}

void LakeTransaction::ForgetTables() {
	lock_guard<mutex> guard(lock);
	for (auto &table : tables) {
		outdated.push_back(std::move(table.second));
	}
	tables.clear();
}

void LakeTransaction::Commit() {
	lock_guard<mutex> guard(lock);
	if (store) {
		Check(lakelock_commit(store.release()));
	}
}

LakeTransactionManager::LakeTransactionManager(AttachedDatabase &db, LakeCatalog &catalog)
    : TransactionManager(db), catalog(catalog) {
}

Transaction &LakeTransactionManager::StartTransaction(ClientContext &context) {
	auto transaction = make_uniq<LakeTransaction>(*this, context, catalog);
	auto &result = *transaction;
	// From here on it sees what is there now.
	result.Read();
	lock_guard<mutex> guard(lock);
	transactions[result] = std::move(transaction);
	return result;
}

ErrorData LakeTransactionManager::CommitTransaction(ClientContext &, Transaction &transaction) {
	try {
		Take(transaction)->Commit();
	} catch (std::exception &error) {
		return ErrorData(error);
	}
	return ErrorData();
}

void LakeTransactionManager::RollbackTransaction(Transaction &transaction) {
	Take(transaction);
}

void LakeTransactionManager::Checkpoint(ClientContext &, bool) {
}

unique_ptr<LakeTransaction> LakeTransactionManager::Take(Transaction &transaction) {
	lock_guard<mutex> guard(lock);
	auto found = transactions.find(transaction);
	auto result = std::move(found->second);
	transactions.erase(found);
	return result;
}

} // namespace lakelock
