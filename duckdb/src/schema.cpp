#include "schema.hpp"

#include "alter.hpp"
#include "table.hpp"
#include "transaction.hpp"

#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"

namespace lakelock {

namespace {

[[noreturn]] void Unsupported(const char *what) {
	throw NotImplementedException("a lakelock catalog holds tables, no %s", what);
}

} // namespace

LakeSchema::LakeSchema(Catalog &catalog, CreateSchemaInfo &info) : SchemaCatalogEntry(catalog, info) {
}

void LakeSchema::Scan(ClientContext &context, CatalogType type, const std::function<void(CatalogEntry &)> &callback) {
	if (type != CatalogType::TABLE_ENTRY) {
		return;
	}
	auto &transaction = LakeTransaction::Get(context, catalog);
	for (auto &table_name : transaction.TableNames(*this)) {
		if (auto table = transaction.Table(context, *this, table_name)) {
			callback(*table);
		}
	}
}

void LakeSchema::Scan(CatalogType, const std::function<void(CatalogEntry &)> &) {
	throw NotImplementedException("the tables of a lakelock catalog are seen by transactions alone");
}

optional_ptr<CatalogEntry> LakeSchema::LookupEntry(CatalogTransaction transaction, const EntryLookupInfo &lookup_info) {
	if (lookup_info.GetCatalogType() != CatalogType::TABLE_ENTRY) {
		return nullptr;
	}
	auto &lake_transaction = transaction.transaction->Cast<LakeTransaction>();
	return lake_transaction.Table(transaction.GetContext(), *this, lookup_info.GetEntryName()).get();
}

optional_ptr<CatalogEntry> LakeSchema::CreateTable(CatalogTransaction transaction, BoundCreateTableInfo &bound_info) {
	auto &info = bound_info.Base();
	auto &context = transaction.GetContext();
	auto &lake_transaction = transaction.transaction->Cast<LakeTransaction>();
	if (lake_transaction.Table(context, *this, info.table)) {
		switch (info.on_conflict) {
		case OnCreateConflict::IGNORE_ON_CONFLICT:
			return nullptr;
		case OnCreateConflict::REPLACE_ON_CONFLICT:
			Check(lakelock_drop_table(lake_transaction.Write(), ToBytes(name), ToBytes(info.table)));
			break;
		default:
			throw CatalogException("Table with name \"%s\" already exists!", info.table);
		}
	}
	LakeTable::Create(lake_transaction, *this, info);
	lake_transaction.ForgetTables();
	return lake_transaction.Table(context, *this, info.table).get();
}

void LakeSchema::DropEntry(ClientContext &context, DropInfo &info) {
	auto &transaction = LakeTransaction::Get(context, catalog);
	if (info.type != CatalogType::TABLE_ENTRY || !transaction.Table(context, *this, info.name)) {
		if (info.if_not_found == OnEntryNotFound::RETURN_NULL) {
			return;
		}
		throw CatalogException("%s with name \"%s\" does not exist!", CatalogTypeToString(info.type), info.name);
	}
	Check(lakelock_drop_table(transaction.Write(), ToBytes(name), ToBytes(info.name)));
	transaction.ForgetTables();
}

void LakeSchema::Alter(CatalogTransaction transaction, AlterInfo &info) {
	auto &context = transaction.GetContext();
	auto &lake_transaction = transaction.transaction->Cast<LakeTransaction>();
	auto table = lake_transaction.Table(context, *this, info.name);
	if (!table) {
		if (info.if_not_found == OnEntryNotFound::RETURN_NULL) {
			return;
		}
		throw CatalogException("Table with name \"%s\" does not exist!", info.name);
	}
	if (info.type != AlterType::ALTER_TABLE) {
		throw NotImplementedException("a lakelock catalog does not support %s", info.ToString());
	}
	AlterTable(context, lake_transaction, *table, info.Cast<AlterTableInfo>());
}

optional_ptr<CatalogEntry> LakeSchema::CreateIndex(CatalogTransaction, CreateIndexInfo &, TableCatalogEntry &) {
	Unsupported("indexes");
}

optional_ptr<CatalogEntry> LakeSchema::CreateFunction(CatalogTransaction, CreateFunctionInfo &) {
	Unsupported("functions");
}

optional_ptr<CatalogEntry> LakeSchema::CreateView(CatalogTransaction, CreateViewInfo &) {
	Unsupported("views");
}

optional_ptr<CatalogEntry> LakeSchema::CreateSequence(CatalogTransaction, CreateSequenceInfo &) {
	Unsupported("sequences");
}

optional_ptr<CatalogEntry> LakeSchema::CreateTableFunction(CatalogTransaction, CreateTableFunctionInfo &) {
	Unsupported("table functions");
}

optional_ptr<CatalogEntry> LakeSchema::CreateCopyFunction(CatalogTransaction, CreateCopyFunctionInfo &) {
	Unsupported("copy functions");
}

optional_ptr<CatalogEntry> LakeSchema::CreatePragmaFunction(CatalogTransaction, CreatePragmaFunctionInfo &) {
	Unsupported("pragma functions");
}

optional_ptr<CatalogEntry> LakeSchema::CreateCollation(CatalogTransaction, CreateCollationInfo &) {
	Unsupported("collations");
}

optional_ptr<CatalogEntry> LakeSchema::CreateType(CatalogTransaction, CreateTypeInfo &) {
	Unsupported("types");
}

} // namespace lakelock
