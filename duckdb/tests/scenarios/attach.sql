-- What ATTACH says of its options.
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}', CREATE_IF_NOT_EXISTS false);
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}', ENCRYPTED);
CREATE TABLE lake.t AS SELECT i AS a FROM range(100) r(i);
SELECT sum(a) FROM lake.t;
INSERT INTO lake.t VALUES (1000);
SELECT encryption_key IS NOT NULL FROM __ducklake_metadata_lake.ducklake_data_file;
DETACH lake;
ATTACH 'ducklake:${CATALOG}' AS lake;
SELECT sum(a) FROM lake.t;
DETACH lake;
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${FOLDER}/elsewhere/');
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${FOLDER}/elsewhere/', OVERRIDE_DATA_PATH true);
DETACH lake;
ATTACH 'ducklake:${CATALOG}' AS lake (READ_ONLY);
SELECT sum(a) FROM lake.t;
INSERT INTO lake.t VALUES (1);
CREATE TABLE lake.u (a INTEGER);
DETACH lake;
ATTACH 'ducklake:${CATALOG}' AS lake (ENCRYPTED false);
ATTACH 'ducklake:${CATALOG}' AS lake (TYPE ducklake);
-- restart
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_INLINING_ROW_LIMIT 0, AUTOMATIC_MIGRATION true);
INSERT INTO lake.t VALUES (1);
SELECT count(*) FROM ducklake_list_files('lake', 't');
-- restart
ATTACH 'ducklake:${CATALOG}' AS lake (SNAPSHOT_VERSION 1);
SELECT count(*) FROM lake.t;
