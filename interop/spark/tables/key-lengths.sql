-- Keys that grow with the table.
create table {table} (id bigint not null, name string) using iceberg partitioned by (bucket(2, id))
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'merge-on-read');

insert into {table} select id, concat('k16 ', id) from range(0, 20);
alter table {table} set tblproperties ('encryption.data-key-length' = '24');
insert into {table} select id, concat('k24 ', id) from range(20, 40);
delete from {table} where id % 5 = 0;
alter table {table} set tblproperties ('encryption.data-key-length' = '32');
insert into {table} select id, concat('k32 ', id) from range(40, 60);
delete from {table} where id % 5 = 1;
call locked.system.rewrite_manifests('{table}');
insert into unlocked.{name} values (100, 'by another writer');
update {table} set name = 'changed' where id in (2, 22, 42, 100);
