-- Transactions, and conflicts between two connections.
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}');
USE lake;
CREATE TABLE t (id INTEGER, v VARCHAR);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
BEGIN;
INSERT INTO t SELECT i, 'bulk' FROM range(100, 150) r(i);
UPDATE t SET v = 'uno' WHERE id = 1;
CREATE TABLE u AS SELECT 42 AS a;
SELECT count(*), min(v) FROM t;
-- connection second
USE lake;
SELECT count(*), min(v) FROM t;
FROM u;
-- connection first
ROLLBACK;
SELECT count(*), min(v) FROM t;
FROM u;
BEGIN;
UPDATE t SET v = 'first' WHERE id = 1;
-- connection second
BEGIN;
UPDATE t SET v = 'second' WHERE id = 1;
-- connection first
COMMIT;
-- connection second
-- differs
COMMIT;
ROLLBACK;
FROM t ORDER BY id;
BEGIN;
INSERT INTO t VALUES (3, 'second');
-- connection first
BEGIN;
INSERT INTO t VALUES (4, 'first');
COMMIT;
-- connection second
COMMIT;
FROM t ORDER BY id;
BEGIN;
CREATE TABLE same (a INTEGER);
-- connection first
BEGIN;
CREATE TABLE same (a INTEGER);
COMMIT;
-- connection second
-- differs
COMMIT;
ROLLBACK;
BEGIN;
DROP TABLE same;
-- connection first
INSERT INTO same VALUES (1);
-- connection second
-- differs
COMMIT;
ROLLBACK;
BEGIN;
CALL ducklake_set_commit_message('lake', 'somebody', 'a message', extra_info => '{"x": 1}');
INSERT INTO t VALUES (5, 'five');
COMMIT;
SELECT snapshot_id, author, commit_message, commit_extra_info, changes FROM ducklake_snapshots('lake') ORDER BY snapshot_id;
FROM lake.current_snapshot();
FROM ducklake_last_committed_snapshot('lake');
-- connection first
FROM t ORDER BY id;
BEGIN;
CREATE SCHEMA s;
CREATE TABLE s.a (x INTEGER);
INSERT INTO s.a VALUES (1);
ALTER TABLE s.a ADD COLUMN y INTEGER;
INSERT INTO s.a VALUES (2, 3);
FROM s.a ORDER BY x;
DELETE FROM s.a WHERE x = 1;
COMMIT;
FROM s.a;
