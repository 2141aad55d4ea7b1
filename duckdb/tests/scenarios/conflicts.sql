-- Which transactions may commit beside each other, and which may not.
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}', DATA_INLINING_ROW_LIMIT 10, METADATA_CATALOG 'meta');
USE lake;
SET immediate_transaction_mode = true;
-- connection second
USE lake;
-- connection first

CREATE TABLE a AS FROM range(100) t(i);
BEGIN;
-- connection second
BEGIN;
-- connection first
DELETE FROM a WHERE i = 50;
-- connection second
DELETE FROM a WHERE i BETWEEN 50 AND 79;
-- connection first
COMMIT;
-- connection second
COMMIT;
SELECT count(*) FROM a;

-- Different files of one table.
CREATE TABLE b AS FROM range(100) t(i);
INSERT INTO b FROM range(100, 200) t(i);
BEGIN;
DELETE FROM b WHERE i BETWEEN 150 AND 179;
-- connection first
BEGIN;
DELETE FROM b WHERE i = 5;
COMMIT;
-- connection second
COMMIT;
SELECT count(*) FROM b;

-- Rows of the catalog and rows of a file.
INSERT INTO b VALUES (1000), (1001), (1002);
BEGIN;
DELETE FROM b WHERE i = 1000;
-- connection first
BEGIN;
DELETE FROM b WHERE i = 6;
-- connection second
COMMIT;
-- connection first
COMMIT;
SELECT count(*) FROM b;
SELECT table_name FROM duckdb_tables() WHERE database_name = 'meta' AND table_name LIKE 'ducklake_inlined%' ORDER BY ALL;

-- Two inserts.
BEGIN;
INSERT INTO b VALUES (2000);
-- connection second
BEGIN;
INSERT INTO b FROM range(3000, 3100) t(i);
COMMIT;
-- connection first
COMMIT;
SELECT count(*), max(i) FROM b;

-- A change of the table beneath an insert, and beneath another change.
BEGIN;
INSERT INTO b VALUES (4000);
-- connection second
ALTER TABLE b ADD COLUMN j INTEGER;
-- connection first
COMMIT;
BEGIN;
ALTER TABLE b ADD COLUMN k INTEGER;
-- connection second
ALTER TABLE b ADD COLUMN l INTEGER;
-- connection first
COMMIT;
DESCRIBE b;
BEGIN;
ALTER TABLE b DROP COLUMN j;
-- connection second
DROP TABLE b;
-- connection first
COMMIT;
FROM b;

-- Schemas and views.
BEGIN;
CREATE SCHEMA s;
-- connection second
BEGIN;
CREATE SCHEMA s;
COMMIT;
-- connection first
COMMIT;
BEGIN;
DROP SCHEMA s;
-- connection second
CREATE TABLE s.t (a INTEGER);
-- connection first
COMMIT;
BEGIN;
CREATE VIEW v AS SELECT 1;
-- connection second
CREATE VIEW v AS SELECT 2;
-- connection first
COMMIT;
FROM v;

-- Compaction and flushing beside deletes.
CREATE TABLE c AS FROM range(50) t(i);
INSERT INTO c FROM range(50, 100) t(i);
BEGIN;
DELETE FROM c WHERE i = 3;
-- connection second
CALL ducklake_merge_adjacent_files('lake', 'c');
-- connection first
COMMIT;
SELECT count(*) FROM c;
INSERT INTO c VALUES (500), (501);
BEGIN;
DELETE FROM c WHERE i = 500;
-- connection second
CALL ducklake_flush_inlined_data('lake', table_name => 'c');
-- connection first
COMMIT;
SELECT count(*) FROM c;
BEGIN;
SELECT count(*) FROM c;
-- connection second
DELETE FROM c;
CALL ducklake_expire_snapshots('lake', older_than => '2000-01-01');
-- connection first
SELECT count(*) FROM c;
COMMIT;
SELECT count(*) FROM c;

-- Options.
BEGIN;
CALL lake.set_option('parquet_compression', 'zstd');
-- connection second
SELECT value FROM lake.options() WHERE option_name = 'parquet_compression';
-- connection first
ROLLBACK;
SELECT value FROM lake.options() WHERE option_name = 'parquet_compression';
SELECT snapshot_id, schema_version, changes FROM ducklake_snapshots('lake') ORDER BY ALL;
SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM meta.ducklake_snapshot;
FROM meta.ducklake_schema_versions;
