-- Columns of a type that only some readers know, which no metastore takes: hence in the clear.
create table {table} (id bigint not null, odd variant, name string, inner_ struct<a: int, v: variant>) using iceberg
tblproperties ('format-version' = '3', 'write.delete.mode' = 'merge-on-read');
insert into {table} select id, parse_json(concat('{"a": ', id, ', "b": ["x", null], "t": 1.5}')), concat('n', id),
    struct(int(id), parse_json('7')) from range(0, 10);
insert into {table} select id, parse_json(concat('{"a": ', id, ', "b": ["x", null], "t": 1.5}')), concat('n', id), null from range(10, 50);
insert into {table} values (100, null, 'none', null);
delete from {table} where id = 3;
alter table {table} set tblproperties ('write.format.default' = 'avro');
insert into {table} select id, parse_json(concat('[', id, ']')), concat('n', id), struct(int(id), null) from range(200, 210);
update {table} set name = 'changed' where id in (5, 205);
