-- A plaintext table of version 1 that went on as version 2 and 3.
create table {table} (id bigint, name string) using iceberg partitioned by (name) tblproperties ('format-version' = '1');

insert into {table} values (1, 'a'), (2, 'b'), (3, 'a');
alter table {table} add partition field bucket(2, id);
insert into {table} values (4, 'a'), (5, null);
alter table {table} drop partition field name;
insert into {table} values (6, 'c');
alter table {table} set tblproperties ('format-version' = '2', 'write.delete.mode' = 'merge-on-read',
    'write.update.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition');
delete from {table} where id in (1, 4);
alter table {table} set tblproperties ('write.delete.granularity' = 'file', 'write.delete.format.default' = 'avro');
delete from {table} where id = 2;
update {table} set name = 'changed' where id = 5;
call locked.system.rewrite_position_delete_files(table => '{table}', options => map('rewrite-all', 'true'));
alter table {table} set tblproperties ('format-version' = '3');
insert into {table} values (7, 'd'), (8, 'd');
delete from {table} where id in (3, 7);
update {table} set name = 'third' where id = 8;
call locked.system.rewrite_manifests('{table}');
call locked.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'));
