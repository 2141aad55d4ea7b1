//! The extension's entry: it registers the attach type `lakelock`.

#include "catalog.hpp"
#include "transaction.hpp"

#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parsed_data/attach_info.hpp"
#include "duckdb/storage/storage_extension.hpp"

namespace lakelock {

namespace {

//! The way to a private member: explicit instantiations may name it.
template <AttachedDatabaseType AttachedDatabase::*MEMBER>
struct PrivateType {
	friend AttachedDatabaseType &TypeOf(AttachedDatabase &db) {
		return db.*MEMBER;
	}
};
template struct PrivateType<&AttachedDatabase::type>;
AttachedDatabaseType &TypeOf(AttachedDatabase &db);

//! Whether read-only is what somebody asked for. DuckDB attaches what nobody chose for read-only when its path is remote, as it
//! takes that for a file.
bool AccessWasChosen(ClientContext &context, const AttachInfo &info) {
	for (auto option : {"readonly", "read_only", "readwrite", "read_write"}) {
		if (info.options.count(option) > 0) {
			return true;
		}
	}
	return DBConfig::GetConfig(context).options.access_mode == AccessMode::READ_ONLY;
}

unique_ptr<Catalog> Attach(optional_ptr<StorageExtensionInfo>, ClientContext &context, AttachedDatabase &db,
                           const string &, AttachInfo &info, AttachOptions &options) {
	if (options.access_mode == AccessMode::READ_ONLY && !AccessWasChosen(context, info)) {
		options.access_mode = AccessMode::READ_WRITE;
		TypeOf(db) = AttachedDatabaseType::READ_WRITE_DATABASE;
	}
	return make_uniq<LakeCatalog>(db, LakeOptions::FromAttach(context, info, options));
}

unique_ptr<TransactionManager> CreateTransactionManager(optional_ptr<StorageExtensionInfo>, AttachedDatabase &db,
                                                        Catalog &catalog) {
	return make_uniq<LakeTransactionManager>(db, catalog.Cast<LakeCatalog>());
}

} // namespace

void Register(DatabaseInstance &db) {
	auto extension = make_shared_ptr<StorageExtension>();
	extension->attach = Attach;
	extension->create_transaction_manager = CreateTransactionManager;
	StorageExtension::Register(DBConfig::GetConfig(db), "lakelock", std::move(extension));
}

} // namespace lakelock

extern "C" {
DUCKDB_CPP_EXTENSION_ENTRY(lakelock, loader) {
	loader.SetDescription("DuckLake catalogs on object storage");
	lakelock::Register(loader.GetDatabaseInstance());
}
}
