//! The extension's entry: it registers the attach type `lakelock`.

#include "catalog.hpp"
#include "transaction.hpp"

#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/storage/storage_extension.hpp"

namespace lakelock {

namespace {

unique_ptr<Catalog> Attach(optional_ptr<StorageExtensionInfo>, ClientContext &context, AttachedDatabase &db,
                           const string &, AttachInfo &info, AttachOptions &options) {
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
