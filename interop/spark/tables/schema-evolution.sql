-- Columns that are added, renamed, moved, dropped, added anew, widened, and files from before and after each of it.
create table {table} (id int not null, name string, ratio float, price decimal(9, 2), `Odd.Name` string, gone int,
    inner_ struct<a: int, b: string>, list array<struct<x: int>>, pairs map<string, struct<y: int>>) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'merge-on-read');

insert into {table} values
    (1, 'one', 1.5, 1.25, 'odd', 7, struct(1, 'b'), array(struct(1), null), map('k', struct(1))),
    (2, null, null, null, null, null, null, null, null);
alter table {table} alter column id type bigint;
alter table {table} alter column ratio type double;
alter table {table} alter column price type decimal(18, 2);
alter table {table} alter column inner_.a type bigint;
insert into {table} values
    (3000000000, 'three', 1e300, 1234567890123.45, 'odd too', 8, struct(3000000000, 'bb'), array(), map());
alter table {table} rename column name to title;
alter table {table} rename column `Odd.Name` to `even name`;
alter table {table} rename column inner_.b to c;
alter table {table} drop column gone;
alter table {table} add column gone string after id;
alter table {table} alter column ratio first;
alter table {table} add columns (inner_.d date, list.element.z string, pairs.value.w double comment 'w');
select * from {table} order by id;
insert into {table} values (4.5, 4, 'here', 'four', 4.00, 'even', struct(4, 'c', date '2024-02-29'),
    array(struct(4, 'z')), map('q', struct(4, 4.5)));
alter table {table} add column level bigint;
update {table} set level = id where id < 4;
alter table {table} drop column inner_;
delete from {table} where id = 2;
alter table {table} alter column title comment 'what it is called';
select * from {table} order by id;
