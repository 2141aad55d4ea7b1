-- Every type that Spark writes, with nulls, extremes and odd values, in one file after the other.
create table {table} (
    id bigint not null, flag boolean, tiny tinyint, small smallint, whole int, real float, double_ double,
    money decimal(9, 2), middle decimal(18, 4), large decimal(38, 10), tenth decimal(1, 1),
    text string, fixed_text char(5), bounded varchar(7), raw binary, day date, at timestamp, at_ntz timestamp_ntz,
    inner_ struct<a: int, b: struct<c: string, d: array<date>>>, list array<decimal(20, 5)>, lists array<array<int>>,
    words map<string, int>, by_day map<date, struct<x: double, y: array<timestamp_ntz>>>,
    structs array<struct<k: string, v: map<int, binary>>>
) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}');

insert into {table} values
    (1, true, 127, 32767, 2147483647, float('NaN'), double('Infinity'), 9999999.99, 99999999999999.9999,
        9999999999999999999999999999.9999999999, 0.9, 'ünï çödé 日本 🦀', 'abc', 'bounded', X'00FF10', date '9999-12-31',
        timestamp '9998-12-31 23:59:59.999999', timestamp_ntz '9998-12-31 23:59:59.999999',
        struct(1, struct('c', array(date '1969-12-31', null))), array(1.5, null, -99999.99999), array(array(1, 2), array(), null),
        map('a', 1, 'b', null), map(date '2024-02-29', struct(1.5D, array(timestamp_ntz '2024-02-29 00:00:00'))),
        array(struct('k', map(1, X'01', 2, X'')), null)),
    (2, false, -128, -32768, -2147483648, float('-Infinity'), double('NaN'), -9999999.99, -99999999999999.9999,
        -9999999999999999999999999999.9999999999, -0.9, '', '', '', X'', date '0001-01-01',
        timestamp '0002-01-01 00:00:00', timestamp_ntz '0002-01-01 00:00:00',
        struct(null, struct(null, array())), array(), array(), map(), map(), array()),
    (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null),
    (4, true, 0, 0, 0, float(-0.0), double(-0.0), 0, 0, 0, 0, ' ', ' a ', '  ', X'20', date '1969-12-31',
        timestamp '1969-12-31 23:59:59.999999', timestamp_ntz '1970-01-01 00:00:00',
        struct(0, null), array(0), array(array(0)), map('', 0), map(date '1970-01-01', null), array(struct(null, null)));
insert into {table} (id, text) select id, concat('row ', id) from range(10, 30);
insert into {table} (id, real, double_) values (40, float('3.4028235e38'), 4.9e-324D), (41, float('1.4e-45'), 1.7976931348623157e308D);
select id from {table} where double_ > 1 order by id;
select id from {table} where real < 0 order by id;
select id, inner_.b.c as c from {table} where inner_.a = 1;
select id from {table} where text = 'row 12' or text = '';
select id from {table} where large < 0;
select id from {table} where raw is null and id < 12 order by id;
delete from {table} where id in (12, 13);
