-- UPDATE, DELETE, MERGE, time travel and change feeds.
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}');
USE lake;
CREATE TABLE t (id INTEGER, v VARCHAR);
INSERT INTO t SELECT i, 'v' || i FROM range(50) r(i);
INSERT INTO t VALUES (50, 'inlined'), (51, 'inlined');
UPDATE t SET v = 'updated' WHERE id % 10 = 0;
DELETE FROM t WHERE id % 10 = 1;
FROM t WHERE id < 12 OR id >= 50 ORDER BY id;
UPDATE t SET v = upper(v) WHERE id >= 49;
DELETE FROM t WHERE id = 50;
MERGE INTO t USING (VALUES (2, 'merged'), (60, 'new')) s(id, v) ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);
MERGE INTO t USING (VALUES (4), (5)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE;
FROM t WHERE id < 12 OR id >= 49 ORDER BY id;
SELECT count(*) FROM t;
SELECT count(*) FROM t AT (VERSION => 2);
SELECT count(*) FROM t AT (VERSION => 3);
SELECT count(*) FROM t AT (VERSION => 99);
SELECT * FROM t AT (VERSION => 4) WHERE id >= 50 ORDER BY id;
SELECT snapshot_id, rowid, change_type, id, v FROM ducklake_table_changes('lake', 'main', 't', 0, 7) ORDER BY ALL;
SELECT id, v FROM ducklake_table_insertions('lake', 'main', 't', 3, 3) ORDER BY ALL;
SELECT id, v FROM ducklake_table_deletions('lake', 'main', 't', 4, 7) ORDER BY ALL;
SELECT rowid, id FROM t WHERE id < 12 ORDER BY id;
DELETE FROM t WHERE id < 40;
SELECT count(*) FROM t;
TRUNCATE t;
SELECT count(*) FROM t;
SELECT snapshot_id, schema_version, changes FROM ducklake_snapshots('lake') ORDER BY ALL;
-- restart
ATTACH 'ducklake:${CATALOG}' AS lake;
SELECT count(*) FROM lake.t;
DETACH lake;
ATTACH 'ducklake:${CATALOG}' AS past (SNAPSHOT_VERSION 4);
SELECT count(*) FROM past.t;
INSERT INTO past.t VALUES (1, 'no');
