-- Every column type, from inlined rows and from files.
ATTACH 'ducklake:${CATALOG}' AS lake (DATA_PATH '${DATA_PATH}');
USE lake;
CREATE TABLE scalars (
    a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f HUGEINT, g UTINYINT, h USMALLINT, i UINTEGER, j UBIGINT,
    k FLOAT, l DOUBLE, m DECIMAL(4, 1), n DECIMAL(9, 2), o DECIMAL(18, 3), p DECIMAL(38, 10), q VARCHAR, r BLOB, s UUID,
    t DATE, u TIME, v TIMESTAMP, w TIMESTAMPTZ, x TIMESTAMP_S, y TIMESTAMP_MS, z TIMESTAMP_NS, aa INTERVAL, ab JSON, ac TIMETZ);
INSERT INTO scalars VALUES
    (true, -128, -32768, -2147483648, -9223372036854775808, -1000000000000, 255, 65535, 4294967295,
     18446744073709551615, 1.5, -2.25, 123.4, -1234567.89, 123456789012345.678, 1234567890123456789012345678.0123456789,
     'käse', '\x00\xFF'::BLOB, '00112233-4455-6677-8899-aabbccddeeff', '0044-03-15 (BC)', '23:59:59.999999',
     '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789012+05', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789',
     '2024-02-29 12:34:56.789012345', INTERVAL '3 months 4 days 5 seconds', '{"a": [1, null]}', '12:34:56+02'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (false, 127, 32767, 2147483647, 9223372036854775807, 1000000000000, 0, 0, 0, 0, 'nan', '-inf',
     0, 0, 0, 0, '', '', '00000000-0000-0000-0000-000000000000', '9999-12-31', '00:00:00', 'epoch', '-infinity', 'epoch',
     'epoch', 'epoch', INTERVAL '0 days', 'null', '00:00:00-15');
FROM scalars;
SELECT count(*), min(d), max(q), sum(e % 10) FROM scalars WHERE d IS NOT NULL;
SELECT * FROM scalars WHERE m > 100;
CALL ducklake_flush_inlined_data('lake');
FROM scalars;
CREATE TABLE nested (
    id INTEGER, l INTEGER[], ll VARCHAR[][], s STRUCT(a INTEGER, "b c" VARCHAR, n STRUCT(d DATE, l DOUBLE[])),
    m MAP(VARCHAR, INTEGER[]), ls STRUCT(x INTEGER, y MAP(INTEGER, VARCHAR))[]);
INSERT INTO nested VALUES
    (1, [1, NULL, 3], [['a', NULL], [], NULL], {'a': 1, 'b c': 'x', 'n': {'d': DATE '2024-01-01', 'l': [1.5, NULL]}},
     MAP {'k': [1, 2], 'l': NULL}, [{'x': 1, 'y': MAP {1: 'one'}}, NULL]),
    (2, [], NULL, NULL, MAP {}, []),
    (3, NULL, [[NULL]], {'a': NULL, 'b c': NULL, 'n': NULL}, NULL, [{'x': NULL, 'y': NULL}]);
FROM nested;
SELECT s.n.l[1], m['k'], ls[1].y[1] FROM nested ORDER BY id;
UPDATE nested SET l = list_append(l, 9), s = {'a': 7, 'b c': 'new', 'n': NULL} WHERE id = 2;
DELETE FROM nested WHERE id = 3;
FROM nested;
-- restart
ATTACH 'ducklake:${CATALOG}' AS lake;
USE lake;
FROM nested;
CALL ducklake_flush_inlined_data('lake');
FROM nested ORDER BY id;
INSERT INTO nested SELECT i, range(i), NULL, NULL, NULL, NULL FROM range(100) t(i);
SELECT count(*), sum(len(l)) FROM nested;
CREATE TABLE variants (id INTEGER, v VARIANT);
INSERT INTO variants VALUES (1, 42::VARIANT), (2, 'text'::VARIANT), (3, {'a': 1, 'b': [1, 2, 3]}::VARIANT), (4, NULL);
SELECT id, v::VARCHAR FROM variants ORDER BY id;
INSERT INTO variants SELECT i, {'n': i, 's': 'x' || i}::VARIANT FROM range(5, 50) t(i);
SELECT id, v.n::INTEGER FROM variants WHERE id BETWEEN 10 AND 12 ORDER BY id;
CALL ducklake_flush_inlined_data('lake');
SELECT id, v::VARCHAR FROM variants ORDER BY id LIMIT 8;
SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = 'lake' ORDER BY ALL;
