-- A table made of a query, and replaced by others of the same name, whose columns have the names and so the ids of its own.
create table {table} using iceberg partitioned by (truncate(1, name), half)
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}')
as select id, concat('n', id) as name, id * 1.5 as half from range(0, 4);
insert into {table} values (10, 'ten', 1.0);
create or replace table {table} using iceberg partitioned by (days(at), name)
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}')
as select concat('x', id) as id, timestamp_seconds(id * 86400) as at, concat('m', id) as name from range(0, 3);
insert into {table} values ('y', timestamp '2024-02-29 00:00:00', 'nn');
insert overwrite {table} select 'z', timestamp '1970-01-02 00:00:00', 'm1';
