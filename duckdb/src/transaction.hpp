//! A DuckDB transaction over one of the store.
#pragma once

#include "store.hpp"

#include "duckdb/transaction/transaction.hpp"
#include "duckdb/transaction/transaction_manager.hpp"

namespace lakelock {

class LakeCatalog;
class LakeSchema;
class LakeTable;

class LakeTransaction : public Transaction {
public:
	LakeTransaction(TransactionManager &manager, ClientContext &context, LakeCatalog &catalog);

	static LakeTransaction &Get(ClientContext &context, Catalog &catalog);

	//! The store's transaction; null where there is no catalog yet.
	LakelockTransaction *Read();
	//! The store's transaction; makes the catalog where there is none yet.
	LakelockTransaction *Write();

	vector<string> SchemaNames();
	vector<string> TableNames(const LakeSchema &schema);
	//! Null where there is none. The entry lives as long as this transaction.
	optional_ptr<LakeTable> Table(ClientContext &context, LakeSchema &schema, const string &name);
	//! To be called after any change to a schema's tables.
	void ForgetTables();

	//! Throws what keeps it from being committed. It has ended either way.
	void Commit();

private:
	LakeCatalog &catalog;
	mutex lock;
	TransactionHandle store;
	//! By schema and name; what DDL made outdated stays alive, as plans may refer to it.
	case_insensitive_map_t<shared_ptr<LakeTable>> tables;
	vector<shared_ptr<LakeTable>> outdated;
};

class LakeTransactionManager : public TransactionManager {
public:
	LakeTransactionManager(AttachedDatabase &db, LakeCatalog &catalog);

	Transaction &StartTransaction(ClientContext &context) override;
	ErrorData CommitTransaction(ClientContext &context, Transaction &transaction) override;
	void RollbackTransaction(Transaction &transaction) override;
	//! Nothing to do: every commit is durable.
	void Checkpoint(ClientContext &context, bool force) override;

private:
	unique_ptr<LakeTransaction> Take(Transaction &transaction);

	LakeCatalog &catalog;
	mutex lock;
	reference_map_t<Transaction, unique_ptr<LakeTransaction>> transactions;
};

} // namespace lakelock
