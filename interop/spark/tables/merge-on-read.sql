-- Deletion vectors: rows of several files, again and again of the same, of whole files, and what maintenance makes of them.
create table {table} (id bigint not null, name string, qty int, day date) using iceberg
partitioned by (bucket(2, id))
tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA', 'write.format.default' = '{format}',
    'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read');

insert into {table} select id, concat('n', id), id % 7, date_add(date '2024-01-01', int(id)) from range(0, 40);
insert into {table} select id, concat('n', id), id % 7, date_add(date '2024-01-01', int(id)) from range(40, 60);
delete from {table} where id % 10 = 3;
delete from {table} where id % 10 = 4;
update {table} set name = upper(name), qty = qty + 100 where id between 5 and 12;
merge into {table} t using (select id * 3 as id, 'merged' as name from range(0, 30)) s on t.id = s.id
    when matched and t.qty > 100 then delete
    when matched then update set name = s.name
    when not matched then insert (id, name, qty) values (s.id, s.name, -1)
    when not matched by source and t.id = 1 then delete;
select count(*) as n, sum(id) as ids, sum(qty) as qty, count(day) as days from {table};
select id, name from {table} where name = 'merged' and id > 60 order by id;
call locked.system.rewrite_position_delete_files(table => '{table}', options => map('rewrite-all', 'true'));
call locked.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'));
update {table} set qty = 0 where id < 20;
call locked.system.rewrite_data_files(table => '{table}', options => map('delete-file-threshold', '1'));
call locked.system.rewrite_manifests('{table}');
delete from {table} where id >= 0;
insert into {table} values (1, 'again', 1, date '2024-01-01');
