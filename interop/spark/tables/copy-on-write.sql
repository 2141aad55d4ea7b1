-- Files written anew, whose rows keep their ids.
create table {table} (id bigint not null, name string, qty int) using iceberg
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'copy-on-write', 'write.update.mode' = 'copy-on-write', 'write.merge.mode' = 'copy-on-write');

insert into {table} select id, concat('n', id), id % 7 from range(0, 30);
insert into {table} select id, concat('n', id), id % 7 from range(30, 40);
delete from {table} where id % 10 = 3;
update {table} set qty = qty + 100 where id between 5 and 12;
update {table} set name = 'moved' where id = 35;
merge into {table} t using (select id * 3 as id, 'merged' as name from range(0, 20)) s on t.id = s.id
    when matched and t.qty > 100 then delete
    when matched then update set name = s.name
    when not matched then insert (id, name, qty) values (s.id, s.name, -1);
alter table {table} set tblproperties ('write.delete.mode' = 'merge-on-read');
delete from {table} where id in (6, 7, 8, 31);
update {table} set qty = 7 where id in (9, 32);
call locked.system.rewrite_data_files(table => '{table}', strategy => 'sort', sort_order => 'name desc nulls last, id',
    options => map('rewrite-all', 'true'));
insert overwrite {table} select id, 'overwritten', 0 from range(100, 105);
truncate table {table};
insert into {table} values (1, 'again', 1);
