/*
 * The C ABI of a DuckLake catalog on object storage, as crates/ducklake-c exports it.
 *
 * - Every function that can fail returns NULL when it went well, else an error that the caller frees.
 * - Strings are UTF-8 with their length, not terminated. What a view points at lives as long as the handle it came from.
 * - Calls block. Any thread may make them: a lake and a transaction lock themselves.
 * - Rows and values have the encoding of docs/ducklake-format.md, which row_codec.hpp writes and reads.
 */
#ifndef LAKELOCK_DUCKLAKE_H
#define LAKELOCK_DUCKLAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct LakelockError LakelockError;
typedef struct LakelockLake LakelockLake;
typedef struct LakelockTransaction LakelockTransaction;
typedef struct LakelockTable LakelockTable;
typedef struct LakelockNames LakelockNames;
typedef struct LakelockScan LakelockScan;

typedef struct {
	const uint8_t *data;
	size_t length;
} LakelockBytes;

/* What a caller can do about an error. */
typedef enum {
	LAKELOCK_ERROR_NOT_FOUND = 1,
	LAKELOCK_ERROR_ALREADY_EXISTS = 2,
	LAKELOCK_ERROR_CONFLICT = 3,
	LAKELOCK_ERROR_FENCED = 4,
	LAKELOCK_ERROR_READ_ONLY = 5,
	LAKELOCK_ERROR_CORRUPT = 6,
	LAKELOCK_ERROR_UNSUPPORTED = 7,
	LAKELOCK_ERROR_INVALID = 8,
	LAKELOCK_ERROR_STORAGE = 9,
	LAKELOCK_ERROR_CONSTRAINT = 10,
	/* A bug. */
	LAKELOCK_ERROR_INTERNAL = 11,
} LakelockErrorKind;

LakelockErrorKind lakelock_error_kind(const LakelockError *error);
LakelockBytes lakelock_error_message(const LakelockError *error);
void lakelock_error_free(LakelockError *error);

/* ---- Lakes ---- */

typedef struct {
	LakelockBytes name;
	LakelockBytes value;
} LakelockProperty;

typedef struct {
	bool read_only;
	/* Whether to make the catalog where there is none; else that is LAKELOCK_ERROR_NOT_FOUND. */
	bool create;
	/* -1: as the catalog says; 0, 1: what a new catalog is fixed to, and what an existing one must be. */
	int encrypted;
	/* Storage properties, as lakelock-storage names them. */
	const LakelockProperty *properties;
	size_t property_count;
} LakelockOpenOptions;

LakelockError *lakelock_open(LakelockBytes location, const LakelockOpenOptions *options, LakelockLake **lake);
void lakelock_lake_free(LakelockLake *lake);

/* ---- Transactions ---- */

LakelockError *lakelock_begin(LakelockLake *lake, LakelockTransaction **transaction);
/* Both end the transaction, whatever they return. */
LakelockError *lakelock_commit(LakelockTransaction *transaction);
void lakelock_rollback(LakelockTransaction *transaction);

/* ---- Schemas and tables ---- */

typedef struct {
	LakelockBytes name;
	/* What DuckDB's LogicalType::ToString() says. */
	LakelockBytes type;
	bool not_null;
	/* An SQL expression; data is NULL where there is no default. */
	LakelockBytes default_value;
} LakelockColumn;

typedef struct {
	/* Given by the store; ignored when a table is made. */
	uint64_t id;
	LakelockBytes schema;
	LakelockBytes name;
	const LakelockColumn *columns;
	size_t column_count;
	/* Positions in columns. */
	const uint32_t *primary_key;
	size_t primary_key_count;
} LakelockTableView;

LakelockError *lakelock_schemas(LakelockTransaction *transaction, LakelockNames **names);
LakelockError *lakelock_create_schema(LakelockTransaction *transaction, LakelockBytes name, bool if_not_exists);
LakelockError *lakelock_drop_schema(LakelockTransaction *transaction, LakelockBytes name);

LakelockError *lakelock_table_names(LakelockTransaction *transaction, LakelockBytes schema, LakelockNames **names);
/* *table is NULL where there is none of that name; names compare without case. */
LakelockError *lakelock_table(LakelockTransaction *transaction, LakelockBytes schema, LakelockBytes name,
                              LakelockTable **table);
LakelockTableView lakelock_table_view(const LakelockTable *table);
void lakelock_table_free(LakelockTable *table);

LakelockError *lakelock_create_table(LakelockTransaction *transaction, const LakelockTableView *table);
LakelockError *lakelock_drop_table(LakelockTransaction *transaction, LakelockBytes schema, LakelockBytes name);

size_t lakelock_names_count(const LakelockNames *names);
LakelockBytes lakelock_names_at(const LakelockNames *names, size_t index);
void lakelock_names_free(LakelockNames *names);

/* ---- Rows ---- */

/* count rows, one after the other in data; row i ends at ends[i]. */
typedef struct {
	const uint8_t *data;
	const size_t *ends;
	size_t count;
} LakelockRows;

/* How many rows a table has for the transaction; -1 if that is not known. */
LakelockError *lakelock_row_count(LakelockTransaction *transaction, uint64_t table_id, int64_t *count);
typedef struct {
	bool known;
	int64_t least;
	int64_t greatest;
} LakelockBounds;

/* Between which values a column lies, a BIGINT without nulls, for the transaction. */
LakelockError *lakelock_bounds(LakelockTransaction *transaction, uint64_t table_id, uint32_t column,
                               LakelockBounds *bounds);
LakelockError *lakelock_insert(LakelockTransaction *transaction, uint64_t table_id, LakelockRows rows);
/* row_ids has as many entries as rows. */
LakelockError *lakelock_update(LakelockTransaction *transaction, uint64_t table_id, const int64_t *row_ids,
                               LakelockRows rows);
LakelockError *lakelock_delete(LakelockTransaction *transaction, uint64_t table_id, const int64_t *row_ids,
                               size_t count);

typedef enum {
	/* The column, a BIGINT, equals one of the values. */
	LAKELOCK_FILTER_IN = 1,
	/* end_snapshot is null or greater than the one value. */
	LAKELOCK_FILTER_LIVE_AT = 2,
	/* end_snapshot is null. */
	LAKELOCK_FILTER_LIVE = 3,
} LakelockFilterKind;

typedef struct {
	LakelockFilterKind kind;
	/* Of LAKELOCK_FILTER_IN. */
	uint32_t column;
	const int64_t *values;
	size_t value_count;
} LakelockFilter;

typedef struct {
	int64_t row_id;
	LakelockBytes row;
} LakelockRow;

typedef struct {
	const LakelockRow *rows;
	size_t count;
} LakelockRowsView;

/*
 * The rows that the transaction sees now and that all filters let through, in the order of insertion; there may be others
 * among them. for_update says that some of them are going to be updated or deleted.
 */
LakelockError *lakelock_scan(LakelockTransaction *transaction, uint64_t table_id, const LakelockFilter *filters,
                             size_t filter_count, bool for_update, LakelockScan **scan);
LakelockRowsView lakelock_scan_rows(const LakelockScan *scan);
void lakelock_scan_free(LakelockScan *scan);

#ifdef __cplusplus
}
#endif

#endif
