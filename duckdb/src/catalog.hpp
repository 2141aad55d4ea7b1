//! The catalog that `ATTACH 'lakelock:LOCATION'` makes: schemas and tables of the store, and nothing else.
#pragma once

#include "store.hpp"

#include "duckdb/catalog/catalog.hpp"

namespace lakelock {

class LakeSchema;
class LakeTable;

//! Where the catalog is and how its storage is reached.
struct LakeOptions {
	string location;
	bool read_only = false;
	//! What a new catalog is fixed to and an existing one must be, if it was said.
	std::optional<bool> encrypted;
	vector<pair<string, string>> properties;

	//! From what was said to ATTACH, and DuckDB's own S3 secrets.
	static LakeOptions FromAttach(ClientContext &context, const AttachInfo &info, const AttachOptions &options);
};

class LakeCatalog : public Catalog {
public:
	enum class IfAbsent { NOTHING, CREATE };

	LakeCatalog(AttachedDatabase &db, LakeOptions options);
	~LakeCatalog() override;

	//! Begins a transaction; null if there is no catalog and none is to be made.
	TransactionHandle Begin(IfAbsent if_absent);
	//! The entry of a table's definition, the same one as long as the definition stays the same.
	shared_ptr<LakeTable> Entry(ClientContext &context, LakeSchema &schema, TableHandle table);

	void Initialize(bool load_builtin) override;
	string GetCatalogType() override;

	optional_ptr<CatalogEntry> CreateSchema(CatalogTransaction transaction, CreateSchemaInfo &info) override;
	optional_ptr<SchemaCatalogEntry> LookupSchema(CatalogTransaction transaction, const EntryLookupInfo &schema_lookup,
	                                              OnEntryNotFound if_not_found) override;
	void ScanSchemas(ClientContext &context, std::function<void(SchemaCatalogEntry &)> callback) override;

	PhysicalOperator &PlanCreateTableAs(ClientContext &context, PhysicalPlanGenerator &planner, LogicalCreateTable &op,
	                                    PhysicalOperator &plan) override;
	PhysicalOperator &PlanInsert(ClientContext &context, PhysicalPlanGenerator &planner, LogicalInsert &op,
	                             optional_ptr<PhysicalOperator> plan) override;
	PhysicalOperator &PlanDelete(ClientContext &context, PhysicalPlanGenerator &planner, LogicalDelete &op,
	                             PhysicalOperator &plan) override;
	PhysicalOperator &PlanUpdate(ClientContext &context, PhysicalPlanGenerator &planner, LogicalUpdate &op,
	                             PhysicalOperator &plan) override;

	unique_ptr<LogicalOperator> BindCreateIndex(Binder &binder, CreateStatement &stmt, TableCatalogEntry &table,
	                                            unique_ptr<LogicalOperator> plan) override;

	DatabaseSize GetDatabaseSize(ClientContext &context) override;
	bool InMemory() override;
	string GetDBPath() override;

private:
	//! Null if there is no catalog and none is to be made.
	LakelockLake *Open(IfAbsent if_absent);
	LakeSchema &Schema(const string &name);
	void DropSchema(ClientContext &context, DropInfo &info) override;

	const LakeOptions options;
	mutex lock;
	LakeHandle lake;
	case_insensitive_map_t<unique_ptr<LakeSchema>> schemas;
	//! By id. An entry is replaced when the table's definition has become another one.
	unordered_map<uint64_t, shared_ptr<LakeTable>> tables;
};

} // namespace lakelock
