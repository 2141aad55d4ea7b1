#include "catalog.hpp"

#include "schema.hpp"
#include "table.hpp"
#include "transaction.hpp"

#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"
#include "duckdb/storage/database_size.hpp"

namespace lakelock {

LakeCatalog::LakeCatalog(AttachedDatabase &db, LakeOptions options) : Catalog(db), options(std::move(options)) {
	// So that what is wrong with the place is said now. That there is nothing yet, DuckLake says by itself.
	Open(IfAbsent::NOTHING);
}

LakeCatalog::~LakeCatalog() = default;

LakelockLake *LakeCatalog::Open(IfAbsent if_absent) {
	lock_guard<mutex> guard(lock);
	if (lake) {
		return lake.get();
	}
	vector<LakelockProperty> properties;
	for (auto &property : options.properties) {
		properties.push_back({ToBytes(property.first), ToBytes(property.second)});
	}
	LakelockOpenOptions open_options;
	open_options.read_only = options.read_only;
	open_options.create = if_absent == IfAbsent::CREATE;
	open_options.encrypted = options.encrypted ? *options.encrypted : -1;
	open_options.properties = properties.data();
	open_options.property_count = properties.size();
	LakelockLake *opened = nullptr;
	ErrorHandle error(lakelock_open(ToBytes(options.location), &open_options, &opened));
	if (error) {
		if (if_absent == IfAbsent::NOTHING && lakelock_error_kind(error.get()) == LAKELOCK_ERROR_NOT_FOUND) {
			return nullptr;
		}
		Throw(std::move(error));
	}
	lake = LakeHandle(opened);
	return opened;
}

TransactionHandle LakeCatalog::Begin(IfAbsent if_absent) {
	auto opened = Open(if_absent);
	if (!opened) {
		return nullptr;
	}
	LakelockTransaction *transaction = nullptr;
	Check(lakelock_begin(opened, &transaction));
	return TransactionHandle(transaction);
}

LakeSchema &LakeCatalog::Schema(const string &name) {
	lock_guard<mutex> guard(lock);
	auto &schema = schemas[name];
	if (!schema) {
		CreateSchemaInfo info;
		info.schema = name;
		schema = make_uniq<LakeSchema>(*this, info);
	}
	return *schema;
}

shared_ptr<LakeTable> LakeCatalog::Entry(ClientContext &context, LakeSchema &schema, TableHandle table) {
	auto view = lakelock_table_view(table.get());
	{
		lock_guard<mutex> guard(lock);
		auto found = tables.find(view.id);
		if (found != tables.end() && found->second->Defines(schema, view)) {
			return found->second;
		}
	}
	// Outside of the lock, as types are looked up in the catalogs.
	auto info = LakeTable::ToCreateInfo(context, schema, view);
	auto entry = make_shared_ptr<LakeTable>(*this, schema, info, std::move(table));
	lock_guard<mutex> guard(lock);
	tables[view.id] = entry;
	return entry;
}

void LakeCatalog::Initialize(bool) {
}

string LakeCatalog::GetCatalogType() {
	return "lakelock";
}

optional_ptr<CatalogEntry> LakeCatalog::CreateSchema(CatalogTransaction transaction, CreateSchemaInfo &info) {
	if (info.on_conflict == OnCreateConflict::REPLACE_ON_CONFLICT) {
		throw NotImplementedException("a lakelock catalog cannot replace schemas: drop \"%s\" first", info.schema);
	}
	auto store = transaction.transaction->Cast<LakeTransaction>().Write();
	auto if_not_exists = info.on_conflict == OnCreateConflict::IGNORE_ON_CONFLICT;
	Check(lakelock_create_schema(store, ToBytes(info.schema), if_not_exists));
	return Schema(info.schema);
}

optional_ptr<SchemaCatalogEntry> LakeCatalog::LookupSchema(CatalogTransaction transaction,
                                                           const EntryLookupInfo &schema_lookup,
                                                           OnEntryNotFound if_not_found) {
	auto &name = schema_lookup.GetEntryName();
	if (StringUtil::CIEquals(name, DEFAULT_SCHEMA)) {
		return Schema(DEFAULT_SCHEMA);
	}
	if (transaction.transaction) {
		for (auto &existing : transaction.transaction->Cast<LakeTransaction>().SchemaNames()) {
			if (StringUtil::CIEquals(name, existing)) {
				return Schema(existing);
			}
		}
	}
	if (if_not_found == OnEntryNotFound::THROW_EXCEPTION) {
		throw CatalogException(schema_lookup.GetErrorContext(), "Schema with name \"%s\" not found", name);
	}
	return nullptr;
}

void LakeCatalog::ScanSchemas(ClientContext &context, std::function<void(SchemaCatalogEntry &)> callback) {
	for (auto &name : LakeTransaction::Get(context, *this).SchemaNames()) {
		callback(Schema(name));
	}
}

void LakeCatalog::DropSchema(ClientContext &context, DropInfo &info) {
	auto &transaction = LakeTransaction::Get(context, *this);
	auto schema = GetSchema(context, info.name, info.if_not_found);
	if (!schema) {
		return;
	}
	auto table_names = transaction.TableNames(schema->Cast<LakeSchema>());
	if (!table_names.empty() && !info.cascade) {
		throw DependencyException("Cannot drop schema \"%s\" because it holds tables. Use DROP...CASCADE to drop them too.",
		                          info.name);
	}
	for (auto &table : table_names) {
		Check(lakelock_drop_table(transaction.Write(), ToBytes(schema->name), ToBytes(table)));
	}
	Check(lakelock_drop_schema(transaction.Write(), ToBytes(schema->name)));
	transaction.ForgetTables();
}

//! What DuckDB does by default takes the scan for one of its own tables, and writes into its state.
unique_ptr<LogicalOperator> LakeCatalog::BindCreateIndex(Binder &, CreateStatement &, TableCatalogEntry &,
                                                         unique_ptr<LogicalOperator>) {
	throw NotImplementedException("a lakelock catalog holds tables, no indexes");
}

DatabaseSize LakeCatalog::GetDatabaseSize(ClientContext &) {
	return DatabaseSize();
}

bool LakeCatalog::InMemory() {
	return false;
}

string LakeCatalog::GetDBPath() {
	return options.location;
}

} // namespace lakelock
